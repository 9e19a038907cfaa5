"""Products along a dim (floor 2)."""

from __future__ import annotations

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record


class Prod(Op):
    """Π x along a dim; each element's slope is the product of the others."""

    name, keep = "prod", "0"

    def __init__(self, dim: int, keepdim: bool) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.prod(x, self.dim, self.keepdim)

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        kept = (*x.shape[: self.dim], 1, *x.shape[self.dim + 1 :])
        return (xp.prod_backward(g if self.keepdim else xp.reshape(g, kept), x, self.dim),)
