"""Sliding windows along a dim and their adjoint, which are each other's gradient (floor 2). Any dtype."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record


class Unfold(Op):
    """Windows of `size` places, `step` apart; where they overlap the gradients add up."""

    name, moves, views = "unfold", True, True

    def __init__(self, dim: int, size: int, step: int) -> None:
        self.dim, self.size, self.step = dim, size, step

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.unfold(x, self.dim, self.size, self.step)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.fold(g, self.dim, self.size, self.step, x.shape[self.dim]),)


class Fold(Op):
    """Windows added up where they came from."""

    name = "fold"

    def __init__(self, dim: int, size: int, step: int, length: int) -> None:
        self.dim, self.size, self.step, self.length = dim, size, step, length

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.fold(x, self.dim, self.size, self.step, self.length)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.unfold(g, self.dim, self.size, self.step),)
