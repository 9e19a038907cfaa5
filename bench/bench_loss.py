"""Cross-entropy of logits and Huber's loss, with the backward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .row import Array, Call, Row, Stream


@dataclass(frozen=True, kw_only=True)
class CrossEntropy(Row):
    """The mean over a batch, and its gradient with respect to the logits."""

    batch: int
    classes: int

    @property
    def limit(self) -> Stream:
        return Stream(4.0 * self.batch * self.classes, 4.0 * self.batch * self.classes)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return 2.0 * rng.standard_normal((self.batch, self.classes), np.float32), rng.integers(0, self.classes, self.batch)

    def reference(self, x: Array, target: Array) -> tuple[Array, Array]:
        logits = x.astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        e = np.exp(logits)
        p = e / e.sum(1, keepdims=True)
        rows = np.arange(self.batch)
        loss = -np.log(p[rows, target]).mean()
        p[rows, target] -= 1.0
        return loss, p / self.batch

    def cafe(self, cafe: Any, x: Array, target: Array) -> Call:
        logits, ids, cross_entropy = cafe.Var(x), cafe.Tensor(target), cafe.nn.loss.cross_entropy

        def step() -> Any:
            loss = cross_entropy(logits, ids)
            return loss, loss.backward().get(logits)

        return step

    def torch(self, torch: Any, x: Array, target: Array) -> Call:
        logits, ids = torch.from_numpy(x).requires_grad_(), torch.from_numpy(target)

        def step() -> Any:
            loss = torch.nn.functional.cross_entropy(logits, ids)
            return loss, torch.autograd.grad(loss, logits)[0]

        return step

    def jax(self, jax: Any, x: Array, target: Array) -> Call:
        def cross_entropy(logits: Any, ids: Any) -> Any:
            return -jax.numpy.take_along_axis(jax.nn.log_softmax(logits), ids[:, None], 1).mean()

        step, logits, ids = jax.jit(jax.value_and_grad(cross_entropy)), jax.numpy.asarray(x), jax.numpy.asarray(target)
        return lambda: jax.block_until_ready(step(logits, ids))


@dataclass(frozen=True, kw_only=True)
class Huber(Row):
    """The mean over n predictions, about half of them beyond delta, and its gradient with respect to the predictions."""

    n: int
    delta: float = 1.0

    @property
    def limit(self) -> Stream:
        return Stream(8.0 * self.n, 4.0 * self.n)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return rng.standard_normal(self.n, np.float32), rng.standard_normal(self.n, np.float32)

    def reference(self, x: Array, target: Array) -> tuple[Array, Array]:
        d = x.astype(np.float64) - target
        held = np.clip(d, -self.delta, self.delta)
        return np.asarray((held * (d - held / 2.0)).mean()), held / self.n

    def cafe(self, cafe: Any, x: Array, target: Array) -> Call:
        v, t, huber = cafe.Var(x), cafe.Tensor(target), cafe.nn.loss.huber

        def step() -> Any:
            loss = huber(v, t, self.delta)
            return loss, loss.backward().get(v)

        return step

    def torch(self, torch: Any, x: Array, target: Array) -> Call:
        v, t = torch.from_numpy(x).requires_grad_(), torch.from_numpy(target)

        def step() -> Any:
            loss = torch.nn.functional.huber_loss(v, t, delta=self.delta)
            return loss, torch.autograd.grad(loss, v)[0]

        return step


ROWS = [
    CrossEntropy(name="cross-entropy 4096 x 1000, with backward", batch=4096, classes=1000, goal=0.45),
    Huber(name="Huber 1M, with backward", n=2**20),
]
