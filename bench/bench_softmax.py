"""softmax and log_softmax along the last dim: a square, and the weights of an attention; forward, and with the backward."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from .gradient import puller
from .row import Array, Call, Curve, Row, Stream


@dataclass(frozen=True, kw_only=True)
class Softmax(Row):
    """y = softmax(x) or log_softmax(x) along the last dim."""

    shape: tuple[int, ...]
    op: Literal["softmax", "log_softmax"] = "softmax"

    @property
    def limit(self) -> Stream:
        return Stream(4.0 * prod(self.shape), 4.0 * prod(self.shape))

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return (2.0 * rng.standard_normal(self.shape, np.float32),)

    def _forward(self, x: Array) -> Array:
        x = x.astype(np.float64)
        x -= x.max(-1, keepdims=True)
        e = np.exp(x)
        s = e.sum(-1, keepdims=True)
        return np.asarray(e / s if self.op == "softmax" else x - np.log(s))

    def reference(self, x: Array) -> Any:
        return self._forward(x)

    def cafe(self, cafe: Any, x: Array) -> Call:
        f, t = getattr(cafe.nn.ops, self.op), cafe.Tensor(x)
        return lambda: f(t, -1)

    def torch(self, torch: Any, x: Array) -> Call:
        f, t = getattr(torch, self.op), torch.from_numpy(x)
        return lambda: f(t, -1)

    def scipy(self, scipy: Any, x: Array) -> Call:
        f = getattr(scipy.special, self.op)
        return lambda: f(x, -1)

    def jax(self, jax: Any, x: Array) -> Call:
        f, t = jax.jit(getattr(jax.nn, self.op)), jax.numpy.asarray(x)
        return lambda: f(t).block_until_ready()


@dataclass(frozen=True, kw_only=True)
class WithBackward(Row):
    """The forward, and the gradient of x for a given gradient of y."""

    shape: tuple[int, ...]
    op: Literal["softmax", "log_softmax"] = "softmax"

    @property
    def limit(self) -> Stream:
        n = 4.0 * prod(self.shape)
        return Stream(3.0 * n, 2.0 * n)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return 2.0 * rng.standard_normal(self.shape, np.float32), rng.standard_normal(self.shape, np.float32)

    def reference(self, x: Array, g: Array) -> Array:
        y = Softmax(name="", shape=self.shape, op=self.op)._forward(x)
        if self.op == "softmax":
            return np.asarray(y * (g - (g * y).sum(-1, keepdims=True)))
        return np.asarray(g - np.exp(y) * g.sum(-1, keepdims=True, dtype=np.float64))

    def cafe(self, cafe: Any, x: Array, g: Array) -> Call:
        f, v, pull = getattr(cafe.nn.ops, self.op), cafe.Var(x), puller(cafe, g)
        return lambda: pull(f(v, -1), v)

    def torch(self, torch: Any, x: Array, g: Array) -> Call:
        f, v, seed = getattr(torch, self.op), torch.from_numpy(x).requires_grad_(), torch.from_numpy(g)
        return lambda: torch.autograd.grad(f(v, -1), v, seed)

    def jax(self, jax: Any, x: Array, g: Array) -> Call:
        f = getattr(jax.nn, self.op)
        pull, t, seed = jax.jit(lambda t, seed: jax.vjp(f, t)[1](seed)[0]), jax.numpy.asarray(x), jax.numpy.asarray(g)
        return lambda: pull(t, seed).block_until_ready()


def of_rows(size: int) -> Softmax:
    """softmax of `size` bytes in rows of 256 numbers."""
    rows = size // 4 // 256
    return Softmax(name=f"softmax {rows} x 256", shape=(rows, 256))


SQUARE, WEIGHTS = (1024, 1024), (8, 12, 512, 512)
ROWS = [
    Softmax(name="softmax 1024 x 1024", shape=SQUARE, goal=0.48),
    Softmax(name="log_softmax 1024 x 1024", shape=SQUARE, op="log_softmax", goal=0.48),
    WithBackward(name="softmax 1024 x 1024, with backward", shape=SQUARE, goal=0.48),
    WithBackward(name="log_softmax 1024 x 1024, with backward", shape=SQUARE, op="log_softmax", goal=0.48),
    Softmax(name="softmax 8x12x512x512", shape=WEIGHTS, goal=0.30, goal_kept=0.75),
    WithBackward(name="softmax 8x12x512x512, with backward", shape=WEIGHTS, goal=0.30, goal_kept=0.85),
]
CURVES = [Curve("softmax of rows of 256, by bytes", "bytes", "GB/s", tuple((2**k, of_rows(2**k)) for k in range(10, 29, 2)))]
