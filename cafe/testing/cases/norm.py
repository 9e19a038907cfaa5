"""Normalisation, in two passes over float64 (above the tensor floor)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from cafe.dtype import Array
from cafe.errors import Error
from cafe.ops import norm as ops
from cafe.ops.base import Op
from cafe.shape import Shape

from ..arrays import Real
from ..case import Case, Shapes

_Empty = list[tuple[Shapes, type[Error] | None]]

EPS = 1e-3
_POSITIVE = Real(0.5, 2.0, kinks=())
_ROWS: list[Shapes] = [((1, 1), (1,), (1,)), ((3, 5), (5,), (5,)), ((2, 4, 37), (37,), (37,))]
_NO_ROWS: _Empty = [(((0, 3), (3,), (3,)), None)]
_PLANES: list[Shapes] = [((1, 2, 1), (2,), (2,)), ((3, 4, 37), (4,), (4,)), ((2, 8, 3, 5), (8,), (8,))]
_PAIRS: list[Shapes] = [((1, 2, 1), (2,), (2,)), ((3, 2, 37), (2,), (2,)), ((2, 2, 3, 5), (2,), (2,))]
_NO_PLANES: _Empty = [(((0, 2, 3), (2,), (2,)), None)]


def _normalised(x: Array, axes: tuple[int, ...]) -> Array:
    centred = x - x.mean(axes, keepdims=True)
    y: Array = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + EPS)
    return y


def _affine(h: Array, w: Array | None, b: Array | None, shape: Shape) -> Array:
    y = h if w is None else h * w.reshape(shape)
    return y if b is None else y + b.reshape(shape)


def _per_channel(x: Array) -> Shape:
    return (-1, *(1 for _ in x.shape[2:]))


def layer_norm(x: Array, w: Array | None = None, b: Array | None = None) -> Array:
    """Over the last dim."""
    return _affine(_normalised(x, (-1,)), w, b, (-1,))


def residual_norm(x: Array, r: Array, w: Array | None = None, b: Array | None = None) -> Array:
    """Of a sum, over the last dim."""
    return layer_norm(x + r, w, b)


def rms_norm(x: Array, w: Array | None = None, b: Array | None = None) -> Array:
    """By the root of the mean square over the last dim."""
    return _affine(x / np.sqrt((x**2).mean(-1, keepdims=True) + EPS), w, b, (-1,))


def group_norm(groups: int, x: Array, w: Array | None = None, b: Array | None = None) -> Array:
    """Over each image's groups."""
    h = _normalised(x.reshape(x.shape[0], groups, x.shape[1] // groups, -1), (2, 3)) if x.size else x
    return _affine(h.reshape(x.shape), w, b, _per_channel(x))


def batch_norm(x: Array, w: Array | None = None, b: Array | None = None) -> Array:
    """Over the batch and all places."""
    h = _normalised(x, (0, *range(2, x.ndim))) if x.size else x
    return _affine(h, w, b, _per_channel(x))


def channel_norm(x: Array, mean: Array, var: Array, w: Array | None = None, b: Array | None = None) -> Array:
    """By given statistics."""
    shape = _per_channel(x)
    return _affine((x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + EPS), w, b, shape)


def _family(name: str, op: Op, reference: Callable[..., Array], samples: list[Shapes], empty: _Empty) -> list[Case]:
    """With weight and bias, with a weight, and without."""
    ways = (("", 3), (" without a bias", 2), (" alone", 1))
    return [Case(f"{name}{way}", op, [s[:n] for s in samples], reference, [(s[:n], e) for s, e in empty], ulps=8.0) for way, n in ways]


def _by_statistics(shapes: Shapes) -> Shapes:
    x, *rest = shapes
    return (x, x[1:2], x[1:2], *rest)


CASES = [
    *_family("layer-norm", ops.LayerNorm(EPS), layer_norm, _ROWS, _NO_ROWS),
    *_family("rms-norm", ops.RmsNorm(EPS), rms_norm, _ROWS, _NO_ROWS),
    *_family("group-norm", ops.GroupNorm(2, EPS), partial(group_norm, 2), _PLANES, _NO_PLANES),
    *_family("instance norm", ops.GroupNorm(2, EPS), partial(group_norm, 2), _PAIRS, _NO_PLANES),
    *_family("batch-norm", ops.BatchNorm(EPS), batch_norm, _PLANES, _NO_PLANES),
    Case(
        "batch-norm of rows",
        ops.BatchNorm(EPS),
        [((1, 1), (1,), (1,)), ((4, 37), (37,), (37,)), ((19, 5), (5,), (5,))],
        batch_norm,
        [(((3, 0), (0,), (0,)), None)],
        ulps=8.0,
    ),
    *(
        Case(
            f"residual layer-norm{name}",
            ops.ResidualNorm(EPS),
            [(s[0], *s[:n]) for s in _ROWS],
            residual_norm,
            [((s[0], *s[:n]), e) for s, e in _NO_ROWS],
            ulps=8.0,
        )
        for name, n in (("", 3), (" without a bias", 2), (" alone", 1))
    ),
    *(
        Case(
            f"batch-norm-eval{name}",
            ops.ChannelNorm(EPS),
            [_by_statistics(cut) for shapes in _PLANES if (cut := shapes[:n])],
            channel_norm,
            [(_by_statistics(shapes[:n]), e) for shapes, e in _NO_PLANES],
            [Real(), Real(), _POSITIVE, Real()],
            ulps=8.0,
            constant=(1, 2),
        )
        for name, n in (("", 3), (" without a bias", 2), (" alone", 1))
    ),
]
