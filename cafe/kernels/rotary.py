"""Rotary positions: pairs of numbers turned by the angles of their place (floor 1).

x is (B, H, T, D) with `time` 2, or (B, T, H, D) with `time` 1. cos and sin are (T or more, D / 2), or (B, T or more, D / 2) where each
batch item has angles of its own. Pair i is elements i and i + D / 2 with `step` 1, elements 2i and 2i + 1 with `step` 2.
"""

from __future__ import annotations

from cafe.dtype import Array

from . import _ffi
from .base import XP, composition, twins
from .memory import copy, empty

_ROTATE = _ffi.kernel("rotate")


def rotate(x: Array, cos: Array, sin: Array, step: int, time: int) -> Array:
    """(a cos − b sin, b cos + a sin) in place of each pair (a, b): as x.

    Bound: 2 ulp of |a cos| + |b sin|; C and twin have the same bits.
    """
    f = _ROTATE.get(x.dtype)
    if f is None or cos.dtype is not x.dtype or sin.dtype is not x.dtype:
        return twins.rotate(x, cos, sin, step, time)
    x, cos, sin = (a if a.strides[-1] == a.itemsize else copy(a) for a in (x, cos, sin))
    y: Array = empty(x.shape, x.dtype)
    strides, size = (*x.strides[:3], *_steps(cos, time), *_steps(sin, time)), x.itemsize
    f(y, _ffi.strided(x), _ffi.strided(cos), _ffi.strided(sin), (*x.shape, *[n // size for n in strides]), step)
    return y


@composition
def rotate_ref(xp: XP, x: Array, cos: Array, sin: Array, step: int, time: int) -> Array:
    width, half = x.shape[3], x.shape[3] // 2
    cos, sin = (_over_heads(xp, table, x.shape, time) for table in (cos, sin))
    all_rows = tuple(slice(0, n, 1) for n in x.shape[:3])
    firsts, seconds = (slice(0, half, 1), slice(half, width, 1)) if step == 1 else (slice(0, width, 2), slice(1, width, 2))
    a, b = xp.slice(x, (*all_rows, firsts)), xp.slice(x, (*all_rows, seconds))
    turned = xp.sub(xp.mul(a, cos), xp.mul(b, sin)), xp.add(xp.mul(b, cos), xp.mul(a, sin))
    if step == 1:
        return xp.cat(turned, 3)
    return xp.reshape(xp.cat([xp.reshape(y, (*x.shape[:3], half, 1)) for y in turned], 4), x.shape)


def _over_heads(xp: XP, table: Array, shape: tuple[int, ...], time: int) -> Array:
    """The places that there are, with a dim of 1 for the heads: (B or 1, 1, T, D / 2), or (B or 1, T, 1, D / 2)."""
    places, half, batch = shape[time], shape[3] // 2, table.shape[:-2]
    rows = xp.slice(table, (*(slice(0, n, 1) for n in batch), slice(0, places, 1), slice(0, half, 1)))
    return xp.reshape(rows, (*(batch or (1,)), *((1, places) if time == 2 else (places, 1)), half))


def _steps(table: Array, time: int) -> tuple[int, int, int]:
    """How many bytes a step along each of x's first three dims is in a table."""
    each, place = table.strides[-3] if table.ndim == 3 else 0, table.strides[-2]
    return (each, 0, place) if time == 2 else (each, place, 0)
