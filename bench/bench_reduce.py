"""Sums: over all, along the first and the last dim."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .row import Array, Call, Row, Stream


@dataclass(frozen=True, kw_only=True)
class Sum(Row):
    """The sum over one dim, or over all (None)."""

    shape: tuple[int, ...]
    dim: int | None

    @property
    def limit(self) -> Stream:
        kept = 1 if self.dim is None else prod(self.shape) // self.shape[self.dim]
        return Stream(4.0 * prod(self.shape), 4.0 * kept)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return (rng.random(self.shape, np.float32),)

    def reference(self, x: Array) -> Array:
        return np.asarray(x.sum(self.dim, dtype=np.float64))

    def cafe(self, cafe: Any, x: Array) -> Call:
        t = cafe.Tensor(x)
        return t.sum_all if self.dim is None else lambda: t.sum(self.dim)

    def torch(self, torch: Any, x: Array) -> Call:
        t = torch.from_numpy(x)
        return t.sum if self.dim is None else lambda: t.sum(self.dim)

    def numpy(self, _: Any, x: Array) -> Call:
        return lambda: x.sum(self.dim)

    def jax(self, jax: Any, x: Array) -> Call:
        f, t = jax.jit(lambda t: t.sum(self.dim)), jax.numpy.asarray(x)
        return lambda: f(t).block_until_ready()


ROWS = [
    Sum(name="sum of 4M", shape=(4 * 2**20,), dim=None, goal=0.80),
    Sum(name="sum of 2048 x 2048 along axis 0", shape=(2048, 2048), dim=0, goal=0.45),
    Sum(name="sum of 2048 x 2048 along axis 1", shape=(2048, 2048), dim=1, goal=0.85, quick=False),
]
