"""Views and copies: the same numbers in another shape or order (floor 1). Any dtype.

`reshape`, `permute`, `broadcast_to` and `slice` give views of the same storage wherever NumPy can.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any, TypeAlias

import numpy as np

from cafe.dtype import Array, DType, rounded

from . import _ffi, memory
from .base import primitive

_F16, _BF16 = DType.F16.numpy, DType.BF16.numpy
_WORTH_C = 1024  # elements from which a conversion in C beats NumPy's, call included
_LARGE = memory.WORTH_TWO  # from as many on a copy by C into the pool beats NumPy's here, too, the look at the strides included
_PAIRS = {
    "F16_F32": (_F16, _ffi.F32),
    "BF16_F32": (_BF16, _ffi.F32),
    "F32_F16": (_ffi.F32, _F16),
    "F32_BF16": (_ffi.F32, _BF16),
    "F32_F64": (_ffi.F32, _ffi.F64),
    "F64_F32": (_ffi.F64, _ffi.F32),
}


_Conversion: TypeAlias = tuple[_ffi.Kernel, int]


def _conversions() -> dict[tuple[Any, Any], _Conversion]:
    """By both dtypes: the C function and its code."""
    if _ffi.lib is None:
        return {}
    found: dict[tuple[Any, Any], _Conversion] = {}
    for name, pair in _PAIRS.items():
        found[pair] = _ffi.lib.cafe_cast, _ffi.code(name)
    for real, f in _ffi.kernel("to_whole").items():
        found |= {(real, whole): (f, kind) for whole, kind in _ffi.ID_KINDS.items()}
    for real, f in _ffi.kernel("of_whole").items():
        found |= {(whole, real): (f, kind) for whole, kind in _ffi.ID_KINDS.items()}
    kinds = {**_ffi.ID_KINDS, **_ffi.HALF_KINDS, _ffi.F64: _ffi.FLOAT_KINDS[_ffi.F64]}
    for half, kind in _ffi.HALF_KINDS.items():  # by way of F32, piece by piece
        for other, its in kinds.items():
            if other is not half:
                found[other, half] = functools.partial(_ffi.lib.cafe_cast_by_f32, its), kind
                found[half, other] = functools.partial(_ffi.lib.cafe_cast_by_f32, kind), its
    for whole, its in _ffi.ID_KINDS.items():
        between = functools.partial(_ffi.lib.cafe_cast_whole, its)
        found |= {(whole, other): (between, kind) for other, kind in _ffi.ID_KINDS.items() if other != whole}
    return found


_CONVERSIONS = _conversions()


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    """The same elements in row-major order under another shape: a view if x's strides allow one."""
    if x.flags.c_contiguous or x.size < _LARGE or _views(x, shape):
        return x.reshape(shape)
    return memory.copy(x).reshape(shape)


def _views(x: Array, shape: tuple[int, ...]) -> bool:
    """Whether x, which is not empty, can be seen under the shape: dims that lie without gaps are one run, and no dim spans two runs."""
    runs: list[tuple[int, int]] = []  # elements, and the step between the last dim's
    for n, step in zip(x.shape, x.strides):
        if runs and runs[-1][1] == n * step:
            runs[-1] = runs[-1][0] * n, step
        elif n > 1:
            runs.append((n, step))
    sizes = (n for n in shape if n > 1)
    for count, _ in runs:
        product = 1
        while product < count:
            product *= next(sizes)
        if product != count:
            return False
    return True


@primitive
def reshape_ref(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(shape)


def permute(x: Array, dims: tuple[int, ...]) -> Array:
    """A view with dim i taken from x's dim dims[i]."""
    return x.transpose(dims)


@primitive
def permute_ref(x: Array, dims: tuple[int, ...]) -> Array:
    return x.transpose(dims)


def broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """A view of x repeated with stride 0."""
    return np.broadcast_to(x, shape)


@primitive
def broadcast_to_ref(x: Array, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(x, shape)


def slice(x: Array, key: tuple[Any, ...]) -> Array:
    """A view of every step-th element between bounds, one slice a dim (or a place, whose dim goes)."""
    y: Array = x[(*key, ...)]  # with the dots a single place is a view of rank 0, not a number
    return y


@primitive
def slice_ref(x: Array, key: tuple[Any, ...]) -> Array:
    y: Array = x[(*key, ...)]
    return y


def unslice(x: Array, key: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    """Zeros of a shape with x where `slice` by the same key would read: the adjoint of `slice`."""
    size = prod(shape)
    if _ffi.lib is None or size < _LARGE or not x.size or len(shape) > _ffi.MAX_DIMS or x.itemsize not in _ffi.SIZES:
        return unslice_ref(x, key, shape)
    y = memory.empty(shape, x.dtype)
    part = y[(*key, ...)]
    if part.shape != x.shape:
        return unslice_ref(x, key, shape)
    if min(part.strides, default=0) < 0:  # backwards: not in the order of y
        if part.size < size:
            memory.fill(y, 0)
        memory.assign(part, x)
        return y
    offset = part.__array_interface__["data"][0] - y.__array_interface__["data"][0]
    _ffi.lib.cafe_unslice(_ffi.strided(y), size, offset, _ffi.strided(x), x.ndim, x.shape, part.strides, x.strides, x.itemsize)
    return y


@primitive
def unslice_ref(x: Array, key: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    y = np.zeros(shape, x.dtype)
    y[key] = x
    return y


def cat(xs: Sequence[Array], dim: int) -> Array:
    """The arrays one after the other along a dim."""
    shape, ends = xs[0].shape, list(accumulate(x.shape[dim] for x in xs))
    y = memory.empty((*shape[:dim], ends[-1], *shape[dim + 1 :]), xs[0].dtype)
    if y.size < _LARGE:
        return np.concatenate(xs, axis=dim, out=y)
    for x, end in zip(xs, ends):
        memory.assign(y[(builtins.slice(None),) * dim + (builtins.slice(end - x.shape[dim], end),)], x)
    return y


@primitive
def cat_ref(xs: Sequence[Array], dim: int) -> Array:
    return np.concatenate(xs, axis=dim)


def contiguous(x: Array) -> Array:
    """x itself if it is row-major, else a row-major copy."""
    return memory.dense(x)


@primitive
def contiguous_ref(x: Array) -> Array:
    return np.ascontiguousarray(x).reshape(x.shape)


def copy(x: Array) -> Array:
    """A row-major copy."""
    return memory.copy(x)


@primitive
def copy_ref(x: Array) -> Array:
    return np.array(x, order="C", copy=True)


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """x under another dtype. To an integer: truncated toward zero, held at the bounds, NaN gives 0; integer to integer wraps."""
    pair = x.dtype, dtype
    if x.size < _WORTH_C or pair not in _CONVERSIONS:
        return cast_ref(x, dtype)
    if 0 in x.strides:  # a number that is seen in many places is converted once
        seen = tuple(builtins.slice(0, 1) if step == 0 else builtins.slice(None) for step in x.strides)
        return memory.copy(np.broadcast_to(cast(x[seen], dtype), x.shape))
    x = memory.dense(x)
    y: Array = memory.empty(x.shape, dtype)
    f, code = _CONVERSIONS[pair]
    f(code, y, x, x.size)
    return y


@primitive
def cast_ref(x: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind not in "iu":
        return rounded(x, dtype)
    if x.dtype.kind in "iu":
        return x.astype(dtype)
    info, wide = np.iinfo(dtype), np.nan_to_num(x.astype(np.float64), nan=0.0)
    # the largest I64 is no float64: compare first, then convert what is inside
    inside = np.where((wide >= info.min) & (wide < info.max), wide, 0.0).astype(dtype)
    return np.where(wide >= info.max, info.max, np.where(wide < info.min, info.min, inside)).astype(dtype)
