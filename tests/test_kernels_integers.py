"""Integers in C: elementwise, sums, extremes. Beside NumPy and Python's ints, on any number of threads and from any strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expect import raises
from instances import each_isa, needs_c, rerun, same_on_threads

from cafe import kernels
from cafe.dtype import Array
from cafe.errors import Error, IntegerOverflow

pytestmark = needs_c
KINDS = [np.uint8, np.uint32, np.int16, np.int32, np.int64]
LENGTHS = [4096, 4097, 5000, 70001]
TWO = ["add", "sub", "mul", "maximum", "minimum"]
RELATIONS = ["eq", "ne", "lt", "le", "gt", "ge"]


def draw(dtype: Any, shape: Any, seed: int = 0) -> Array:
    """Numbers from the whole range, the ends and 0 and 1 among them."""
    rng, info = np.random.default_rng(seed), np.iinfo(dtype)
    x = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    ends = rng.choice(np.array([info.min, info.max, 0, 1], dtype), shape)
    return np.where(rng.random(shape) < 0.2, ends, x).astype(dtype)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("n", LENGTHS)
def test_of_two_arrays(dtype: Any, n: int) -> None:
    a, b = draw(dtype, n), draw(dtype, n, 1)
    kept = a.copy(), b.copy()
    for name in TWO + RELATIONS:
        got, wanted = getattr(kernels, name)(a, b), getattr(kernels.twins, name)(a, b)
        assert got.dtype == wanted.dtype and np.array_equal(got, wanted), name
    b[b == 0] = 3
    assert np.array_equal(kernels.div(a, b), kernels.twins.div(a, b))
    small = (a // dtype(4) if n % 2 else a % dtype(100)).astype(dtype)  # below 2^52 in the second case: by floats
    assert np.array_equal(kernels.div(small, b), kernels.twins.div(small, b))
    assert np.array_equal(a, kept[0])


@pytest.mark.parametrize("dtype", KINDS)
def test_quotients_at_the_edges_of_what_floats_tell(dtype: Any) -> None:
    """One below, at and one above multiples of the divisor, up to the ends: a rounded quotient would be one too many."""
    info = np.iinfo(dtype)
    most = min(info.max, 2**52 - 1)
    divisors = [d for d in (1, 2, 3, 7, 127, 255, 32767, 65537, 2**31 - 1, 2**32 - 1, 2**40 + 1, 2**51 + 1, 2**62) if d <= info.max]
    pairs = [(v + k, d) for d in divisors for v in (most // d * d, most // d // 2 * d, d) for k in (-1, 0, 1) if 0 <= v + k <= most]
    pairs += [(-v, d) for v, d in pairs if info.min < 0] + [(-v, -d) for v, d in pairs if info.min < 0]
    a, b = (np.tile(np.array(v, dtype), 4096 // len(pairs) + 1) for v in zip(*pairs))
    wanted = np.tile([abs(v) // abs(d) * (1 if v * d >= 0 else -1) for v, d in pairs], 4096 // len(pairs) + 1)
    assert np.array_equal(kernels.div(a, b), wanted)


@pytest.mark.parametrize("dtype", KINDS)
def test_broadcast_and_strided(dtype: Any) -> None:
    a, b = draw(dtype, (90, 70)), draw(dtype, (90, 70), 1)
    pairs = [
        (a, b[0]),
        (a, b[:, :1]),
        (a[:, :1], b[0]),
        (a.T, np.ascontiguousarray(b.T)),
        (a[::-1, ::-1], b),
        (a, b[:1, :1]),
        (b[3:4, 3].reshape(()), a),
    ]
    pairs += [(a.reshape(9, 10, 70)[:, :, None, ::2], b.reshape(9, 10, 70)[:, :1, None, :35])]
    for name in TWO + RELATIONS:
        for x, y in pairs:
            assert np.array_equal(getattr(kernels, name)(x, y), getattr(kernels.twins, name)(x, y)), name
    assert kernels.add(a[:0], b[:0]).shape == (0, 70) and kernels.add(draw(dtype, (5000, 1)), a[:0, 0]).shape == (5000, 0)


@pytest.mark.parametrize("dtype", KINDS)
def test_with_numbers(dtype: Any) -> None:
    x = draw(dtype, 5001)
    for low, high in ((3, 90), (0, 0), (90, 3)):
        assert np.array_equal(kernels.clamp(x, low, high), kernels.twins.clamp(x, low, high))
        assert np.array_equal(kernels.affine(x, low, high), kernels.twins.affine(x, low, high))
    assert np.array_equal(kernels.neg(x), kernels.twins.neg(x)) and np.array_equal(kernels.sqr(x), kernels.twins.sqr(x))


@pytest.mark.parametrize("dtype", [*KINDS, np.float16])
def test_chosen_elements(dtype: Any) -> None:
    a, b = (draw(np.int16, (70, 100), s).view(dtype) if dtype == np.float16 else draw(dtype, (70, 100), s) for s in (0, 1))
    c = np.random.default_rng(2).integers(0, 3, a.shape, np.uint8)
    for x, y in ((a, b), (a[:1, :1], b), (a, b[:1, :1]), (a[:1, :1], b[:1, :1]), (a[0], b[:, :1])):
        assert kernels.where(c, x, y).tobytes() == kernels.twins.where(c, x, y).tobytes()


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    "shape, dims", [((7,), (0,)), ((70001,), (0,)), ((3, 70000), (1,)), ((70000, 3), (0,)), ((5, 33, 600), (1,)), ((8, 9, 10), (0, 2))]
)
def test_sums_and_extremes(dtype: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    info = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(-3 if info.min else 0, 4, shape, np.int64)
    x = np.where(np.random.default_rng(4).random(shape) < min(1.0, 20 / np.prod([shape[d] for d in dims])), x, 0).astype(dtype)
    for kept in (False, True):
        assert np.array_equal(kernels.sum(x, dims, kept), kernels.twins.sum(x, dims, kept))
        for y in (x, draw(dtype, shape)):
            assert np.array_equal(kernels.max(y, dims[0], kept), np.max(y, dims[0], keepdims=kept))
            assert np.array_equal(kernels.min(y, dims[0], kept), np.min(y, dims[0], keepdims=kept))
    assert np.array_equal(kernels.cumsum(np.abs(x), dims[0]), np.cumsum(np.abs(x), dims[0], dtype=dtype))


@pytest.mark.parametrize("dtype", KINDS)
def test_extremes_of_long_rows(dtype: Any) -> None:
    x = draw(dtype, (2, 200001))
    for y in (x, np.maximum(x, dtype(3)), np.minimum(x, dtype(9))):
        assert np.array_equal(kernels.max(y, 1, False), y.max(1)) and np.array_equal(kernels.min(y, 1, True), y.min(1, keepdims=True))


@pytest.mark.parametrize("dtype", KINDS)
def test_sums_must_fit(dtype: Any) -> None:
    info = np.iinfo(dtype)
    for end, step in ((info.max, 1), (info.min, -1)):
        if end == 0:
            continue
        x = np.zeros((100, 3), dtype)
        x[0, 1], x[40, 1] = end - step, step
        assert kernels.sum(x, (0,), False)[1] == end and kernels.cumsum(x, 0)[-1, 1] == end
        x[99, 1] = step
        with pytest.raises(IntegerOverflow, match=r"^sum of .* does not fit"):
            kernels.sum(x, (0,), False)
        with pytest.raises(IntegerOverflow, match=r"^sum of .* does not fit"):
            kernels.sum(x.T, (1,), False)
        with pytest.raises(IntegerOverflow, match=r"^cumsum of .* does not fit"):
            kernels.cumsum(x, 0)
    assert kernels.sum(np.array([info.max, info.max, info.min, info.min + 1], np.int64), (0,), False) == 2 * (info.max + info.min) + 1
    assert kernels.sum(np.zeros((3, 0), dtype), (1,), False).tolist() == [0, 0, 0]


def test_sums_of_64_bits_pass_their_bounds_on_the_way() -> None:
    x = np.array([2**63 - 1] * 1000 + [-(2**63)] * 1000 + [5], np.int64)
    assert kernels.sum(x, (0,), False) == -995 and kernels.sum(x.reshape(3, 667).T.copy(), (0, 1), False) == -995


def test_a_division_by_zero_is_an_error() -> None:
    x = np.ones(5000, np.int64)
    x[4321] = 0
    with raises(Error, "integer division by zero in div"):
        kernels.div(x, x)


def test_the_number_of_threads_makes_no_difference() -> None:
    x, y = draw(np.int64, (300, 1000)), draw(np.int64, (300, 1000), 1) | 1
    same_on_threads(lambda: (kernels.add(x, y), kernels.div(x, y), kernels.lt(x, y[0]), kernels.max(x, 0, False), kernels.clamp(x, -9, 9)))
    same_on_threads(lambda: (kernels.sum(x >> 20, (0,), False), kernels.sum(x >> 20, (0, 1), False), kernels.cumsum(x >> 20, 1)))


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
