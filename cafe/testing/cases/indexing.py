"""Picking and placing by ids (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.dtype import Array
from cafe.errors import InvalidIndex
from cafe.ops import indexing as ops

from ..arrays import Ids, Real
from ..case import EVERY, Case

_FEW = Real(whole=(0, 9))


def _select(x: Array, ids: Array, dim: int, skip: int) -> Array:
    """Slice by slice, zeros for a skip."""
    parts = [np.zeros_like(x.take(0, dim)) if i == skip else x.take(i, dim) for i in ids]
    return np.stack(parts, dim) if parts else x.take([], dim)


def _add(x: Array, ids: Array, source: Array, dim: int) -> Array:
    y = np.moveaxis(x.copy(), dim, 0)
    for n, i in enumerate(ids):
        y[i] = y[i] + np.moveaxis(source, dim, 0)[n]
    return np.moveaxis(y, 0, dim)


def _gather(x: Array, ids: Array, dim: int, skip: int) -> Array:
    y = np.zeros(ids.shape, x.dtype)
    for place in np.ndindex(ids.shape):
        if ids[place] != skip:
            y[place] = x[(*place[:dim], ids[place], *place[dim + 1 :])]
    return y


def _scatter_add(x: Array, ids: Array, source: Array, dim: int) -> Array:
    y = x.copy()
    for place in np.ndindex(ids.shape):
        y[(*place[:dim], ids[place], *place[dim + 1 :])] += source[place]
    return y


def _scatter(x: Array, ids: Array, source: Array, dim: int, skip: int) -> Array:
    y = x.copy()
    for place in np.ndindex(ids.shape):
        if ids[place] != skip:
            y[(*place[:dim], ids[place], *place[dim + 1 :])] = source[place]
    return y


_U8_SKIP, _I64_SKIP = 255, 2**63 - 1

CASES = [
    Case(
        "index-select",
        ops.IndexSelect(0),
        [((3,), (1,)), ((3, 17), (5,)), ((3, 2, 2), (4,))],
        lambda x, ids: _select(x, ids, 0, _I64_SKIP),
        [(((3, 0), (2,)), None), (((3, 2), (0,)), None), (((0, 2), (1,)), InvalidIndex)],
        [_FEW, Ids(3)],
        EVERY,
        ulps=0.0,
    ),
    Case(
        "index-select with a skip",
        ops.IndexSelect(1),
        [((1, 4), (1,)), ((17, 4), (5,)), ((2, 4, 3), (19,))],
        lambda x, ids: _select(x, ids, 1, _U8_SKIP),
        [(((0, 4), (2,)), None)],
        [_FEW, Ids(4, "u8", _U8_SKIP)],
        EVERY,
        ulps=0.0,
    ),
    Case(
        "index-add",
        ops.IndexAdd(1),
        [((1, 4), (1,), (1, 1)), ((3, 4), (17,), (3, 17)), ((2, 4, 3), (5,), (2, 5, 3))],
        lambda x, ids, source: _add(x, ids, source, 1),
        [(((2, 4), (0,), (2, 0)), None), (((0, 4), (2,), (0, 2)), None)],
        [_FEW, Ids(4, "u32"), _FEW],
        EVERY,
        ulps=4.0,
    ),
    Case(
        "gather",
        ops.Gather(1),
        [((1, 4), (1, 1)), ((3, 4), (2, 17)), ((2, 4, 3), (2, 5, 2))],
        lambda x, ids: _gather(x, ids, 1, _I64_SKIP),
        [(((2, 4), (2, 0)), None), (((0, 4), (0, 2)), None)],
        [_FEW, Ids(4, "i64", _I64_SKIP)],
        EVERY,
        ulps=0.0,
    ),
    Case(
        "scatter-add",
        ops.ScatterAdd(1),
        [((1, 4), (1, 1), (1, 1)), ((3, 4), (3, 17), (3, 17)), ((2, 4, 3), (2, 5, 3), (2, 5, 3))],
        lambda x, ids, source: _scatter_add(x, ids, source, 1),
        [(((2, 4), (2, 0), (2, 0)), None), (((0, 4), (0, 2), (0, 2)), None)],
        [_FEW, Ids(4, "u8"), _FEW],
        EVERY,
        ulps=4.0,
    ),
    Case(
        "scatter",
        ops.Scatter(1),
        [((1, 4), (1, 1), (1, 1)), ((3, 4), (3, 17), (3, 17)), ((2, 4, 3), (2, 5, 3), (2, 5, 3))],
        lambda x, ids, source: _scatter(x, ids, source, 1, _U8_SKIP),
        [(((2, 4), (2, 0), (2, 0)), None), (((0, 4), (0, 2), (0, 2)), None)],
        [_FEW, Ids(4, "u8", _U8_SKIP), _FEW],
        EVERY,
        ulps=0.0,
    ),
]
