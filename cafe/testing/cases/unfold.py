"""Sliding windows along a dim and their adjoint (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.dtype import Array
from cafe.ops import unfold as ops

from ..arrays import Real
from ..case import EVERY, Case

_FEW = Real(whole=(0, 5))


def _unfold(x: Array, dim: int, size: int, step: int) -> Array:
    """Window by window."""
    starts = range(0, x.shape[dim] - size + 1, step)
    return np.stack([np.moveaxis(x.take(range(s, s + size), dim), dim, -1) for s in starts], dim)


def _fold(g: Array, dim: int, size: int, step: int, length: int) -> Array:
    y = np.zeros((*g.shape[:dim], length, *g.shape[dim + 1 : -1]), g.dtype)
    for place in np.ndindex(g.shape):
        at = list(place[:-1])
        at[dim] = place[dim] * step + place[-1]
        y[tuple(at)] += g[place]
    return y


CASES = [
    Case(
        "unfold",
        ops.Unfold(0, 2, 2),
        [((2,),), ((17,),), ((9, 1),), ((6, 2, 2),)],
        lambda x: _unfold(x, 0, 2, 2),
        [(((4, 0),), None)],
        [_FEW],
        EVERY,
        ulps=1.0,
    ),
    Case(
        "unfold with overlaps",
        ops.Unfold(1, 3, 1),
        [((1, 3),), ((2, 17),), ((2, 4, 3),)],
        lambda x: _unfold(x, 1, 3, 1),
        [(((0, 4),), None)],
        [_FEW],
        EVERY,
        ulps=2.0,
    ),
    Case(
        "unfold with gaps",
        ops.Unfold(1, 1, 3),
        [((1, 1),), ((2, 17),)],
        lambda x: _unfold(x, 1, 1, 3),
        [(((0, 3),), None)],
        [_FEW],
        EVERY,
        ulps=1.0,
    ),
    Case(
        "fold",
        lambda g: ops.Fold(1, g[-1], 2, 2 * (g[1] - 1) + g[-1] + 1),
        [((1, 1, 1),), ((2, 9, 3),), ((2, 2, 2, 3),), ((1, 17, 2),)],
        lambda g: _fold(g, 1, g.shape[-1], 2, 2 * (g.shape[1] - 1) + g.shape[-1] + 1),
        [(((0, 2, 3),), None)],
        [_FEW],
        EVERY,
        ulps=4.0,
    ),
]
