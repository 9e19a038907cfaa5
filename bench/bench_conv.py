"""Convolutions of the shapes that networks are made of: forward, with the backward, and the kernel's gradient alone."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from . import plain
from .differentiable import Function, OpRow
from .row import Array, Call, Curve, Flops, Limit, Stream


@dataclass(frozen=True, kw_only=True)
class Conv(OpRow):
    """x (N, C, *S) with kernels (O, C, *k), or with one kernel a channel (depthwise). One or two axes."""

    n: int
    c: int
    o: int
    size: tuple[int, ...]
    k: int
    stride: int = 1
    padding: int = 0
    depthwise: bool = False
    tolerance: float = 2e-5  # the kernels' gradients are sums over tens of thousands of places

    @property
    def result(self) -> tuple[int, ...]:
        return self.n, self.o, *((s + 2 * self.padding - self.k) // self.stride + 1 for s in self.size)

    @property
    def limit(self) -> Limit:
        """Of the direct sum; Winograd's algorithm needs fewer operations and may show more than 100 %."""
        if self.depthwise:
            x, y = 4.0 * self.n * self.c * prod(self.size), 4.0 * prod(self.result)
            return Stream(2 * x + 2 * y, x + y) if self.gradients else Stream(x, y)
        return Flops((1 + len(self.gradients)) * 2.0 * prod(self.result) * self.c * self.k ** len(self.size))

    def operands(self, rng: np.random.Generator) -> list[Array]:
        inner = 1 if self.depthwise else self.c
        w = rng.standard_normal((self.o, inner, *[self.k] * len(self.size)), np.float32)
        return [rng.standard_normal((self.n, self.c, *self.size), np.float32), w / np.float32((inner * self.k ** len(self.size)) ** 0.5)]

    def value(self, x: Array, w: Array) -> Array:
        return plain.conv(x, w, self.stride, self.padding)

    def slopes(self, g: Array, x: Array, w: Array) -> list[Array | None]:
        gx = plain.conv_input_grad(g, w, self.size, self.stride, self.padding) if 0 in self.gradients else None
        return [gx, plain.conv_weight_grad(g, x, w, self.stride, self.padding)]

    @property
    def _groups(self) -> int:
        return self.c if self.depthwise else 1

    def in_cafe(self, cafe: Any) -> Function:
        name = f"conv{len(self.size)}d"
        return lambda x, w: getattr(x, name)(w, self.padding, self.stride, 1, self._groups)

    def in_torch(self, torch: Any) -> Function:
        f = getattr(torch.nn.functional, f"conv{len(self.size)}d")
        return lambda x, w: f(x, w, None, self.stride, self.padding, 1, self._groups)

    def in_jax(self, jax: Any) -> Function:
        axes = len(self.size)
        around = ((self.padding, self.padding),) * axes
        return lambda x, w: jax.lax.conv_general_dilated(x, w, (self.stride,) * axes, around, feature_group_count=self._groups)


@dataclass(frozen=True, kw_only=True)
class WeightGradient(Conv):
    """The gradient of the kernels alone, asked of each library's own function for it."""

    gradients: tuple[int, ...] = (1,)

    @property
    def limit(self) -> Flops:
        return Flops(2.0 * prod(self.result) * self.c * self.k ** len(self.size))

    def cafe(self, cafe: Any, *inputs: Array) -> Call:
        x, w, g = inputs
        kernels, axes = importlib.import_module("cafe.kernels.conv"), len(self.size)
        geometry = kernels.Geometry((self.stride,) * axes, (self.padding,) * axes, (1,) * axes, self._groups)
        return lambda: kernels.conv_weight_grad(g, x, w.shape[2:], geometry)

    def torch(self, torch: Any, *inputs: Array) -> Call:
        x, w, g = map(torch.from_numpy, inputs)
        axes = len(self.size)
        rest = (None, [self.stride] * axes, [self.padding] * axes, [1] * axes, False, [0] * axes, self._groups, [False, True, False])
        return lambda: torch.ops.aten.convolution_backward(g, x, w, *rest)[1]


@dataclass(frozen=True, kw_only=True)
class ConvTranspose(OpRow):
    """The transposed convolution over two axes: x (N, C, H, W) with kernels (C, O, k, k)."""

    n: int
    c: int
    o: int
    size: tuple[int, int]
    k: int
    stride: int
    padding: int
    tolerance: float = 3e-6

    @property
    def result(self) -> tuple[int, ...]:
        return self.n, self.o, *((s - 1) * self.stride + self.k - 2 * self.padding for s in self.size)

    @property
    def limit(self) -> Flops:
        return Flops(2.0 * self.n * prod(self.size) * self.c * self.o * self.k**2)

    def operands(self, rng: np.random.Generator) -> list[Array]:
        w = rng.standard_normal((self.c, self.o, self.k, self.k), np.float32) / np.float32((self.c * self.k**2) ** 0.5)
        return [rng.standard_normal((self.n, self.c, *self.size), np.float32), w]

    def value(self, x: Array, w: Array) -> Array:
        return plain.conv_input_grad(x, w, self.result[2:], self.stride, self.padding)

    def in_cafe(self, cafe: Any) -> Function:
        return lambda x, w: x.conv_transpose2d(w, self.padding, 0, self.stride)

    def in_torch(self, torch: Any) -> Function:
        return lambda x, w: torch.nn.functional.conv_transpose2d(x, w, None, self.stride, self.padding)


BOTH = (0, 1)


def three(channels: int, side: int, n: int = 8) -> dict[str, Any]:
    """A 3 × 3 convolution that keeps channels and size."""
    return {"n": n, "c": channels, "o": channels, "size": (side, side), "k": 3, "padding": 1}


ONE: dict[str, Any] = {"n": 8, "c": 256, "o": 64, "size": (56, 56), "k": 1}
SEVEN: dict[str, Any] = {"n": 8, "c": 3, "o": 64, "size": (224, 224), "k": 7, "stride": 2, "padding": 3}
DEPTHWISE: dict[str, Any] = {"n": 8, "c": 192, "o": 192, "size": (56, 56), "k": 3, "padding": 1, "depthwise": True}
FIVE: dict[str, Any] = {"n": 16, "c": 64, "o": 128, "size": (1024,), "k": 5, "padding": 2}
TRANSPOSED: dict[str, Any] = {"n": 8, "c": 128, "o": 64, "size": (28, 28), "k": 4, "stride": 2, "padding": 1}
ROWS = [
    Conv(name="conv 3x3 64 at 56", **three(64, 56), goal=0.60),
    Conv(name="conv 3x3 128 at 28", **three(128, 28), goal=0.52, quick=False),
    Conv(name="conv 3x3 256 at 14", **three(256, 14), goal=0.56, quick=False),
    Conv(name="conv 3x3 64 at 56, with backward", **three(64, 56), gradients=BOTH, goal=0.65, quick=False),
    Conv(name="conv 3x3 128 at 28, with backward", **three(128, 28), gradients=BOTH, goal=0.65),
    Conv(name="conv 3x3 256 at 14, with backward", **three(256, 14), gradients=BOTH, goal=0.65, quick=False),
    WeightGradient(name="conv 3x3 64 at 56, weight gradient", **three(64, 56), goal=0.65),
    WeightGradient(name="conv 3x3 128 at 28, weight gradient", **three(128, 28), goal=0.65, quick=False),
    WeightGradient(name="conv 3x3 256 at 14, weight gradient", **three(256, 14), goal=0.65, quick=False),
    Conv(name="conv 1x1 256 to 64 at 56", **ONE, goal=0.85),
    Conv(name="conv 1x1 256 to 64 at 56, with backward", **ONE, gradients=BOTH, goal=0.40, goal_kept=0.75, quick=False),
    Conv(name="conv 7x7 stride 2, 3 to 64 at 224", **SEVEN, goal=0.55, goal_kept=1.0, quick=False),
    Conv(name="conv 7x7 stride 2, 3 to 64 at 224, with backward", **SEVEN, gradients=BOTH, goal=0.55, goal_kept=1.0, quick=False),
    Conv(name="conv depthwise 3x3 192 at 56", **DEPTHWISE, goal=0.10, goal_kept=0.45),
    Conv(name="conv depthwise 3x3 192 at 56, with backward", **DEPTHWISE, gradients=BOTH, goal=0.20, goal_kept=0.50, quick=False),
    Conv(name="conv1d 64 to 128, k5, length 1024", **FIVE, goal=0.95),
    Conv(name="conv1d 64 to 128, k5, length 1024, with backward", **FIVE, gradients=BOTH, goal=0.85, quick=False),
    ConvTranspose(name="conv_transpose2d 128 to 64, k4 stride 2, 28", **TRANSPOSED, goal=0.80, quick=False),
]


def small(channels: int, side: int) -> Conv:
    """A point of the curves."""
    return Conv(name=f"conv 3x3 {channels} at {side}, two images", **three(channels, side, 2))


CURVES = [
    Curve("conv 3x3, 32 channels, by side", "side", "GFLOP/s", tuple((2**k, small(32, 2**k)) for k in range(3, 9))),
    Curve("conv 3x3 at 28, by channels", "channels", "GFLOP/s", tuple((2**k, small(2**k, 28)) for k in range(10))),
]
