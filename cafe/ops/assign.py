"""One tensor put into a part of another (floor 2). Any dtype."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, zeros


class Assign(Op):
    """x with source in a part of it: x's gradient is 0 there, source's is what is there."""

    name, moves = "slice-scatter", True

    def __init__(self, key: tuple[slice, ...]) -> None:
        self.key = key

    def forward(self, xp: XP, x: Array, source: Array) -> Array:
        return xp.assign(x, source, self.key)

    def backward(self, xp: XP, g: Array, r: Record, x: Any, source: Any) -> Grads:
        return (
            xp.assign(g, zeros(xp, source), self.key) if r.need[0] else None,
            xp.slice(g, self.key) if r.need[1] else None,
        )
