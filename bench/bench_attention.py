"""Scaled dot-product attention, full and causal, forward and with the backward."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from . import plain
from .differentiable import Function, OpRow
from .row import Array, Curve, Flops


@dataclass(frozen=True, kw_only=True)
class Attention(OpRow):
    """softmax(q kᵀ / √d) v for q, k, v of (batch, heads, length, d)."""

    shape: tuple[int, int, int, int]
    causal: bool = False
    tolerance: float = 5e-6

    @property
    def limit(self) -> Flops:
        """The products alone: two forward, five backward; half of each where half of the weights are 0."""
        return Flops((7 if self.gradients else 2) * 2.0 * prod(self.shape) * self.shape[2] * (0.5 if self.causal else 1.0))

    @property
    def result(self) -> tuple[int, ...]:
        return self.shape

    def operands(self, rng: np.random.Generator) -> list[Array]:
        return list(rng.standard_normal((3, *self.shape), np.float32))

    def value(self, q: Array, k: Array, v: Array) -> Array:
        return plain.attention(q, k, v, self.causal)[0]

    def slopes(self, g: Array, q: Array, k: Array, v: Array) -> tuple[Array, Array, Array]:
        return plain.attention_grads(g, q, k, v, self.causal)

    def in_cafe(self, cafe: Any) -> Function:
        return lambda q, k, v: cafe.nn.scaled_dot_product_attention(q, k, v, causal=self.causal)

    def in_torch(self, torch: Any) -> Function:
        f = torch.nn.functional.scaled_dot_product_attention
        return lambda q, k, v: f(q, k, v, is_causal=self.causal)

    def in_jax(self, jax: Any) -> Function:
        def attention(q: Any, k: Any, v: Any) -> Any:
            turned = [x.swapaxes(1, 2) for x in (q, k, v)]
            return jax.nn.dot_product_attention(*turned, is_causal=self.causal).swapaxes(1, 2)

        return attention


def of_length(length: int) -> Attention:
    """Two heads of 64 over so many tokens."""
    return Attention(name=f"attention 1x2x{length}x64", shape=(1, 2, length, 64))


SHAPE, ALL = (8, 12, 512, 64), (0, 1, 2)
ROWS = [
    Attention(name="attention 8x12x512x64", shape=SHAPE, goal=0.90, quick=False),
    Attention(name="attention 8x12x512x64, with backward", shape=SHAPE, gradients=ALL, goal=0.90, quick=False),
    Attention(name="attention 8x12x512x64 causal", shape=SHAPE, causal=True, goal=0.65),
    Attention(name="attention 8x12x512x64 causal, with backward", shape=SHAPE, causal=True, gradients=ALL, goal=0.60, quick=False),
]
CURVES = [Curve("attention 1x2xNx64, by tokens", "tokens", "GFLOP/s", tuple((2**k, of_length(2**k)) for k in range(6, 14)))]
