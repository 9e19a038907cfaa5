"""Normalisation: layer, root-mean-square, group and batch norm, forward and backward (floor 1).

Each brings values to mean 0 and variance 1 over a set of dims, (x − mean) / √(var + eps), then scales by w and shifts by b;
either may be None.

The mean comes in two pieces. `mean` is rounded like any number; of values near 10⁴ that differ by 10⁻³ it is off by half of their spread.
So the mean of x − mean, which is exact to many more digits, is kept as well: `rest`. The variance is that of (x − mean) − rest,
and of n values it is Σ(…)² / n. C takes it from the sums of d = x − mean and d² in one walk, Σd² / n − rest², wherever rest² is less than a
sixteenth of it.

The backwards take `need`, three bools: whether the gradients of x, w and b are wanted; the others are None. Those of w and b are summed in
fixed grains.

Bounds: forward 4 ulp, gradients 8 ulp of the larger of 1 and the largest element, of which those of w and b are sums.
"""

from __future__ import annotations

from math import prod
from typing import Any

from cafe.dtype import Array

from . import _ffi
from .base import XP, composition, twins
from .memory import dense, empty

Need = tuple[bool, bool, bool]
Grads = tuple[Array | None, Array | None, Array | None]

_LAYER, _LAYER_BACKWARD = _ffi.kernel("layer_norm") | _ffi.of_halves("layer_norm"), _ffi.kernel("layer_norm_backward")
_RMS, _RMS_BACKWARD = _ffi.kernel("rms_norm") | _ffi.of_halves("rms_norm"), _ffi.kernel("rms_norm_backward")
_GROUP, _GROUP_BACKWARD = _ffi.kernel("group_norm"), _ffi.kernel("group_norm_backward")
_BATCH, _BATCH_BACKWARD = _ffi.kernel("batch_norm"), _ffi.kernel("batch_norm_backward")
_CHANNEL, _CHANNEL_BACKWARD = _ffi.kernel("channel_norm"), _ffi.kernel("channel_norm_backward")


# -- over the last dim


def layer_norm(x: Array, w: Array | None, b: Array | None, eps: float) -> tuple[Array, Array, Array, Array]:
    """x (…, n), w and b (n) → y (…, n), and mean, rest and 1 / √(var + eps) of each row, (…, 1)."""
    if _not_for_c(_LAYER, x, w, b):
        return twins.layer_norm(*_widened(x, w, b), eps)  # type: ignore[return-value]
    f, moment = _LAYER[x.dtype], _of_moments(x)
    x, y, n = dense(x), empty(x.shape, x.dtype), x.shape[-1]
    each = (*x.shape[:-1], 1)
    mean, rest, rstd = empty(each, moment), empty(each, moment), empty(each, moment)
    _ffi.check(f(y, mean, rest, rstd, x, _ffi.NULL, _given(w), _given(b), mean.size, n, eps) or 0)
    return y, mean, rest, rstd


@composition
def layer_norm_ref(xp: XP, x: Array, w: Array | None, b: Array | None, eps: float) -> tuple[Array, Array, Array, Array]:
    mean, rest, var = _moments(xp, x, (len(x.shape) - 1,))
    rstd = xp.recip(_std(xp, var, eps))
    return _scaled(xp, xp.mul(_centred(xp, x, mean, rest), rstd), w, b), mean, rest, rstd


def layer_norm_backward(g: Array, x: Array, w: Array | None, mean: Array, rest: Array, rstd: Array, need: Need) -> Grads:
    """With h the normalised x and u = g w: gx = rstd (u − mean of u − h · mean of u h) over a row, gw = Σ g h, gb = Σ g over the rows."""
    if _not_for_c(_LAYER_BACKWARD, x, g, w):
        return twins.layer_norm_backward(g, x, w, mean, rest, rstd, need)  # type: ignore[return-value]
    f = _LAYER_BACKWARD[x.dtype]
    x, g, grads = dense(x), dense(g), _grads(x, x.shape[-1:], need)
    moments = map(dense, (mean, rest, rstd))
    _ffi.check(f(*map(_given, grads), g, x, _ffi.NULL, _given(w), *moments, mean.size, x.shape[-1]))
    return grads


@composition
def layer_norm_backward_ref(xp: XP, g: Array, x: Array, w: Array | None, mean: Array, rest: Array, rstd: Array, need: Need) -> Grads:
    h = xp.mul(_centred(xp, x, mean, rest), rstd)
    last = len(x.shape) - 1
    gx = _through_moments(xp, g if w is None else xp.mul(g, w), h, rstd, (last,)) if need[0] else None
    return gx, _sum_keeping(xp, xp.mul(g, h), last) if need[1] else None, _sum_keeping(xp, g, last) if need[2] else None


def residual_norm(x: Array, r: Array, w: Array | None, b: Array | None, eps: float) -> tuple[Array, Array, Array, Array]:
    """`layer_norm` of x + r, of one shape, to the same bits, without the sum ever being written to memory."""
    if _not_for_c(_LAYER, x, r, w, b):
        return twins.residual_norm(*_widened(x, r, w, b), eps)  # type: ignore[return-value]
    f, moment = _LAYER[x.dtype], _of_moments(x)
    y, n = empty(x.shape, x.dtype), x.shape[-1]
    mean, rest, rstd = (empty((*x.shape[:-1], 1), moment) for _ in range(3))
    _ffi.check(f(y, mean, rest, rstd, dense(x), dense(r), _given(w), _given(b), mean.size, n, eps) or 0)
    return y, mean, rest, rstd


@composition
def residual_norm_ref(xp: XP, x: Array, r: Array, w: Array | None, b: Array | None, eps: float) -> tuple[Array, Array, Array, Array]:
    return xp.layer_norm(xp.add(x, r), w, b, eps)  # type: ignore[return-value]


def residual_norm_backward(g: Array, x: Array, r: Array, w: Array | None, mean: Array, rest: Array, rstd: Array, need: Need) -> Grads:
    """`layer_norm_backward` of x + r, to the same bits: the first gradient is that of x and of r, and is always worked out."""
    if _not_for_c(_LAYER_BACKWARD, x, g, r, w):
        return twins.residual_norm_backward(g, x, r, w, mean, rest, rstd, need)  # type: ignore[return-value]
    f = _LAYER_BACKWARD[x.dtype]
    grads = _grads(x, x.shape[-1:], (True, *need[1:]))
    moments = map(dense, (mean, rest, rstd))
    _ffi.check(f(*map(_given, grads), dense(g), dense(x), dense(r), _given(w), *moments, mean.size, x.shape[-1]))
    return grads


@composition
def residual_norm_backward_ref(
    xp: XP, g: Array, x: Array, r: Array, w: Array | None, mean: Array, rest: Array, rstd: Array, need: Need
) -> Grads:
    return xp.layer_norm_backward(g, xp.add(x, r), w, mean, rest, rstd, (True, *need[1:]))  # type: ignore[return-value]


def rms_norm(x: Array, w: Array | None, b: Array | None, eps: float) -> tuple[Array, Array]:
    """x / √(mean of x² + eps) over the last dim, then w and b: y (…, n), and the reciprocal of each row's root, (…, 1)."""
    if _not_for_c(_RMS, x, w, b):
        return twins.rms_norm(*_widened(x, w, b), eps)  # type: ignore[return-value]
    f = _RMS[x.dtype]
    x, y, rstd = dense(x), empty(x.shape, x.dtype), empty((*x.shape[:-1], 1), _of_moments(x))
    _ffi.check(f(y, rstd, x, _given(w), _given(b), rstd.size, x.shape[-1], eps) or 0)
    return y, rstd


@composition
def rms_norm_ref(xp: XP, x: Array, w: Array | None, b: Array | None, eps: float) -> tuple[Array, Array]:
    rstd = xp.recip(_std(xp, _mean(xp, xp.sqr(x), (len(x.shape) - 1,)), eps))
    return _scaled(xp, xp.mul(x, rstd), w, b), rstd


def rms_norm_backward(g: Array, x: Array, w: Array | None, rstd: Array, need: Need) -> Grads:
    """With h = x rstd and u = g w: gx = rstd (u − h · mean of u h), gw = Σ g h and gb = Σ g."""
    if _not_for_c(_RMS_BACKWARD, x, g, w):
        return twins.rms_norm_backward(g, x, w, rstd, need)  # type: ignore[return-value]
    f = _RMS_BACKWARD[x.dtype]
    x, g, grads = dense(x), dense(g), _grads(x, x.shape[-1:], need)
    _ffi.check(f(*map(_given, grads), g, x, _given(w), dense(rstd), rstd.size, x.shape[-1]))
    return grads


@composition
def rms_norm_backward_ref(xp: XP, g: Array, x: Array, w: Array | None, rstd: Array, need: Need) -> Grads:
    h = xp.mul(x, rstd)
    last = len(x.shape) - 1
    gx = None
    if need[0]:
        u = g if w is None else xp.mul(g, w)
        gx = xp.mul(rstd, xp.sub(u, xp.mul(h, _mean(xp, xp.mul(u, h), (last,)))))
    return gx, _sum_keeping(xp, xp.mul(g, h), last) if need[1] else None, _sum_keeping(xp, g, last) if need[2] else None


# -- over groups of channels and all places


def group_norm(x: Array, w: Array | None, b: Array | None, groups: int, eps: float) -> tuple[Array, Array, Array, Array]:
    """x (N, C, *S), w and b (C) → y, and mean, rest and 1 / √(var + eps) of each image's groups of channels, (N, G, 1, 1)."""
    if _not_for_c(_GROUP, x, w, b):
        return twins.group_norm(x, w, b, groups, eps)  # type: ignore[return-value]
    f = _GROUP[x.dtype]
    x, y = dense(x), empty(x.shape, x.dtype)
    mean, rest, rstd = (empty((x.shape[0], groups, 1, 1), x.dtype) for _ in range(3))
    f(y, mean, rest, rstd, x, _given(w), _given(b), *_group_sizes(x, groups), eps)
    return y, mean, rest, rstd


@composition
def group_norm_ref(xp: XP, x: Array, w: Array | None, b: Array | None, groups: int, eps: float) -> tuple[Array, Array, Array, Array]:
    grouped = _grouped(xp, x, groups)
    mean, rest, var = _moments(xp, grouped, (2, 3))
    rstd = xp.recip(_std(xp, var, eps))
    h = xp.mul(_centred(xp, grouped, mean, rest), rstd)
    y = _scaled(xp, h, *(None if p is None else _by_group(xp, p, groups) for p in (w, b)))
    return xp.reshape(y, x.shape), mean, rest, rstd


def group_norm_backward(g: Array, x: Array, w: Array | None, groups: int, mean: Array, rest: Array, rstd: Array, need: Need) -> Grads:
    """As `layer_norm_backward`, over each image's groups; gw and gb over images and places."""
    if _not_for_c(_GROUP_BACKWARD, x, g, w):
        return twins.group_norm_backward(g, x, w, groups, mean, rest, rstd, need)  # type: ignore[return-value]
    f = _GROUP_BACKWARD[x.dtype]
    x, g, grads = dense(x), dense(g), _grads(x, x.shape[1:2], need)
    moments = map(dense, (mean, rest, rstd))
    _ffi.check(f(*map(_given, grads), g, x, _given(w), *moments, *_group_sizes(x, groups)))
    return grads


@composition
def group_norm_backward_ref(
    xp: XP, g: Array, x: Array, w: Array | None, groups: int, mean: Array, rest: Array, rstd: Array, need: Need
) -> Grads:
    grouped = _grouped(xp, g, groups)
    h = xp.mul(_centred(xp, _grouped(xp, x, groups), mean, rest), rstd)
    gx = None
    if need[0]:
        u = grouped if w is None else xp.mul(grouped, _by_group(xp, w, groups))
        gx = xp.reshape(_through_moments(xp, u, h, rstd, (2, 3)), x.shape)
    gw = _sum_keeping(xp, xp.reshape(xp.mul(grouped, h), x.shape), 1) if need[1] else None
    return gx, gw, _sum_keeping(xp, g, 1) if need[2] else None


# -- over the batch


def batch_norm(x: Array, w: Array | None, b: Array | None, eps: float) -> tuple[Array, Array, Array, Array]:
    """x (N, C, *S), w and b (C) → y, and mean, rest and variance of each channel over images and places, (1, C, 1, …)."""
    if _not_for_c(_BATCH, x, w, b):
        return twins.batch_norm(x, w, b, eps)  # type: ignore[return-value]
    f = _BATCH[x.dtype]
    x, y = dense(x), empty(x.shape, x.dtype)
    mean, rest, var = (empty((1, x.shape[1], *(1 for _ in x.shape[2:])), x.dtype) for _ in range(3))
    f(y, mean, rest, var, x, _given(w), _given(b), *_planes(x), eps)
    return y, mean, rest, var


@composition
def batch_norm_ref(xp: XP, x: Array, w: Array | None, b: Array | None, eps: float) -> tuple[Array, Array, Array, Array]:
    mean, rest, var = _moments(xp, x, _all_but_channels(x))
    h = xp.div(_centred(xp, x, mean, rest), _std(xp, var, eps))
    return _scaled(xp, h, *_per_channel(xp, x, w, b)), mean, rest, var


def batch_norm_backward(g: Array, x: Array, w: Array | None, mean: Array, rest: Array, var: Array, eps: float, need: Need) -> Grads:
    """As `layer_norm_backward`, over each channel."""
    if _not_for_c(_BATCH_BACKWARD, x, g, w):
        return twins.batch_norm_backward(g, x, w, mean, rest, var, eps, need)  # type: ignore[return-value]
    f = _BATCH_BACKWARD[x.dtype]
    x, g, grads = dense(x), dense(g), _grads(x, x.shape[1:2], need)
    moments = map(dense, (mean, rest, var))
    f(*map(_given, grads), g, x, _given(w), *moments, *_planes(x), eps)
    return grads


@composition
def batch_norm_backward_ref(
    xp: XP, g: Array, x: Array, w: Array | None, mean: Array, rest: Array, var: Array, eps: float, need: Need
) -> Grads:
    rstd = xp.recip(_std(xp, var, eps))
    h = xp.mul(_centred(xp, x, mean, rest), rstd)
    gx = _through_moments(xp, _scaled(xp, g, *_per_channel(xp, x, w, None)), h, rstd, _all_but_channels(x)) if need[0] else None
    return gx, _sum_keeping(xp, xp.mul(g, h), 1) if need[1] else None, _sum_keeping(xp, g, 1) if need[2] else None


def channel_norm(x: Array, mean: Array, var: Array, w: Array | None, b: Array | None, eps: float) -> Array:
    """Batch norm in evaluation, by statistics that are given: (x − mean) / √(var + eps) w + b, all (C) for x (N, C, *S)."""
    if _not_for_c(_CHANNEL, x, mean, var, w, b):
        return twins.channel_norm(x, mean, var, w, b, eps)
    f = _CHANNEL[x.dtype]
    x, y = dense(x), empty(x.shape, x.dtype)
    f(y, x, _given(mean), _given(var), _given(w), _given(b), *_planes(x), eps)
    return y


@composition
def channel_norm_ref(xp: XP, x: Array, mean: Array, var: Array, w: Array | None, b: Array | None, eps: float) -> Array:
    mean_, var_, w_, b_ = _per_channel(xp, x, mean, var, w, b)
    assert mean_ is not None and var_ is not None
    return _scaled(xp, xp.div(xp.sub(x, mean_), _std(xp, var_, eps)), w_, b_)


def channel_norm_backward(g: Array, x: Array, mean: Array, var: Array, w: Array | None, eps: float, need: Need) -> Grads:
    """gx = g w / √(var + eps); gw and gb as in `batch_norm_backward`. The statistics are taken for constants."""
    if _not_for_c(_CHANNEL_BACKWARD, x, g, mean, var, w):
        return twins.channel_norm_backward(g, x, mean, var, w, eps, need)  # type: ignore[return-value]
    f = _CHANNEL_BACKWARD[x.dtype]
    x, g, grads = dense(x), dense(g), _grads(x, x.shape[1:2], need)
    f(*map(_given, grads), g, x, _given(mean), _given(var), _given(w), *_planes(x), eps)
    return grads


@composition
def channel_norm_backward_ref(xp: XP, g: Array, x: Array, mean: Array, var: Array, w: Array | None, eps: float, need: Need) -> Grads:
    mean_, var_, w_ = _per_channel(xp, x, mean, var, w)
    assert mean_ is not None and var_ is not None
    rstd = xp.recip(_std(xp, var_, eps))
    gx = xp.mul(g, rstd if w_ is None else xp.mul(w_, rstd)) if need[0] else None
    gw = _sum_keeping(xp, xp.mul(g, xp.mul(xp.sub(x, mean_), rstd)), 1) if need[1] else None
    return gx, gw, _sum_keeping(xp, g, 1) if need[2] else None


# -- for C


def _not_for_c(kernels: dict[Any, _ffi.Kernel], x: Array, *others: Array | None) -> bool:
    """Whether the twin has to do it: without C, for another dtype, for dtypes that differ, and for nothing at all."""
    dtype = x.dtype
    if dtype not in kernels or x.size == 0:
        return True
    for other in others:  # noqa: SIM110  (a generator takes longer than all of the rest)
        if other is not None and other.dtype is not dtype and other.dtype != dtype:
            return True
    return False


def _widened(*arrays: Array | None) -> tuple[Array | None, ...]:
    """F32 in place of F16 and BF16, for the twins, which would round after each step."""
    return tuple(a.astype(_ffi.F32) if a is not None and a.dtype in _ffi.HALF_KINDS else a for a in arrays)


def _of_moments(x: Array) -> Any:
    """The dtype of x's means and deviations: of F16 and BF16 F32, in which they are computed."""
    return _ffi.F32 if x.dtype in _ffi.HALF_KINDS else x.dtype


def _given(a: Array | None) -> Any:
    """A small array as C takes it, or NULL."""
    return _ffi.NULL if a is None else dense(a)


def _grads(x: Array, parameters: tuple[int, ...], need: Need) -> Grads:
    """Room for the gradients that are wanted."""
    shapes = (x.shape, parameters, parameters)
    gx, gw, gb = (empty(shape, x.dtype) if wanted else None for shape, wanted in zip(shapes, need))
    return gx, gw, gb


def _group_sizes(x: Array, groups: int) -> tuple[int, int, int, int]:
    return x.shape[0], groups, x.shape[1] // groups, prod(x.shape[2:])


def _planes(x: Array) -> tuple[int, int, int]:
    return x.shape[0], x.shape[1], prod(x.shape[2:])


# -- what they share


def _moments(xp: XP, x: Array, dims: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Mean, rest and variance over dims, which are kept at size 1."""
    mean = _mean(xp, x, dims)
    rest = _mean(xp, xp.sub(x, mean), dims)
    return mean, rest, _mean(xp, xp.sqr(_centred(xp, x, mean, rest)), dims)


def _mean(xp: XP, x: Array, dims: tuple[int, ...]) -> Array:
    total = xp.sum(x, dims, True)
    return xp.div(total, xp.full_like(total, float(prod(x.shape[d] for d in dims))))


def _centred(xp: XP, x: Array, mean: Array, rest: Array) -> Array:
    return xp.sub(xp.sub(x, mean), rest)


def _std(xp: XP, var: Array, eps: float) -> Array:
    return xp.sqrt(xp.affine(var, 1.0, eps))


def _scaled(xp: XP, h: Array, w: Array | None, b: Array | None) -> Array:
    y = h if w is None else xp.mul(h, w)
    return y if b is None else xp.add(y, b)


def _through_moments(xp: XP, u: Array, h: Array, rstd: Array, dims: tuple[int, ...]) -> Array:
    """h = (x − mean) rstd takes u back to x: along 1 and along h nothing changes, so those parts of u are taken away."""
    along_h = xp.mul(h, _mean(xp, xp.mul(u, h), dims))
    return xp.mul(rstd, xp.sub(xp.sub(u, _mean(xp, u, dims)), along_h))


def _sum_keeping(xp: XP, x: Array, dim: int) -> Array:
    """The sum over all dims but one."""
    return xp.sum(x, tuple(d for d in range(len(x.shape)) if d != dim), False)


def _all_but_channels(x: Array) -> tuple[int, ...]:
    return (0, *range(2, len(x.shape)))


def _grouped(xp: XP, x: Array, groups: int) -> Array:
    """(N, C, *S) as (N, G, C/G, ∏S)."""
    return xp.reshape(x, (x.shape[0], groups, x.shape[1] // groups, prod(x.shape[2:])))


def _by_group(xp: XP, p: Array, groups: int) -> Array:
    """(C) as (G, C/G, 1)."""
    return xp.reshape(p, (groups, p.shape[0] // groups, 1))


def _per_channel(xp: XP, x: Array, *parameters: Array | None) -> list[Array | None]:
    """Each (C) as (C, 1, …), to broadcast over x."""
    shape = (x.shape[1], *(1 for _ in x.shape[2:]))
    return [None if p is None else xp.reshape(p, shape) for p in parameters]
