"""Sorting along the last dim: a gather by ids that the forward finds (floor 2). Any dtype."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, Result, zeros


class Sort(Op):
    """Rows in order; the gradient goes back where each element came from. Hands on those places."""

    name, moves = "sort_last_dim", True

    def __init__(self, ascending: bool) -> None:
        self.ascending = ascending

    def forward(self, xp: XP, x: Array) -> Result:
        y, ids = xp.sort(x, self.ascending)
        return Result(y, const=ids)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.scatter_add(zeros(xp, x), r.const, g, len(x.shape) - 1),)
