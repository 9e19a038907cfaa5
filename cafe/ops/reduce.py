"""Sums, means, extremes, norms over dims (floor 2)."""

from __future__ import annotations

import math
from math import prod
from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, spread


class Sum(Op):
    """Σ x over dims."""

    name, halves = "sum", True

    def __init__(self, dims: tuple[int, ...], keepdim: bool) -> None:
        self.dims, self.keepdim = dims, keepdim

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.sum(x, self.dims, self.keepdim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (spread(xp, g, x.shape, self.dims),)


class Mean(Op):
    """Σ x / n over dims; NaN where there is nothing to average."""

    name, halves = "mean", True

    def __init__(self, dims: tuple[int, ...], keepdim: bool) -> None:
        self.dims, self.keepdim = dims, keepdim

    def forward(self, xp: XP, x: Array) -> Array:
        total = xp.sum(x, self.dims, self.keepdim)
        return xp.div(total, xp.full_like(total, float(self._count(x))))

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        share = xp.div(g, xp.full_like(g, float(self._count(x))))
        return (spread(xp, share, x.shape, self.dims),)

    def _count(self, x: Any) -> int:
        return prod(x.shape[d] for d in self.dims)


class Var(Op):
    """Σ (x − mean)² / (n − 1) along a dim, in two passes; NaN for one value."""

    name, keep = "var", "0"

    def __init__(self, dim: int, keepdim: bool) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, xp: XP, x: Array) -> Array:
        total = xp.sum(xp.sqr(self._centred(xp, x)), (self.dim,), self.keepdim)
        return xp.div(total, xp.full_like(total, x.shape[self.dim] - 1.0))

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        share = xp.div(g, xp.full_like(g, (x.shape[self.dim] - 1.0) / 2.0))
        return (xp.mul(spread(xp, share, x.shape, (self.dim,)), self._centred(xp, x)),)

    def _centred(self, xp: XP, x: Array) -> Array:
        total = xp.sum(x, (self.dim,), True)
        return xp.sub(x, xp.div(total, xp.full_like(total, float(x.shape[self.dim]))))


class Extreme(Op):
    """`max` or `min` along a dim; ties share the gradient evenly."""

    keep, halves = "0y", True

    def __init__(self, name: str, dim: int, keepdim: bool) -> None:
        self.name, self.dim, self.keepdim = name, dim, keepdim

    def forward(self, xp: XP, x: Array) -> Array:
        y: Array = getattr(xp, self.name)(x, self.dim, self.keepdim)
        return y

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        winners = xp.cast(xp.eq(x, spread(xp, r.y, x.shape, (self.dim,))), g.dtype)
        share = xp.div(winners, xp.sum(winners, (self.dim,), True))
        return (xp.mul(spread(xp, g, x.shape, (self.dim,)), share),)


class ArgExtreme(Op):
    """`argmax` or `argmin` along a dim, as U32; no gradient."""

    differentiable = False

    def __init__(self, name: str, dim: int, keepdim: bool) -> None:
        self.name, self.dim, self.keepdim = name, dim, keepdim

    def forward(self, xp: XP, x: Array) -> Array:
        y: Array = getattr(xp, self.name)(x, self.dim, self.keepdim)
        return y


class Cumsum(Op):
    """Running sums along a dim; the gradient runs from the other end."""

    name = "cumsum"

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.cumsum(x, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        # from the end on, and not as the total less the running sums, where a large g wipes out the small ones after it
        back = (slice(None),) * self.dim + (slice(None, None, -1),)
        return (xp.slice(xp.cumsum(xp.slice(g, back), self.dim), back),)


class LogSumExp(Op):
    """ln Σ eˣ over dims, shifted by the largest; −inf where there is nothing but −inf."""

    name, keep = "log_sum_exp", "0y"

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, xp: XP, x: Array) -> Array:
        top = x
        for d in self.dims:
            top = xp.max(top, d, True)
        infinite = xp.eq(xp.abs(top), xp.full_like(top, math.inf))  # inf − inf would be NaN: an infinite maximum is not subtracted
        top = xp.where(infinite, xp.full_like(top, 0.0), top)
        total = xp.sum(xp.exp(xp.sub(x, top)), self.dims, True)
        y = xp.add(xp.log(total), top)
        return xp.reshape(y, tuple(n for i, n in enumerate(x.shape) if i not in self.dims))

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        weights = xp.exp(xp.sub(x, spread(xp, r.y, x.shape, self.dims)))
        return (xp.mul(spread(xp, g, x.shape, self.dims), weights),)


class Dot(Op):
    """Σ a b of two vectors."""

    name, keep = "dot", "01"

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.dot(a, b)

    def backward(self, xp: XP, g: Array, r: Record, a: Array, b: Array) -> Grads:
        return (xp.mul(g, b) if r.need[0] else None, xp.mul(g, a) if r.need[1] else None)


class Norm(Op):
    """√Σ x² over everything; the gradient at zero is 0."""

    name, keep = "norm", "0y"

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.sqrt(xp.dot(x, x))

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        at_zero = xp.eq(r.y, xp.full_like(r.y, 0.0))
        safe = xp.where(at_zero, xp.full_like(r.y, 1.0), r.y)
        return (xp.mul(xp.broadcast_to(xp.div(g, safe), x.shape), x),)
