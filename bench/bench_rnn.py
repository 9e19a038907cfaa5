"""An LSTM over a sequence, with the backward through time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .differentiable import Function, OpRow
from .plain import sigmoid
from .row import Array, Flops


@dataclass(frozen=True, kw_only=True)
class Lstm(OpRow):
    """All of h for x (batch, steps, inputs) from a state of zeros. Gates in the order i f g o; weights (4 hidden, …)."""

    batch: int
    steps: int
    width: int
    gradients: tuple[int, ...] = (0, 1, 2, 3, 4)
    tolerance: float = 1e-5

    @property
    def limit(self) -> Flops:
        return Flops(3 * 2.0 * self.batch * self.steps * 4 * self.width * 2 * self.width)

    @property
    def result(self) -> tuple[int, ...]:
        return self.batch, self.steps, self.width

    def operands(self, rng: np.random.Generator) -> list[Array]:
        n, scale = self.width, np.float32(self.width**-0.5)
        shapes = (4 * n, n), (4 * n, n), (4 * n,), (4 * n,)
        return [rng.standard_normal(self.result, np.float32), *(rng.standard_normal(shape, np.float32) * scale for shape in shapes)]

    def slopes(self, g: Array, x: Array, w: Array, u: Array, b: Array, bu: Array) -> list[Array]:
        h, c = np.zeros((self.steps + 1, self.batch, self.width)), np.zeros((self.steps + 1, self.batch, self.width))
        gates = []
        for t in range(self.steps):
            i, f, z, o = np.split(x[:, t] @ w.T + h[t] @ u.T + b + bu, 4, axis=1)
            gates.append((sigmoid(i), sigmoid(f), np.tanh(z), sigmoid(o)))
            c[t + 1] = gates[t][1] * c[t] + gates[t][0] * gates[t][2]
            h[t + 1] = gates[t][3] * np.tanh(c[t + 1])
        gx, gw, gu, gb = np.zeros_like(x), np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
        gh, gc = np.zeros_like(h[0]), np.zeros_like(c[0])
        for t in reversed(range(self.steps)):
            i, f, z, o = gates[t]
            gh = gh + g[:, t]
            tc = np.tanh(c[t + 1])
            gc = gc + gh * o * (1 - tc * tc)
            parts = gc * z * i * (1 - i), gc * c[t] * f * (1 - f), gc * i * (1 - z * z), gh * tc * o * (1 - o)
            ga = np.concatenate(parts, axis=1)
            gx[:, t], gh, gc = ga @ w, ga @ u, gc * f
            gw, gu, gb = gw + ga.T @ x[:, t], gu + ga.T @ h[t], gb + ga.sum(0)
        return [gx, gw, gu, gb, gb]

    def in_cafe(self, cafe: Any) -> Function:
        return lambda x, w, u, b, bu: cafe.nn.LSTM(w, u, b, bu)(x)

    def in_torch(self, torch: Any) -> Function:
        state = torch.zeros(1, self.batch, self.width), torch.zeros(1, self.batch, self.width)
        return lambda x, *weights: torch.lstm(x, state, weights, True, 1, 0.0, True, False, True)[0]


ROWS = [Lstm(name="LSTM 256 to 256, batch 32, 128 steps, with backward", batch=32, steps=128, width=256, goal=0.90, quick=False)]
