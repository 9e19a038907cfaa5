"""Copies that change the order in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .row import Array, Call, Row, Stream


@dataclass(frozen=True, kw_only=True)
class TransposingCopy(Row):
    """The transpose of a square matrix, laid out in rows."""

    n: int

    @property
    def limit(self) -> Stream:
        return Stream(4.0 * self.n**2, 4.0 * self.n**2)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return (rng.standard_normal((self.n, self.n), np.float32),)

    def reference(self, x: Array) -> Array:
        return x.astype(np.float64).T

    def cafe(self, cafe: Any, x: Array) -> Call:
        t = cafe.Tensor(x).t()
        return lambda: t.contiguous()

    def torch(self, torch: Any, x: Array) -> Call:
        t = torch.from_numpy(x).T
        return lambda: t.contiguous()

    def numpy(self, np: Any, x: Array) -> Call:
        t = x.T
        return lambda: np.ascontiguousarray(t)

    def jax(self, jax: Any, x: Array) -> Call:
        f, t = jax.jit(lambda t: t.T), jax.numpy.asarray(x)
        return lambda: f(t).block_until_ready()


ROWS = [TransposingCopy(name="transposing copy 2048 x 2048", n=2048, goal=0.35, tolerance=0.0)]
