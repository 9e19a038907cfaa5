"""The C path of elementwise kernels, for `unary` and `binary`: flat, with a number for all, or broadcast over strides (floor 1).

`of_one`, `of_two` and `comparing` make a kernel of a function that runs the twin. The others give None where C cannot take the arrays
(another dtype, no extension), and the caller runs its twin.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from cafe.dtype import Array

from . import _ffi, _integers, memory
from .base import halves

One: TypeAlias = Callable[[Array], Array]
Two: TypeAlias = Callable[[Array, Array], Array]

_unary, _binary, _compare, _slope, _pow = map(_ffi.door, ("unary", "binary", "compare", "slope", "pow"))
_BINARY = _ffi.kernel("binary") | _ffi.of_halves("binary")
_POWF = _ffi.kernel("powf") | _ffi.of_halves("powf")
_WHERE = _ffi.kernel("where") | _ffi.of_small("choose_small")
_SEEN_AS: dict[np.dtype[Any], np.dtype[Any]] = {  # what only moves
    np.dtype(np.uint32): _ffi.F32,
    np.dtype(np.int32): _ffi.F32,
    np.dtype(np.int64): _ffi.F64,
}
_U8 = np.dtype(np.uint8)
_NEITHER, _FIRST, _SECOND = 0, 1, 2


def of_one(otherwise: One) -> One:
    """The kernel of one array that bears the function's name, in C; the function itself is what runs where C cannot take the array."""
    op = _ffi.code(otherwise.__name__.strip("_").upper())
    halves.add(otherwise.__name__)

    @functools.wraps(otherwise)
    def run(x: Array) -> Array:
        y: Array | None = _unary(op, x, 0.0, 0.0)
        return otherwise(x) if y is None else y

    return run


def of_two(otherwise: Two) -> Two:
    """As `of_one`, of two arrays of one dtype, which broadcast."""
    op = _ffi.code(otherwise.__name__.strip("_").upper())

    @functools.wraps(otherwise)
    def run(a: Array, b: Array) -> Array:
        y: Array | None = _binary(op, a, b)
        if y is None:
            y = _integers.binary(op, a, b)
        return otherwise(a, b) if y is None else y

    return run


def comparing(otherwise: Two) -> Two:
    """As `of_two`, for a relation: 1 where it holds and 0 elsewhere, as U8."""
    op = _ffi.code(otherwise.__name__.strip("_").upper())

    @functools.wraps(otherwise)
    def run(a: Array, b: Array) -> Array:
        y: Array | None = _compare(op, a, b)
        if y is None:
            y = _integers.compare(op, a, b)
        return otherwise(a, b) if y is None else y

    return run


def unary(op: int, x: Array, a: float, b: float) -> Array | None:
    """op(x) with the op's numbers."""
    y: Array | None = _unary(op, x, a, b)
    return _integers.unary(op, x, a, b) if y is None else y


def slope(op: int, g: Array, x: Array, a: float, b: float) -> Array | None:
    """g times the slope at x of an op with numbers."""
    y: Array | None = _slope(op, g, x, a, b)
    return y


def add_into(total: Array, x: Array) -> bool:
    """total += x where both are contiguous and of one shape; whether that was so."""
    f = _BINARY.get(total.dtype)
    if f is None or x.dtype != total.dtype or x.shape != total.shape:
        return False
    if not (total.flags.c_contiguous and x.flags.c_contiguous):
        return False
    f(_ffi.lib.CAFE_ADD, total, total, x, total.size, _NEITHER)
    return True


def power(a: Array, b: Array) -> Array | None:
    """a^b, broadcast."""
    y: Array | None = _pow(a, b)
    return y


def powf(x: Array, e: float) -> Array | None:
    """x^e."""
    f = _POWF.get(x.dtype)
    if f is None:
        return None
    x = memory.dense(x)
    y: Array = memory.empty(x.shape, x.dtype)
    f(y, x, x.size, e)
    return y


def where(condition: Array, a: Array, b: Array) -> Array | None:
    """a where the condition is not 0, b elsewhere, broadcast; the condition is U8."""
    floats = _SEEN_AS.get(a.dtype)
    if floats is not None and b.dtype == a.dtype:
        seen = where(condition, a.view(floats), b.view(floats))
        return None if seen is None else seen.view(a.dtype)
    f = _WHERE.get(a.dtype)
    if f is None or b.dtype != a.dtype or condition.dtype != _U8:
        return None
    if not condition.shape == a.shape == b.shape:
        condition, a, b = np.broadcast_arrays(condition, a, b)
    fixed = _FIRST * _is_one(a) + _SECOND * _is_one(b)  # 3 is both
    condition = memory.dense(condition)
    a, b = _as_one(a) if fixed & _FIRST else memory.dense(a), _as_one(b) if fixed & _SECOND else memory.dense(b)
    y: Array = memory.empty(condition.shape, a.dtype)
    f(y, condition, a, b, y.size, fixed)
    return y


def _is_one(x: Array) -> bool:
    """Whether x is one number, seen in more than one place."""
    return x.size > 1 and not any(x.strides)


def _as_one(x: Array) -> Array:
    """That number alone."""
    return x[(slice(0, 1),) * x.ndim]
