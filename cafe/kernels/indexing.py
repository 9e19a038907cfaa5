"""Picking and placing by ids (floor 1).

Ids are U8, U32, I16, I32 or I64. Outside 0 .. size − 1 the largest value of U8, U32 and I64 means "skip": reading gives 0 there, writing
leaves the place alone. Any other id there is an error that shows it; C only finds that there is one, and the twin says it. Repeated ids
add up in the order of the ids.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from cafe.dtype import Array
from cafe.errors import InvalidIndex

from . import _ffi
from .base import primitive
from .memory import copy, dense, empty

_ADDS = {_ffi.F32, _ffi.F64, *_ffi.ID_KINDS} if _ffi.lib is not None else set()  # what C adds up
_SKIPS = {np.dtype(np.uint8), np.dtype(np.uint32), np.dtype(np.int64)}


def index_select(x: Array, ids: Array, dim: int) -> Array:
    """y[…, i, …] = x[…, ids[i], …]: x (…, n, …), ids (m) → (…, m, …).

    Raises: InvalidIndex.
    """
    kind, shape = _ffi.ID_KINDS.get(ids.dtype), x.shape
    y = empty((*shape[:dim], ids.size, *shape[dim + 1 :]), x.dtype)
    if kind is None or x.itemsize not in _ffi.SIZES or not x.size or not y.size:
        return index_select_ref(x, ids, dim)
    sizes = prod(shape[:dim]), shape[dim], ids.size, prod(shape[dim + 1 :]), x.itemsize
    bad = _ffi.lib.cafe_index_select(y, dense(x), dense(ids), kind, *sizes)
    return index_select_ref(x, ids, dim) if bad else y


@primitive
def index_select_ref(x: Array, ids: Array, dim: int) -> Array:
    safe, skip = checked_ids("index-select", ids, x.shape[dim])
    if x.shape[dim] == 0:  # then every id is a skip
        return np.zeros((*x.shape[:dim], ids.size, *x.shape[dim + 1 :]), x.dtype)
    y = np.take(x, safe, axis=dim)
    if skip is not None:
        np.moveaxis(y, dim, 0)[skip] = 0
    return y


def index_add(x: Array, ids: Array, source: Array, dim: int) -> Array:
    """x with source's slices added at the ids: y[…, ids[i], …] += source[…, i, …].

    Raises: InvalidIndex.
    """
    kind, shape = _ffi.ID_KINDS.get(ids.dtype), x.shape
    if x.dtype not in _ADDS or kind is None or source.dtype != x.dtype or not x.size or not source.size:
        return index_add_ref(x, ids, source, dim)
    y = copy(x)
    sizes = prod(shape[:dim]), shape[dim], ids.size, prod(shape[dim + 1 :])
    bad = _ffi.lib.cafe_index_add(x.dtype.kind == "f", x.itemsize, y, dense(source), dense(ids), kind, *sizes)
    return index_add_ref(x, ids, source, dim) if bad else y


@primitive
def index_add_ref(x: Array, ids: Array, source: Array, dim: int) -> Array:
    safe, skip = checked_ids("index-add", ids, x.shape[dim])
    y = np.array(x, order="C", copy=True)
    rows, added = np.moveaxis(y, dim, 0), np.moveaxis(source, dim, 0)
    keep = np.ones(ids.shape, bool) if skip is None else ~skip
    np.add.at(rows, safe[keep], added[keep])
    return y


def gather(x: Array, ids: Array, dim: int) -> Array:
    """y[i, j, k] = x[i, ids[i, j, k], k] for dim 1: ids has x's rank and is at most x's size off the dim.

    Raises: InvalidIndex.
    """
    kind = _ffi.ID_KINDS.get(ids.dtype)
    if kind is None or x.itemsize not in _ffi.SIZES or not x.size or not ids.size or x.ndim > _ffi.MAX_DIMS:
        return gather_ref(x, ids, dim)
    y = empty(ids.shape, x.dtype)
    where = ids.ndim, ids.shape, x.strides, dim, x.shape[dim]
    bad = _ffi.lib.cafe_gather(y, _ffi.strided(x), dense(ids), kind, *where, x.itemsize)
    return gather_ref(x, ids, dim) if bad else y


@primitive
def gather_ref(x: Array, ids: Array, dim: int) -> Array:
    safe, skip = checked_ids("gather", ids, x.shape[dim])
    if x.shape[dim] == 0:
        return np.zeros(ids.shape, x.dtype)
    y = x[_grid(safe, dim)]
    return y if skip is None else np.where(skip, np.zeros((), x.dtype), y)


def scatter_add(x: Array, ids: Array, source: Array, dim: int) -> Array:
    """x with source added where `gather` by the same ids would read: the adjoint of `gather`.

    Raises: InvalidIndex.
    """
    if x.dtype not in _ADDS or not _placeable(x, ids, source):
        return scatter_add_ref(x, ids, source, dim)
    y = copy(x)
    bad = _ffi.lib.cafe_scatter_add(x.dtype.kind == "f", x.itemsize, y, dense(source), *_places(y, ids, dim))
    return scatter_add_ref(x, ids, source, dim) if bad else y


def _placeable(x: Array, ids: Array, source: Array) -> bool:
    """Whether C can take a scatter of these."""
    return ids.dtype in _ffi.ID_KINDS and source.dtype == x.dtype and x.size > 0 and ids.size > 0 and x.ndim <= _ffi.MAX_DIMS


def _places(y: Array, ids: Array, dim: int) -> tuple[object, ...]:
    """How C is told where the ids lead in y."""
    strides = [stride // y.itemsize for stride in y.strides]
    return dense(ids), _ffi.ID_KINDS[ids.dtype], ids.ndim, ids.shape, strides, dim, y.shape[dim]


@primitive
def scatter_add_ref(x: Array, ids: Array, source: Array, dim: int) -> Array:
    safe, skip = checked_ids("gather", ids, x.shape[dim])  # candle's word for both directions
    y = np.array(x, order="C", copy=True)
    keep = np.ones(ids.shape, bool) if skip is None else ~skip
    np.add.at(y, tuple(np.broadcast_to(i, ids.shape)[keep] for i in _grid(safe, dim)), source[keep])
    return y


def scatter(x: Array, ids: Array, source: Array, dim: int) -> Array:
    """x with source in place of what `gather` by the same ids would read; of several writes to one place the last one stays.

    Raises: InvalidIndex.
    """
    if x.itemsize not in _ffi.SIZES or not _placeable(x, ids, source):
        return scatter_ref(x, ids, source, dim)
    y = copy(x)
    bad = _ffi.lib.cafe_scatter(x.itemsize, y, dense(source), *_places(y, ids, dim))
    return scatter_ref(x, ids, source, dim) if bad else y


@primitive
def scatter_ref(x: Array, ids: Array, source: Array, dim: int) -> Array:
    safe, skip = checked_ids("gather", ids, x.shape[dim])
    y = np.array(x, order="C", copy=True)
    keep = np.ones(ids.shape, bool) if skip is None else ~skip
    y[tuple(np.broadcast_to(i, ids.shape)[keep] for i in _grid(safe, dim))] = source[keep]
    return y


def last_writes(ids: Array, size: int, dim: int) -> Array:
    """Which of the writes of a `scatter` into a dim of this size stay, as U8: all but skips and those that a later one covers.

    Raises: InvalidIndex.
    """
    return _last_writes(ids, size, dim, scatter)


@primitive
def last_writes_ref(ids: Array, size: int, dim: int) -> Array:
    return _last_writes(ids, size, dim, scatter_ref)


def _last_writes(ids: Array, size: int, dim: int, scatter: Callable[[Array, Array, Array, int], Array]) -> Array:
    order = np.arange(ids.size).reshape(ids.shape)
    places = np.full((*ids.shape[:dim], size, *ids.shape[dim + 1 :]), -1)
    latest = scatter(places, ids, order, dim)
    safe, skip = checked_ids("gather", ids, size)
    stays = latest[_grid(safe, dim)] == order if ids.size else np.zeros(ids.shape, bool)
    y: Array = (stays if skip is None else stays & ~skip).astype(np.uint8)
    return y


def _grid(ids: Array, dim: int) -> tuple[Array, ...]:
    """An open grid over ids' shape with the ids themselves along the dim."""
    grid: list[Array] = list(np.ogrid[tuple(np.s_[:n] for n in ids.shape)])
    grid[dim] = ids
    return tuple(grid)


def ids_where(mask: Array) -> Array:
    """The ids, I64, at which a U8 mask, seen in row-major order, is not 0."""
    return np.flatnonzero(mask != 0).astype(np.int64, copy=False)  # of bools NumPy finds them in half of the time


def checked_ids(op: str, ids: Array, size: int) -> tuple[Array, Array | None]:
    """Ids as I64 with 0 in place of every skip, and the mask of skips or None where there is none.

    Raises: InvalidIndex for the first id that is neither inside nor a skip.
    """
    wide = ids.astype(np.int64)
    outside = (wide < 0) | (wide >= size)
    if not outside.any():
        return wide, None
    skip = outside & (ids == np.iinfo(ids.dtype).max) if ids.dtype in _SKIPS else np.zeros(ids.shape, bool)
    bad = outside & ~skip
    if bad.any():
        raise InvalidIndex(op, int(wide[bad][0]), size)
    return np.where(skip, 0, wide), skip
