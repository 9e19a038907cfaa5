"""Activations that are made of other verbs (floor 2); those with a kernel of their own are rows of the unary table."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record


class LeakyRelu(Op):
    """x where x > 0, slope · x elsewhere; the slope at 0 is that of the left side."""

    name, keep, halves = "leaky_relu", "0", True

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.leaky_relu(x, self.slope)

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        return (xp.where(xp.gt(x, xp.full_like(x, 0.0)), g, xp.affine(g, self.slope, 0.0)),)


class HardSigmoid(Op):
    """(x + 3) / 6 held between 0 and 1; the slope at −3 and 3 is 1/6."""

    name, keep = "hard_sigmoid", "0"

    def forward(self, xp: XP, x: Array) -> Array:
        shifted = xp.affine(xp.clamp(x, -3.0, 3.0), 1.0, 3.0)
        return xp.div(shifted, xp.full_like(shifted, 6.0))

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        inside = xp.mul(xp.ge(x, xp.full_like(x, -3.0)), xp.le(x, xp.full_like(x, 3.0)))
        return (xp.where(inside, xp.div(g, xp.full_like(g, 6.0)), xp.full_like(g, 0.0)),)


class Mish(Op):
    """x tanh(ln(1 + eˣ))."""

    name, keep = "mish", "0"

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.mul(x, xp.tanh(xp.softplus(x)))

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        # d tanh(ln(1 + eˣ)) = (1 − tanh²) sigmoid(x); with q = sigmoid(−x), 1 − tanh² = (2q / (1 + q²))² keeps its small values
        q = xp.sigmoid(xp.neg(x))
        sech = xp.div(xp.affine(q, 2.0, 0.0), xp.affine(xp.sqr(q), 1.0, 1.0))
        inner = xp.mul(xp.sqr(sech), xp.sigmoid(x))
        return (xp.mul(g, xp.add(xp.tanh(xp.softplus(x)), xp.mul(x, inner))),)


class Dropout(Op):
    """x · mask, the mask holding 0 or 1 / (1 − p); x itself is not kept."""

    name, keep = "dropout", "1"

    def forward(self, xp: XP, x: Array, mask: Array) -> Array:
        return xp.mul(x, mask)

    def backward(self, xp: XP, g: Array, r: Record, x: Any, mask: Array) -> Grads:
        return xp.mul(g, mask), None
