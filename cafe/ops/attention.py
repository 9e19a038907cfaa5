"""Scaled dot-product attention (floor 2). It keeps no weights, only what rebuilds them: q, k, v, the output and each query's logsumexp."""

from __future__ import annotations

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, Result, only_needed


class Attention(Op):
    """softmax(scale · q kᵀ + mask) v, the mask a constant of its own; the third optional input."""

    name, keep = "attention", "*y"

    def __init__(self, scale: float, causal: bool) -> None:
        self.scale, self.causal = scale, causal

    def forward(self, xp: XP, q: Array, k: Array, v: Array, mask: Array | None = None) -> Result:
        y, logsumexp = xp.attention(q, k, v, mask, self.scale, self.causal)
        return Result(y, saved=logsumexp)

    def backward(self, xp: XP, g: Array, r: Record, q: Array, k: Array, v: Array, *mask: Array) -> Grads:
        grads = xp.attention_backward(g, q, k, v, r.y, mask[0] if mask else None, self.scale, self.causal, r.saved)
        return (*only_needed(r, tuple(grads)), *(None for _ in mask))
