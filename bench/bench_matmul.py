"""Matrix products: square ones, transposed operands, few rows, batches, and one so small that only Python is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from .plain import as_bf16
from .row import Array, Call, Curve, Flops, Limit, Row, Stream


@dataclass(frozen=True, kw_only=True)
class Matmul(Row):
    """(…, M, K) times (…, K, N). A transposed operand lies in memory the other way round."""

    m: int
    k: int
    n: int
    batch: tuple[int, ...] = ()
    dtype: str = "f32"
    transposed: Literal["", "left", "right"] = ""
    memory_bound: bool = False

    @property
    def limit(self) -> Limit:
        count, item = prod(self.batch), 4 if self.dtype == "f32" else 8
        if self.memory_bound:
            return Stream(count * item * (self.m * self.k + self.k * self.n), count * item * self.m * self.n)
        return Flops(2.0 * count * self.m * self.k * self.n, self.dtype)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        real = np.float32 if self.dtype == "f32" else np.float64
        left, right = (self.m, self.k), (self.k, self.n)
        shapes = (left[::-1] if self.transposed == "left" else left), (right[::-1] if self.transposed == "right" else right)
        return tuple(rng.standard_normal((*self.batch, *shape), real) for shape in shapes)

    def _turned(self, a: Any, b: Any, turn: Callable[[Any], Any]) -> tuple[Any, Any]:
        return (turn(a) if self.transposed == "left" else a), (turn(b) if self.transposed == "right" else b)

    def reference(self, a: Array, b: Array) -> Array:
        wide = np.float64 if self.dtype == "f32" else np.longdouble
        x, y = self._turned(a.astype(wide), b.astype(wide), lambda t: t.swapaxes(-1, -2))
        return np.asarray(np.matmul(x, y), np.float64)

    def cafe(self, cafe: Any, a: Array, b: Array) -> Call:
        x, y = self._turned(cafe.Tensor(a), cafe.Tensor(b), lambda t: t.t())
        return lambda: x.matmul(y)

    def torch(self, torch: Any, a: Array, b: Array) -> Call:
        x, y = self._turned(torch.from_numpy(a), torch.from_numpy(b), lambda t: t.mT)
        return lambda: torch.matmul(x, y)

    def numpy(self, np: Any, a: Array, b: Array) -> Call:
        x, y = self._turned(a, b, lambda t: t.swapaxes(-1, -2))
        return lambda: np.matmul(x, y)

    def jax(self, jax: Any, a: Array, b: Array) -> Call:
        f = jax.jit(lambda x, y: jax.numpy.matmul(*self._turned(x, y, lambda t: t.swapaxes(-1, -2))))
        x, y = jax.numpy.asarray(a), jax.numpy.asarray(b)
        return lambda: f(x, y).block_until_ready()


@dataclass(frozen=True, kw_only=True)
class OfHalves(Matmul):
    """The same of numbers that BF16 holds, with a result that is rounded to it."""

    tolerance: float = 2.0**-8
    numpy = jax = None  # what they inherit would be products of F32

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return tuple(map(as_bf16, super().inputs(rng)))

    def cafe(self, cafe: Any, a: Array, b: Array) -> Call:
        x, y = cafe.Tensor(a).to_dtype("bf16"), cafe.Tensor(b).to_dtype("bf16")
        return lambda: x.matmul(y)

    def torch(self, torch: Any, a: Array, b: Array) -> Call:
        x, y = torch.from_numpy(a).bfloat16(), torch.from_numpy(b).bfloat16()
        return lambda: torch.matmul(x, y)


def square(n: int, goal: float | None = None) -> Matmul:
    """sgemm of n × n × n."""
    return Matmul(name=f"sgemm {n}", m=n, k=n, n=n, goal=goal)


ROWS = [
    square(64, 0.60),
    square(128, 0.80),
    square(256, 0.85),
    square(512, 0.90),
    square(1024, 0.92),
    square(2048, 0.95),
    Matmul(name="sgemm 512, left transposed", m=512, k=512, n=512, transposed="left", goal=0.95),
    Matmul(name="sgemm 512, right transposed", m=512, k=512, n=512, transposed="right", goal=0.90),
    Matmul(name="dgemm 512", m=512, k=512, n=512, dtype="f64", goal=0.80, tolerance=1e-14),
    OfHalves(name="product of BF16 512", m=512, k=512, n=512),
    Matmul(name="m1 k1024 n1024", m=1, k=1024, n=1024, memory_bound=True, goal=0.50),
    Matmul(name="m8 k1024 n1024", m=8, k=1024, n=1024, goal=0.75),
    Matmul(name="m128 k784 n256", m=128, k=784, n=256, goal=0.80),
    Matmul(name="batched 32 x (128 x 64 x 128)", m=128, k=64, n=128, batch=(32,), goal=0.95),
    Matmul(name="m32 k16 n8, from Python", m=32, k=16, n=8, goal=0.40),
]
_SIZES = (32, 48, 64, 96, 100, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1000, 1024, 1280, 1536, 2048, 3072, 4096)
CURVES = [Curve("sgemm n x n x n", "n", "GFLOP/s", tuple((n, square(n)) for n in _SIZES))]
