"""Resizing along spatial axes by the nearest element or between two neighbours, each with its adjoint (floor 1).

x is (N, C, *S). Where the elements of the result come from is listed along each axis, and the axes are independent of each other.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cafe.dtype import Array

from .base import primitive

Ids: TypeAlias = tuple[tuple[int, ...], ...]


class Blend(NamedTuple):
    """Along one axis, element i of the result is (1 − weight[i]) x[low[i]] + weight[i] x[high[i]]."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    weight: tuple[float, ...]


@functools.lru_cache(maxsize=1024)
def nearest_ids(size: int, places: int) -> tuple[int, ...]:
    """Which element each of the result's is a copy of: ⌊i size / places⌋, in integers.

    >>> nearest_ids(4, 3), nearest_ids(3, 7)
    ((0, 1, 2), (0, 0, 0, 1, 1, 2, 2))
    """
    return tuple(i * size // places for i in range(places))


@functools.lru_cache(maxsize=1024)
def between(size: int, places: int, align_corners: bool, scale: float | None = None) -> Blend:
    """Where each of the result's elements lies among the input's.

    align_corners: the first and last of both coincide: i (size − 1) / (places − 1). Otherwise the elements are cells of equal width:
    (i + ½) size / places − ½, with 1 / scale in place of size / places where a scale is given; what lies before the first is the first.

    >>> between(2, 4, False)
    Blend(low=(0, 0, 0, 1), high=(1, 1, 1, 1), weight=(0.0, 0.25, 0.75, 0.0))
    """
    at = [_source(i, size, places, align_corners, scale) for i in range(places)]
    low = tuple(min(math.floor(a), size - 1) for a in at)
    high = tuple(min(lo + 1, size - 1) for lo in low)
    return Blend(low, high, tuple(a - lo if hi > lo else 0.0 for a, lo, hi in zip(at, low, high)))


def _source(i: int, size: int, places: int, align_corners: bool, scale: float | None) -> float:
    if align_corners:
        return i * (size - 1) / (places - 1) if places > 1 else 0.0
    if scale is not None:
        return max((i + 0.5) / scale - 0.5, 0.0)
    return max(((2 * i + 1) * size - places) / (2 * places), 0.0)


def resize_nearest(x: Array, ids: Ids) -> Array:
    """y[…, i, j] = x[…, ids[0][i], ids[1][j]]. Any dtype."""
    return resize_nearest_ref(x, ids)


@primitive
def resize_nearest_ref(x: Array, ids: Ids) -> Array:
    every: tuple[Any, ...] = (slice(None), slice(None))
    y: Array = np.array(x[(*every, *np.ix_(*map(_index, ids)))], order="C")
    return y


def resize_nearest_backward(g: Array, ids: Ids, size: tuple[int, ...]) -> Array:
    """Each g added to the element that it is a copy of, the adjoint of `resize_nearest`: g (N, C, *L) → (N, C, *size)."""
    return resize_nearest_backward_ref(g, ids, size)


@primitive
def resize_nearest_backward_ref(g: Array, ids: Ids, size: tuple[int, ...]) -> Array:
    total = g.astype(np.float64)
    for axis, (along, n) in enumerate(zip(ids, size), start=2):
        total = _added(total, _index(along), axis, n)
    return total.astype(g.dtype)


def resize_linear(x: Array, blends: tuple[Blend, ...]) -> Array:
    """Between two neighbours along each axis, so between four in a plane. The weights are rounded to x's dtype."""
    return resize_linear_ref(x, blends)


@primitive
def resize_linear_ref(x: Array, blends: tuple[Blend, ...]) -> Array:
    y = x.astype(np.float64)
    for axis, blend in enumerate(blends, start=2):
        weight = _weights(blend, x, axis)
        y = y.take(_index(blend.low), axis) * (1.0 - weight) + y.take(_index(blend.high), axis) * weight
    return y.astype(x.dtype)


def resize_linear_backward(g: Array, blends: tuple[Blend, ...], size: tuple[int, ...]) -> Array:
    """The adjoint of `resize_linear`: g (N, C, *L) → (N, C, *size)."""
    return resize_linear_backward_ref(g, blends, size)


@primitive
def resize_linear_backward_ref(g: Array, blends: tuple[Blend, ...], size: tuple[int, ...]) -> Array:
    total = g.astype(np.float64)
    for axis, (blend, n) in enumerate(zip(blends, size), start=2):
        weight = _weights(blend, g, axis)
        total = _added(total * (1.0 - weight), _index(blend.low), axis, n) + _added(total * weight, _index(blend.high), axis, n)
    return total.astype(g.dtype)


def _index(ids: tuple[int, ...]) -> Array:
    return np.array(ids, np.int64)


def _weights(blend: Blend, x: Array, axis: int) -> Array:
    """The weights as x's dtype has them, in float64, along the axis."""
    return np.array(blend.weight, x.dtype).astype(np.float64).reshape(-1, *(1,) * (x.ndim - axis - 1))


def _added(x: Array, ids: Array, axis: int, size: int) -> Array:
    """x's slices along the axis added up at their ids."""
    total = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]))
    np.add.at(np.moveaxis(total, axis, 0), ids, np.moveaxis(x, axis, 0))
    return total
