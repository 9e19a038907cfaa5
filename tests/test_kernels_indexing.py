"""The C kernels that pick and place by ids: what the twins give, to the bit, on any number of threads."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from expect import raises
from instances import FLOATS, as_bytes, each_isa, needs_c, rerun, same_on_threads

from cafe import kernels
from cafe.dtype import Array
from cafe.errors import InvalidIndex
from cafe.kernels import twins

pytestmark = needs_c
KINDS = (np.uint8, np.uint32, np.int16, np.int32, np.int64)
MOVED = (np.uint8, np.int16, np.float16, ml_dtypes.bfloat16, np.float32, np.uint32, np.float64, np.int64)
SKIPS = {np.uint8: 255, np.uint32: 2**32 - 1, np.int64: 2**63 - 1}
SHAPES = (((5,), 0), ((4, 7), 0), ((4, 7), 1), ((3, 5, 17), 1), ((2, 3, 4, 5), 2), ((2, 1, 3), 2))
each_kind = pytest.mark.parametrize("kind", KINDS)
each_shape = pytest.mark.parametrize(("shape", "dim"), SHAPES)
rng = np.random.default_rng(12)


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.asarray(rng.integers(0, 100, shape)).astype(dtype)


def ids_of(shape: Any, size: int, kind: Any) -> Array:
    """Ids with repeats, and a skip where the type has one."""
    ids = np.asarray(rng.integers(0, size, shape)).astype(kind)
    if kind in SKIPS:
        ids.reshape(-1)[ids.size // 2] = SKIPS[kind]
    return ids


def longer(shape: tuple[int, ...], dim: int, n: int) -> tuple[int, ...]:
    return (*shape[:dim], n, *shape[dim + 1 :])


@each_kind
@each_shape
@pytest.mark.parametrize("dtype", MOVED)
def test_picking_moves_any_dtype(dtype: Any, shape: tuple[int, ...], dim: int, kind: Any) -> None:
    x = numbers(shape, dtype)
    some, all_over = ids_of(9, shape[dim], kind), ids_of(longer(shape, dim, 6), shape[dim], kind)

    assert as_bytes(kernels.index_select(x, some, dim)) == as_bytes(twins.index_select(x, some, dim))
    assert as_bytes(kernels.gather(x, all_over, dim)) == as_bytes(twins.gather(x, all_over, dim))
    assert kernels.gather(x, all_over, dim).dtype == x.dtype


@each_kind
@each_shape
@pytest.mark.parametrize("dtype", FLOATS)
def test_adding_goes_in_the_order_of_the_ids(dtype: Any, shape: tuple[int, ...], dim: int, kind: Any) -> None:
    x = rng.standard_normal(shape).astype(dtype)
    some, all_over = ids_of(40, shape[dim], kind), ids_of(longer(shape, dim, 40), shape[dim], kind)
    source = rng.standard_normal(all_over.shape).astype(dtype)

    assert as_bytes(kernels.index_add(x, some, source, dim)) == as_bytes(twins.index_add(x, some, source, dim))
    assert as_bytes(kernels.scatter_add(x, all_over, source, dim)) == as_bytes(twins.scatter_add(x, all_over, source, dim))


@pytest.mark.parametrize("dtype", FLOATS)
def test_ids_may_cover_less_than_the_array(dtype: Any) -> None:
    x = rng.standard_normal((4, 5, 6)).astype(dtype)
    for dim, shape in enumerate([(7, 3, 2), (2, 7, 4), (3, 2, 7)]):
        ids = ids_of(shape, x.shape[dim], np.int64)
        source = rng.standard_normal(shape).astype(dtype)
        assert as_bytes(kernels.gather(x, ids, dim)) == as_bytes(twins.gather(x, ids, dim))
        assert as_bytes(kernels.scatter_add(x, ids, source, dim)) == as_bytes(twins.scatter_add(x, ids, source, dim))


@pytest.mark.parametrize("dtype", [*FLOATS, np.uint8, np.int16, np.uint32, np.int64])
@pytest.mark.parametrize("shape", [(300, 70), (3, 70000), (70000,), (2, 300, 200), (100, 700), (2, 13, 3, 900)])
def test_threads_do_not_show(dtype: Any, shape: tuple[int, ...]) -> None:
    for dim in range(len(shape)):
        x = (100 * np.abs(rng.standard_normal(longer(shape, dim, 7)))).astype(dtype)
        ids, some = ids_of(shape, 7, np.int64), ids_of(shape[dim], 7, np.uint32)
        source = (100 * np.abs(rng.standard_normal(shape))).astype(dtype)
        for ours, twin, arguments in (
            (kernels.gather, twins.gather, (x, ids, dim)),
            (kernels.index_select, twins.index_select, (x, some, dim)),
            (kernels.scatter_add, twins.scatter_add, (x, ids, source, dim)),
            (kernels.scatter, twins.scatter, (x, ids, source, dim)),
            (kernels.last_writes, twins.last_writes, (ids, x.shape[dim], dim)),
            (kernels.index_add, twins.index_add, (x, some, source, dim)),
        ):
            same_on_threads(lambda f=ours, a=arguments: f(*a))  # type: ignore[misc]
            assert as_bytes(ours(*arguments)) == as_bytes(twin(*arguments))


def test_strides_do_not_matter_and_inputs_stay() -> None:
    base = rng.standard_normal((6, 8, 10)).astype(np.float32)
    views = (base.transpose(2, 0, 1), base[::-1, ::2], base[:, :, 3:4], np.broadcast_to(base[:1], base.shape))
    for x in views:
        before = x.tobytes()
        for dim in range(3):
            ids, some = ids_of(x.shape, x.shape[dim], np.int64), ids_of(5, x.shape[dim], np.int64)
            source = np.asarray(rng.standard_normal(x.shape[::-1]).astype(np.float32)).T
            added = source[tuple(np.s_[:5] if d == dim else np.s_[:] for d in range(3))] if x.shape[dim] >= 5 else None
            assert as_bytes(kernels.gather(x, ids, dim)) == as_bytes(twins.gather(x, ids, dim))
            assert as_bytes(kernels.gather(x, ids[::-1], dim)) == as_bytes(twins.gather(x, ids[::-1], dim))
            assert as_bytes(kernels.index_select(x, some[::-1], dim)) == as_bytes(twins.index_select(x, some[::-1], dim))
            assert as_bytes(kernels.scatter_add(x, ids, source, dim)) == as_bytes(twins.scatter_add(x, ids, source, dim))
            assert as_bytes(kernels.scatter(x, ids, source, dim)) == as_bytes(twins.scatter(x, ids, source, dim))
            if added is not None:
                assert as_bytes(kernels.index_add(x, some, added, dim)) == as_bytes(twins.index_add(x, some, added, dim))
        assert x.tobytes() == before


def test_nan_and_infinity_go_through() -> None:
    x = np.array([np.nan, np.inf, -0.0], np.float32)
    ids = np.array([2, 0, 1, 255], np.uint8)

    assert as_bytes(kernels.gather(x, ids, 0)) == as_bytes(np.array([-0.0, np.nan, np.inf, 0.0], np.float32))
    total = kernels.scatter_add(np.zeros(3, np.float32), np.array([0, 1, 0]), np.array([np.inf, np.nan, -np.inf], np.float32), 0)
    assert np.isnan(total[:2]).all()
    assert total[2] == 0.0


def test_the_largest_id_is_one_like_others_where_the_dim_has_it() -> None:
    long, short = np.arange(256, dtype=np.float32) + 1.0, np.ones(255, np.float32)
    ids = np.array([254, 255], np.uint8)

    for verbs in (kernels, twins):
        assert verbs.gather(long, ids, 0).tolist() == verbs.index_select(long, ids, 0).tolist() == [255.0, 256.0]
        assert verbs.gather(short, ids, 0).tolist() == verbs.index_select(short, ids, 0).tolist() == [1.0, 0.0]
        assert verbs.scatter_add(long, ids, np.ones(2, np.float32), 0)[255] == 257.0


@each_kind
def test_the_first_bad_id_is_shown(kind: Any) -> None:
    x, source = np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32)
    ids = np.array([[0, 1, 2, 3], [3, 4, 9, 0], [0, 0, 0, 0]], kind)

    for f, text in (
        (lambda: kernels.gather(x, ids, 1), "gather"),
        (lambda: kernels.scatter_add(x, ids, source, 1), "gather"),
        (lambda: kernels.scatter(x, ids, source, 1), "gather"),
        (lambda: kernels.index_select(x, ids[1], 1), "index-select"),
        (lambda: kernels.index_add(x, ids[1], source, 1), "index-add"),
    ):
        with raises(InvalidIndex, f"{text} invalid index 4 with dim size 4"):
            f()
    if np.iinfo(kind).min < 0:
        with raises(InvalidIndex, "gather invalid index -1 with dim size 4"):
            kernels.gather(x, np.full((1, 1), -1, kind), 1)


def test_nothing_to_pick() -> None:
    x, none = np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    skip = np.full(2, SKIPS[np.int64])

    assert kernels.index_select(x, none, 0).shape == (0, 3)
    assert kernels.index_select(np.ones((2, 3), np.float32), none, 1).shape == (2, 0)
    assert kernels.index_select(x, skip, 0).tolist() == np.zeros((2, 3)).tolist()
    assert kernels.gather(x, np.zeros((0, 3), np.int64), 0).shape == (0, 3)
    assert kernels.index_add(x, none, x, 0).shape == (0, 3)
    assert kernels.scatter_add(np.ones(3, np.float32), none, np.zeros(0, np.float32), 0).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(InvalidIndex):
        kernels.index_select(x, np.zeros(1, np.int64), 0)


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
