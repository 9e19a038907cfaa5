"""Convolution over any number of spatial axes, its two gradients, and `im2col` with its adjoint `col2im` (floor 1).

Letters: N batch, C channels in, O channels out, G groups; along the spatial axes k the kernel's sizes, S the input's, L the output's.
x is (N, C, *S), w is (O, C/G, *k), y is (N, O, *L), and with stride s, padding p, dilation d

    y[n, o, l] = b[o] + Σ_c Σ_k w[o, c, k] x[n, group(o) C/G + c, l s + k d − p]          x is 0 outside

`conv`, `conv_input_grad` and `conv_weight_grad` are the three derivatives of the one trilinear form Σ y g, so each of them differentiates
into the other two. `conv_input_grad` is also the transposed convolution. The gradients take any number of places up to the kernel's: what
`output_padding` adds beyond them is 0.

Bound of each: K · eps times the same sum over absolute values, with K the number of terms. Winograd's algorithms add sums of their own
making: F(2 × 2) and its kin stay within a relative error of 6e-7 (root mean square) in F32, F(4 × 4) within 4e-6, of a tile's size, not an
element's. Where an infinity or a NaN among their operands, or an overflow of theirs, shows in the output, the elements that are not finite
are computed again by the plain sum: what is not finite is exactly what is not finite there, unless huge terms of both signs cancel before
they overflow. The plain sum of an input's gradient without a stride takes zeros for the places around dy: a weight that is not finite
makes NaN at the edge, where the twin has no such product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from cafe.dtype import Array
from cafe.shape import conv_out

from . import _ffi, memory
from .base import XP, composition, primitive, twins

_CONV = _ffi.kernel("conv")
_NORM = _ffi.kernel("conv_norm")
_INPUT_GRAD = _ffi.kernel("conv_input_grad")
_WEIGHT_GRAD = _ffi.kernel("conv_weight_grad")
_IM2COL = _ffi.kernel("im2col")
_COL2IM = _ffi.kernel("col2im")
_NOT_FINITE = _ffi.code("NOT_FINITE")


ALGORITHMS = ("auto", "im2col", "implicit", "winograd2", "winograd4", "direct")  # each at the place of its number in api/layers.h


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a kernel walks over its input, one number an axis; how many groups of channels there are that do not see each other; and which
    algorithm is to compute it (`cafe.set_conv_algorithm` says what they are; the twins know one).
    """

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    algorithm: str = "auto"

    @property
    def walk(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Stride, padding, dilation: what `im2col` and `col2im` take."""
        return self.stride, self.padding, self.dilation

    def used(self, kernel: tuple[int, ...], places: tuple[int, ...]) -> Geometry:
        """What the walk is laid out by: stride 1 along axes of one place and dilation 1 along those of one tap, where neither is used and
        would only make the layout large. (How many places there are is for the walk as given to say.)
        """
        stride = tuple(s if n > 1 else 1 for s, n in zip(self.stride, places))
        return replace(self, stride=stride, dilation=tuple(d if k > 1 else 1 for d, k in zip(self.dilation, kernel)))


def im2col(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...]) -> Array:
    """Every patch that a kernel sees: x (N, C, *S) → (N, C, *k, *L), whose element [n, c, k, l] is x[n, c, l s + k d − p], 0 outside.

    As a matrix, (C ∏k) × ∏L for each image, the convolution is a product with the kernel's rows.
    """
    f = _IM2COL.get(x.dtype)
    if f is None or not 1 <= len(kernel) <= 2:
        return im2col_ref(x, kernel, stride, padding, dilation)
    places = conv_out(x.shape[2:], kernel, stride, padding, dilation)
    cols: Array = memory.empty((*x.shape[:2], *kernel, *places), x.dtype)
    _ffi.check(f(cols, memory.dense(x), _sizes(x.shape, (1, 1, *kernel), places, Geometry(stride, padding, dilation))))
    return cols


@primitive
def im2col_ref(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...]) -> Array:
    places = conv_out(x.shape[2:], kernel, stride, padding, dilation)
    padded = _pad(x, padding)
    steps, used = padded.strides[2:], Geometry(stride, padding, dilation).used(kernel, places)
    windows = np.lib.stride_tricks.as_strided(
        padded,
        (*x.shape[:2], *kernel, *places),
        (*padded.strides[:2], *(d * b for d, b in zip(used.dilation, steps)), *(s * b for s, b in zip(used.stride, steps))),
        writeable=False,
    )
    return windows.copy()


def _pad(x: Array, padding: tuple[int, ...]) -> Array:
    """x with zeros on both sides of each spatial axis; x itself where there is no padding."""
    if not any(padding):
        return x
    padded = np.zeros((*x.shape[:2], *(n + 2 * p for n, p in zip(x.shape[2:], padding))), x.dtype)
    inside: tuple[Any, ...] = tuple(slice(p, p + n) for n, p in zip(x.shape[2:], padding))
    padded[:, :, *inside] = x
    return padded


def col2im(cols: Array, size: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...]) -> Array:
    """Patches added back where `im2col` read them, its adjoint: cols (N, C, *k, *L) → (N, C, *size).

    An element is the sum of its patches' entries in ascending order of k.
    """
    f, axes = _COL2IM.get(cols.dtype), len(size)
    if f is None or not 1 <= axes <= 2:
        return col2im_ref(cols, size, stride, padding, dilation)
    x: Array = memory.empty((*cols.shape[:2], *size), cols.dtype)
    shape, places = (1, 1, *cols.shape[2 : 2 + axes]), cols.shape[2 + axes :]
    _ffi.check(f(x, memory.dense(cols), _sizes(x.shape, shape, places, Geometry(stride, padding, dilation))))
    return x


@primitive
def col2im_ref(cols: Array, size: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...]) -> Array:
    axes = len(size)
    kernel, places = cols.shape[2 : 2 + axes], cols.shape[2 + axes :]
    padded = np.zeros((*cols.shape[:2], *(n + 2 * p for n, p in zip(size, padding))), cols.dtype)
    for k in product(*map(range, kernel)):
        seen: tuple[Any, ...] = tuple(
            slice(i * d, i * d + (n - 1) * s + 1 if n else i * d, s) for i, d, n, s in zip(k, dilation, places, stride)
        )
        patch: tuple[Any, ...] = (slice(None), slice(None), *k)
        padded[:, :, *seen] += cols[patch]
    inside: tuple[Any, ...] = tuple(slice(p, p + n) for n, p in zip(size, padding))
    return padded[:, :, *inside].copy()


def conv(x: Array, w: Array, b: Array | None, geometry: Geometry) -> Array:
    """y = w ∗ x + b: x (N, C, *S), w (O, C/G, *k), b (O) → (N, O, *L)."""
    f = _CONV.get(x.dtype)
    if f is None or not _same(x, w) or (b is not None and not _same(x, b)):
        return twins.conv(x, w, b, geometry)
    places = conv_out(x.shape[2:], w.shape[2:], *geometry.walk)
    y: Array = memory.empty((x.shape[0], w.shape[0], *places), x.dtype)
    sizes = _sizes(x.shape, w.shape, places, geometry)
    work: Array = memory.empty((_ffi.lib.cafe_conv_work(sizes, x.itemsize),), x.dtype)
    bias = _ffi.NULL if b is None else memory.dense(b)
    status = f(y, memory.dense(x), memory.dense(w), bias, work, sizes)
    return _checked(status, y, lambda: conv(x, w, b, _plain(geometry)))


@composition
def conv_ref(xp: XP, x: Array, w: Array, b: Array | None, geometry: Geometry) -> Array:
    axes, groups = len(geometry.stride), geometry.groups
    cols = xp.im2col(x, w.shape[2:], *geometry.walk)
    y = xp.matmul(_rows(xp, w, groups), _columns(xp, cols, groups, axes))
    y = xp.reshape(y, (x.shape[0], w.shape[0], *cols.shape[-axes:]))
    return y if b is None else xp.add(y, xp.reshape(b, (w.shape[0], *(1,) * axes)))


class Norm(NamedTuple):
    """A batch norm in use, y = (x − mean) / √(var + eps) scale + shift, all (C)."""

    mean: Array
    var: Array
    scale: Array | None
    shift: Array | None
    eps: float


def conv_norm(x: Array, w: Array, b: Array | None, geometry: Geometry, norm: Norm, then: str = "") -> Array:
    """The norm of conv(x, w, b), and the verb `then` of it ("relu", or none): the bits of the verbs one after the other, a block of
    outputs at a time.
    """
    others = (w, b, *norm[:4])
    f = _NORM.get(x.dtype)
    if f is None or not 3 <= x.ndim <= 4 or any(a is not None and a.dtype is not x.dtype for a in others):
        return twins.conv_norm(x, w, b, geometry, norm, then)
    places = conv_out(x.shape[2:], w.shape[2:], *geometry.walk)
    y: Array = memory.empty((x.shape[0], w.shape[0], *places), x.dtype)
    sizes = _sizes(x.shape, w.shape, places, geometry)
    work: Array = memory.empty((_ffi.lib.cafe_conv_work(sizes, x.itemsize),), x.dtype)
    kept = [a if a is None else memory.dense(a) for a in others]
    w_, b_, *given = (_ffi.NULL if a is None else a for a in kept)
    status = f(y, memory.dense(x), w_, b_, work, sizes, *given, norm.eps, then == "relu")
    if status == _NOT_FINITE:  # Winograd's algorithm has spread something: conv knows what to do
        y, status = conv(x, w, b, geometry), 0
        f(y, _ffi.NULL, w_, b_, work, sizes, *given, norm.eps, then == "relu")
    _ffi.check(status)
    return y


@composition
def conv_norm_ref(xp: XP, x: Array, w: Array, b: Array | None, geometry: Geometry, norm: Norm, then: str = "") -> Array:
    y = xp.channel_norm(xp.conv(x, w, b, geometry), *norm)
    return getattr(xp, then)(y) if then else y


def conv_input_grad(g: Array, w: Array, size: tuple[int, ...], geometry: Geometry) -> Array:
    """The gradient of Σ g conv(x, w) in x: g (N, O, *L), w (O, C/G, *k) → (N, C, *size). It does not depend on x.

    Read as a function of g it is the transposed convolution, with O channels in and C out.
    """
    f = _INPUT_GRAD.get(g.dtype)
    if f is None or not _same(g, w):
        return twins.conv_input_grad(g, w, size, geometry)
    x: Array = memory.empty((g.shape[0], w.shape[1] * geometry.groups, *size), g.dtype)
    sizes = _sizes(x.shape, w.shape, g.shape[2:], geometry)
    work: Array = memory.empty((_ffi.lib.cafe_conv_input_grad_work(sizes, g.itemsize),), g.dtype)
    status = f(x, memory.dense(g), memory.dense(w), work, sizes)
    return _checked(status, x, lambda: conv_input_grad(g, w, size, _plain(geometry)))


@composition
def conv_input_grad_ref(xp: XP, g: Array, w: Array, size: tuple[int, ...], geometry: Geometry) -> Array:
    groups = geometry.groups
    cols = xp.matmul(xp.permute(_rows(xp, w, groups), (0, 2, 1)), _columns(xp, g, groups, len(size)))
    cols = xp.reshape(cols, (g.shape[0], groups * w.shape[1], *w.shape[2:], *g.shape[2:]))
    return xp.col2im(cols, size, *geometry.walk)


def conv_weight_grad(g: Array, x: Array, kernel: tuple[int, ...], geometry: Geometry) -> Array:
    """The gradient of Σ g conv(x, w) in w: g (N, O, *L), x (N, C, *S) → (O, C/G, *kernel). It does not depend on w."""
    f = _WEIGHT_GRAD.get(g.dtype)
    if f is None or not _same(g, x):
        return twins.conv_weight_grad(g, x, kernel, geometry)
    w: Array = memory.empty((g.shape[1], x.shape[1] // geometry.groups, *kernel), g.dtype)
    sizes = _sizes(x.shape, w.shape, g.shape[2:], geometry)
    work: Array = memory.empty((_ffi.lib.cafe_conv_weight_grad_work(sizes, g.itemsize),), g.dtype)
    status = f(w, memory.dense(g), memory.dense(x), work, sizes)
    return _checked(status, w, lambda: conv_weight_grad(g, x, kernel, _plain(geometry)))


@composition
def conv_weight_grad_ref(xp: XP, g: Array, x: Array, kernel: tuple[int, ...], geometry: Geometry) -> Array:
    axes, groups = len(kernel), geometry.groups
    cols = xp.im2col(x, kernel, *geometry.walk)
    if cols.shape[-axes:] != g.shape[2:]:  # g says nothing of the last places
        cols = xp.slice(cols, (slice(None),) * (2 + axes) + tuple(slice(n) for n in g.shape[2:]))
    each = xp.matmul(_columns(xp, g, groups, axes), xp.permute(_columns(xp, cols, groups, axes), (0, 1, 3, 2)))
    return xp.reshape(xp.sum(each, (0,), False), (g.shape[1], x.shape[1] // groups, *kernel))


def _rows(xp: XP, w: Array, groups: int) -> Array:
    """The kernels as the rows of a matrix for each group: (G, O/G, C/G ∏k)."""
    return xp.reshape(w, (groups, w.shape[0] // groups, prod(w.shape[1:])))


def _columns(xp: XP, a: Array, groups: int, axes: int) -> Array:
    """(N, channels or patches, *L) as a matrix for each image and group, whose columns are the places: (N, G, …/G, ∏L)."""
    return xp.reshape(a, (a.shape[0], groups, prod(a.shape[1:-axes]) // groups, prod(a.shape[-axes:])))


def _plain(geometry: Geometry) -> Geometry:
    """The same walk by the plain sum."""
    return replace(geometry, algorithm="implicit")


def _checked(status: int, out: Array, again: Callable[[], Array]) -> Array:
    """`out`; what is not finite in it as `again` has it, where Winograd's algorithm has spread it too far."""
    if status != _NOT_FINITE:
        _ffi.check(status)
        return out
    np.copyto(out, again(), where=~np.isfinite(out))
    return out


def _same(x: Array, other: Array) -> bool:
    """Whether C can take the two together: one dtype, one or two spatial axes."""
    return x.dtype is other.dtype and 3 <= x.ndim <= 4


@lru_cache(1024)
def _sizes(x: tuple[int, ...], w: tuple[int, ...], places: tuple[int, ...], geometry: Geometry) -> Any:
    """The seventeen numbers that the C API wants; one axis is a second of two, whose first has size 1."""

    def two(sizes: tuple[int, ...], fill: int) -> tuple[int, ...]:
        return (fill, *sizes) if len(sizes) == 1 else sizes

    channels = (x[0], x[1], w[0], geometry.groups)
    sizes = (*two(x[2:], 1), *two(w[2:], 1), *two(places, 1))
    used = geometry.used(w[2:], places)
    walk = (*two(used.stride, 1), *two(used.padding, 0), *two(used.dilation, 1))
    return _ffi.ffi.new("int64_t[17]", (*channels, *sizes, *walk, ALGORITHMS.index(geometry.algorithm)))
