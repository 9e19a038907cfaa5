"""Matrix products and the fused linear layer (floor 1): F32 and F64, any strides; in C F16 and BF16, summed in F32, rounded once.

An element's order of summation depends on k alone: K falls into ⌈k / 192⌉ even blocks, a chain of FMAs in each, the blocks' sums are
added in order. Where a CPU has AMX, large products go in pieces of bfloat16 instead (`cafe.set_matmul_algorithm`), whose order depends on k
alone as well. So a row has the same bits alone and in a batch, on one thread and on many.
"""

from __future__ import annotations

from math import prod

import numpy as np

from cafe.dtype import Array
from cafe.errors import ShapeMismatchBinaryOp

from . import _ffi, memory
from .base import XP, composition, primitive, twins

_matmul, _linear, _linear_backward = map(_ffi.door, ("matmul", "linear", "linear_backward"))
_MATMUL_BATCH = _ffi.kernel("matmul_batch")
_LINEAR_HALVES = _ffi.of_halves("linear")
_BATCH_HALVES = _ffi.of_halves("matmul_batch")
_THEN = {name: _ffi.code(name.upper()) for name in ("identity", "relu", "tanh", "sigmoid", "silu", "gelu", "gelu_erf")}
_THEN[""] = _THEN["identity"]


def matmul(a: Array, b: Array) -> Array:
    """c[…, i, j] = Σₖ a[…, i, k] b[…, k, j]; batch dims broadcast; zeros where k is empty.

    Bound: k · eps · (|a| @ |b|), elementwise; in pieces, elements below 2⁻¹⁰² count as off by 2⁻¹²⁶ beside larger ones.
    """
    c: Array | None = _matmul(a, b)
    if c is not None:
        return c
    dtype = a.dtype
    if b.dtype == dtype and (a.ndim != 2 or b.ndim != 2) and dtype in _MATMUL_BATCH:
        return _matmul_batch(a, b)
    return _matmul_halves(a, b) if dtype in _LINEAR_HALVES and b.dtype == dtype else twins.matmul(a, b)


@primitive
def matmul_ref(a: Array, b: Array) -> Array:
    y: Array = np.matmul(a, b)
    return y


def linear(x: Array, w: Array, b: Array | None, then: str = "") -> Array:
    """x wᵀ + b: x (…, k), w (n, k), b (n) → (…, n); with `then` the function of that name of it, to the bits of the function on its own.

    then: relu, tanh, sigmoid, silu, gelu or gelu_erf.
    Bound: matmul's, half an ulp for the bias, and the function's.
    Raises: ShapeMismatchBinaryOp for other ranks, and when x and w differ in k, w and b in n.
    """
    y: Array | None = _linear(x, w, b, _THEN[then])
    if y is not None:
        return y
    dtype, shape, sizes = x.dtype, x.shape, w.shape
    if len(sizes) != 2 or not shape or shape[-1] != sizes[1]:
        raise ShapeMismatchBinaryOp("linear", shape, sizes)
    n, k = sizes
    if b is not None and b.shape != (n,):
        raise ShapeMismatchBinaryOp("linear (weight, bias)", sizes, b.shape)
    one_dtype = w.dtype == dtype and (b is None or b.dtype == dtype)
    if one_dtype and dtype in _LINEAR_HALVES:
        return _linear_halves(x.reshape(prod(shape[:-1]), k), w, b, then).reshape(*shape[:-1], n)
    y = _linear(memory.dense(x), w, None if b is None else memory.dense(b), _THEN[then]) if one_dtype else None
    return twins.linear(x, w, b, then) if y is None else y


@composition
def linear_ref(xp: XP, x: Array, w: Array, b: Array | None, then: str = "") -> Array:
    rows = xp.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    y = xp.matmul(rows, xp.permute(w, (1, 0)))
    y = xp.reshape(y if b is None else xp.add(y, b), (*x.shape[:-1], w.shape[0]))
    return getattr(xp, then)(y) if then else y


def linear_backward(g: Array, x: Array, w: Array, need: tuple[bool, ...]) -> tuple[Array | None, ...]:
    """The gradients of x wᵀ + b in x, w and b, those that are needed: g w, gᵀ x, and g summed over the rows.

    Bound: matmul's and sum's.
    """
    grads = _linear_backward(g, x, w, need)
    if grads is None:
        grads = _linear_backward(memory.dense(g), memory.dense(x), memory.dense(w), need)
    return linear_backward_ref(twins, g, x, w, need) if grads is None else grads


@composition
def linear_backward_ref(xp: XP, g: Array, x: Array, w: Array, need: tuple[bool, ...]) -> tuple[Array | None, ...]:
    rows = xp.reshape(g, (prod(x.shape[:-1]), w.shape[0]))
    gx = xp.reshape(xp.matmul(rows, w), x.shape) if need[0] else None
    gw = xp.matmul(xp.permute(rows, (1, 0)), xp.reshape(x, (rows.shape[0], w.shape[1]))) if need[1] else None
    return gx, gw, xp.sum(rows, (0,), False) if need[2] else None


def _matmul_batch(a: Array, b: Array) -> Array:
    """matmul with batch dims on either side: their strides go to C, 0 where a dim is broadcast."""
    batch, (m, k), (rows, n) = a.shape[:-2], a.shape[-2:], b.shape[-2:]
    if k != rows:
        return twins.matmul(a, b)
    if batch != b.shape[:-2]:
        batch = np.broadcast_shapes(batch, b.shape[:-2])
        a, b = np.broadcast_to(a, (*batch, m, k)), np.broadcast_to(b, (*batch, k, n))
    dtype, size = a.dtype, a.itemsize
    c: Array = memory.empty((*batch, m, n), dtype)
    *outer_a, a_row, a_col = [stride // size for stride in a.strides]
    *outer_b, b_row, b_col = [stride // size for stride in b.strides]
    f = _MATMUL_BATCH[dtype]
    _ffi.check(f(c, _ffi.strided(a), _ffi.strided(b), m, k, n, a_row, a_col, b_row, b_col, len(batch), (*batch, *outer_a, *outer_b)))
    return c


# -- F16 and BF16, which C takes where they lie without gaps


def _linear_halves(x: Array, w: Array, b: Array | None, then: str = "", layer: bool = True) -> Array:
    """As linear, of matrices; the product alone where it is no layer's (`cafe.set_matmul_algorithm`)."""
    dtype, (m, k), n = x.dtype, x.shape, w.shape[0]
    if not (x.flags.c_contiguous or x.flags.f_contiguous):
        x = memory.dense(x)
    if 2 not in w.strides or n == 1:
        w = memory.dense(w)
    y: Array = memory.empty((m, n), dtype)
    work = memory.empty((m * (k + n) + m + n,), _ffi.F32)
    bias = _ffi.NULL if b is None else b if b.flags.c_contiguous else b.copy()
    strides = [stride // 2 for stride in (*x.strides, *w.strides)]
    f, function = _LINEAR_HALVES[dtype], _THEN[then]
    _ffi.check(f(y, work, _ffi.strided(x), _ffi.strided(w), bias, function, m, k, n, *strides, layer))
    return y


def _matmul_halves(a: Array, b: Array) -> Array:
    if a.ndim == 2 and b.ndim == 2 and a.shape[1] == b.shape[0]:
        return _linear_halves(a, b.T, None, layer=False)
    batch, (m, k), (rows, n) = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2:], b.shape[-2:]
    if k != rows:
        return twins.matmul(a.astype(np.float32), b.astype(np.float32))  # which raises
    dtype, a, b = a.dtype, _without_gaps(a), _without_gaps(b)
    c: Array = memory.empty((*batch, m, n), dtype)
    work = memory.empty((a.size + b.size + c.size,), _ffi.F32)
    *outer_a, a_row, a_col = [stride // 2 for stride in np.broadcast_to(a, (*batch, m, k)).strides]
    *outer_b, b_row, b_col = [stride // 2 for stride in np.broadcast_to(b, (*batch, k, n)).strides]
    sizes, strides = (a.size, b.size, m, k, n), (a_row, a_col, b_row, b_col)
    f = _BATCH_HALVES[dtype]
    _ffi.check(f(c, work, _ffi.strided(a), _ffi.strided(b), *sizes, *strides, len(batch), (*batch, *outer_a, *outer_b)))
    return c


def _without_gaps(x: Array) -> Array:
    """x, copied unless its matrices or their transposes lie one after the other."""
    return x if x.flags.c_contiguous or x.swapaxes(-1, -2).flags.c_contiguous else memory.dense(x)
