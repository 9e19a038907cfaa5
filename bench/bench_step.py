"""Whole training steps: forward, loss, backward, AdamW, and the loss as a Python number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .bench_optim import BETA1, BETA2, DECAY, EPS, LR, adamw
from .row import Array, Call, Flops, Row


class ByHand:
    """A ReLU layer and a linear one, trained in plain NumPy: the reference in float64, and a peer in float32."""

    def __init__(self, loss: Literal["mse", "cross_entropy"], x: Array, y: Array, *params: Array) -> None:
        self.loss, self.x, self.y = loss, x, y
        self.params = [p.copy() for p in params]
        self.moments = [(np.zeros_like(p), np.zeros_like(p)) for p in params]
        self.count = 0

    def step(self) -> float:
        """One step; the loss before it."""
        w1, b1, w2, b2 = self.params
        hidden = np.maximum(self.x @ w1.T + b1, 0)
        loss, g = (self._mse if self.loss == "mse" else self._cross_entropy)(hidden @ w2.T + b2)
        gh = (g @ w2) * (hidden > 0)
        self.count += 1
        for p, gp, (m, v) in zip(self.params, (gh.T @ self.x, gh.sum(0), g.T @ hidden, g.sum(0)), self.moments, strict=True):
            adamw(p, gp, m, v, self.count)
        return loss

    def _mse(self, out: Array) -> tuple[float, Array]:
        difference = out - self.y
        return float((difference * difference).mean()), difference * (2.0 / out.size)

    def _cross_entropy(self, out: Array) -> tuple[float, Array]:
        e = np.exp(out - out.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)
        rows = np.arange(len(p))
        loss = -float(np.log(p[rows, self.y]).mean())
        p[rows, self.y] -= 1
        return loss, p / len(p)


@dataclass(frozen=True, kw_only=True)
class Mlp(Row):
    """Linear, ReLU, Linear; MSE or cross-entropy; AdamW."""

    sizes: tuple[int, int, int]
    batch: int
    loss: Literal["mse", "cross_entropy"]
    checked_calls: int = 5
    tolerance: float = 1e-5

    @property
    def limit(self) -> Flops:
        inner, hidden, outer = self.sizes
        return Flops(2.0 * self.batch * (2 * inner * hidden + 3 * hidden * outer))  # the input wants no gradient

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        inner, hidden, outer = self.sizes
        x = rng.standard_normal((self.batch, inner), np.float32)
        x[self.batch // 2 :] = x[: self.batch // 2]  # two targets each: never learnt by heart, so gradients never fade into subnormals
        y = rng.standard_normal((self.batch, outer), np.float32) if self.loss == "mse" else rng.integers(0, outer, self.batch)
        w1 = rng.standard_normal((hidden, inner), np.float32) / np.float32(inner**0.5)
        w2 = rng.standard_normal((outer, hidden), np.float32) / np.float32(hidden**0.5)
        return x, y, w1, np.zeros(hidden, np.float32), w2, np.zeros(outer, np.float32)

    def reference(self, *arrays: Array) -> list[float]:
        net = ByHand(self.loss, *(a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays))
        return [net.step() for _ in range(self.checked_calls)]

    def numpy(self, _: Any, *arrays: Array) -> Call:
        return ByHand(self.loss, *arrays).step

    def cafe(self, cafe: Any, x: Array, y: Array, *params: Array) -> Call:
        nn, inputs, target = cafe.nn, cafe.Tensor(x), cafe.Tensor(y)
        w1, b1, w2, b2 = variables = [cafe.Var(p) for p in params]
        first, second, loss_of = nn.Linear(w1, b1), nn.Linear(w2, b2), getattr(nn.loss, self.loss)
        optimizer = nn.AdamW(variables, nn.ParamsAdamW(lr=LR, beta1=BETA1, beta2=BETA2, eps=EPS, weight_decay=DECAY))

        def step() -> Any:
            loss = loss_of(second(first(inputs).relu()), target)
            optimizer.backward_step(loss)
            return loss.to_scalar()

        return step

    def torch(self, torch: Any, x: Array, y: Array, *params: Array, **choice: bool) -> Call:
        inner, hidden, outer = self.sizes
        model = torch.nn.Sequential(torch.nn.Linear(inner, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outer))
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), params, strict=True):
                parameter.copy_(torch.from_numpy(value))
        inputs, target = torch.from_numpy(x), torch.from_numpy(y)
        loss_of = getattr(torch.nn.functional, {"mse": "mse_loss"}.get(self.loss, self.loss))
        optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(BETA1, BETA2), eps=EPS, weight_decay=DECAY, **choice)

        def step() -> Any:
            optimizer.zero_grad()
            loss = loss_of(model(inputs), target)
            loss.backward()
            optimizer.step()
            return loss.item()

        return step

    def torch_fused(self, torch: Any, *arrays: Array) -> Call:
        return self.torch(torch, *arrays, fused=True)


ROWS = [
    Mlp(name="training step, MLP 8-16-4, batch 32", sizes=(8, 16, 4), batch=32, loss="mse", goal=0.12),
    Mlp(name="training step, MLP 784-256-10, batch 128", sizes=(784, 256, 10), batch=128, loss="cross_entropy", goal=0.60),
]
