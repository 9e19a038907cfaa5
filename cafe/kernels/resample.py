"""Resizing along spatial axes by the nearest element or between two neighbours, each with its adjoint (floor 1).

x is (N, C, *S). Where the elements of the result come from is listed along each axis, and the axes are independent of each other.
"""

from __future__ import annotations

import functools
import math
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cafe.dtype import Array

from . import _ffi
from .base import primitive
from .memory import dense, empty

_NEAREST, _NEAREST_BACKWARD = _ffi.kernel("resize_nearest"), _ffi.kernel("resize_nearest_backward")
_LINEAR, _LINEAR_BACKWARD = _ffi.kernel("resize_linear"), _ffi.kernel("resize_linear_backward")

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
    if _not_for_c(_NEAREST, x, ids):
        return resize_nearest_ref(x, ids)
    f = _NEAREST[x.dtype]
    x, y = dense(x), empty((*x.shape[:2], *map(len, ids)), x.dtype)
    f(y, x, *_planes(x.shape, y.shape), *map(_index, _two_ids(ids)))
    return y


@primitive
def resize_nearest_ref(x: Array, ids: Ids) -> Array:
    every: tuple[Any, ...] = (slice(None), slice(None))
    y: Array = np.array(x[(*every, *np.ix_(*map(_index, ids)))], order="C")
    return y


def resize_nearest_backward(g: Array, ids: Ids, size: tuple[int, ...]) -> Array:
    """Each g added to the element that it is a copy of, the adjoint of `resize_nearest`: g (N, C, *L) → (N, C, *size)."""
    if _not_for_c(_NEAREST_BACKWARD, g, ids):
        return resize_nearest_backward_ref(g, ids, size)
    f = _NEAREST_BACKWARD[g.dtype]
    g, gx = dense(g), empty((*g.shape[:2], *size), g.dtype)
    _ffi.check(f(gx, g, *_planes(gx.shape, g.shape), *map(_index, _two_ids(ids))))
    return gx


@primitive
def resize_nearest_backward_ref(g: Array, ids: Ids, size: tuple[int, ...]) -> Array:
    total = g.astype(np.float64)
    for axis, (along, n) in enumerate(zip(ids, size), start=2):
        total = _added(total, _index(along), axis, n)
    return total.astype(g.dtype)


def resize_linear(x: Array, blends: tuple[Blend, ...]) -> Array:
    """Between two neighbours along each axis, so between four in a plane. The weights are rounded to x's dtype."""
    if _not_for_c(_LINEAR, x, blends):
        return resize_linear_ref(x, blends)
    f = _LINEAR[x.dtype]
    x, y = dense(x), empty((*x.shape[:2], *(len(b.low) for b in blends)), x.dtype)
    _ffi.check(f(y, x, *_planes(x.shape, y.shape), *_corners(blends, x.dtype)))
    return y


@primitive
def resize_linear_ref(x: Array, blends: tuple[Blend, ...]) -> Array:
    y = x.astype(np.float64)
    for axis, blend in enumerate(blends, start=2):
        weight = _weights(blend, x, axis)
        low, high = y.take(_index(blend.low), axis), y.take(_index(blend.high), axis)
        y = np.where(weight == 0.0, low, low * (1.0 - weight) + high * weight)  # what has no weight does not count, not even NaN
    return y.astype(x.dtype)


def resize_linear_backward(g: Array, blends: tuple[Blend, ...], size: tuple[int, ...]) -> Array:
    """The adjoint of `resize_linear`: g (N, C, *L) → (N, C, *size)."""
    if _not_for_c(_LINEAR_BACKWARD, g, blends):
        return resize_linear_backward_ref(g, blends, size)
    f = _LINEAR_BACKWARD[g.dtype]
    g, gx = dense(g), empty((*g.shape[:2], *size), g.dtype)
    _ffi.check(f(gx, g, *_planes(gx.shape, g.shape), *_corners(blends, g.dtype)))
    return gx


@primitive
def resize_linear_backward_ref(g: Array, blends: tuple[Blend, ...], size: tuple[int, ...]) -> Array:
    total = g.astype(np.float64)
    for axis, (blend, n) in enumerate(zip(blends, size), start=2):
        weight = _weights(blend, g, axis)
        to_high = np.where(weight == 0.0, 0.0, total * weight)
        total = _added(total * (1.0 - weight), _index(blend.low), axis, n) + _added(to_high, _index(blend.high), axis, n)
    return total.astype(g.dtype)


def _not_for_c(kernels: dict[Any, _ffi.Kernel], x: Array, axes: tuple[Any, ...]) -> bool:
    """Whether the twin has to do it: without C, for another dtype, for nothing at all, for three axes and more."""
    return x.dtype not in kernels or x.size == 0 or len(axes) > 2


def _planes(shape: tuple[int, ...], resized: tuple[int, ...]) -> tuple[int, ...]:
    """How many planes, and rows and columns before and after."""
    return prod(shape[:2]), *(1, *shape[2:])[-2:], *(1, *resized[2:])[-2:]


def _two_ids(ids: Ids) -> tuple[tuple[int, ...], ...]:
    """The ids downwards and along."""
    return ((0,), *ids)[-2:]


def _corners(blends: tuple[Blend, ...], dtype: np.dtype[Any]) -> list[Array]:
    """For C: low, high and weight downwards and along."""
    both = (Blend((0,), (0,), (0.0,)), *blends)[-2:]
    return [a for b in both for a in (_index(b.low), _index(b.high), _as_weights(b.weight, dtype))]


@functools.lru_cache(maxsize=1024)
def _index(ids: tuple[int, ...]) -> Array:
    return np.array(ids, np.int64)


@functools.lru_cache(maxsize=1024)
def _as_weights(weight: tuple[float, ...], dtype: np.dtype[Any]) -> Array:
    return np.array(weight, dtype)


def _weights(blend: Blend, x: Array, axis: int) -> Array:
    """The weights as x's dtype has them, in float64, along the axis."""
    return _as_weights(blend.weight, x.dtype).astype(np.float64).reshape(-1, *(1,) * (x.ndim - axis - 1))


def _added(x: Array, ids: Array, axis: int, size: int) -> Array:
    """x's slices along the axis added up at their ids."""
    total = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]))
    np.add.at(np.moveaxis(total, axis, 0), ids, np.moveaxis(x, axis, 0))
    return total
