"""Softmax and log-softmax along one dim, forward and backward, and the cross-entropy made of them (floor 1).

The order of a row's sum depends on its length alone, and up to eight elements it is left to right; the exponentials are divided by the sum.
"""

from __future__ import annotations

from cafe.dtype import Array

from .base import XP, composition, twins


def softmax(x: Array, dim: int) -> Array:
    """exp(x − max) / Σ exp(x − max) along the dim. A row of −inf alone, or with +inf in it, is NaN.

    Bound: 4 ulp + the row's length / 2³ ulp.
    """
    return twins.softmax(x, dim)


@composition
def softmax_ref(xp: XP, x: Array, dim: int) -> Array:
    e = xp.exp(xp.sub(x, xp.max(x, dim, True)))
    return xp.div(e, xp.sum(e, (dim,), True))


def softmax_backward(g: Array, y: Array, dim: int) -> Array:
    """y (g − Σ g y), with y the softmax."""
    return twins.softmax_backward(g, y, dim)


@composition
def softmax_backward_ref(xp: XP, g: Array, y: Array, dim: int) -> Array:
    return xp.mul(y, xp.sub(g, xp.sum(xp.mul(g, y), (dim,), True)))


def log_softmax(x: Array, dim: int) -> Array:
    """x − max − ln Σ exp(x − max) along the dim."""
    return twins.log_softmax(x, dim)


@composition
def log_softmax_ref(xp: XP, x: Array, dim: int) -> Array:
    centred = xp.sub(x, xp.max(x, dim, True))
    return xp.sub(centred, xp.log(xp.sum(xp.exp(centred), (dim,), True)))


def log_softmax_backward(g: Array, y: Array, dim: int) -> Array:
    """g − eʸ Σ g, with y the log-softmax."""
    return twins.log_softmax_backward(g, y, dim)


@composition
def log_softmax_backward_ref(xp: XP, g: Array, y: Array, dim: int) -> Array:
    return xp.sub(g, xp.mul(xp.exp(y), xp.sum(g, (dim,), True)))
