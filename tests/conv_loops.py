"""Convolution, its two gradients and the transposed convolution by plain loops in float64: what every implementation is held to."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from cafe.kernels.conv import Geometry

Array = np.ndarray[Any, Any]


class Loops:
    """One geometry and kernel size. Every multiply-add is found by the definition: place l and tap k meet input i = l s + k d − p."""

    def __init__(self, size: tuple[int, ...], kernel: tuple[int, ...], geometry: Geometry, places: tuple[int, ...] | None = None) -> None:
        self.size, self.kernel, self.groups = size, kernel, geometry.groups
        walk = list(zip(size, kernel, *geometry.walk))
        self.places = places or tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in walk)
        self.meetings = []
        for place in product(*map(range, self.places)):
            for tap in product(*map(range, kernel)):
                at = tuple(i * s + t * d - p for i, t, (_, _, s, p, d) in zip(place, tap, walk))
                if all(0 <= i < n for i, n in zip(at, size)):
                    self.meetings.append((place, tap, at))

    def conv(self, x: Array, w: Array) -> Array:
        """The output."""
        y = np.zeros((x.shape[0], w.shape[0], *self.places))
        for outs, ins in self.channels(w.shape[0], x.shape[1]):
            for place, tap, at in self.meetings:
                y[:, outs, *place] += x[:, ins, *at].astype(np.float64) @ w[outs, :, *tap].astype(np.float64).T
        return y

    def input_grad(self, g: Array, w: Array) -> Array:
        """The gradient of Σ g conv(x, w) in x."""
        gx = np.zeros((g.shape[0], w.shape[1] * self.groups, *self.size))
        for outs, ins in self.channels(w.shape[0], gx.shape[1]):
            for place, tap, at in self.meetings:
                gx[:, ins, *at] += g[:, outs, *place].astype(np.float64) @ w[outs, :, *tap].astype(np.float64)
        return gx

    def weight_grad(self, g: Array, x: Array) -> Array:
        """The gradient of Σ g conv(x, w) in w."""
        gw = np.zeros((g.shape[1], x.shape[1] // self.groups, *self.kernel))
        for outs, ins in self.channels(g.shape[1], x.shape[1]):
            for place, tap, at in self.meetings:
                gw[outs, :, *tap] += g[:, outs, *place].astype(np.float64).T @ x[:, ins, *at].astype(np.float64)
        return gw

    def channels(self, outs: int, ins: int) -> list[tuple[slice, slice]]:
        """The channels out and in of each group."""
        o, i = outs // self.groups, ins // self.groups
        return [(slice(j * o, j * o + o), slice(j * i, j * i + i)) for j in range(self.groups)]
