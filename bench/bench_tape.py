"""What recording and walking back cost an operation: chains of many small ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .row import Array, Call, Curve, Row


@dataclass(frozen=True, kw_only=True)
class Chain(Row):
    """x · 0.999…, so many times over sixteen numbers, and the gradient of x."""

    ops: int
    tolerance: float = 1e-3  # a hundred thousand roundings

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return (rng.standard_normal(16, np.float32),)

    @property
    def factor(self) -> float:
        """A float32 number below 1 whose power stays near e⁻¹."""
        return float(np.float32(1.0 - 1.0 / self.ops))

    def reference(self, x: Array) -> Array:
        return np.full(16, self.factor**self.ops)

    def cafe(self, cafe: Any, x: Array) -> Call:
        v, factor = cafe.Var(x), self.factor

        def walk() -> Any:
            y = v
            for _ in range(self.ops):
                y = y * factor
            return y.sum_all().backward().get(v)

        return walk

    def torch(self, torch: Any, x: Array) -> Call:
        v, factor = torch.from_numpy(x).requires_grad_(), self.factor

        def walk() -> Any:
            y = v
            for _ in range(self.ops):
                y = y * factor
            return torch.autograd.grad(y.sum(), v)

        return walk


def chain(ops: int) -> Chain:
    """So many operations."""
    return Chain(name=f"chain of {ops} ops, with backward", ops=ops)


ROWS = [chain(1000)]
CURVES = [Curve("tape, cost of an op forward and backward", "ops", "ns", tuple((10**k, chain(10**k)) for k in range(1, 6)))]
