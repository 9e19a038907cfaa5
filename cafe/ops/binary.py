"""Elementwise functions of two or three tensors, broadcasting; the adjoint of broadcasting is a sum (floor 2)."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, sum_to_shape


class Add(Op):
    """a + b."""

    name, halves = "add", True

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.add(a, b)

    def backward(self, xp: XP, g: Array, r: Record, a: Any, b: Any) -> Grads:
        return (
            sum_to_shape(xp, g, a.shape) if r.need[0] else None,
            sum_to_shape(xp, g, b.shape) if r.need[1] else None,
        )


class Sub(Op):
    """a − b."""

    name, halves = "sub", True

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.sub(a, b)

    def backward(self, xp: XP, g: Array, r: Record, a: Any, b: Any) -> Grads:
        return (
            sum_to_shape(xp, g, a.shape) if r.need[0] else None,
            xp.neg(sum_to_shape(xp, g, b.shape)) if r.need[1] else None,
        )


class Mul(Op):
    """a · b."""

    name, keep, halves, fresh = "mul", "01", True, True

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.mul(a, b)

    def backward(self, xp: XP, g: Array, r: Record, a: Array, b: Array) -> Grads:
        return (
            sum_to_shape(xp, xp.mul(g, b), a.shape) if r.need[0] else None,
            sum_to_shape(xp, xp.mul(g, a), b.shape) if r.need[1] else None,
        )


class Div(Op):
    """a / b."""

    name, keep, halves, fresh = "div", "01", True, True

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.div(a, b)

    def backward(self, xp: XP, g: Array, r: Record, a: Array, b: Array) -> Grads:
        ga = xp.div(g, b)  # d(a/b)/da = 1/b; d(a/b)/db = −(a/b)/b
        return (
            sum_to_shape(xp, ga, a.shape) if r.need[0] else None,
            sum_to_shape(xp, xp.neg(xp.mul(ga, xp.div(a, b))), b.shape) if r.need[1] else None,
        )


class _Extreme(Op):
    """What maximum and minimum share: a tie gives half to each side."""

    keep, halves = "01", True

    def backward(self, xp: XP, g: Array, r: Record, a: Array, b: Array) -> Grads:
        mine, yours = self.wins(xp, a, b), self.wins(xp, b, a)
        half, none = xp.affine(g, 0.5, 0.0), xp.full_like(g, 0.0)  # chosen, not multiplied: g may be infinite where the other wins
        return (
            sum_to_shape(xp, xp.where(mine, g, xp.where(yours, none, half)), a.shape) if r.need[0] else None,
            sum_to_shape(xp, xp.where(yours, g, xp.where(mine, none, half)), b.shape) if r.need[1] else None,
        )

    def wins(self, xp: XP, a: Array, b: Array) -> Array:
        """U8: whether a is the one that comes out."""
        raise NotImplementedError


class Maximum(_Extreme):
    """max(a, b), elementwise."""

    name = "maximum"

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.maximum(a, b)

    def wins(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.gt(a, b)


class Minimum(_Extreme):
    """min(a, b), elementwise."""

    name = "minimum"

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.minimum(a, b)

    def wins(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.lt(a, b)


class Pow(Op):
    """a^b. At a = 0 the gradient of b is 0 where b ≥ 0; the gradient of a is 0 where b = 0."""

    name, keep = "pow", "01y"

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.pow(a, b)

    def backward(self, xp: XP, g: Array, r: Record, a: Array, b: Array) -> Grads:
        ga = gb = None
        if r.need[0]:
            flat = xp.eq(b, xp.full_like(b, 0.0))
            slope = xp.mul(b, xp.pow(a, xp.affine(b, 1.0, -1.0)))
            ga = sum_to_shape(xp, xp.mul(g, xp.where(flat, xp.full_like(slope, 0.0), slope)), a.shape)
        if r.need[1]:
            zero = xp.mul(xp.eq(a, xp.full_like(a, 0.0)), xp.ge(b, xp.full_like(b, 0.0)))
            slope = xp.mul(r.y, xp.log(a))
            gb = sum_to_shape(xp, xp.mul(g, xp.where(zero, xp.full_like(slope, 0.0), slope)), b.shape)
        return ga, gb


class Where(Op):
    """a where the condition is not zero, b elsewhere. IEEE: 0 · NaN is NaN, so guard a root inside, not outside."""

    name, keep, moves = "where_cond", "0", True

    def forward(self, xp: XP, condition: Array, a: Array, b: Array) -> Array:
        return xp.where(condition, a, b)

    def backward(self, xp: XP, g: Array, r: Record, condition: Array, a: Any, b: Any) -> Grads:
        nothing = xp.full_like(g, 0.0)
        return (
            None,
            sum_to_shape(xp, xp.where(condition, g, nothing), a.shape) if r.need[1] else None,
            sum_to_shape(xp, xp.where(condition, nothing, g), b.shape) if r.need[2] else None,
        )


class Compare(Op):
    """One of eq ne lt le gt ge, as U8; no gradient."""

    differentiable = False

    def __init__(self, name: str) -> None:
        self.name = name

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        y: Array = getattr(xp, self.name)(a, b)
        return y
