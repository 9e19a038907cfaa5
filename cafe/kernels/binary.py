"""Elementwise functions of two arrays and of an array and numbers; all broadcast (floor 1).

Both operands have one dtype; comparisons give U8. Integers wrap, as everywhere in NumPy; their division truncates and refuses 0.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cafe.dtype import Array
from cafe.errors import Error

from . import _elementwise, _ffi
from .base import power, primitive

_AFFINE = _ffi.code("AFFINE")
_FEW = 4096  # elements that are sooner filled than told apart
_CLAMP = _ffi.code("CLAMP")


@_elementwise.of_two
def add(a: Array, b: Array) -> Array:
    """a + b."""
    return add_ref(a, b)


@primitive
def add_ref(a: Array, b: Array) -> Array:
    return np.add(a, b)


def accumulate(total: Array, x: Array) -> None:
    """total ← total + x, in place: the one kernel that writes to its input."""
    if not _elementwise.add_into(total, x):
        with np.errstate(all="ignore"):
            np.add(total, x, out=total)


@_elementwise.of_two
def sub(a: Array, b: Array) -> Array:
    """a − b."""
    return sub_ref(a, b)


@primitive
def sub_ref(a: Array, b: Array) -> Array:
    return np.subtract(a, b)


@_elementwise.of_two
def mul(a: Array, b: Array) -> Array:
    """a · b."""
    return mul_ref(a, b)


@primitive
def mul_ref(a: Array, b: Array) -> Array:
    return np.multiply(a, b)


@_elementwise.of_two
def div(a: Array, b: Array) -> Array:
    """a / b; integers truncate toward zero.

    Raises: Error on an integer division by zero.
    """
    return div_ref(a, b)


@primitive
def div_ref(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.divide(a, b)
    if not np.all(b):
        raise Error("integer division by zero in div")
    quotient: Array = np.floor_divide(a, b)
    if a.dtype.kind == "u":
        return quotient
    inexact = quotient * b != a
    y: Array = quotient + (inexact & ((a < 0) != (b < 0))).astype(a.dtype)
    return y


@_elementwise.of_two
def maximum(a: Array, b: Array) -> Array:
    """The larger of the two; NaN where either is NaN."""
    return maximum_ref(a, b)


@primitive
def maximum_ref(a: Array, b: Array) -> Array:
    return np.maximum(a, b)


@_elementwise.of_two
def minimum(a: Array, b: Array) -> Array:
    """The smaller of the two; NaN where either is NaN."""
    return minimum_ref(a, b)


@primitive
def minimum_ref(a: Array, b: Array) -> Array:
    return np.minimum(a, b)


def pow(a: Array, b: Array) -> Array:
    """a^b, C's `pow` in its special cases: a^0 and 1^b are 1, a negative base takes whole exponents. Within 1 ulp."""
    y = _elementwise.power(a, b)
    return pow_ref(a, b) if y is None else y


@primitive
def pow_ref(a: Array, b: Array) -> Array:
    return power(a, b).astype(a.dtype)


def affine(x: Array, mul: float, add: float) -> Array:
    """x · mul + add, rounded after each, with both numbers first rounded to x's dtype."""
    y = _elementwise.unary(_AFFINE, x, mul, add)
    return affine_ref(x, mul, add) if y is None else y


@primitive
def affine_ref(x: Array, mul: float, add: float) -> Array:
    y: Array = np.add(np.multiply(x, x.dtype.type(mul)), x.dtype.type(add))
    return y


def clamp(x: Array, low: float, high: float) -> Array:
    """x held between two numbers; NaN stays, and a zero beside a bound of zero keeps its sign."""
    y = _elementwise.unary(_CLAMP, x, low, high)
    return clamp_ref(x, low, high) if y is None else y


@primitive
def clamp_ref(x: Array, low: float, high: float) -> Array:
    least, most = x.dtype.type(low), x.dtype.type(high)
    raised = np.where(x < least, least, x)
    y: Array = np.where(raised > most, most, raised)
    return y


def where(condition: Array, a: Array, b: Array) -> Array:
    """a where the condition is not zero, b elsewhere."""
    y = _elementwise.where(condition, a, b)
    return where_ref(condition, a, b) if y is None else y


@primitive
def where_ref(condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition != 0, a, b)


def full_like(x: Array, value: float) -> Array:
    """An array of x's shape and dtype that holds one number everywhere: for a large x a view of that number, not to be written to."""
    shape = x.shape
    y: Array = np.empty(shape if x.size < _FEW else (), x.dtype)
    y.fill(value)
    return y if y.shape == shape else np.broadcast_to(y, shape)


@primitive
def full_like_ref(x: Array, value: float) -> Array:
    return np.full(x.shape, value, x.dtype)


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array of zeros: a large one is a view of a single zero, not to be written to."""
    return zeros_ref(shape, dtype) if prod(shape) < _FEW else np.broadcast_to(np.zeros((), dtype), shape)


@primitive
def zeros_ref(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return np.zeros(shape, dtype)


@_elementwise.comparing
def eq(a: Array, b: Array) -> Array:
    """a == b, as U8."""
    return eq_ref(a, b)


@primitive
def eq_ref(a: Array, b: Array) -> Array:
    return np.equal(a, b).view(np.uint8)


@_elementwise.comparing
def ne(a: Array, b: Array) -> Array:
    """a != b, as U8."""
    return ne_ref(a, b)


@primitive
def ne_ref(a: Array, b: Array) -> Array:
    return np.not_equal(a, b).view(np.uint8)


@_elementwise.comparing
def lt(a: Array, b: Array) -> Array:
    """a < b, as U8."""
    return lt_ref(a, b)


@primitive
def lt_ref(a: Array, b: Array) -> Array:
    return np.less(a, b).view(np.uint8)


@_elementwise.comparing
def le(a: Array, b: Array) -> Array:
    """a <= b, as U8."""
    return le_ref(a, b)


@primitive
def le_ref(a: Array, b: Array) -> Array:
    return np.less_equal(a, b).view(np.uint8)


@_elementwise.comparing
def gt(a: Array, b: Array) -> Array:
    """a > b, as U8."""
    return gt_ref(a, b)


@primitive
def gt_ref(a: Array, b: Array) -> Array:
    return np.greater(a, b).view(np.uint8)


@_elementwise.comparing
def ge(a: Array, b: Array) -> Array:
    """a >= b, as U8."""
    return ge_ref(a, b)


@primitive
def ge_ref(a: Array, b: Array) -> Array:
    return np.greater_equal(a, b).view(np.uint8)
