"""Convolution: forward, input gradient and weight gradient, each the others' derivative (floor 2).

With ⟨g, conv(x, w)⟩ linear in each of g, x, w, the gradient of one in another is the third.
"""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP
from cafe.kernels.conv import Geometry, Norm

from .base import Grads, Op, Record


class Conv(Op):
    """w ∗ x + b: x (N, C, *S), w (O, C/G, *k), b (O) → (N, O, *L)."""

    keep = "01"

    def __init__(self, geometry: Geometry) -> None:
        self.name, self.geometry = f"conv{len(geometry.stride)}d", geometry

    def forward(self, xp: XP, x: Array, w: Array, b: Array | None = None) -> Array:
        return xp.conv(x, w, b, self.geometry)

    def backward(self, xp: XP, g: Array, r: Record, x: Array, w: Array, *b: Any) -> Grads:
        gx = xp.conv_input_grad(g, w, x.shape[2:], self.geometry) if r.need[0] else None
        gw = xp.conv_weight_grad(g, x, w.shape[2:], self.geometry) if r.need[1] else None
        if not b:
            return gx, gw
        return gx, gw, xp.sum(g, (0, *range(2, len(g.shape))), False) if r.need[2] else None


class ConvNorm(Op):
    """A convolution, the batch norm of it in use, and ReLU of that where `then` says so, in one pass: x, w, the bias if it is `biased`,
    the norm's mean and variance, then its weight and bias if it has them. For where nothing is recorded: the backward would need what
    goes into the norm.
    """

    differentiable = False

    def __init__(self, geometry: Geometry, eps: float, then: str, biased: bool) -> None:
        self.name, self.geometry, self.eps, self.then, self.biased = f"conv{len(geometry.stride)}d, norm", geometry, eps, then, biased

    def forward(self, xp: XP, x: Array, w: Array, *rest: Array) -> Array:
        b, (mean, var, *both) = (rest[0], rest[1:]) if self.biased else (None, rest)
        scale, shift = both or (None, None)
        return xp.conv_norm(x, w, b, self.geometry, Norm(mean, var, scale, shift, self.eps), self.then)


class ConvInputGrad(Op):
    """The transposed convolution: x (N, O, *L), w (O, C/G, *k) → (N, C, *size)."""

    keep = "01"

    def __init__(self, size: tuple[int, ...], geometry: Geometry) -> None:
        self.name, self.size, self.geometry = f"conv_transpose{len(size)}d", size, geometry

    def forward(self, xp: XP, x: Array, w: Array) -> Array:
        return xp.conv_input_grad(x, w, self.size, self.geometry)

    def backward(self, xp: XP, g: Array, r: Record, x: Array, w: Array) -> Grads:
        gx = _first_places(xp, xp.conv(g, w, None, self.geometry), x.shape) if r.need[0] else None
        return gx, xp.conv_weight_grad(x, g, w.shape[2:], self.geometry) if r.need[1] else None


class ConvWeightGrad(Op):
    """The weight gradient: y (N, O, *L), as a gradient of the output, and x (N, C, *S) → (O, C/G, *kernel)."""

    keep = "01"

    def __init__(self, kernel: tuple[int, ...], geometry: Geometry) -> None:
        self.name, self.kernel, self.geometry = f"conv{len(kernel)}d_weight_grad", kernel, geometry

    def forward(self, xp: XP, y: Array, x: Array) -> Array:
        return xp.conv_weight_grad(y, x, self.kernel, self.geometry)

    def backward(self, xp: XP, g: Array, r: Record, y: Array, x: Array) -> Grads:
        gy = _first_places(xp, xp.conv(x, g, None, self.geometry), y.shape) if r.need[0] else None
        return gy, xp.conv_input_grad(y, g, x.shape[2:], self.geometry) if r.need[1] else None


class Im2col(Op):
    """Every patch a kernel sees: (N, C, *S) → (N, C, *k, *L)."""

    name = "im2col"

    def __init__(self, kernel: tuple[int, ...], *walk: tuple[int, ...]) -> None:
        self.kernel, self.walk = kernel, walk  # stride, padding, dilation

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.im2col(x, self.kernel, *self.walk)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.col2im(g, x.shape[2:], *self.walk),)


class Col2im(Op):
    """Patches added back where they were read: (N, C, *k, *L) → (N, C, *size)."""

    name = "col2im"

    def __init__(self, size: tuple[int, ...], *walk: tuple[int, ...]) -> None:
        self.size, self.walk = size, walk  # stride, padding, dilation

    def forward(self, xp: XP, cols: Array) -> Array:
        return xp.col2im(cols, self.size, *self.walk)

    def backward(self, xp: XP, g: Array, r: Record, cols: Any) -> Grads:
        kernel = cols.shape[2 : 2 + len(self.size)]
        patches = xp.im2col(g, kernel, *self.walk)
        return (_first_places(xp, patches, cols.shape),)


def _first_places(xp: XP, y: Array, shape: tuple[int, ...]) -> Array:
    """The places that the other side spoke of: `output_padding` can leave room for more."""
    return y if y.shape == shape else xp.slice(y, tuple(slice(n) for n in shape))
