"""Products along a dim (floor 1)."""

from __future__ import annotations

import math

import numpy as np

from cafe.dtype import Array, dtype_of
from cafe.errors import IntegerOverflow

from . import _ffi, memory
from .base import XP, composition, primitive, twins

_PROD, _PROD_BACKWARD = _ffi.kernel("prod"), _ffi.kernel("prod_backward")


def prod(x: Array, dim: int, keepdim: bool) -> Array:
    """Π x along a dim, of floats in float64 and rounded once; 1 where there is nothing to multiply. Integers keep their dtype and must fit.

    Bound: 1 ulp.
    Raises: IntegerOverflow.
    """
    f, shape = _PROD.get(x.dtype), x.shape
    if f is None:
        return prod_ref(x, dim, keepdim)
    y = memory.empty((*shape[:dim], *((1,) if keepdim else ()), *shape[dim + 1 :]), x.dtype)
    _ffi.check(f(y, memory.dense(x), math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])))
    return y


@primitive
def prod_ref(x: Array, dim: int, keepdim: bool) -> Array:
    if x.dtype.kind not in "iu":
        return np.asarray(np.prod(x, axis=dim, keepdims=keepdim, dtype=np.float64)).astype(x.dtype)
    info, about = np.iinfo(x.dtype), np.asarray(np.prod(x, axis=dim, keepdims=keepdim, dtype=np.float64))
    total = np.asarray(np.prod(x, axis=dim, keepdims=keepdim, dtype=np.int64))
    if not np.all(np.abs(about) < 2.0**62):  # else 64 bits held it, or wrapped on the way to a 0, which is right all the same
        total = np.asarray(np.prod(x.astype(object), axis=dim, keepdims=keepdim), dtype=object)  # Python's ints know no bounds
    if total.size and (total.min() < info.min or total.max() > info.max):
        raise IntegerOverflow(f"prod of {dtype_of(x)!r} does not fit {dtype_of(x)!r}").help("convert with `to_dtype` first")
    return total.astype(x.dtype)


def prod_backward(g: Array, x: Array, dim: int) -> Array:
    """g times, for each element, the product of the others along the dim; g has the dim at size 1.

    Dividing the product by each element would fail at a zero. Here pairs are multiplied, then pairs of pairs, and the way back hands
    each half the other half's product: as many products as elements, in ⌈log₂ n⌉ steps.
    """
    f = _PROD_BACKWARD.get(x.dtype)
    if f is None or g.dtype != x.dtype:
        return twins.prod_backward(g, x, dim)
    rows, seeds = memory.dense(np.moveaxis(x, dim, -1)), memory.dense(np.moveaxis(g, dim, -1))
    y = memory.empty(rows.shape, x.dtype)
    _ffi.check(f(y, seeds, rows, seeds.size, x.shape[dim]))
    return memory.dense(np.moveaxis(y, -1, dim))


@composition
def prod_backward_ref(xp: XP, g: Array, x: Array, dim: int) -> Array:
    return xp.mul(g, _others(xp, x, dim))


def _others(xp: XP, x: Array, dim: int) -> Array:
    n = x.shape[dim]
    if n <= 1:
        return xp.full_like(x, 1.0)
    half = n // 2
    every = (slice(None),) * dim
    left, right = xp.slice(x, (*every, slice(0, half))), xp.slice(x, (*every, slice(half, 2 * half)))
    rest = xp.slice(x, (*every, slice(2 * half, n)))  # the odd one out, or nothing
    beside = _others(xp, xp.cat([xp.mul(left, right), rest], dim), dim)
    pairs = xp.slice(beside, (*every, slice(0, half)))
    return xp.cat([xp.mul(right, pairs), xp.mul(left, pairs), xp.slice(beside, (*every, slice(half, n - half)))], dim)
