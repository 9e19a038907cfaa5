"""AdamW's step over many variables: bound by memory, and bound by Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .row import Array, Call, Row, Stream

LR, BETA1, BETA2, EPS, DECAY = 1e-2, 0.9, 0.999, 1e-8, 0.01


def adamw(p: Array, g: Array, m: Array, v: Array, step: int) -> None:
    """One step in place, as Loshchilov and Hutter write it."""
    p *= 1.0 - LR * DECAY
    m += (1.0 - BETA1) * (g - m)
    v *= BETA2
    v += (1.0 - BETA2) * g * g
    p -= LR / (1.0 - BETA1**step) * m / (np.sqrt(v / (1.0 - BETA2**step)) + EPS)


@dataclass(frozen=True, kw_only=True)
class AdamW(Row):
    """A step over `tensors` variables of `size` numbers, with the same gradients each time. The result is three of the variables."""

    tensors: int
    size: int
    checked_calls: int = 3
    tolerance: float = 1e-6

    @property
    def limit(self) -> Stream:
        n = 4.0 * self.tensors * self.size
        return Stream(4.0 * n, 3.0 * n, in_place=True)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        shape = (self.tensors, self.size)
        return rng.standard_normal(shape, np.float32), rng.standard_normal(shape, np.float32)

    def _shown(self, variables: Any) -> list[Any]:
        return [variables[0], variables[self.tensors // 2], variables[self.tensors - 1]]

    def reference(self, ps: Array, gs: Array) -> list[Array]:
        p, g = (np.stack(self._shown(a)).astype(np.float64) for a in (ps, gs))
        m, v = np.zeros_like(p), np.zeros_like(p)
        steps: list[Array] = []
        for step in range(1, self.checked_calls + 1):
            adamw(p, g, m, v, step)
            steps.extend(p.copy())
        return steps

    def cafe(self, cafe: Any, ps: Array, gs: Array) -> Call:
        variables = list(map(cafe.Var, ps))
        grads = sum((v * cafe.Tensor(g)).sum_all() for v, g in zip(variables, gs, strict=True)).backward()
        params = cafe.nn.ParamsAdamW(lr=LR, beta1=BETA1, beta2=BETA2, eps=EPS, weight_decay=DECAY)
        optimizer = cafe.nn.AdamW(variables, params)
        shown = self._shown(variables)

        def step() -> Any:
            optimizer.step(grads)
            return shown

        return step

    def torch(self, torch: Any, ps: Array, gs: Array, **choice: bool) -> Call:
        variables = [torch.from_numpy(p.copy()).requires_grad_() for p in ps]
        for variable, g in zip(variables, gs, strict=True):
            variable.grad = torch.from_numpy(g.copy())
        optimizer = torch.optim.AdamW(variables, lr=LR, betas=(BETA1, BETA2), eps=EPS, weight_decay=DECAY, **choice)
        shown = self._shown(variables)

        def step() -> Any:
            optimizer.step()
            return shown

        return step

    def torch_fused(self, torch: Any, ps: Array, gs: Array) -> Call:
        return self.torch(torch, ps, gs, fused=True)


ROWS = [
    AdamW(name="AdamW, 10M numbers in 100 tensors", tensors=100, size=100_000, goal=0.25, goal_fused=0.90),
    AdamW(name="AdamW, 100 tensors of 64", tensors=100, size=64, goal=0.05),
]
