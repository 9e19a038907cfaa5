"""Matrix products; they are closed under differentiation (floor 2)."""

from __future__ import annotations

from typing import Any, ClassVar

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, sum_to_shape


def transposed(xp: XP, x: Array) -> Array:
    """The last two dims swapped."""
    rank = len(x.shape)
    return xp.permute(x, (*range(rank - 2), rank - 1, rank - 2))


class Matmul(Op):
    """a @ b; ∂a = g bᵀ, ∂b = aᵀ g."""

    name, keep, halves, fresh = "matmul", "01", True, True

    def forward(self, xp: XP, a: Array, b: Array) -> Array:
        return xp.matmul(a, b)

    def backward(self, xp: XP, g: Array, r: Record, a: Array, b: Array) -> Grads:
        return (
            sum_to_shape(xp, xp.matmul(g, transposed(xp, b)), a.shape) if r.need[0] else None,
            sum_to_shape(xp, xp.matmul(transposed(xp, a), g), b.shape) if r.need[1] else None,
        )


class Linear(Op):
    """x wᵀ + b: x (…, k), w (n, k), b (n) → (…, n)."""

    name, keep, halves, fresh = "linear", "01", True, True

    def forward(self, xp: XP, x: Array, w: Array, b: Array | None = None) -> Array:
        return xp.linear(x, w, b)

    def backward(self, xp: XP, g: Array, r: Record, x: Array, w: Array, *b: Any) -> Grads:
        gx, gw, gb = xp.linear_backward(g, x, w, r.need if b else (*r.need, False))
        return (gx, gw, gb) if b else (gx, gw)


class LinearThen(Linear):
    """f(x wᵀ + b) for one of `LinearThen.KNOWN`, in one pass: the bits of the layer, then the function.

    Differentiable where the function's slope is known from its value (relu, tanh, sigmoid). The others would need what goes into the
    function, which is not kept.
    """

    keep = "01y"
    KNOWN: ClassVar[dict[str, bool]] = {"relu": True, "tanh": True, "sigmoid": True, "silu": False, "gelu": False, "gelu_erf": False}

    def __init__(self, then: str) -> None:
        self.then, self.slope, self.name = then, f"{then}_backward", f"linear, {then}"
        self.differentiable = self.KNOWN[then]  # type: ignore[misc]

    def forward(self, xp: XP, x: Array, w: Array, b: Array | None = None) -> Array:
        return xp.linear(x, w, b, self.then)

    def backward(self, xp: XP, g: Array, r: Record, x: Array, w: Array, *b: Any) -> Grads:
        return Linear.backward(self, xp, getattr(xp, self.slope)(g, r.y), r, x, w, *b)
