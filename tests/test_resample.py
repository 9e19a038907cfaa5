"""Resizing: index rules to the letter, values and gradients against plain sums and against PyTorch; pixels to channels and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cafe import DType, Tensor, Var, kernels
from cafe.errors import Error, UnexpectedNumberOfDims, UnsupportedDTypeForOp
from cafe.kernels.resample import between, nearest_ids
from cafe.nn import ops
from cafe.testing import assert_close, assert_same_bits, gradcheck

# -- nearest


@pytest.mark.parametrize(
    "values, size, wanted",
    [
        ([0.0, 1.0, 2.0, 3.0, 4.0], 3, [0.0, 1.0, 3.0]),
        ([1.0, 2.0, 3.0], 7, [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]),
        ([1.0, 2.0, 3.0], 5, [1.0, 1.0, 2.0, 2.0, 3.0]),
        ([1.0, 2.0], 2, [1.0, 2.0]),
    ],
)
def test_nearest_takes_the_element_at_or_before(values: list[float], size: int, wanted: list[float]) -> None:
    x = Tensor([[values]])

    assert x.upsample_nearest1d(size).tolist() == x.interpolate1d(size).tolist() == [[wanted]]


def test_indices_are_whole_numbers_arithmetic() -> None:
    """In float32, ⌊41 · (73 / 100)⌋ and its like come out one too small now and then."""
    for size, places in [(73, 100), (3, 1000), (1000, 7), (999, 1001)]:
        assert list(nearest_ids(size, places)) == [(i * size) // places for i in range(places)]
    wrong = [
        (size, places)
        for size in range(1, 60)
        for places in range(1, 60)
        if any(int(np.floor(np.float32(i) * (np.float32(size) / np.float32(places)))) != i * size // places for i in range(places))
    ]
    assert wrong, "the reference is trivial: float32 never goes wrong"


def test_nearest_in_two_axes() -> None:
    x = Tensor(np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3))

    y = x.upsample_nearest2d(4, 6)
    assert y.tolist() == x.interpolate2d(4, 6).tolist()
    assert y.tolist()[0][0] == [[0.0, 0.0, 1.0, 1.0, 2.0, 2.0]] * 2 + [[3.0, 3.0, 4.0, 4.0, 5.0, 5.0]] * 2


@pytest.mark.parametrize("dtype", [DType.U8, DType.I64, DType.F16, DType.BF16])
def test_nearest_moves_any_dtype(dtype: DType) -> None:
    y = Tensor([[[1.0, 2.0]]]).to_dtype(dtype).upsample_nearest1d(3)

    assert y.dtype is dtype and y.to_dtype(DType.F32).tolist() == [[[1.0, 1.0, 2.0]]]


def test_other_uses_of_the_input_keep_their_gradient() -> None:
    """candle overwrites what has been summed so far."""
    for order in (0, 1):
        x = Var([[[1.0, 2.0]]])
        parts = [x.upsample_nearest1d(4).sum_all(), (x * 10.0).sum_all()]
        loss = parts[order] + parts[1 - order]
        assert loss.backward()[x].tolist() == [[[12.0, 12.0]]]
    x = Var([[[[1.0]]]])
    assert (x.upsample_nearest2d(2, 2).sum_all() + (x * 3.0).sum_all()).backward()[x].tolist() == [[[[7.0]]]]


def test_factors_that_are_no_integers_or_unlike_have_a_gradient() -> None:
    x = Var(np.ones((1, 1, 2, 3), np.float32))

    assert x.upsample_nearest2d(3, 7).sum_all().backward()[x].tolist() == [[[[6.0, 4.0, 4.0], [3.0, 2.0, 2.0]]]]


# -- linear


def test_bilinear_by_hand() -> None:
    """Doubling puts places at ¼ and ¾ between neighbours, and at the outermost ones."""
    x = Tensor([[[[0.0, 4.0], [8.0, 12.0]]]])

    assert x.upsample_bilinear2d(4, 4, False).tolist()[0][0] == [
        [0.0, 1.0, 3.0, 4.0],
        [2.0, 3.0, 5.0, 6.0],
        [6.0, 7.0, 9.0, 10.0],
        [8.0, 9.0, 11.0, 12.0],
    ]
    assert x.upsample_bilinear2d(3, 3, True).tolist()[0][0] == [[0.0, 2.0, 4.0], [4.0, 6.0, 8.0], [8.0, 10.0, 12.0]]


def test_one_element_is_itself_everywhere() -> None:
    x = Tensor([[[[7.0]]]])

    for align in (False, True):
        assert set(x.upsample_bilinear2d(3, 3, align).flatten_all().tolist()) == {7.0}
        assert Tensor([[[[1.0, 2.0]]]]).upsample_bilinear2d(1, 1, align).tolist() == [[[[1.5 if not align else 1.0]]]]


def test_the_same_size_is_the_same_image() -> None:
    x = Tensor.randn(0.0, 1.0, (2, 3, 5, 7))

    for align in (False, True):
        assert_same_bits(x.upsample_bilinear2d(5, 7, align), x)
        assert x.upsample_bilinear2d_with_scale(1.0, 1.1, align).id == x.id


def test_with_a_scale_places_go_by_the_scale() -> None:
    x = Tensor([[[[0.0, 1.0, 2.0]]]])
    y = x.upsample_bilinear2d_with_scale(1.0, 2.5, False)

    assert y.shape == (1, 1, 1, 7)
    assert_close(y.flatten_all(), [min(max((i + 0.5) / 2.5 - 0.5, 0.0), 2.0) for i in range(7)], 1e-6)


def test_weights_add_up_to_one_and_lie_between() -> None:
    for size in range(1, 9):
        for places in range(1, 12):
            for align in (False, True):
                blend = between(size, places, align)
                assert all(0 <= lo <= hi < size for lo, hi in zip(blend.low, blend.high))
                assert all(0.0 <= w < 1.0 for w in blend.weight)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "resize",
    [
        lambda x: x.upsample_bilinear2d(7, 3, False),
        lambda x: x.upsample_bilinear2d(6, 9, True),
        lambda x: x.upsample_bilinear2d_with_scale(1.7, 0.6, False),
        lambda x: x.upsample_nearest2d(7, 3),
        lambda x: ops.pixel_shuffle(x, 2),
        lambda x: ops.pixel_unshuffle(x.narrow(3, 0, 4), 2),
        lambda x: ops.replication_pad2d(x, 1),
    ],
)
def test_differentiable_twice(resize: Callable[[Tensor], Tensor], order: int) -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, 4, 5))

    gradcheck(lambda t: resize(t).sqr() * resize(t), x, order=order, bound=1e-7)


# -- errors


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: x.upsample_nearest2d(0, 2), "upsample_nearest2d: sizes are at least 1, got [0, 2]"),
        (lambda x: x.upsample_bilinear2d(2, -1, False), "upsample_bilinear2d: sizes are at least 1, got [2, -1]"),
        (lambda x: x.upsample_bilinear2d_with_scale(0.1, 2.0, False), "upsample_bilinear2d_with_scale: sizes are at least 1, got [0, 4]"),
        (lambda x: x.upsample_bilinear2d_with_scale(-1.0, 2.0, False), "upsample_bilinear2d_with_scale: scales are above 0, got -1.0, 2.0"),
        (lambda x: x.narrow(2, 0, 0).upsample_nearest2d(2, 2), "upsample_nearest2d: there is nothing to take from in shape [1, 1, 0, 2]"),
    ],
)
def test_refusals(call: Callable[[Tensor], Tensor], text: str) -> None:
    with pytest.raises(Error) as caught:
        call(Tensor.zeros((1, 1, 2, 2)))
    assert str(caught.value) == text


def test_ranks_and_integers_are_refused() -> None:
    with pytest.raises(UnexpectedNumberOfDims, match=r"unexpected rank, expected: 3, got: 4 \(\[1, 1, 2, 2\]\)"):
        Tensor.zeros((1, 1, 2, 2)).upsample_nearest1d(2)
    with pytest.raises(UnsupportedDTypeForOp, match="unsupported dtype I64 for op upsample_bilinear2d"):
        Tensor([[[[1, 2]]]]).upsample_bilinear2d(2, 2, False)


# -- against PyTorch


@pytest.mark.parametrize("size", [(4, 6), (3, 3), (1, 1), (13, 7), (64, 128), (2, 3)])
@pytest.mark.parametrize("align", [None, False, True])
def test_resizing_is_pytorchs(size: tuple[int, int], align: bool | None) -> None:
    torch = pytest.importorskip("torch")
    data = np.random.default_rng(1).normal(size=(2, 3, 5, 8))
    x, peer = Var(data), torch.tensor(data, requires_grad=True)
    mode: dict[str, Any] = {"mode": "nearest"} if align is None else {"mode": "bilinear", "align_corners": align}
    theirs = torch.nn.functional.interpolate(peer, size=size, **mode)
    mine = x.upsample_nearest2d(*size) if align is None else x.upsample_bilinear2d(*size, align)
    (wanted,) = torch.autograd.grad(theirs.square().sum(), peer)

    assert_close(mine, theirs.detach().numpy(), 1e-14)
    assert_close(mine.sqr().sum_all().backward()[x], wanted.numpy(), 1e-14)


@pytest.mark.parametrize("scales", [(2.0, 2.0), (1.5, 2.7), (0.6, 0.5)])
@pytest.mark.parametrize("align", [False, True])
def test_scales_are_pytorchs(scales: tuple[float, float], align: bool) -> None:
    torch = pytest.importorskip("torch")
    data = np.random.default_rng(1).normal(size=(2, 3, 5, 8))
    theirs = torch.nn.functional.interpolate(torch.tensor(data), scale_factor=scales, mode="bilinear", align_corners=align)

    assert_close(Tensor(data).upsample_bilinear2d_with_scale(*scales, align), theirs.numpy(), 1e-14)


def test_pixels_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    data = np.random.default_rng(1).normal(size=(2, 8, 4, 6))

    assert_same_bits(ops.pixel_shuffle(Tensor(data), 2), torch.pixel_shuffle(torch.tensor(data), 2).numpy())
    assert_same_bits(ops.pixel_unshuffle(Tensor(data), 2), torch.pixel_unshuffle(torch.tensor(data), 2).numpy())
    back = ops.pixel_unshuffle(ops.pixel_shuffle(Tensor(data), 2), 2)
    assert_same_bits(back, data)
    padded = torch.nn.functional.pad(torch.tensor(data), (1, 1, 1, 1), mode="replicate").numpy()
    assert_same_bits(ops.replication_pad2d(Tensor(data), 1), padded)


# -- the kernels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_are_their_twins(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for shape, size in [((1, 1, 1, 1), (3, 5)), ((2, 3, 7, 33), (15, 64)), ((1, 40, 16, 9), (5, 40)), ((2, 2, 5, 5), (5, 5))]:
        x = rng.normal(size=shape).astype(dtype)
        g = rng.normal(size=(*shape[:2], *size)).astype(dtype)
        ids = tuple(map(nearest_ids, shape[2:], size))
        eps = 8 * np.finfo(dtype).eps
        assert_same_bits(kernels.resize_nearest(x, ids), kernels.twins.resize_nearest(x, ids))
        back = kernels.resize_nearest_backward(g, ids, shape[2:])
        assert_close(back, kernels.twins.resize_nearest_backward(g, ids, shape[2:]), eps)
        for align in (False, True):
            blends = tuple(between(n, m, align) for n, m in zip(shape[2:], size))
            assert_close(kernels.resize_linear(x, blends), kernels.twins.resize_linear(x, blends), eps)
            back = kernels.resize_linear_backward(g, blends, shape[2:])
            assert_close(back, kernels.twins.resize_linear_backward(g, blends, shape[2:]), eps)
