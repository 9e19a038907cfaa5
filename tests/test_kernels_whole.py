"""Rounding to whole numbers, conversions between integers and floats, running sums: in C as on their twins, to the bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from instances import FLOATS, LENGTHS, as_bytes, each_isa, needs_c, rerun, same_on_threads

from cafe import kernels
from cafe.dtype import Array, DType
from cafe.kernels import twins

pytestmark = needs_c
HALVES = (DType.F16.numpy, DType.BF16.numpy)
INTEGERS = (np.uint8, np.uint32, np.int16, np.int32, np.int64)
each_float = pytest.mark.parametrize("dtype", FLOATS)
each_integer = pytest.mark.parametrize("integer", INTEGERS)


def edges() -> Array:
    """Halves and their neighbours, the bounds of every integer type and their neighbours, and what is no number, in float64."""
    few, large = np.arange(-9, 10) / 2.0, [2.0**22 + 0.5, 2.0**23 - 0.5, 2.0**23 + 1, 2.0**51 + 0.5, 2.0**52 - 0.5, 1e300, 5e-324]
    ends = [float(end) for t in INTEGERS for end in (np.iinfo(t).min, np.iinfo(t).max)]
    bounds = np.array([end + step for end in ends for step in (-1, -0.5, 0, 0.5, 1)])
    near = np.concatenate([few, large, bounds])
    neighbours = [np.nextafter(near, np.inf), np.nextafter(near, -np.inf), np.nextafter(np.float32(bounds), np.float32(9))]
    return np.concatenate([near, -near, *neighbours, [np.nan, np.inf, -np.inf, -0.0]])


def of(dtype: Any, n: int = 3000) -> Array:
    """The edges and numbers of every size, in the type."""
    rng = np.random.default_rng(5)
    with np.errstate(over="ignore"):
        return np.concatenate([edges(), rng.standard_normal(n) * 10.0 ** rng.integers(-4, 22, n)]).astype(dtype)


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_halves_come_and_go_as_on_the_twins(half: Any) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = of(np.float32).astype(half)
    for other in (*INTEGERS, np.float64, *HALVES):
        ours, theirs = kernels.cast(x, np.dtype(other)), twins.cast(x, np.dtype(other))
        assert as_bytes(ours) == as_bytes(theirs) or (np.isnan(ours) == np.isnan(theirs)).all(), other
        assert as_bytes(ours[~np.isnan(x)]) == as_bytes(theirs[~np.isnan(x)]), other
    for integer in INTEGERS:
        for most in (300, 2**24, 2**31 - 1, 2**62):  # from 2^24 on F32 would round once more than there is to round
            whole = np.random.default_rng(6).integers(0, min(most, np.iinfo(integer).max), 5000, integer, endpoint=True)
            ties = np.minimum(np.arange(5000, dtype=np.int64) % 256 * 2**17 + 2**16 + 1, np.iinfo(integer).max).astype(integer)
            for values in (whole, ties):
                assert as_bytes(kernels.cast(values, half)) == as_bytes(twins.cast(values, half)), (integer, most)


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_f64_is_rounded_to_halves_once(half: Any) -> None:
    """Beside every tie between two halves by less than F32 can tell, beyond both ends of F32 and of the halves, and any bits at all."""
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = np.arange(2**16, dtype=np.uint16).view(half).astype(np.float64)
        after = np.nextafter(exact.astype(half), np.asarray(np.inf, half)).astype(np.float64)
        ties = (exact + after) / 2
        any_bits = rng.integers(0, 2**64, 50000, np.uint64).view(np.float64)
        x = np.concatenate([exact, ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf), any_bits])
    ours, theirs = kernels.cast(x, half), twins.cast(x, half)
    assert as_bytes(ours[~np.isnan(x)]) == as_bytes(theirs[~np.isnan(x)]) and np.isnan(ours[np.isnan(x)]).all()


@pytest.mark.parametrize("integer", INTEGERS)
def test_integers_wrap_into_each_other(integer: Any) -> None:
    info = np.iinfo(integer)
    x = np.random.default_rng(9).integers(info.min, info.max, 100_000, integer, endpoint=True)
    x[:3] = info.min, info.max, 0
    for other in INTEGERS:
        for values in (x, x[::-3], x[: 99 * 1000].reshape(99, 1000).T):
            got = kernels.cast(values, np.dtype(other))
            assert as_bytes(got) == as_bytes(values.astype(other)) and got.dtype == other


def test_a_number_seen_in_many_places() -> None:
    column = np.random.default_rng(8).standard_normal((300, 1))
    for x in (np.broadcast_to(column, (300, 70)), np.broadcast_to(column[0], (300, 70)), np.broadcast_to(column.T, (70, 300))):
        got = kernels.cast(x, np.dtype(np.float32))
        assert as_bytes(got) == as_bytes(x.astype(np.float32)) and got.flags.c_contiguous and got.flags.writeable


@each_float
@pytest.mark.parametrize("name", ["floor", "ceil", "round"])
def test_whole_numbers_are_the_twins(name: str, dtype: Any) -> None:
    x = of(dtype)
    ours, theirs = getattr(kernels, name)(x), getattr(twins, name)(x)
    assert as_bytes(ours[~np.isnan(x)]) == as_bytes(theirs[~np.isnan(x)])  # the sign of a zero included
    assert np.isnan(ours[np.isnan(x)]).all()
    for n in LENGTHS:
        assert as_bytes(getattr(kernels, name)(x[1 : n + 1])) == as_bytes(ours[1 : n + 1])


@each_float
@each_integer
def test_floats_to_integers(integer: Any, dtype: Any) -> None:
    x = of(dtype)
    for values in (x, x[::-1], x[:1500:-1], x[: len(x) // 8 * 8].reshape(8, -1).T):
        ours = kernels.cast(values, np.dtype(integer))
        assert ours.dtype == integer
        assert np.array_equal(ours, twins.cast(values, np.dtype(integer)))
    assert kernels.cast(np.full(2000, np.nan, dtype), np.dtype(integer)).max() == 0
    assert kernels.cast(np.full(2000, np.inf, dtype), np.dtype(integer)).min() == np.iinfo(integer).max


@each_float
@each_integer
def test_integers_to_floats(integer: Any, dtype: Any) -> None:
    info = np.iinfo(integer)
    x = np.random.default_rng(6).integers(info.min, info.max, 4001, integer, endpoint=True)
    x[:4] = info.min, info.max, 0, 1
    for values in (x, x[::-2], x[:4000].reshape(40, 100).T):
        ours = kernels.cast(values, np.dtype(dtype))
        assert ours.dtype == dtype
        assert as_bytes(ours) == as_bytes(values.astype(dtype))


@each_float
@pytest.mark.parametrize("shape", [(1,), (5001,), (7, 1001), (1001, 7), (3, 50, 300), (4, 4), (0, 3), (3, 0), (2, 3, 0, 5)], ids=str)
def test_running_sums_are_the_twins(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.random.default_rng(7).standard_normal(shape).astype(dtype)
    for values in (x, x.T, x[::-1]):
        for dim in range(values.ndim):
            assert as_bytes(kernels.cumsum(values, dim)) == as_bytes(twins.cumsum(values, dim))
    if x.size > 2:
        x.flat[0], x.flat[2] = np.inf, -np.inf
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.array_equal(kernels.cumsum(x, 0), twins.cumsum(x, 0), equal_nan=True)


@each_float
def test_threads_make_no_difference(dtype: Any) -> None:
    x = of(dtype, 200_000)[len(edges()) :]
    x = x[: len(x) // 40 * 40].reshape(40, -1)
    whole = kernels.cast(x, np.dtype(np.int64))
    same_on_threads(lambda: (kernels.round(x), kernels.cumsum(x, 0), kernels.cumsum(x, 1)))
    same_on_threads(lambda: (kernels.cast(x, np.dtype(np.uint8)), kernels.cast(whole, np.dtype(dtype))))


@each_isa
def test_every_instruction_set(isa: str) -> None:
    rerun(__file__, isa)
