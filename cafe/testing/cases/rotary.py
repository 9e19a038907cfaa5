"""Rotary positions (above the tensor floor)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cafe.dtype import Array
from cafe.errors import Error
from cafe.ops import rotary as ops

from ..case import Case, Shapes

_SHAPES: list[Shapes] = [
    ((1, 1, 1, 2), (1, 1), (1, 1)),
    ((2, 3, 5, 6), (5, 3), (5, 3)),
    ((2, 5, 5, 8), (2, 7, 4), (2, 7, 4)),  # angles of each batch item's own, longer than need be
    ((1, 2, 3, 74), (3, 37), (3, 37)),
]
_BY_TIME: list[Shapes] = [((b, t, h, d), cos, sin) for (b, h, t, d), cos, sin in _SHAPES]
_EMPTY: list[tuple[Shapes, type[Error] | None]] = [
    (((0, 2, 3, 4), (3, 2), (3, 2)), None),
    (((1, 2, 0, 4), (0, 2), (0, 2)), None),
    (((1, 2, 3, 0), (3, 0), (3, 0)), None),
]


def _rotate(step: int, time: int) -> Callable[[Array, Array, Array], Array]:
    def reference(x: Array, cos: Array, sin: Array) -> Array:
        half, places = x.shape[3] // 2, x.shape[time]
        angles = (cos + 1j * sin)[..., :places, :]
        angles = np.expand_dims(angles, -3 if time == 2 else -2)
        firsts = np.arange(half) * step
        seconds = firsts + (half if step == 1 else 1)
        turned = (x[..., firsts] + 1j * x[..., seconds]) * angles
        y = np.empty_like(x)
        y[..., firsts], y[..., seconds] = turned.real, turned.imag
        return y

    return reference


CASES = [
    Case("rope", ops.Rotate(1, 2), _SHAPES, _rotate(1, 2), _EMPTY, ulps=2.0, constant=(1, 2)),
    Case("rope, neighbours", ops.Rotate(2, 2), _SHAPES, _rotate(2, 2), _EMPTY, ulps=2.0, constant=(1, 2)),
    Case("rope, time first", ops.Rotate(1, 1), _BY_TIME, _rotate(1, 1), _EMPTY[:1], ulps=2.0, constant=(1, 2)),
]
