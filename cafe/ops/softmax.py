"""Softmax and log-softmax along a dim (floor 2). Both rebuild their derivative from the output."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record


class Softmax(Op):
    """exp(x − max) / Σ exp(x − max)."""

    name, keep, halves = "softmax", "y", True

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.softmax(x, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.softmax_backward(g, r.y, self.dim),)


class LogSoftmax(Op):
    """x − max − ln Σ exp(x − max)."""

    name, keep, halves = "log-softmax", "y", True

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.log_softmax(x, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.log_softmax_backward(g, r.y, self.dim),)
