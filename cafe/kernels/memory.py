"""Where results live, and how any array becomes row-major (floor 1).

Results of less than 4 KiB come from NumPy. Others come from a pool: their memory goes back to it when the last view dies and is handed out
again, warm, for the next result of about that size. The pool keeps at most `limit` bytes; `empty_cache()` gives them to the system.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from cafe.dtype import Array, rounded

from . import _ffi

_WORTH_FILLING = 256 * 1024  # bytes of zeros from which the pool's memory, to be filled, beats what NumPy has of the system
_HUGE = 32 * 1024 * 1024  # bytes from which zeros are the system's, which makes a page when it is touched
_FEW = _WORTH_FILLING // 8 if _ffi.lib is not None else math.inf  # elements that are not as many, of whatever dtype
_WORTH_C = 4096  # elements from which the C copy beats NumPy's, call included
WORTH_TWO = 64 * 1024  # elements from which two threads copy sooner than NumPy does
_fresh = _ffi.door("fresh")


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An uninitialised array.

    Raises: MemoryError when there is no memory for it.
    """
    y: Array | None = _fresh(shape, dtype)
    return np.empty(shape, dtype) if y is None else y


def cleared(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array of zeros that is its own.

    Raises: MemoryError when there is no memory for it.
    """
    count = prod(shape)
    if count < _FEW or not _WORTH_FILLING <= count * dtype.itemsize < _HUGE:
        return np.zeros(shape, dtype)
    y = empty(shape, dtype)
    fill(y, 0)
    return y


def full(shape: tuple[int, ...], dtype: np.dtype[Any], value: Any) -> Array:
    """An array that holds one number everywhere and is its own.

    Raises: MemoryError when there is no memory for it.
    """
    y = empty(shape, dtype)
    fill(y, value)
    return y


def fill(y: Array, value: Any) -> None:
    """y[...] = value, a number."""
    assign(y, rounded(np.asarray(value), y.dtype))


def dense(x: Array) -> Array:
    """x itself if it is row-major, else a row-major copy."""
    return x if x.flags.c_contiguous else copy(x)


def copy(x: Array) -> Array:
    """A row-major copy."""
    if _ffi.lib is None or x.size < _WORTH_C or x.ndim > _ffi.MAX_DIMS or x.itemsize not in _ffi.SIZES:
        return np.array(x, order="C", copy=True)
    y = empty(x.shape, x.dtype)
    _ffi.lib.cafe_copy_strided(y, _ffi.strided(x), x.ndim, x.shape, x.strides, x.itemsize)
    return y


def assign(y: Array, x: Array) -> None:
    """y[...] = x, x of y's dtype and of a shape that broadcasts to y's."""
    in_c = _ffi.lib is not None and y.size >= WORTH_TWO and y.ndim <= _ffi.MAX_DIMS and y.itemsize in _ffi.SIZES
    if not in_c:
        y[...] = x
        return
    x = np.broadcast_to(x, y.shape)
    _ffi.lib.cafe_copy_between(_ffi.strided(y), _ffi.strided(x), y.ndim, y.shape, y.strides, x.strides, y.itemsize)


@dataclass(frozen=True)
class Statistics:
    """The pool's state: bytes in use, bytes kept for reuse, the most that were ever in use, the limit on what is kept, and how many
    results were asked for and how many of them were served from what was kept. All 0 without the extension."""

    used: int
    cached: int
    peak: int
    limit: int
    taken: int
    reused: int


def statistics() -> Statistics:
    """The pool's state now."""
    if _ffi.lib is None:
        return Statistics(0, 0, 0, 0, 0, 0)
    numbers = _ffi.ffi.new("int64_t[6]")
    _ffi.lib.cafe_pool_statistics(numbers)
    return Statistics(*numbers)


def empty_cache() -> None:
    """Gives the memory that is kept for reuse to the system."""
    if _ffi.lib is not None:
        _ffi.lib.cafe_pool_empty()


def set_limit(bytes: int) -> None:
    """Keeps at most so many bytes for reuse; at the start it is a quarter of the machine's memory."""
    if _ffi.lib is not None:
        _ffi.lib.cafe_pool_set_limit(bytes)
