"""Picking and placing by ids: reading and adding are each other's adjoint (floor 2). Ids come first among what has no gradient."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, zeros


class IndexSelect(Op):
    """y[…, i, …] = x[…, ids[i], …]."""

    name, keep, moves = "index-select", "1", True

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, x: Array, ids: Array) -> Array:
        return xp.index_select(x, ids, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any, ids: Array) -> Grads:
        return xp.index_add(zeros(xp, x), ids, g, self.dim), None


class IndexAdd(Op):
    """x with source's slices added at the ids."""

    name, keep = "index-add", "1"

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, x: Array, ids: Array, source: Array) -> Array:
        return xp.index_add(x, ids, source, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any, ids: Array, source: Any) -> Grads:
        return g if r.need[0] else None, None, xp.index_select(g, ids, self.dim) if r.need[2] else None


class Gather(Op):
    """y[i, j, k] = x[i, ids[i, j, k], k] for dim 1."""

    name, keep, moves = "gather", "1", True

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, x: Array, ids: Array) -> Array:
        return xp.gather(x, ids, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any, ids: Array) -> Grads:
        return xp.scatter_add(zeros(xp, x), ids, g, self.dim), None


class ScatterAdd(Op):
    """x with source added where `gather` by the same ids would read."""

    name, keep = "scatter-add", "1"

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, x: Array, ids: Array, source: Array) -> Array:
        return xp.scatter_add(x, ids, source, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any, ids: Array, source: Any) -> Grads:
        return g if r.need[0] else None, None, xp.gather(g, ids, self.dim) if r.need[2] else None


class Scatter(Op):
    """x with source in place of what `gather` by the same ids would read: x's gradient is 0 where something was written, source's is 0
    where a later write covers it."""

    name, keep, moves = "scatter", "1", True

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, x: Array, ids: Array, source: Array) -> Array:
        return xp.scatter(x, ids, source, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any, ids: Array, source: Any) -> Grads:
        gx = xp.scatter(g, ids, zeros(xp, source), self.dim) if r.need[0] else None
        gs = None
        if r.need[2]:
            read = xp.gather(g, ids, self.dim)
            gs = xp.where(xp.last_writes(ids, x.shape[self.dim], self.dim), read, xp.full_like(read, 0.0))
        return gx, None, gs
