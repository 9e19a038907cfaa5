"""Numbers, counts, dims, shapes and dtypes that are none, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cafe
from cafe import D, DType, Error, Tensor, nn
from cafe.errors import DTypeParse, IntegerOverflow, UnexpectedNumberOfDims

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
IDS = Tensor([0, 1])
IMAGE = Tensor.ones((1, 1, 4, 4))
KERNEL = Tensor.ones((1, 1, 2, 2))
HUGE = 10**400


@pytest.mark.parametrize("value", ["2", None, [1.0], X, 1j, np.ones(1)])
@pytest.mark.parametrize(
    ("slip", "op"),
    [
        (lambda v: X.affine(v, 0.0), "affine"),
        (lambda v: X.affine(1.0, v), "affine"),
        (lambda v: IDS.affine(v, 0), "affine"),
        (lambda v: X.clamp(v, 1.0) if v is not X else X.powf(v), r"(clamp|powf)"),
        (lambda v: X.powf(v), "powf"),
        (lambda v: X.elu(v), "elu"),
        (lambda v: nn.ops.leaky_relu(X, v), "leaky_relu"),
        (lambda v: X.masked_fill(X.gt(1.0), v), "masked_fill"),
        (lambda v: X.pad([(1, 1)], value=v), "pad"),
        (lambda v: X.pad([(1, 1)], "replicate", v), "pad"),
        (lambda v: Tensor.linspace(v, 1.0, 3), "linspace"),
        (lambda v: Tensor.linspace(0.0, v, 3), "linspace"),
        (lambda v: Tensor.rand(v, 1.0, 3), "rand"),
        (lambda v: Tensor.randn(0.0, v, 3), "randn"),
        (lambda v: IMAGE.upsample_bilinear2d_with_scale(v, 2.0, False), "upsample_bilinear2d_with_scale"),
    ],
)
def test_something_else_in_a_numbers_place(slip: Callable[[Any], object], op: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{op}: expected a number, found {type(value).__name__}"):
        slip(value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert X.affine(np.float32(2.0), np.int64(1)).tolist() == [[3.0, 5.0], [7.0, 9.0]]
    assert X.narrow(np.int64(0), np.int64(1), np.int32(1)).tolist() == [[3.0, 4.0]]
    assert Tensor.zeros((np.int64(2),)).dims() == [2] and X.sum(D.Minus1).dims() == [2]


def test_an_int_beyond_all_floats() -> None:
    with pytest.raises(IntegerOverflow, match="affine: no float is as large as 1000"):
        X.affine(HUGE, 0.0)
    for slip in (lambda: X * HUGE, lambda: HUGE - X, lambda: X**HUGE, lambda: X / HUGE):
        with pytest.raises(IntegerOverflow, match="no float is as large as 1000"):
            slip()


@pytest.mark.parametrize("value", ["a", None, [1], X, 1.5, True, float("nan")])
@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda v: X.narrow(v, 0, 1), "narrow: a dim is an int"),
        (lambda v: X.narrow(0, v, 1), "narrow: start is an int"),
        (lambda v: X.narrow(0, 0, v), "narrow: len is an int"),
        (lambda v: X.get(v), "narrow: start is an int"),
        (lambda v: X.get_on_dim(0, v), "narrow: start is an int"),
        (lambda v: X.chunk(v, 0), "chunk: chunks is an int"),
        (lambda v: X.unfold(0, v, 1), "unfold: size is an int"),
        (lambda v: X.unfold(0, 1, v), "unfold: step is an int"),
        (lambda v: X.roll(v, 0), "roll: shift is an int"),
        (lambda v: X.transpose(0, v), "transpose: a dim is an int"),
        (lambda v: X.unsqueeze(v), "unsqueeze: a dim is an int"),
        (lambda v: X.max(v), "max: a dim is an int"),
        (lambda v: X.round_to(v), "round_to: decimals is an int"),
        (lambda v: X.pad_with_zeros(0, v, 0), "pad_with_zeros: left is an int"),
        (lambda v: X.pad_with_same(0, 0, v), "pad_with_same: right is an int"),
        (lambda v: X.slice_assign([slice(v, 2), ...] if v is not None else [slice(1.5, 2), ...], X), "slice_assign: a bound is an int"),
        (lambda v: IMAGE.upsample_nearest2d(v, 2), "upsample_nearest2d: a size is an int"),
        (lambda v: IMAGE.conv2d(KERNEL, groups=v), "conv2d: groups is an int"),
        (lambda v: Tensor.linspace(0.0, 1.0, v), "linspace: steps is an int"),
        (lambda v: nn.ops.pixel_shuffle(IMAGE, v), "pixel_shuffle: a factor is an int"),
        (lambda v: nn.ops.replication_pad2d(IMAGE, v), "replication-pad: a pad is an int"),
        (lambda v: X.normalize_axis(v), "normalize_axis: axis is an int"),
        (lambda v: cafe.manual_seed(v), "manual_seed: a seed is an int"),
        (lambda v: cafe.set_rng_state((0, v)), "set_rng_state: a counter is an int"),
        (lambda v: D.Minus(v), "D.Minus: its number is an int"),
    ],
)
def test_something_else_in_an_ints_place(slip: Callable[[Any], object], said: str, value: Any) -> None:
    with pytest.raises((TypeError, Error), match=said if value is not X else f"({said}|one element)"):
        slip(value)


@pytest.mark.parametrize("value", ["a", None, 1.5, (1, 2.5), (1, True)])
def test_something_else_for_the_steps_of_a_kernel(value: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"conv2d: stride takes an int or 2 of them, got {value!r}")):
        IMAGE.conv2d(KERNEL, stride=value)


@pytest.mark.parametrize("pads", [[3, 0], "ab", None, 1.5, [(1, 2, 3)], [(1.5, 0)], [(True, 0)]])
def test_pads_that_are_no_pairs(pads: Any) -> None:
    said = f"pad: expected one pair (before, after) for each of the last dims, got {pads!r}"
    with pytest.raises(TypeError, match=re.escape(said)):
        X.pad(pads)


@pytest.mark.parametrize("key", [["a"], [0, 1.5], [[0]]])
def test_a_list_of_ids_that_are_none(key: Any) -> None:
    with pytest.raises(TypeError, match="indexing: an id is an int, got"):
        X[key]


@pytest.mark.parametrize("key", [slice("a"), slice(0, 1.5)])
def test_a_slice_that_is_none(key: Any) -> None:
    with pytest.raises(Error, match="indexing error: a slice takes ints, got slice"):
        X[key]


# -- shapes


@pytest.mark.parametrize("shape", [{}, {2}, "ab", (True, 2), X])
def test_a_shape_that_is_none(shape: Any) -> None:
    with pytest.raises((TypeError, Error), match=r"a shape is an int or several of them, got"):
        Tensor.zeros(shape)


@pytest.mark.parametrize("shape", [10**30, (2**31, 2**31), (0, 10**30), (0, 2**31, 2**31)])
def test_more_elements_than_can_be_counted(shape: Any) -> None:
    for make in (Tensor.zeros, Tensor.ones, lambda s: Tensor.full(1, s), lambda s: Tensor.rand(0.0, 1.0, s), X.broadcast_as, X.repeat):
        with pytest.raises(Error, match="a shape has at most 1152921504606846975 elements, got"):
            make(shape)


def test_more_dims_than_numpy_has() -> None:
    deep = Tensor.ones((1,) * 64)
    for make in (lambda: Tensor.zeros((1,) * 65), lambda: X.reshape((1,) * 63 + (2, 2)), lambda: X.broadcast_left((1,) * 63)):
        with pytest.raises(Error, match="a shape has at most 64 dims, got 65"):
            make()
    for grow in (lambda: deep.unsqueeze(0), lambda: Tensor.stack([deep, deep], 0), lambda: deep[None]):
        with pytest.raises(Error, match=r"(reshape|unsqueeze): a tensor has at most 64 dims"):
            grow()


def test_a_sum_that_no_machine_can_hold() -> None:
    rows = Tensor(1.0).broadcast_as((2**40, 1))
    with pytest.raises((Error, MemoryError), match=r"no memory for an array of shape|more elements than can be counted"):
        rows.broadcast_add(rows.t())


def test_ranges_that_cannot_be() -> None:
    with pytest.raises(IntegerOverflow, match=r"arange: 0 \.\. .* does not fit I64"):
        Tensor.arange(0, 10**30)
    with pytest.raises(Error, match=r"a shape has at most .* elements"):
        Tensor.arange(0.0, 1e30)
    with pytest.raises(MemoryError, match="1000000000000000"):
        Tensor.arange(0, 10**15)
    for end in (float("inf"), float("nan")):
        with pytest.raises(Error, match=f"arange: no number of steps of 1.0 leads from 0.0 to {end}"):
            Tensor.arange(0.0, end)
    with pytest.raises(TypeError, match="a tensor holds numbers, found str"):
        Tensor.arange("a", 5)


def test_long_ranges_of_ints_are_exact() -> None:
    top = 2**63 - 1
    assert Tensor.arange(top - 20, top).tolist() == list(range(top - 20, top))
    assert Tensor.arange_step(-(2**63), top, 2**60).tolist() == list(range(-(2**63), top, 2**60))
    assert Tensor.arange_step(-(2**63), top, 2**64 - 2).tolist() == [-(2**63), top - 1]
    assert Tensor.arange_step(5, -20, -2).tolist() == list(range(5, -20, -2))


@pytest.mark.parametrize("make", [Tensor.eye, Tensor.tril2, Tensor.triu2])
def test_a_square_of_a_negative_size(make: Callable[[Any], Tensor]) -> None:
    with pytest.raises(Error, match=re.escape("a shape has sizes of at least 0, got [-1, -1]")):
        make(-1)
    with pytest.raises(TypeError, match=r"a shape is an int or several of them, got"):
        make(1.5)


# -- dtypes


@pytest.mark.parametrize("dtype", [X, "float128", "u16", None, 5, []])
def test_a_dtype_that_is_none(dtype: Any) -> None:
    with pytest.raises((DTypeParse, cafe.errors.UnsupportedDTypeForOp), match=r"as a dtype|unsupported dtype"):
        X.to_dtype(dtype)


def test_a_name_that_is_no_string() -> None:
    with pytest.raises(DTypeParse, match=re.escape("cannot parse '[]' as a dtype")):
        DType.from_str([])  # type: ignore[arg-type]


# -- numbers out of their range


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: Tensor.randn(0.0, -1.0, 2), "randn: std must be at least 0, got -1.0"),
        (lambda: Tensor.randn(0.0, float("nan"), 2), "randn: std must be at least 0, got nan"),
        (lambda: X.randn_like(0.0, -1.0), "randn: std must be at least 0, got -1.0"),
        (lambda: Tensor.rand(1.0, 0.0, 2), "rand: lo must be at most up, got 1.0 and 0.0"),
        (lambda: cafe.set_rng_state((0, -1)), "set_rng_state: the counter must be at least 0, got -1"),
        (lambda: X.round_to(39), "round_to: decimals of F32 are at most 38, got 39"),
        (lambda: X.to_dtype("f16").round_to(-5), "round_to: decimals of F16 are at most 4, got -5"),
        (lambda: nn.ops.pixel_shuffle(IMAGE, 0), "pixel_shuffle: a factor must be at least 1, got 0"),
        (lambda: nn.ops.pixel_unshuffle(IMAGE, -2), "pixel_unshuffle: a factor must be at least 1, got -2"),
    ],
)
def test_a_number_out_of_its_range(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(Error, match=re.escape(said)):
        slip()


@pytest.mark.parametrize("state", ["ab", None, 5, (1,), (1, 2, 3)])
def test_a_state_of_the_generator_that_is_none(state: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"set_rng_state: expected a key and a counter, got {state!r}")):
        cafe.set_rng_state(state)


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: Tensor.from_raw_buffer("ab", "u8", 2), "from_raw_buffer: expected bytes, found str"),  # type: ignore[arg-type]
        (lambda: Tensor.from_iter(5), "from_iter: expected an iterable of numbers, found int"),  # type: ignore[arg-type]
        (lambda: Tensor.from_dlpack([1.0]), "from_dlpack: expected what has `__dlpack__`, found list"),
        (lambda: X.slice_assign(None, X), "slice_assign: expected one slice a dim, found None"),  # type: ignore[arg-type]
    ],
)
def test_something_else_in_datas_place(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        slip()


def test_the_hole_of_a_shape_is_explained() -> None:
    with pytest.raises(Error, match=re.escape("cannot reshape tensor of 4 elements to ((), 0)")) as caught:
        X.reshape((-1, 0))
    assert caught.value.__notes__ == ["help: `()` is the size that was to be worked out"]
    with pytest.raises(UnexpectedNumberOfDims):
        X.dims1()
