"""Pooling of images with windows of two by two, with the backward."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from .differentiable import Function, OpRow
from .row import Array, Stream


@dataclass(frozen=True, kw_only=True)
class Pool(OpRow):
    """The largest or the mean of each window of 2 × 2."""

    shape: tuple[int, int, int, int]
    op: Literal["max", "avg"]
    gradients: tuple[int, ...] = (0,)

    @property
    def limit(self) -> Stream:
        x = 4.0 * prod(self.shape)
        return Stream(1.25 * x, 1.25 * x)

    @property
    def result(self) -> tuple[int, ...]:
        n, c, h, w = self.shape
        return n, c, h // 2, w // 2

    def operands(self, rng: np.random.Generator) -> list[Array]:
        return [rng.permutation(prod(self.shape)).astype(np.float32).reshape(self.shape)]  # without ties

    def _windows(self, x: Array) -> Array:
        n, c, h, w = self.result
        return x.reshape(n, c, h, 2, w, 2)

    def slopes(self, g: Array, x: Array) -> list[Array]:
        spread = np.broadcast_to(g[:, :, :, None, :, None], self._windows(x).shape)
        if self.op == "avg":
            return [(spread / 4.0).reshape(self.shape)]
        windows = self._windows(x)
        return [np.where(windows == windows.max((3, 5), keepdims=True), spread, 0.0).reshape(self.shape)]

    def in_cafe(self, cafe: Any) -> Function:
        return lambda x: getattr(x, f"{self.op}_pool2d")(2)

    def in_torch(self, torch: Any) -> Function:
        f = getattr(torch.nn.functional, f"{self.op}_pool2d")
        return lambda x: f(x, 2)

    def in_jax(self, jax: Any) -> Function:
        window = (1, 1, 2, 2)
        if self.op == "max":
            return lambda x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID")
        return lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, window, window, "VALID") / np.float32(4.0)


SHAPE = (8, 64, 112, 112)
ROWS = [
    Pool(name="max-pool 2x2 of 8x64x112x112, with backward", shape=SHAPE, op="max", goal=0.80),
    Pool(name="average-pool 2x2 of 8x64x112x112, with backward", shape=SHAPE, op="avg", goal=0.80, quick=False),
]
