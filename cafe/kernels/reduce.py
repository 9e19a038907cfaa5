"""Sums, extremes and running sums over dims (floor 1).

Up to eight floats are added in their own dtype from left to right: what a reader adds by hand comes out to the last digit. More are
added in float64 and rounded once, in C after adding them by fours in their own dtype. Integer sums keep their dtype, are added in 64
bits and must fit.
"""

from __future__ import annotations

import builtins
from math import prod

import numpy as np

from cafe.dtype import Array, dtype_of
from cafe.errors import EmptyTensor, Error, IntegerOverflow, show

from . import _ffi, memory
from .base import XP, composition, primitive, twins

_SUM = _ffi.kernel("sum") | _ffi.of_integers("sum")
_DOT = _ffi.kernel("dot")
_CUMSUM = _ffi.kernel("cumsum") | _ffi.of_integers("cumsum")
_MAX = _ffi.kernel("max") | _ffi.of_integers("max")
_MIN = _ffi.kernel("min") | _ffi.of_integers("min")
_ARGMAX = _ffi.kernel("argmax")
_ARGMIN = _ffi.kernel("argmin")

_SUM_CODE, _MAX_CODE, _MIN_CODE = map(_ffi.code, ("SUM", "MAX", "MIN"))

_LONGEST = 2**24  # indices that C counts in F32

_RUN = 32  # elements side by side from which rows are gathered as they are reduced; with fewer a copy, made by tiles, is sooner there
_BY_HAND = 8  # summands up to which the order is left to right in the array's own dtype


def sum(x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    """The sum over dims; 0 where there is nothing to add. C takes F16 and BF16, too, and gives F32, for the tape to round once.

    Raises: IntegerOverflow when an integer sum does not fit its dtype.
    """
    f = _SUM.get(x.dtype)
    if x.dtype in _ffi.HALF_KINDS:
        return _along(None, _SUM_CODE, x, dims, keepdim) if dims else x.astype(np.float32)
    return sum_ref(x, dims, keepdim) if f is None or not dims else _along(f, _SUM_CODE, x, dims, keepdim)


@primitive
def sum_ref(x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    if x.dtype.kind in "iu":
        return _integer_sum(x, dims, keepdim)
    count = prod(x.shape[d] for d in dims)
    if count > _BY_HAND or not dims:
        return np.sum(x, axis=dims, keepdims=keepdim, dtype=np.float64).astype(x.dtype)
    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.transpose(*kept, *sorted(dims)).reshape(*(x.shape[d] for d in kept), count)
    total = np.zeros(rows.shape[:-1], x.dtype)
    for i in range(count):
        total = total + rows[..., i]
    return np.asarray(total).reshape(tuple(1 if d in dims else n for d, n in enumerate(x.shape)) if keepdim else rows.shape[:-1])


def _integer_sum(x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    total = np.asarray(np.sum(x, axis=dims, keepdims=keepdim, dtype=np.int64))
    wraps = _can_wrap(x) and _is_far(total, np.asarray(np.sum(x, axis=dims, keepdims=keepdim, dtype=np.float64)))
    return _fitting("sum", total, wraps, x)


def _can_wrap(x: Array) -> bool:
    """Whether a sum of some of these integers may leave 64 bits."""
    if x.size == 0:
        return False
    largest = 2 ** (8 * x.itemsize) if x.itemsize < 8 else builtins.max(int(np.max(x)), -int(np.min(x)))
    return x.size * largest >= 2**63


def _is_far(total: Array, about: Array) -> bool:
    """Whether a 64-bit total wrapped somewhere: `about` is the same in float64, exact enough to tell."""
    return bool(total.size and np.max(np.abs(about - total)) > 2.0**62)


def _fitting(op: str, total: Array, wraps: bool, x: Array) -> Array:
    """A 64-bit total in x's dtype.

    Raises: IntegerOverflow.
    """
    info = np.iinfo(x.dtype)
    if wraps or (total.size and (total.min() < info.min or total.max() > info.max)):
        raise _too_large(op, x)
    return total.astype(x.dtype)


def _too_large(op: str, x: Array) -> Error:
    return IntegerOverflow(f"{op} of {dtype_of(x)!r} does not fit {dtype_of(x)!r}").help("convert with `to_dtype` first")


def dot(a: Array, b: Array) -> Array:
    """Σ a b over everything, as `sum` of `mul` would have it, without the products in memory."""
    f = _DOT.get(a.dtype)
    if f is None or b.dtype != a.dtype or a.shape != b.shape:
        return twins.dot(a, b)
    y: Array = np.empty((), a.dtype)
    _ffi.check(f(y, memory.dense(a), memory.dense(b), a.size))
    return y


@composition
def dot_ref(xp: XP, a: Array, b: Array) -> Array:
    return xp.sum(xp.mul(a, b), tuple(range(a.ndim)), False)


def max(x: Array, dim: int, keepdim: bool) -> Array:
    """The largest along a dim; NaN where there is one. Of F16 and BF16 in C as F32, as `sum`.

    Raises: EmptyTensor when the dim has size 0.
    """
    f = _MAX.get(x.dtype)
    if f is None and x.dtype not in _ffi.HALF_KINDS:
        return max_ref(x, dim, keepdim)
    _check_not_empty(x, dim)
    return _along(f, _MAX_CODE, x, (dim,), keepdim)


@primitive
def max_ref(x: Array, dim: int, keepdim: bool) -> Array:
    _check_not_empty(x, dim)
    y: Array = np.max(x, axis=dim, keepdims=keepdim)
    return y


def min(x: Array, dim: int, keepdim: bool) -> Array:
    """The smallest along a dim; NaN where there is one. Of F16 and BF16 in C as F32, as `sum`.

    Raises: EmptyTensor when the dim has size 0.
    """
    f = _MIN.get(x.dtype)
    if f is None and x.dtype not in _ffi.HALF_KINDS:
        return min_ref(x, dim, keepdim)
    _check_not_empty(x, dim)
    return _along(f, _MIN_CODE, x, (dim,), keepdim)


@primitive
def min_ref(x: Array, dim: int, keepdim: bool) -> Array:
    _check_not_empty(x, dim)
    y: Array = np.min(x, axis=dim, keepdims=keepdim)
    return y


def argmax(x: Array, dim: int, keepdim: bool) -> Array:
    """Where the largest is, as U32: the first of equals, the first NaN if there is one.

    Raises: EmptyTensor when the dim has size 0.
    """
    y = _arg(_ARGMAX, x, dim, keepdim)
    return argmax_ref(x, dim, keepdim) if y is None else y


@primitive
def argmax_ref(x: Array, dim: int, keepdim: bool) -> Array:
    _check_not_empty(x, dim)
    y: Array = np.argmax(x, axis=dim, keepdims=keepdim).astype(np.uint32)
    return y


def argmin(x: Array, dim: int, keepdim: bool) -> Array:
    """Where the smallest is, as U32: the first of equals, the first NaN if there is one.

    Raises: EmptyTensor when the dim has size 0.
    """
    y = _arg(_ARGMIN, x, dim, keepdim)
    return argmin_ref(x, dim, keepdim) if y is None else y


@primitive
def argmin_ref(x: Array, dim: int, keepdim: bool) -> Array:
    _check_not_empty(x, dim)
    y: Array = np.argmin(x, axis=dim, keepdims=keepdim).astype(np.uint32)
    return y


def _check_not_empty(x: Array, dim: int) -> None:
    if x.shape[dim] == 0:
        raise EmptyTensor("reduce").help(f"there is nothing along dim {dim} of shape {show(x.shape)}")


def cumsum(x: Array, dim: int) -> Array:
    """Running sums along a dim, of floats in float64 and rounded once each; integers must fit as in `sum`."""
    f = _CUMSUM.get(x.dtype)
    if f is None:
        return cumsum_ref(x, dim)
    x = memory.dense(x)
    y: Array = memory.empty(x.shape, x.dtype)
    if f(y, x, prod(x.shape[:dim]), x.shape[dim], prod(x.shape[dim + 1 :])):
        raise _too_large("cumsum", x)
    return y


@primitive
def cumsum_ref(x: Array, dim: int) -> Array:
    if x.dtype.kind == "f":
        return (np.cumsum(x, axis=dim, dtype=np.float64) + 0.0).astype(x.dtype)  # every sum starts at 0: no −0 comes out
    total = np.cumsum(x, axis=dim, dtype=np.int64)
    return _fitting("cumsum", total, _can_wrap(x) and _is_far(total, np.cumsum(x, axis=dim, dtype=np.float64)), x)


def _arg(kernels: dict[np.dtype[np.generic], _ffi.Kernel], x: Array, dim: int, keepdim: bool) -> Array | None:
    """Where the extreme along dim is, in C; None where C cannot take it."""
    f = kernels.get(x.dtype)
    if f is None or not 0 < x.shape[dim] <= _LONGEST:
        return None
    x, before, after = memory.dense(x), x.shape[:dim], x.shape[dim + 1 :]
    y: Array = memory.empty((*before, 1, *after) if keepdim else (*before, *after), np.dtype(np.uint32))
    f(y, x, prod(before), x.shape[dim], prod(after))
    return y


def _along(f: _ffi.Kernel | None, what: int, x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    """Reduces dims in C, as (outer, n, inner); of F16 and BF16, which have no f, to F32. Dims apart come to the end first."""
    shape, first, last = x.shape, builtins.min(dims), builtins.max(dims)
    before, after = shape[:first], shape[last + 1 :]
    if last - first + 1 != len(dims):
        x = x.transpose([d for d in range(x.ndim) if d not in dims] + sorted(dims))
        before, after = x.shape[: -len(dims)], ()
    outer, inner = prod(before), prod(after)
    kept = tuple([1 if d in dims else m for d, m in enumerate(shape)]) if keepdim else before + after
    y: Array = memory.empty(kept, x.dtype if f is not None else _ffi.F32)
    sizes = outer, x.size // (outer * inner) if outer * inner else 0, inner
    if f is None or not x.flags.c_contiguous:
        status = _gathered(what, y, x, *sizes)
        if status is not None:
            _ffi.check(status)
            return y
        assert f is not None
        x = memory.copy(x)
    status = f(y, x, *sizes)
    if status == _ffi.REFUSED:
        raise _too_large("sum", x)
    if status:
        _ffi.check(status)
    return y


def _gathered(what: int, y: Array, x: Array, outer: int, n: int, inner: int) -> int | None:
    """The status of C's reduction of floats where they lie; None where they are better copied row-major and then reduced."""
    kind = _ffi.FLOAT_KINDS.get(x.dtype)
    if kind is None or x.ndim > _ffi.MAX_DIMS:
        return None
    if x.size == 0:
        y[...] = 0
        return 0
    in_runs = inner == 1 and (x.flags.c_contiguous or (x.strides[-1] == x.itemsize and x.shape[-1] >= _RUN))
    if not in_runs:
        if kind not in _ffi.HALF_KINDS.values():
            return None
        x = memory.dense(x)
    if inner > 1:
        return int(_ffi.lib.cafe_reduce_half_columns(kind, what, y, x, outer, n, inner))
    return int(_ffi.lib.cafe_reduce_rows(kind, what, y, _ffi.strided(x), x.ndim, x.shape, x.strides, outer, n))
