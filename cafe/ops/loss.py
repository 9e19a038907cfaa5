"""Losses as one op each: what stands at the end of every training step should not be six (floor 2)."""

from __future__ import annotations

from math import prod

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, Result


class CrossEntropy(Op):
    """Σᵢ wᵢ (ln Σⱼ exp xᵢⱼ − xᵢ,ₜ₍ᵢ₎): logits x (n, c), ids t (n) and, if given, weights w (n); without them 1/n each.

    with_grad: the forward hands the gradient on to the backward, for a loss that is going to be differentiated.
    """

    name, keep = "cross_entropy", "012"

    def __init__(self, with_grad: bool) -> None:
        self.with_grad = with_grad

    def forward(self, xp: XP, x: Array, ids: Array, weights: Array | None = None) -> Array | Result:
        if not self.with_grad:
            return xp.cross_entropy(x, ids, weights)
        loss, gx = xp.cross_entropy_with_grad(x, ids, weights)
        return Result(loss, saved=gx)

    def backward(self, xp: XP, g: Array, r: Record, x: Array, ids: Array, weights: Array | None = None) -> Grads:
        gx = xp.cross_entropy_backward(g, x, ids, weights, r.saved)
        return (gx, None) if weights is None else (gx, None, None)


class Mse(Op):
    """Σ (a − b)² / n.

    with_grad: the forward hands the gradient of a on to the backward, for a loss that is going to be differentiated.
    """

    name, keep = "mse", "01"

    def __init__(self, with_grad: bool) -> None:
        self.with_grad = with_grad

    def forward(self, xp: XP, a: Array, b: Array) -> Array | Result:
        if not self.with_grad:
            return xp.mse(a, b)
        loss, ga = xp.mse_with_grad(a, b)
        return Result(loss, saved=ga)

    def backward(self, xp: XP, g: Array, r: Record, a: Array, b: Array) -> Grads:
        if not r.need[0]:
            return None, xp.mse_backward(g, b, a, None)
        ga = xp.mse_backward(g, a, b, r.saved)
        return ga, xp.neg(ga) if r.need[1] else None


class Huber(Op):
    """The mean of d² / 2 where |d| = |a − b| is at most delta, of delta (|d| − delta / 2) beyond. with_grad: as in `Mse`."""

    name, keep = "huber", "01"

    def __init__(self, delta: float, with_grad: bool) -> None:
        self.delta, self.with_grad = delta, with_grad

    def forward(self, xp: XP, a: Array, b: Array) -> Array | Result:
        if not self.with_grad:
            return xp.huber(a, b, self.delta)
        loss, ga = xp.huber_with_grad(a, b, self.delta)
        return Result(loss, saved=ga)

    def backward(self, xp: XP, g: Array, r: Record, a: Array, b: Array) -> Grads:
        if not r.need[0]:
            return None, xp.huber_backward(g, b, a, self.delta, None)
        ga = xp.huber_backward(g, a, b, self.delta, r.saved)
        return ga, xp.neg(ga) if r.need[1] else None


class BceWithLogits(Op):
    """The mean of t ln(1 + e^−x) + (1 − t) ln(1 + eˣ); ∂t = −x / n."""

    name, keep = "bce_with_logits", "01"

    def forward(self, xp: XP, x: Array, t: Array) -> Array:
        return xp.bce_with_logits(x, t)

    def backward(self, xp: XP, g: Array, r: Record, x: Array, t: Array) -> Grads:
        return (
            xp.bce_with_logits_backward(g, x, t) if r.need[0] else None,
            xp.mul(x, xp.affine(g, -1.0 / max(prod(x.shape), 1), 0.0)) if r.need[1] else None,
        )
