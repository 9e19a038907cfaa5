"""What convolutions say when arguments do not fit, and cafe's own arguments: one number an axis, "same", padding modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cafe import DType, Error, Tensor, Var
from cafe.errors import (
    Conv1dInvalidArgs,
    DTypeMismatchBinaryOp,
    ShapeMismatchBinaryOp,
    UnexpectedNumberOfDims,
    UnsupportedDTypeForOp,
)
from cafe.tensor._conv import convolve
from cafe.testing import assert_close, gradcheck


def ones(*shape: int) -> Tensor:
    return Tensor.ones(shape)


def text(call: Callable[[], Any], error: type[Exception] = Error) -> str:
    with pytest.raises(error) as raised:
        call()
    return str(raised.value)


# -- candle's sentences


def test_channels_that_do_not_match() -> None:
    msg = "the number of in-channels on the input doesn't match the kernel size"

    assert text(lambda: ones(1, 4, 5, 5).conv2d(ones(4, 4, 3, 3), 1, 1, 1, 2)) == (
        "in_channel mismatch between input (4, groups 2) and kernel (4)"
    )
    assert text(lambda: ones(1, 4, 5).conv1d(ones(4, 3, 3), 1, 2), Conv1dInvalidArgs) == (
        f"conv1d invalid args {msg}: inp: [1, 4, 5], k: [4, 3, 3], pad: 1, stride: 2"
    )
    for rank in (1, 2):
        x, w = ones(1, 4, *(5,) * rank), ones(3, 2, *(3,) * rank)
        method = getattr(x, f"conv_transpose{rank}d")
        assert text(lambda method=method, w=w: method(w)) == "in_channel mismatch between input (4) and kernel (3)"
    assert text(lambda: ones(1, 4, 5).conv_transpose1d(ones(4, 2, 3), groups=3)) == (
        "in_channel 4 is not divisible by the number of groups"
    )


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"])
def test_ranks(name: str) -> None:
    rank = 3 if "1d" in name else 4
    good, flat = ones(*(4,) * rank), ones(4, 4)

    expected = f"unexpected rank, expected: {rank}, got: 2 ([4, 4])"
    assert text(lambda: getattr(good, name)(flat), UnexpectedNumberOfDims) == expected
    assert text(lambda: getattr(flat, name)(good), UnexpectedNumberOfDims) == expected


@pytest.mark.parametrize(
    "name, op",
    [("conv1d", "conv1d"), ("conv2d", "conv2d"), ("conv_transpose1d", "conv-transpose1d"), ("conv_transpose2d", "conv_transpose2d")],
)
def test_dtypes(name: str, op: str) -> None:
    x = ones(*(4,) * (3 if "1d" in name else 4))
    whole = x.to_dtype(DType.U32)

    assert text(lambda: getattr(x, name)(x.to_dtype(DType.F64)), DTypeMismatchBinaryOp) == f"dtype mismatch in {op}, lhs: F32, rhs: F64"
    assert text(lambda: getattr(whole, name)(whole), UnsupportedDTypeForOp) == f"unsupported dtype U32 for op {op}"


# -- what candle lets pass, or panics on


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda: ones(1, 1, 2, 2).conv2d(ones(1, 1, 3, 3)), "kernel size [3, 3], dilation [1, 1] is larger than the padded input [2, 2]"),
        (lambda: ones(1, 1, 4).conv1d(ones(1, 1, 3), 1, 1, 3), "kernel size [3], dilation [3] is larger than the padded input [6]"),
        (lambda: ones(1, 1, 0).conv1d(ones(1, 1, 1)), "kernel size [1], dilation [1] is larger than the padded input [0]"),
        (lambda: ones(1, 4, 5).conv1d(ones(3, 2, 3), groups=2), "out_channel 3 is not divisible by the number of groups 2"),
        (lambda: ones(1, 1, 5).conv1d(ones(1, 1, 0)), "a kernel has sizes of at least 1, got [1, 1, 0]"),
        (lambda: ones(1, 1, 5).conv1d(ones(1, 1, 2), 0, 0), "stride must be at least 1, got 0"),
        (lambda: ones(1, 1, 5).conv1d(ones(1, 1, 2), -1), "padding must be at least 0, got -1"),
        (lambda: ones(1, 1, 5).conv1d(ones(1, 1, 2), 0, 1, 0), "dilation must be at least 1, got 0"),
        (lambda: ones(1, 0, 5).conv1d(ones(1, 1, 2), groups=0), "groups must be at least 1, got 0"),
        (lambda: ones(1, 1, 5, 5).conv2d(ones(1, 1, 2, 2), (1, 2, 3)), "padding takes an int or 2 of them, got [1, 2, 3]"),
        (lambda: ones(1, 1, 5).conv1d(ones(1, 1, 2), "full"), "padding is an int, one an axis, or \"same\", got 'full'"),
        (lambda: ones(1, 1, 5).conv1d(ones(1, 1, 2), "same", 2), 'padding "same" takes a stride of 1, got [2]'),
        (lambda: ones(1, 1, 5).conv1d(ones(1, 1, 2), padding_mode="wrap"), "unknown padding mode 'wrap'"),
    ],
)
def test_arguments_out_of_range(call: Callable[[], Any], expected: str) -> None:
    assert text(call).split(": ", 1)[1] == expected


@pytest.mark.parametrize("extra", [2, 3])
def test_output_padding_is_smaller_than_stride_or_dilation(extra: int) -> None:
    assert text(lambda: ones(1, 1, 3, 3).conv_transpose2d(ones(1, 1, 3, 3), 0, extra, 2, 1)) == (
        "conv_transpose2d: output_padding must be smaller than stride or dilation, "
        f"got output_padding [{extra}, {extra}], stride [2, 2], dilation [1, 1]"
    )


def test_a_transposed_convolution_that_leaves_nothing() -> None:
    assert text(lambda: ones(1, 1, 1).conv_transpose1d(ones(1, 1, 2), 1)) == (
        "conv_transpose1d: input [1, 1, 1] and kernel [1, 1, 2] leave an output of size [0]"
    )
    assert "leave an output" in text(lambda: ones(1, 1, 0).conv_transpose1d(ones(1, 1, 1)))


def test_a_bias_of_another_size_or_dtype() -> None:
    x, w = ones(2, 3, 5, 5), ones(4, 3, 3, 3)

    assert text(lambda: convolve(2, x, w, ones(3), 0, 1, 1, 1), ShapeMismatchBinaryOp) == (
        "shape mismatch in broadcast_add, lhs: [2, 4, 3, 3], rhs: [1, 3, 1, 1]"
    )
    assert text(lambda: convolve(2, x, w, ones(4).to_dtype(DType.F64), 0, 1, 1, 1), DTypeMismatchBinaryOp) == (
        "dtype mismatch in broadcast_add, lhs: F32, rhs: F64"
    )


# -- cafe's own


def test_one_number_an_axis_is_two_convolutions_of_one_axis() -> None:
    rng = np.random.default_rng(0)
    x, column, row = (Tensor(rng.standard_normal(s)) for s in ((1, 1, 9, 12), (1, 1, 3, 1), (1, 1, 1, 4)))
    both = x.conv2d(column.matmul(row), (2, 1), (2, 3), (1, 2))

    assert both.shape == (1, 1, 6, 3)
    assert_close(both, x.conv2d(column, (2, 0), (2, 1), (1, 1)).conv2d(row, (0, 1), (1, 3), (1, 2)), 1e-14)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_same_keeps_the_size_and_puts_an_odd_place_behind(kernel: int, dilation: int) -> None:
    x = Tensor.arange(1.0, 8.0).reshape((1, 1, 7))
    total = dilation * (kernel - 1)
    y = x.conv1d(ones(1, 1, kernel), "same", dilation=dilation)

    assert y.shape == x.shape
    assert y.tolist() == x.pad_with_zeros(2, total // 2, total - total // 2).conv1d(ones(1, 1, kernel), 0, 1, dilation).tolist()


@pytest.mark.parametrize("mode, numpys", [("zeros", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_padding_modes(mode: str, numpys: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 3, 6, 7)), Tensor(rng.standard_normal((4, 3, 3, 2)))
    padded = Tensor(np.pad(x, ((0, 0), (0, 0), (2, 2), (1, 1)), numpys))

    assert_close(Tensor(x).conv2d(w, (2, 1), padding_mode=mode), padded.conv2d(w), 1e-14)
    for order in (1, 2):
        gradcheck(lambda a, b: a.conv2d(b, (2, 1), padding_mode=mode), x, w, order=order)


def test_the_algorithm_of_a_gpu_changes_nothing() -> None:
    x, w = ones(1, 2, 5), ones(3, 2, 3)

    assert x.conv1d_with_algo(w, 1, 1, 1, 1, "Gemm").tolist() == x.conv1d(w, 1).tolist()
    assert x.unsqueeze(2).conv2d_with_algo(w.unsqueeze(2), 0, 1, 1, 1).tolist() == x.unsqueeze(2).conv2d(w.unsqueeze(2)).tolist()


# -- pad


@pytest.mark.parametrize("mode, numpys", [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
@pytest.mark.parametrize("pads", [[(0, 0)], [(2, 1)], [(1, 0), (0, 2)], [(1, 1), (0, 0), (3, 2)]])
def test_pad_is_numpys(mode: str, numpys: Any, pads: list[tuple[int, int]]) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    whole = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
    widths = [(0, 0)] * (3 - len(pads)) + pads

    assert_close(Tensor(x).pad(pads, mode), np.pad(x, widths, numpys), 0.0)
    assert Tensor(whole).pad(pads, mode).tolist() == np.pad(whole, widths, numpys).tolist()
    gradcheck(lambda t: t.pad(pads, mode), x)


def test_pad_with_a_value() -> None:
    x = Var([[1.0, -0.0]])
    y = x.pad([(1, 0), (0, 2)], value=7.0)
    grads = (y * y).sum_all().backward()

    assert y.tolist() == [[7.0, 7.0, 7.0, 7.0], [1.0, -0.0, 7.0, 7.0]]
    assert np.signbit(y.numpy()[1, 1])
    assert grads[x].tolist() == [[2.0, 0.0]]


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda t: t.pad([(1, 1)], "mirror"), "pad: unknown mode 'mirror'"),
        (lambda t: t.pad([(1, -1)]), "pad: counts must be at least 0, got [(1, -1)]"),
        (lambda t: t.pad([(1, 1)] * 3), "pad: 3 pairs for shape [2, 3]"),
        (lambda t: t.pad([(0, 3)], "reflect"), "pad: reflect by (0, 3) takes a dim of at least 4, got [2, 3], dim: 1"),
        (lambda t: t.pad([(4, 0)], "circular"), "pad: circular by (4, 0) takes a dim of at least 4, got [2, 3], dim: 1"),
        (lambda t: t.narrow(1, 0, 0).pad([(1, 0)], "replicate"), "pad: replicate by (1, 0) takes a dim of at least 1, got [2, 0], dim: 1"),
    ],
)
def test_pad_refuses(call: Callable[[Tensor], Any], expected: str) -> None:
    assert text(lambda: call(ones(2, 3))) == expected


@pytest.mark.parametrize("stride", [10**9, 2**31, 2**62])
def test_a_stride_beyond_the_only_place_is_not_walked(stride: int) -> None:
    x, w = Tensor.ones((1, 1, 3, 3)), Var(Tensor.ones((1, 1, 3, 3)))
    y = x.conv2d(w, 0, stride)
    assert y.tolist() == [[[[9.0]]]]
    assert y.sum_all().backward()[w].tolist() == x.tolist()
    assert Tensor.ones((1, 1, 4)).conv1d(Tensor.ones((1, 1, 3)), 0, stride).tolist() == [[[3.0]]]
    assert Tensor.ones((1, 1, 4)).conv1d(Tensor.ones((1, 1, 1)), 0, 1, stride).tolist() == [[[1.0] * 4]]
    assert Tensor.ones((1, 1, 1)).conv_transpose1d(Tensor.ones((1, 1, 2)), 0, 0, stride).tolist() == [[[1.0, 1.0]]]
    assert Tensor.ones((1, 1, 1, 1)).conv_transpose2d(Tensor.ones((1, 1, 1, 1)), 0, 0, stride).tolist() == [[[[1.0]]]]


@pytest.mark.parametrize("mode", ["zeros", "replicate"])
def test_an_image_that_no_machine_can_hold_is_refused(mode: str) -> None:
    x, w = Tensor.ones((1, 1, 3, 3)), Tensor.ones((1, 1, 3, 3))
    with pytest.raises(Error, match=r"conv2d: .* make the padded input \[\d+, \d+\], more than"):
        x.conv2d(w, 2**61, 2**62, padding_mode=mode)
    with pytest.raises(Error, match=r"conv_transpose2d: .* make the output \[\d+, \d+\], more than"):
        x.conv_transpose2d(w, 0, 0, 2**31)
