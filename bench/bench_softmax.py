"""softmax and log_softmax along the last dim: a square, and the weights of an attention; forward, and with the backward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .differentiable import Function, OneToOne
from .row import Array, Curve


@dataclass(frozen=True, kw_only=True)
class Softmax(OneToOne):
    """y = softmax(x) or log_softmax(x) along the last dim."""

    op: Literal["softmax", "log_softmax"] = "softmax"

    def operands(self, rng: np.random.Generator) -> list[Array]:
        return [2.0 * rng.standard_normal(self.shape, np.float32)]

    def value(self, x: Array) -> Array:
        x = x - x.max(-1, keepdims=True)
        e = np.exp(x)
        s = e.sum(-1, keepdims=True)
        return np.asarray(e / s if self.op == "softmax" else x - np.log(s))

    def slopes(self, g: Array, x: Array) -> list[Array]:
        y = self.value(x)
        if self.op == "softmax":
            return [y * (g - (g * y).sum(-1, keepdims=True))]
        return [g - np.exp(y) * g.sum(-1, keepdims=True)]

    def in_cafe(self, cafe: Any) -> Function:
        f = getattr(cafe.nn.ops, self.op)
        return lambda x: f(x, -1)

    def in_torch(self, torch: Any) -> Function:
        f = getattr(torch, self.op)
        return lambda x: f(x, -1)

    def in_scipy(self, scipy: Any) -> Function:
        f = getattr(scipy.special, self.op)
        return lambda x: f(x, -1)

    def in_jax(self, jax: Any) -> Function:
        f: Function = getattr(jax.nn, self.op)
        return f


def of_rows(size: int) -> Softmax:
    """softmax of `size` bytes in rows of 256 numbers."""
    rows = size // 4 // 256
    return Softmax(name=f"softmax {rows} x 256", shape=(rows, 256))


SQUARE, WEIGHTS, BACK = (1024, 1024), (8, 12, 512, 512), (0,)
ROWS = [
    Softmax(name="softmax 1024 x 1024", shape=SQUARE, goal=0.48),
    Softmax(name="log_softmax 1024 x 1024", shape=SQUARE, op="log_softmax", goal=0.48),
    Softmax(name="softmax 1024 x 1024, with backward", shape=SQUARE, gradients=BACK, goal=0.48),
    Softmax(name="log_softmax 1024 x 1024, with backward", shape=SQUARE, op="log_softmax", gradients=BACK, goal=0.48, quick=False),
    Softmax(name="softmax 8x12x512x512", shape=WEIGHTS, goal=0.30, goal_kept=0.75),
    Softmax(name="softmax 8x12x512x512, with backward", shape=WEIGHTS, gradients=BACK, goal=0.30, goal_kept=0.85, quick=False),
]
CURVES = [Curve("softmax of rows of 256, by bytes", "bytes", "GB/s", tuple((2**k, of_rows(2**k)) for k in range(10, 29, 2)))]
