"""Convolution, its gradients and its patches (above the tensor floor)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from cafe.dtype import Array
from cafe.kernels.conv import Geometry
from cafe.ops import conv as ops
from cafe.shape import Shape, conv_out

from ..arrays import Real
from ..case import Case


def _walk(geometry: Geometry, kernel: Shape, places: Shape) -> list[tuple[Any, Any]]:
    """For each tap of the kernel its key among the patches, and the key of what it sees in the padded input."""
    walk = list(zip(places, geometry.stride, geometry.dilation))
    every = (slice(None), slice(None))
    return [
        ((*every, *tap), (*every, *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, (n, s, d) in zip(tap, walk))))
        for tap in product(*map(range, kernel))
    ]


def _padded(x: Array, geometry: Geometry) -> Array:
    return np.pad(x, ((0, 0), (0, 0), *((p, p) for p in geometry.padding)))


def im2col(x: Array, kernel: Shape, geometry: Geometry) -> Array:
    """What each tap sees, tap by tap."""
    places = conv_out(x.shape[2:], kernel, *geometry.walk)
    cols, padded = np.zeros((*x.shape[:2], *kernel, *places)), _padded(x, geometry)
    for tap, seen in _walk(geometry, kernel, places):
        cols[tap] = padded[seen]
    return cols


def col2im(cols: Array, size: Shape, geometry: Geometry) -> Array:
    """What each tap saw, added back tap by tap."""
    axes = len(size)
    padded = _padded(np.zeros((*cols.shape[:2], *size)), geometry)
    for tap, seen in _walk(geometry, cols.shape[2 : 2 + axes], cols.shape[2 + axes :]):
        padded[seen] += cols[tap]
    inside: Any = (..., *(slice(p, p + n) for n, p in zip(size, geometry.padding)))
    out: Array = padded[inside]
    return out


def _grouped(a: Array, groups: int, axis: int) -> list[Array]:
    return np.split(a, groups, axis)


def conv(geometry: Geometry) -> Callable[..., Array]:
    """Σ_c Σ_k w[o, c, k] patches[n, c, k, l] for each group, and the bias."""

    def function(x: Array, w: Array, *b: Array) -> Array:
        axes, groups = w.ndim - 2, geometry.groups
        cols = _grouped(im2col(x, w.shape[2:], geometry), groups, 1)
        taps = list(range(1, 2 + axes))
        parts = [np.moveaxis(np.tensordot(v, c, (taps, taps)), 0, 1) for v, c in zip(_grouped(w, groups, 0), cols)]
        y = np.concatenate(parts, 1)
        return y + b[0].reshape(-1, *(1,) * axes) if b else y

    return function


def conv_norm(geometry: Geometry) -> Callable[..., Array]:
    """Each channel of a convolution with a bias, by given statistics, and its ReLU."""

    def function(x: Array, w: Array, b: Array, *norm: Array) -> Array:
        y = conv(geometry)(x, w, b)
        mean, var, scale, shift = (p.reshape(-1, *(1,) * (w.ndim - 2)) for p in norm)
        return np.maximum((y - mean) / np.sqrt(var + EPS) * scale + shift, 0)

    return function


def conv_input_grad(size: Shape, geometry: Geometry) -> Callable[..., Array]:
    """Σ_o w[o, c, k] g[n, o, l] for each group, added back."""

    def function(g: Array, w: Array) -> Array:
        pairs = zip(_grouped(w, geometry.groups, 0), _grouped(g, geometry.groups, 1))
        cols = [np.moveaxis(np.tensordot(v, part, ([0], [1])), w.ndim - 1, 0) for v, part in pairs]
        return col2im(np.concatenate(cols, 1), size, geometry)

    return function


def conv_weight_grad(kernel: Shape, geometry: Geometry) -> Callable[..., Array]:
    """Σ_n Σ_l g[n, o, l] patches[n, c, k, l] for each group."""

    def function(g: Array, x: Array) -> Array:
        axes = len(kernel)
        spoken: Any = (..., *(slice(n) for n in g.shape[2:]))
        cols = im2col(x, kernel, geometry)[spoken]
        places = [0, *range(2, 2 + axes)], [0, *range(2 + axes, 2 + 2 * axes)]
        pairs = zip(_grouped(g, geometry.groups, 1), _grouped(cols, geometry.groups, 1))
        return np.concatenate([np.tensordot(part, c, places) for part, c in pairs], 0)

    return function


EPS = 1e-3
PLAIN1, PLAIN2 = Geometry((1,), (0,), (1,)), Geometry((1, 1), (0, 0), (1, 1))
WIDE1 = Geometry((1,), (2,), (2,))
UNEVEN = Geometry((2, 1), (1, 2), (1, 2), 2)
DEPTHWISE = Geometry((1, 2), (1, 0), (1, 1), 2)

CASES = [
    Case(
        "conv1d",
        ops.Conv(WIDE1),
        [((1, 1, 1), (1, 1, 3)), ((2, 3, 37), (4, 3, 3))],
        conv(WIDE1),
        [(((0, 3, 5), (4, 3, 3)), None), (((2, 0, 5), (4, 0, 3)), None)],
        ulps=8.0,
    ),
    Case(
        "conv2d with groups and a bias",
        ops.Conv(UNEVEN),
        [((1, 2, 1, 1), (2, 1, 1, 1), (2,)), ((2, 4, 7, 19), (6, 2, 3, 2), (6,))],
        conv(UNEVEN),
        [(((0, 4, 5, 5), (6, 2, 3, 2), (6,)), None)],
        ulps=8.0,
    ),
    Case(
        "conv2d with one input channel a group",
        ops.Conv(DEPTHWISE),
        [((1, 2, 1, 1), (2, 1, 1, 1)), ((2, 2, 5, 35), (4, 1, 3, 3))],
        conv(DEPTHWISE),
        [(((0, 2, 5, 5), (4, 1, 3, 3)), None)],
        ulps=8.0,
    ),
    Case(
        "conv2d with a 1 by 1 kernel",
        ops.Conv(PLAIN2),
        [((1, 1, 1, 1), (1, 1, 1, 1)), ((2, 5, 3, 17), (4, 5, 1, 1))],
        conv(PLAIN2),
        [(((0, 5, 3, 4), (4, 5, 1, 1)), None)],
        ulps=8.0,
    ),
    Case(
        "conv2d, norm and relu",
        ops.ConvNorm(UNEVEN, EPS, "relu", biased=True),
        [((1, 2, 1, 1), (2, 1, 1, 1), *[(2,)] * 5), ((2, 4, 7, 19), (6, 2, 3, 2), *[(6,)] * 5)],
        conv_norm(UNEVEN),
        [(((0, 4, 5, 5), (6, 2, 3, 2), *[(6,)] * 5), None)],
        [Real(), Real(), Real(), Real(), Real(0.5, 2.0), Real()],
        ulps=8.0,
    ),
    Case(
        "conv_transpose1d",
        ops.ConvInputGrad((37,), PLAIN1),
        [((1, 1, 37), (1, 1, 1)), ((2, 3, 35), (3, 4, 3))],
        conv_input_grad((37,), PLAIN1),
        [(((0, 3, 35), (3, 4, 3)), None)],
        ulps=8.0,
    ),
    Case(
        "conv_transpose2d with groups",
        ops.ConvInputGrad((7, 19), UNEVEN),
        [((1, 2, 4, 23), (2, 1, 1, 1)), ((2, 6, 4, 21), (6, 2, 3, 2))],
        conv_input_grad((7, 19), UNEVEN),
        [(((0, 6, 4, 21), (6, 2, 3, 2)), None)],
        ulps=8.0,
    ),
    Case(
        "conv weight gradient",
        ops.ConvWeightGrad((3, 2), UNEVEN),
        [((1, 2, 1, 1), (1, 2, 1, 1)), ((2, 6, 4, 21), (2, 4, 7, 19))],
        conv_weight_grad((3, 2), UNEVEN),
        [(((0, 6, 4, 21), (0, 4, 7, 19)), None)],
        ulps=16.0,
    ),
    Case(
        "im2col",
        ops.Im2col((3, 2), *UNEVEN.walk),
        [((1, 1, 1, 1),), ((2, 3, 7, 19),)],
        lambda x: im2col(x, (3, 2), UNEVEN),
        [(((0, 3, 7, 19),), None)],
        ulps=1.0,
    ),
    Case(
        "col2im",
        ops.Col2im((7, 19), *UNEVEN.walk),
        [((1, 1, 1, 1, 1, 1),), ((2, 3, 3, 2, 4, 21),)],
        lambda cols: col2im(cols, (7, 19), UNEVEN),
        [(((0, 3, 3, 2, 4, 21),), None)],
        ulps=4.0,
    ),
]
