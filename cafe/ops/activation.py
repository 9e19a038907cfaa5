"""Activations that are made of other verbs (floor 2); those with a kernel of their own are rows of the unary table."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record


class LeakyRelu(Op):
    """x where x > 0, slope · x elsewhere; the slope at 0 is that of the left side."""

    name, keep, halves, fresh = "leaky_relu", "0", True, True

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.leaky_relu(x, self.slope)

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        return (xp.leaky_relu_backward(g, x, self.slope),)


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
