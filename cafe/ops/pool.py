"""Pooling (floor 2): a maximum is a choice of elements, an average a linear map; each goes back along the way it came."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP
from cafe.kernels.pool import Spans

from .base import Grads, Op, Record, Result


class MaxPool(Op):
    """The largest of each window: (N, C, *S) → (N, C, *L). The first of equals takes the gradient, a NaN before any number."""

    def __init__(self, spans: Spans) -> None:
        self.name, self.spans = f"max_pool{len(spans)}d", spans

    def forward(self, xp: XP, x: Array) -> Result:
        y, ids = xp.max_pool(x, self.spans)
        return Result(y, const=ids)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.max_pool_backward(g, r.const, x.shape[2:]),)


class MaxPoolIds(Op):
    """Where the largest of each window is, as U32; no gradient."""

    name, differentiable = "max_pool_ids", False

    def __init__(self, spans: Spans) -> None:
        self.spans = spans

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.max_pool_ids(x, self.spans)


class AvgPool(Op):
    """The average of each window: (N, C, *S) → (N, C, *L)."""

    def __init__(self, spans: Spans) -> None:
        self.name, self.spans = f"avg_pool{len(spans)}d", spans

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.avg_pool(x, self.spans)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.avg_pool_backward(g, self.spans, x.shape[2:]),)


class AvgPoolBackward(Op):
    """Each element's share spread over its window: (N, C, *L) → (N, C, *size)."""

    def __init__(self, spans: Spans, size: tuple[int, ...]) -> None:
        self.name, self.spans, self.size = f"avg_pool{len(spans)}d_backward", spans, size

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.avg_pool_backward(x, self.spans, self.size)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.avg_pool(g, self.spans),)
