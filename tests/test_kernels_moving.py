"""Copies into larger arrays, picking by ids and sorting in C: as on their twins, to the bit, whatever the strides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instances import as_bytes, needs_c, same_on_threads

from cafe import DType, kernels
from cafe.dtype import Array
from cafe.kernels import memory, twins

pytestmark = needs_c
each_dtype = pytest.mark.parametrize("dtype", list(DType))
LARGE = (70, 33, 40)  # more than two threads are worth


def values(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 120, shape).astype(dtype.numpy)


def views(x: Array) -> list[Array]:
    """The same numbers, or some of them, under other strides."""
    return [x, x[::-1], x[:, ::2], x[..., ::-3], x.swapaxes(0, 1), x.swapaxes(0, 2), np.broadcast_to(x[:1], x.shape)]


@each_dtype
def test_parts_of_a_larger_array_are_set(dtype: DType) -> None:
    for x in views(values(LARGE, dtype)):
        shape = tuple(n + 3 for n in x.shape)
        for key in ((slice(1, -2),) * 3, (slice(None, x.shape[0]), slice(3, None), slice(3, None))):
            got, wanted = values(shape, dtype, 1), values(shape, dtype, 1)
            memory.assign(got[key], x)
            wanted[key] = x
            assert as_bytes(got) == as_bytes(wanted)
    every_second = values((80_000, 2), dtype)
    wanted = every_second.copy()
    memory.assign(every_second[:, 1:], np.ones((), dtype.numpy))
    wanted[:, 1:] = np.ones((), dtype.numpy)
    assert as_bytes(every_second) == as_bytes(wanted)


@each_dtype
def test_joins_and_pads(dtype: DType) -> None:
    a, b = values(LARGE, dtype), values((70, 7, 40), dtype, 1)
    for dim, others in ((1, (b, b[:, :0], a)), (0, (a[:5], a)), (2, (a[..., :3], a))):
        assert as_bytes(kernels.cat([a, *others], dim)) == as_bytes(twins.cat([a, *others], dim))
    places: list[tuple[Array, tuple[Any, ...], tuple[int, ...]]] = [
        (a, (slice(2, 72),), (74, 33, 40)),
        (a, (slice(0, 140, 2), slice(1, 34)), (140, 40, 40)),
        (a[:, 0], (slice(0, 70), 4, slice(5, 45)), (75, 40, 50)),
    ]
    for place in places:
        assert as_bytes(kernels.unslice(*place)) == as_bytes(twins.unslice(*place))
    assert as_bytes(kernels.assign(a, b, (slice(None), slice(3, 10)))) == as_bytes(twins.assign(a, b, (slice(None), slice(3, 10))))


@each_dtype
@pytest.mark.parametrize("ids_dtype", ["u8", "u32", "i16", "i32", "i64"])
def test_picking(ids_dtype: str, dtype: DType) -> None:
    kind = DType.from_str(ids_dtype).numpy
    skip = [np.iinfo(kind).max] if ids_dtype in ("u8", "u32", "i64") else [0]
    for x in views(values(LARGE, dtype)):
        for dim in range(3):
            ids = np.random.default_rng(2).integers(0, x.shape[dim], x.shape).astype(kind)
            with_skips = ids.copy()
            with_skips.flat[::7] = skip
            for at in (ids, with_skips, ids[:, :, ::2][:5]):
                assert as_bytes(kernels.gather(x, at, dim)) == as_bytes(twins.gather(x, at, dim))
                if dtype.is_float:
                    arguments = x, at, values(at.shape, dtype, 3), dim
                    assert np.array_equal(kernels.scatter_add(*arguments), twins.scatter_add(*arguments))


NUMBERS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-8, -5e-8, 65504.0, -65504.0]


@each_dtype
@pytest.mark.parametrize("n", [1, 2, 23, 24, 25, 100, 1000])
def test_rows_in_order_are_the_twins(n: int, dtype: DType) -> None:
    rng = np.random.default_rng(n)
    if dtype.is_int:
        info = np.iinfo(dtype.numpy)
        kinds = [rng.integers(info.min, info.max, (7, n), dtype.numpy, endpoint=True), rng.integers(0, 3, (7, n)).astype(dtype.numpy)]
        kinds[0][:, :1], kinds[0][:, -1:] = info.max, info.min
    else:
        few = np.where(rng.random((7, n)) < 0.1, -np.nan, rng.integers(-3, 3, (7, n)))
        kinds = [x.astype(dtype.numpy) for x in (rng.standard_normal((7, n)), rng.choice(NUMBERS, (7, n)), few)]
    for x in (*kinds, kinds[0][::-2, ::-1], kinds[0][0]):
        for ascending in (True, False):
            ours, theirs = kernels.sort(x, ascending), twins.sort(x, ascending)
            assert np.array_equal(ours[1], theirs[1]) and ours[1].dtype == np.uint32
            assert as_bytes(ours[0]) == as_bytes(theirs[0])


def test_threads_make_no_difference() -> None:
    x = np.random.default_rng(4).standard_normal((300, 500)).astype(np.float32)
    ids = np.random.default_rng(5).integers(0, 300, (300, 500))
    same_on_threads(lambda: (kernels.sort(x, True), kernels.cat([x, x], 1), kernels.unslice(x, (slice(3, 303),), (310, 500))))
    same_on_threads(lambda: (kernels.gather(x, ids, 1), kernels.scatter_add(x, ids, x, 0), kernels.index_select(x, ids[0], 1)))
