"""Rotary positions (floor 2): a turn, whose gradient is turned back."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record


class Rotate(Op):
    """Pairs of x's last dim turned by angles; cos and sin are constants."""

    name, keep = "rope", "12"

    def __init__(self, step: int, time: int) -> None:
        self.step, self.time = step, time

    def forward(self, xp: XP, x: Array, cos: Array, sin: Array) -> Array:
        return xp.rotate(x, cos, sin, self.step, self.time)

    def backward(self, xp: XP, g: Array, r: Record, x: Any, cos: Array, sin: Array) -> Grads:
        return xp.rotate(g, cos, xp.neg(sin), self.step, self.time), None, None
