"""Pooling over any number of spatial axes, in windows that are listed along each axis (floor 1).

A `Span` says where the windows along one axis begin and end, inside the input. Strided windows with padding, adaptive and global
ones are all the same to a kernel: only their spans differ. x is (N, C, *S), the result (N, C, *L), one place for each choice of windows.

    strided(5, Stride(3, 2, 1))    →  windows 0..2, 1..4, 3..5 (padding is outside: it is in no window)
    adaptive(5, 2)                 →  windows 0..3, 2..5
"""

from __future__ import annotations

import functools
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cafe.dtype import Array

from . import _ffi
from .base import XP, composition, primitive, twins
from .memory import dense, empty

_MAX, _MAX_BACKWARD = _ffi.kernel("max_pool"), _ffi.kernel("max_pool_backward")
_AVG, _AVG_BACKWARD = _ffi.kernel("avg_pool"), _ffi.kernel("avg_pool_backward")
_EXACT = 1 << 24  # places in a window that a float32 can count


class Span(NamedTuple):
    """The windows along one axis: window i holds start[i] … end[i] − 1, never nothing, and its average divides by divisor[i]."""

    start: tuple[int, ...]
    end: tuple[int, ...]
    divisor: tuple[int, ...]


Spans: TypeAlias = tuple[Span, ...]


class Stride(NamedTuple):
    """How a window walks along one axis.

    ceil: a last window may hang over the end, if it starts inside the input or in the padding before it.
    count_pad: an average counts the padding that its window covers as zeros.
    """

    kernel: int
    step: int
    padding: int = 0
    ceil: bool = False
    count_pad: bool = True


@functools.lru_cache(maxsize=1024)
def strided(size: int, stride: Stride) -> Span:
    """The windows of a kernel that steps along an axis; the kernel is no larger than the padded axis.

    >>> strided(5, Stride(3, 2))
    Span(start=(0, 2), end=(3, 5), divisor=(3, 3))
    >>> strided(5, Stride(3, 2, padding=1, count_pad=False)).divisor
    (2, 3, 2)
    """
    kernel, step, padding, ceil, count_pad = stride
    room = size + 2 * padding - kernel
    places = room // step + 1
    if ceil and room % step and places * step < size + padding:
        places += 1
    first = [i * step - padding for i in range(places)]
    start, end = tuple(max(f, 0) for f in first), tuple(min(f + kernel, size) for f in first)
    covered = tuple(min(f + kernel, size + padding) - f for f in first)  # what hangs over the padding is not counted
    return Span(start, end, covered if count_pad else tuple(e - s for s, e in zip(start, end)))


@functools.lru_cache(maxsize=1024)
def adaptive(size: int, places: int) -> Span:
    """So many windows as even as can be: window i from ⌊i size / places⌋ to ⌈(i + 1) size / places⌉.

    >>> adaptive(5, 2)
    Span(start=(0, 2), end=(3, 5), divisor=(3, 3))
    """
    start = tuple(i * size // places for i in range(places))
    end = tuple(-(-(i + 1) * size // places) for i in range(places))
    return Span(start, end, tuple(e - s for s, e in zip(start, end)))


def max_pool(x: Array, spans: Spans) -> tuple[Array, Array]:
    """The largest of each window, and where it is (`max_pool_ids`); NaN where there is one."""
    if _not_for_c(_MAX, x, spans) or prod(max(_lengths(s)) for s in spans) > _EXACT:
        return twins.max_pool(x, spans)  # type: ignore[return-value]
    f = _MAX[x.dtype]
    x, shape = dense(x), (*x.shape[:2], *(len(s.start) for s in spans))
    y, ids = empty(shape, x.dtype), empty(shape, np.dtype(np.uint32))
    (top, bottom, _), (start, end, _) = _two(spans)
    _ffi.check(f(y, ids, x, *_planes(x.shape, spans), top, bottom, start, end))
    return y, ids


@composition
def max_pool_ref(xp: XP, x: Array, spans: Spans) -> tuple[Array, Array]:
    ids = xp.max_pool_ids(x, spans)
    picked = xp.gather(_flat(xp, x), _flat(xp, ids), 2)
    return xp.reshape(picked, ids.shape), ids


def max_pool_ids(x: Array, spans: Spans) -> Array:
    """Where the largest of each window is, as U32 counted through the whole of *S: the first of equals, the first NaN if there is one."""
    return max_pool_ids_ref(x, spans) if _not_for_c(_MAX, x, spans) else max_pool(x, spans)[1]


@primitive
def max_pool_ids_ref(x: Array, spans: Spans) -> Array:
    low = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    candidates, ids = [], []
    for offset in product(*(range(max(_lengths(s), default=0)) for s in spans)):
        at, inside = _places(spans, offset)
        candidates.append(np.where(inside, x[(..., *at)], x.dtype.type(low)))
        ids.append(np.ravel_multi_index(tuple(np.broadcast_arrays(*at)), x.shape[2:]))
    # what lies behind a window's end is the lowest there is and comes after the window's first element: it never wins
    which = np.argmax(np.stack(candidates), axis=0)[None]
    y: Array = np.take_along_axis(np.stack(ids)[:, None, None], which, axis=0)[0]
    return y.astype(np.uint32)


def max_pool_backward(g: Array, ids: Array, size: tuple[int, ...]) -> Array:
    """Each g added where its window's largest stood: g (N, C, *L) → (N, C, *size)."""
    f = _MAX_BACKWARD.get(g.dtype)
    if f is None or g.size == 0 or ids.dtype != np.uint32:
        return twins.max_pool_backward(g, ids, size)
    gx, g, ids = empty((*g.shape[:2], *size), g.dtype), dense(g), dense(ids)
    f(gx, g, ids, prod(g.shape[:2]), prod(size), prod(g.shape[2:]))
    return gx


@composition
def max_pool_backward_ref(xp: XP, g: Array, ids: Array, size: tuple[int, ...]) -> Array:
    nothing = xp.zeros((*g.shape[:2], prod(size)), g.dtype)
    return xp.reshape(xp.scatter_add(nothing, _flat(xp, ids), _flat(xp, g), 2), (*g.shape[:2], *size))


def avg_pool(x: Array, spans: Spans) -> Array:
    """The sum of each window divided by its divisor along every axis."""
    if _not_for_c(_AVG, x, spans):
        return avg_pool_ref(x, spans)
    f = _AVG[x.dtype]
    x, y = dense(x), empty((*x.shape[:2], *(len(s.start) for s in spans)), x.dtype)
    _ffi.check(f(y, x, *_planes(x.shape, spans), *sum(_two(spans), ())))
    return y


@primitive
def avg_pool_ref(x: Array, spans: Spans) -> Array:
    total = x.astype(np.float64)
    for axis, span in enumerate(spans, start=2):
        # reduceat adds from each bound to the next: every other sum is a window; a zero behind the last lets a window end there
        bounds = np.stack([span.start, span.end], axis=1).reshape(-1)
        ended = np.concatenate([total, np.zeros_like(total.take([0], axis))], axis)
        total = np.add.reduceat(ended, bounds, axis).take(range(0, bounds.size, 2), axis)
    return (total / _divisors(spans)).astype(x.dtype)


def avg_pool_backward(g: Array, spans: Spans, size: tuple[int, ...]) -> Array:
    """Each g divided by its window's divisor and added to all of the window, the adjoint of `avg_pool`: g (N, C, *L) → (N, C, *size)."""
    if _not_for_c(_AVG_BACKWARD, g, spans):
        return avg_pool_backward_ref(g, spans, size)
    f = _AVG_BACKWARD[g.dtype]
    g, gx = dense(g), empty((*g.shape[:2], *size), g.dtype)
    _ffi.check(f(gx, g, *_planes(gx.shape, spans), *sum(_two(spans), ())))
    return gx


@primitive
def avg_pool_backward_ref(g: Array, spans: Spans, size: tuple[int, ...]) -> Array:
    share = g / _divisors(spans)
    for axis, (span, n) in enumerate(zip(spans, size), start=2):
        spread = np.zeros((*share.shape[:axis], n, *share.shape[axis + 1 :]))
        rows, windows = np.moveaxis(spread, axis, 0), np.moveaxis(share, axis, 0)
        for i, (start, end) in enumerate(zip(span.start, span.end)):
            rows[start:end] += windows[i]
        share = spread
    return share.astype(g.dtype)


def _not_for_c(kernels: dict[Any, _ffi.Kernel], x: Array, spans: Spans) -> bool:
    """Whether the twin has to do it: without C, for another dtype, for nothing at all, for three axes and more."""
    return x.dtype not in kernels or x.size == 0 or len(spans) > 2


_ROW = Span((0,), (1,), (1,))  # the windows downwards where there is one axis


def _two(spans: Spans) -> list[tuple[Any, ...]]:
    """For C: start, end and divisor downwards and along."""
    return [_as_arrays(s) for s in (_ROW, *spans)[-2:]]


@functools.lru_cache(maxsize=1024)
def _as_arrays(span: Span) -> tuple[Array, ...]:
    return tuple(np.array(numbers, np.int64) for numbers in span)


def _planes(shape: tuple[int, ...], spans: Spans) -> tuple[int, ...]:
    """How many planes, their rows and columns, and how many windows there are downwards and along."""
    rows, columns = (1, *shape[2:])[-2:]
    down, along = (1, *(len(s.start) for s in spans))[-2:]
    return prod(shape[:2]), rows, columns, down, along


def _flat(xp: XP, a: Array) -> Array:
    """The spatial axes as one."""
    return xp.reshape(a, (*a.shape[:2], prod(a.shape[2:])))


def _lengths(span: Span) -> list[int]:
    return [e - s for s, e in zip(span.start, span.end)]


def _places(spans: Spans, offset: tuple[int, ...]) -> tuple[tuple[Any, ...], Array]:
    """Along each axis the place of every window's offset-th element, in a grid; and whether it is inside its window."""
    axes = np.ix_(*(np.array(s.start, np.int64) + o for s, o in zip(spans, offset)))
    ends = np.ix_(*(np.array(s.end, np.int64) for s in spans))
    inside = functools.reduce(np.logical_and, (a < e for a, e in zip(axes, ends)))
    return tuple(np.minimum(a, e - 1) for a, e in zip(axes, ends)), np.asarray(inside)


def _divisors(spans: Spans) -> Array:
    """What each window's sum is divided by: (*L)."""
    return functools.reduce(np.multiply, np.ix_(*(np.array(s.divisor, np.float64) for s in spans)))
