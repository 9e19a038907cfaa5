"""The C path of elementwise kernels on integers, for `_elementwise` (floor 1).

Each gives None where C does not take the arrays: another dtype, no extension, or too few elements to be worth the call. Then the twin runs.
"""

from __future__ import annotations

import numpy as np

from cafe.dtype import Array

from . import _ffi, memory

_WORTH_C = 4096  # elements from which a call with strides pays: NumPy's own loops are as good on one thread
_ARITHMETIC = tuple(_ffi.code(name) for name in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM"))
_NUMBERED = _ffi.code("AFFINE"), _ffi.code("CLAMP")
_U8 = np.dtype(np.uint8)


def binary(op: int, a: Array, b: Array) -> Array | None:
    """op(a, b), broadcast; None for a division by zero, too, of which the twin speaks."""
    kind = _kind(a, b)
    if kind is None or op not in _ARITHMETIC:
        return None
    y, where = _over(a, b, a.dtype)
    refused = _ffi.lib.cafe_integers_binary(kind, op, y, _ffi.strided(a), _ffi.strided(b), *where)
    return None if refused else y


def compare(op: int, a: Array, b: Array) -> Array | None:
    """Whether a relation holds, as U8, broadcast."""
    kind = _kind(a, b)
    if kind is None:
        return None
    y, where = _over(a, b, _U8)
    _ffi.lib.cafe_integers_compare(kind, op, y, _ffi.strided(a), _ffi.strided(b), *where)
    return y


def unary(op: int, x: Array, first: float, second: float) -> Array | None:
    """x · first + second, or x held between the two; both numbers are first made of x's dtype."""
    kind = _ffi.ID_KINDS.get(x.dtype)
    if kind is None or x.size < _WORTH_C or op not in _NUMBERED:
        return None
    x = memory.dense(x)
    y = memory.empty(x.shape, x.dtype)
    _ffi.lib.cafe_integers_unary(kind, op, y, x, x.size, int(x.dtype.type(first)), int(x.dtype.type(second)))
    return y


def _kind(a: Array, b: Array) -> int | None:
    """How C is told the dtype of two operands, if it is to have them."""
    if a.dtype != b.dtype or max(a.size, b.size) < _WORTH_C or max(a.ndim, b.ndim) > _ffi.MAX_DIMS:
        return None
    return _ffi.ID_KINDS.get(a.dtype)


def _over(a: Array, b: Array, dtype: np.dtype[np.generic]) -> tuple[Array, tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """The result and how C walks: rank, shape, both operands' strides over it."""
    shape = a.shape if a.shape == b.shape else np.broadcast(a, b).shape
    a, b = np.broadcast_to(a, shape), np.broadcast_to(b, shape)
    y = memory.empty(shape, dtype)
    return y, (len(shape), shape, a.strides, b.strides)
