"""Pooling, held to plain loops over the windows (above the tensor floor)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from cafe.dtype import Array
from cafe.kernels.pool import Spans, Stride, adaptive, strided
from cafe.ops import pool as ops
from cafe.shape import Shape

from ..arrays import Distinct
from ..case import FLOATS, INTS, Case

OVERLAPPING = Stride(3, 2, padding=1)
HANGING = Stride(3, 2, padding=1, ceil=True, count_pad=False)


def spans(*strides: Stride) -> Callable[[Shape], Spans]:
    """The windows of an input of this shape, one walk an axis."""
    return lambda shape: tuple(strided(n, s) for n, s in zip(shape[2:], strides))


def _windows(along: Spans) -> Iterator[tuple[Shape, Any, int]]:
    """For each place its key, the slices of its window and what it is divided by."""
    for place in product(*(range(len(s.start)) for s in along)):
        window = (..., *(slice(s.start[i], s.end[i]) for s, i in zip(along, place)))
        yield place, window, int(np.prod([s.divisor[i] for s, i in zip(along, place)]))


def _at(place: Shape) -> Any:
    return (..., *place)


def _pooled(x: Array, along: Spans, reduce: Callable[[Array, int], Array]) -> Array:
    y = np.zeros((*x.shape[:2], *(len(s.start) for s in along)), x.dtype)
    for place, window, count in _windows(along):
        y[_at(place)] = reduce(x[window], count)
    return y


def _axes(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def max_pool(along: Callable[[Shape], Spans]) -> Callable[[Array], Array]:
    """The largest of each window."""
    return lambda x: _pooled(x, along(x.shape), lambda window, _: window.max(_axes(window)))


def max_pool_ids(along: Callable[[Shape], Spans]) -> Callable[[Array], Array]:
    """Where it is, counted through the places."""

    def function(x: Array) -> Array:
        ids = np.broadcast_to(np.arange(np.prod(x.shape[2:])).reshape(x.shape[2:]), x.shape)
        wins = [(place, ids[window], x[window] == x[window].max(_axes(x), keepdims=True)) for place, window, _ in _windows(along(x.shape))]
        y = np.zeros((*x.shape[:2], *(len(s.start) for s in along(x.shape))))
        for place, at, won in wins:
            y[_at(place)] = np.where(won, at, np.inf).min(_axes(x))
        return y

    return function


def avg_pool(along: Callable[[Shape], Spans]) -> Callable[[Array], Array]:
    """Each window's sum over its count."""
    return lambda x: _pooled(x, along(x.shape), lambda window, count: window.sum(_axes(window)) / count)


def _before(shape: Shape) -> tuple[Spans, Shape]:
    """The windows whose places are these, three wide and two apart, and the size of what they look at."""
    size = tuple(2 * n - 1 for n in shape[2:])
    return tuple(strided(n, OVERLAPPING) for n in size), size


def avg_pool_backward(g: Array) -> Array:
    """Each share added to its window."""
    along, size = _before(g.shape)
    y = np.zeros((*g.shape[:2], *size))
    for place, window, count in _windows(along):
        y[window] += (g[_at(place)] / count).reshape(*g.shape[:2], *(1 for _ in size))
    return y


def _even(*places: int) -> Callable[[Shape], Spans]:
    return lambda shape: tuple(adaptive(n, p) for n, p in zip(shape[2:], places))


PLANE, LINE, EVEN = spans(OVERLAPPING, HANGING), spans(HANGING), _even(3, 2)

CASES = [
    Case(
        "max_pool1d",
        lambda shape: ops.MaxPool(LINE(shape)),
        [((1, 1, 1),), ((2, 3, 37),), ((1, 2, 6),)],
        max_pool(LINE),
        [(((0, 3, 5),), None), (((2, 0, 5),), None)],
        [Distinct()],
        dtypes=(*FLOATS, *INTS),
        ulps=0.0,
    ),
    Case(
        "max_pool2d",
        lambda shape: ops.MaxPool(PLANE(shape)),
        [((1, 1, 1, 1),), ((2, 3, 5, 35),), ((1, 2, 6, 4),)],
        max_pool(PLANE),
        [(((0, 3, 5, 5),), None)],
        [Distinct()],
        ulps=1.0,
    ),
    Case(
        "max_pool2d, adaptive",
        lambda shape: ops.MaxPool(EVEN(shape)),
        [((1, 1, 1, 1),), ((2, 3, 7, 19),)],
        max_pool(EVEN),
        [(((0, 3, 5, 5),), None)],
        [Distinct()],
        ulps=1.0,
    ),
    Case(
        "max_pool_ids",
        lambda shape: ops.MaxPoolIds(PLANE(shape)),
        [((1, 1, 1, 1),), ((2, 3, 5, 35),)],
        max_pool_ids(PLANE),
        [(((0, 3, 5, 5),), None)],
        [Distinct()],
        result="u32",
    ),
    Case(
        "avg_pool1d",
        lambda shape: ops.AvgPool(LINE(shape)),
        [((1, 1, 1),), ((2, 3, 37),), ((1, 2, 6),)],
        avg_pool(LINE),
        [(((0, 3, 5),), None), (((2, 0, 5),), None)],
    ),
    Case(
        "avg_pool2d",
        lambda shape: ops.AvgPool(PLANE(shape)),
        [((1, 1, 1, 1),), ((2, 3, 5, 35),), ((1, 2, 6, 4),)],
        avg_pool(PLANE),
        [(((0, 3, 5, 5),), None)],
    ),
    Case(
        "avg_pool2d, adaptive",
        lambda shape: ops.AvgPool(EVEN(shape)),
        [((1, 1, 1, 1),), ((2, 3, 7, 19),)],
        avg_pool(EVEN),
        [(((0, 3, 5, 5),), None)],
    ),
    Case(
        "avg_pool2d_backward",
        lambda shape: ops.AvgPoolBackward(*_before(shape)),
        [((1, 1, 1, 1),), ((2, 3, 4, 19),)],
        avg_pool_backward,
        [(((0, 3, 3, 9),), None)],
    ),
]
