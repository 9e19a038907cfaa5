"""Softmax and log-softmax along one dim, forward and backward, and the cross-entropy made of them (floor 1).

The order of a row's sum depends on its length alone, and up to eight elements it is left to right; the exponentials are divided by the sum.
"""

from __future__ import annotations

from math import prod

from cafe.dtype import Array
from cafe.errors import EmptyTensor, show

from . import _ffi, memory
from .base import XP, composition, twins

_SOFTMAX = _ffi.kernel("softmax") | _ffi.of_halves("softmax")
_SOFTMAX_BACKWARD = _ffi.kernel("softmax_backward")
_LOG_SOFTMAX = _ffi.kernel("log_softmax") | _ffi.of_halves("log_softmax")
_LOG_SOFTMAX_BACKWARD = _ffi.kernel("log_softmax_backward")


def softmax(x: Array, dim: int) -> Array:
    """exp(x − max) / Σ exp(x − max) along the dim. A row of −inf alone, or with +inf in it, is NaN.

    Bound: 4 ulp + the row's length / 2³ ulp.
    """
    f = _SOFTMAX.get(x.dtype)
    return twins.softmax(x, dim) if f is None else _forward(f, x, dim)


@composition
def softmax_ref(xp: XP, x: Array, dim: int) -> Array:
    e = xp.exp(xp.sub(x, xp.max(x, dim, True)))
    return xp.div(e, xp.sum(e, (dim,), True))


def softmax_backward(g: Array, y: Array, dim: int) -> Array:
    """y (g − Σ g y), with y the softmax."""
    f = _SOFTMAX_BACKWARD.get(y.dtype)
    return twins.softmax_backward(g, y, dim) if f is None else _backward(f, g, y, dim)


@composition
def softmax_backward_ref(xp: XP, g: Array, y: Array, dim: int) -> Array:
    return xp.mul(y, xp.sub(g, xp.sum(xp.mul(g, y), (dim,), True)))


def log_softmax(x: Array, dim: int) -> Array:
    """x − max − ln Σ exp(x − max) along the dim."""
    f = _LOG_SOFTMAX.get(x.dtype)
    return twins.log_softmax(x, dim) if f is None else _forward(f, x, dim)


@composition
def log_softmax_ref(xp: XP, x: Array, dim: int) -> Array:
    centred = xp.sub(x, xp.max(x, dim, True))
    return xp.sub(centred, xp.log(xp.sum(xp.exp(centred), (dim,), True)))


def log_softmax_backward(g: Array, y: Array, dim: int) -> Array:
    """g − eʸ Σ g, with y the log-softmax."""
    f = _LOG_SOFTMAX_BACKWARD.get(y.dtype)
    return twins.log_softmax_backward(g, y, dim) if f is None else _backward(f, g, y, dim)


@composition
def log_softmax_backward_ref(xp: XP, g: Array, y: Array, dim: int) -> Array:
    return xp.sub(g, xp.mul(xp.exp(y), xp.sum(g, (dim,), True)))


def _forward(f: _ffi.Kernel, x: Array, dim: int) -> Array:
    x = memory.dense(x)
    shape = x.shape
    if shape[dim] == 0:
        raise EmptyTensor("reduce").help(f"softmax over dim {dim} of shape {show(shape)}, which has no elements")
    y = memory.empty(shape, x.dtype)
    _ffi.check(f(y, x, prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])) or 0)
    return y


def _backward(f: _ffi.Kernel, g: Array, y: Array, dim: int) -> Array:
    g, y = memory.dense(g), memory.dense(y)
    shape = y.shape
    gx = memory.empty(shape, y.dtype)
    f(gx, g, y, prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :]))
    return gx
