"""Resizing, held to plain loops over the places (above the tensor floor)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np

from cafe.dtype import Array
from cafe.kernels.resample import Blend, Ids, between, nearest_ids
from cafe.ops import resample as ops
from cafe.shape import Shape

from ..case import EVERY, Case


def _ids(*places: int) -> Callable[[Shape], Ids]:
    return lambda shape: tuple(nearest_ids(n, p) for n, p in zip(shape[2:], places))


def _blends(*places: int, align_corners: bool = False) -> Callable[[Shape], tuple[Blend, ...]]:
    return lambda shape: tuple(between(n, p, align_corners) for n, p in zip(shape[2:], places))


def _at(place: Iterable[int]) -> Any:
    return (..., *place)


def nearest(ids: Callable[[Shape], Ids]) -> Callable[[Array], Array]:
    """A copy for each place."""

    def function(x: Array) -> Array:
        along = ids(x.shape)
        y = np.zeros((*x.shape[:2], *map(len, along)), x.dtype)
        for place in product(*(range(len(i)) for i in along)):
            y[_at(place)] = x[_at(i[p] for i, p in zip(along, place))]
        return y

    return function


def _before(shape: Shape) -> Shape:
    """A size to have come from: half of the places, rounded up."""
    return tuple((n + 1) // 2 for n in shape[2:])


def _ids_back(shape: Shape) -> tuple[Ids, Shape]:
    size = _before(shape)
    return tuple(map(nearest_ids, size, shape[2:])), size


def nearest_backward(g: Array) -> Array:
    """Each place added to its source."""
    along, size = _ids_back(g.shape)
    y = np.zeros((*g.shape[:2], *size))
    for place in product(*(range(len(i)) for i in along)):
        y[_at(i[p] for i, p in zip(along, place))] += g[_at(place)]
    return y


def _corners(along: tuple[Blend, ...], place: Shape) -> list[tuple[Shape, float]]:
    """The sources of a place, with their weights."""
    sides = [((b.low[p], 1.0 - b.weight[p]), (b.high[p], b.weight[p])) for b, p in zip(along, place)]
    return [(tuple(at for at, _ in corner), float(np.prod([w for _, w in corner]))) for corner in product(*sides)]


def linear(blends: Callable[[Shape], tuple[Blend, ...]]) -> Callable[[Array], Array]:
    """The sum of the corners, each by its weight."""

    def function(x: Array) -> Array:
        along = blends(x.shape)
        y = np.zeros((*x.shape[:2], *(len(b.low) for b in along)))
        for place in product(*(range(len(b.low)) for b in along)):
            y[_at(place)] = sum((x[_at(at)] * weight for at, weight in _corners(along, place)), np.zeros(x.shape[:2]))
        return y

    return function


def _blends_back(shape: Shape) -> tuple[tuple[Blend, ...], Shape]:
    size = _before(shape)
    return tuple(between(n, p, False) for n, p in zip(size, shape[2:])), size


def linear_backward(g: Array) -> Array:
    """Each place added to its corners."""
    along, size = _blends_back(g.shape)
    y = np.zeros((*g.shape[:2], *size))
    for place in product(*(range(len(b.low)) for b in along)):
        for at, weight in _corners(along, place):
            y[_at(at)] += g[_at(place)] * weight
    return y


NEAREST1, NEAREST2 = _ids(7), _ids(6, 5)
LINEAR1, BILINEAR, CORNERS = _blends(7), _blends(6, 5), _blends(6, 37, align_corners=True)

CASES = [
    Case(
        "upsample_nearest1d",
        lambda shape: ops.Nearest(NEAREST1(shape)),
        [((1, 1, 1),), ((2, 3, 3),), ((1, 2, 37),)],
        nearest(NEAREST1),
        [(((0, 3, 5),), None), (((2, 0, 5),), None)],
        dtypes=EVERY,
        ulps=1.0,
    ),
    Case(
        "upsample_nearest2d",
        lambda shape: ops.Nearest(NEAREST2(shape)),
        [((1, 1, 1, 1),), ((2, 3, 3, 2),), ((1, 2, 4, 37),)],
        nearest(NEAREST2),
        [(((0, 3, 5, 5),), None)],
        dtypes=EVERY,
        ulps=1.0,
    ),
    Case(
        "upsample_nearest2d_backward",
        lambda shape: ops.NearestBackward(*_ids_back(shape)),
        [((1, 1, 1, 1),), ((2, 3, 6, 37),)],
        nearest_backward,
        [(((0, 3, 6, 5),), None)],
    ),
    Case(
        "upsample_linear1d",
        lambda shape: ops.Linear(LINEAR1(shape)),
        [((1, 1, 1),), ((2, 3, 3),), ((1, 2, 37),)],
        linear(LINEAR1),
        [(((0, 3, 5),), None), (((2, 0, 5),), None)],
    ),
    Case(
        "upsample_bilinear2d",
        lambda shape: ops.Linear(BILINEAR(shape)),
        [((1, 1, 1, 1),), ((2, 3, 3, 2),), ((1, 2, 4, 37),)],
        linear(BILINEAR),
        [(((0, 3, 5, 5),), None)],
    ),
    Case(
        "upsample_bilinear2d, corners aligned",
        lambda shape: ops.Linear(CORNERS(shape)),
        [((1, 1, 1, 1),), ((2, 3, 3, 17),)],
        linear(CORNERS),
        [(((0, 3, 5, 5),), None)],
    ),
    Case(
        "upsample_bilinear2d_backward",
        lambda shape: ops.LinearBackward(*_blends_back(shape)),
        [((1, 1, 1, 1),), ((2, 3, 6, 37),)],
        linear_backward,
        [(((0, 3, 6, 5),), None)],
    ),
]
