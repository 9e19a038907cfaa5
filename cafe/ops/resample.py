"""Resizing (floor 2): linear maps, so each is differentiated by its adjoint, and the adjoint by it."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP
from cafe.kernels.resample import Blend, Ids

from .base import Grads, Op, Record


class Nearest(Op):
    """Copies of the nearest elements: (N, C, *S) → (N, C, *L). Halves take the way through F32, which C has, and come back as they were."""

    def __init__(self, ids: Ids) -> None:
        self.name, self.ids = f"upsample_nearest{len(ids)}d", ids

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.resize_nearest(x, self.ids)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.resize_nearest_backward(g, self.ids, x.shape[2:]),)


class NearestBackward(Op):
    """Copies added up where they came from: (N, C, *L) → (N, C, *size)."""

    def __init__(self, ids: Ids, size: tuple[int, ...]) -> None:
        self.name, self.ids, self.size = f"upsample_nearest{len(ids)}d_backward", ids, size

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.resize_nearest_backward(x, self.ids, self.size)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.resize_nearest(g, self.ids),)


class Linear(Op):
    """Between neighbours along each axis: (N, C, *S) → (N, C, *L)."""

    def __init__(self, blends: tuple[Blend, ...]) -> None:
        self.name, self.blends = f"upsample_{('linear', 'bilinear')[len(blends) > 1]}{len(blends)}d", blends

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.resize_linear(x, self.blends)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.resize_linear_backward(g, self.blends, x.shape[2:]),)


class LinearBackward(Op):
    """The adjoint of `Linear`: (N, C, *L) → (N, C, *size)."""

    def __init__(self, blends: tuple[Blend, ...], size: tuple[int, ...]) -> None:
        self.name, self.blends, self.size = f"{Linear(blends).name}_backward", blends, size

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.resize_linear_backward(x, self.blends, self.size)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.resize_linear(g, self.blends),)
