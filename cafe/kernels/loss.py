"""Losses that stand at the end of a training step, each one pass over its inputs, forward and backward (floor 1).

    loss, gx = kernels.cross_entropy_with_grad(x, ids, None)   # the gradient comes along with the value
    kernels.mse(a, b)

Every loss is one number. Ids follow the rules of `gather`: the largest U8, U32 or I64 means "skip", another one outside is an error.
"""

from __future__ import annotations

from math import isfinite, prod

from cafe.dtype import Array

from . import _elementwise, _ffi, memory
from .base import XP, composition, twins

_CROSS_ENTROPY = _ffi.kernel("cross_entropy")
_MSE = _ffi.kernel("mse")
_MSE_BACKWARD = _ffi.kernel("mse_backward")
_HUBER = _ffi.kernel("huber")
_HUBER_BACKWARD = _ffi.kernel("huber_backward")
_BCE = _ffi.kernel("bce")
_BCE_BACKWARD = _ffi.kernel("bce_backward")
_BAD_ID = _ffi.code("BAD_ID")


def cross_entropy(x: Array, ids: Array, weights: Array | None) -> Array:
    """Σᵢ wᵢ (ln Σⱼ exp xᵢⱼ − xᵢ,ₜ₍ᵢ₎): logits x (n, c), ids t (n), weights w (n) of x's dtype; without weights 1/n each.

    A skipped id adds nothing (and still counts in n); neither does a row of weight 0, whatever stands in it.

    Bound: 4 ulp and the sums' own, of the largest logit.
    Raises: InvalidIndex.
    """
    y = memory.empty((), x.dtype)
    return y if _in_one_pass(y, None, x, ids, weights, 1.0) else twins.cross_entropy(x, ids, weights)


@composition
def cross_entropy_ref(xp: XP, x: Array, ids: Array, weights: Array | None) -> Array:
    rows = x.shape[0]
    picked = xp.reshape(xp.gather(xp.log_softmax(x, 1), xp.reshape(ids, (rows, 1)), 1), (rows,))
    if weights is None:
        total = xp.sum(picked, (0,), False)
        return xp.affine(xp.div(total, xp.full_like(total, float(rows))), -1.0, 0.0)  # adding 0 makes a loss of nothing 0, not -0
    return xp.affine(xp.sum(xp.where(weights, xp.mul(picked, weights), xp.full_like(weights, 0.0)), (0,), False), -1.0, 0.0)


def cross_entropy_with_grad(x: Array, ids: Array, weights: Array | None) -> tuple[Array, Array]:
    """The cross-entropy and its gradient with respect to x, which costs little more than the value alone.

    Raises: InvalidIndex.
    """
    y, gx = memory.empty((), x.dtype), memory.empty(x.shape, x.dtype)
    return (y, gx) if _in_one_pass(y, gx, x, ids, weights, 1.0) else cross_entropy_with_grad_ref(twins, x, ids, weights)


@composition
def cross_entropy_with_grad_ref(xp: XP, x: Array, ids: Array, weights: Array | None) -> tuple[Array, Array]:
    loss = xp.cross_entropy(x, ids, weights)
    return loss, xp.cross_entropy_backward(xp.full_like(loss, 1.0), x, ids, weights, None)


def cross_entropy_backward(g: Array, x: Array, ids: Array, weights: Array | None, gx: Array | None) -> Array:
    """g wᵢ (softmax(x)ᵢⱼ − [j = tᵢ]); 0 in a row that adds nothing.

    gx is what `cross_entropy_with_grad` gave, or None: then it is computed from x, as it is where 0 times g would be no 0. It is given
    back as it is where g is 1.
    """
    if gx is None or not isfinite(g.item()):
        gx = memory.empty(x.shape, x.dtype)
        done = _in_one_pass(None, gx, x, ids, weights, g.item())
        return gx if done else twins.cross_entropy_backward(g, x, ids, weights, None)
    return gx if g.item() == 1.0 else _mul(gx, g)


@composition
def cross_entropy_backward_ref(xp: XP, g: Array, x: Array, ids: Array, weights: Array | None, gx: Array | None) -> Array:
    if gx is not None:
        return xp.mul(gx, g)
    rows = x.shape[0]
    if weights is None:
        share = xp.broadcast_to(xp.div(g, xp.full_like(g, float(rows))), (rows, 1))
    else:
        share = xp.reshape(xp.mul(g, weights), (rows, 1))
    hit = xp.scatter_add(xp.zeros(x.shape, x.dtype), xp.reshape(ids, (rows, 1)), xp.full_like(share, 1.0), 1)
    adds = xp.sum(hit, (1,), True)  # 0 for a skipped id
    if weights is not None:
        adds = xp.mul(adds, xp.reshape(weights, (rows, 1)))
    counts = xp.where(adds, share, xp.full_like(share, 0.0))  # not a product: g may be NaN
    row = xp.mul(xp.broadcast_to(counts, x.shape), xp.sub(xp.softmax(x, 1), hit))
    return xp.where(counts, row, xp.full_like(x, 0.0))


@_elementwise.of_two
def _mul(gx: Array, g: Array) -> Array:
    return twins.mul(gx, g)


def _in_one_pass(y: Array | None, gx: Array | None, x: Array, ids: Array, weights: Array | None, g: float) -> bool:
    """Has C write the cross-entropy and its gradient times g. False where it cannot, or there is a bad id, about which the twin raises."""
    f, kind = _CROSS_ENTROPY.get(x.dtype), _ffi.ID_KINDS.get(ids.dtype)
    if f is None or kind is None or not x.size or (weights is not None and weights.dtype != x.dtype):
        return False
    value, slope = _ffi.NULL if y is None else y, _ffi.NULL if gx is None else gx
    by_row = _ffi.NULL if weights is None else memory.dense(weights)
    status = f(value, slope, memory.dense(x), memory.dense(ids), kind, by_row, *x.shape, g)
    if status == _BAD_ID:
        return False
    _ffi.check(status)
    return True


def mse(a: Array, b: Array) -> Array:
    """Σ (a − b)² / n, of one shape; NaN where there is nothing."""
    f = _MSE.get(a.dtype)
    if f is None or b.dtype is not a.dtype:
        return twins.mse(a, b)
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        a, b = memory.dense(a), memory.dense(b)
    y: Array = memory.empty((), a.dtype)
    status = f(y, _ffi.NULL, a, b, a.size)
    if status:
        _ffi.check(status)
    return y


@composition
def mse_ref(xp: XP, a: Array, b: Array) -> Array:
    return _mean(xp, xp.sqr(xp.sub(a, b)))


def mse_with_grad(a: Array, b: Array) -> tuple[Array, Array]:
    """The mean square and its gradient with respect to a, in one call."""
    f = _MSE.get(a.dtype)
    if f is None or b.dtype is not a.dtype:
        return mse_with_grad_ref(twins, a, b)
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        a, b = memory.dense(a), memory.dense(b)
    y, ga = memory.empty((), a.dtype), memory.empty(a.shape, a.dtype)
    status = f(y, ga, a, b, a.size)
    if status:
        _ffi.check(status)
    return y, ga


@composition
def mse_with_grad_ref(xp: XP, a: Array, b: Array) -> tuple[Array, Array]:
    loss = xp.mse(a, b)
    return loss, xp.mse_backward(xp.full_like(loss, 1.0), a, b, None)


def mse_backward(g: Array, a: Array, b: Array, ga: Array | None) -> Array:
    """2 g (a − b) / n: the gradient of a; that of b is its negative.

    ga is what `mse_with_grad` gave, or None. It is given back as it is where g is 1.
    """
    if ga is not None and g.item() == 1.0:
        return ga
    f = _MSE_BACKWARD.get(a.dtype)
    if f is None or b.dtype is not a.dtype or g.dtype is not a.dtype:
        return twins.mse_backward(g, a, b, None)
    if not (a.flags.c_contiguous and b.flags.c_contiguous):
        a, b = memory.dense(a), memory.dense(b)
    ga = memory.empty(a.shape, a.dtype)
    f(ga, g, a, b, a.size)
    return ga


@composition
def mse_backward_ref(xp: XP, g: Array, a: Array, b: Array, ga: Array | None) -> Array:
    return xp.mul(xp.sub(a, b), xp.affine(g, 2.0 / max(prod(a.shape), 1), 0.0))


def huber(a: Array, b: Array, delta: float) -> Array:
    """The mean of d² / 2 where |d| = |a − b| is at most delta, of delta (|d| − delta / 2) beyond; NaN where there is nothing."""
    f = _HUBER.get(a.dtype)
    if f is None or b.dtype is not a.dtype:
        return twins.huber(a, b, delta)
    y: Array = memory.empty((), a.dtype)
    _ffi.check(f(y, _ffi.NULL, memory.dense(a), memory.dense(b), a.size, delta))
    return y


@composition
def huber_ref(xp: XP, a: Array, b: Array, delta: float) -> Array:
    distance = xp.abs(xp.sub(a, b))
    near = xp.clamp(distance, 0.0, delta)  # near · (distance − near / 2) is both branches at once
    return _mean(xp, xp.mul(near, xp.sub(distance, xp.affine(near, 0.5, 0.0))))


def huber_with_grad(a: Array, b: Array, delta: float) -> tuple[Array, Array]:
    """Huber's loss and its gradient with respect to a, in one call."""
    f = _HUBER.get(a.dtype)
    if f is None or b.dtype is not a.dtype:
        return huber_with_grad_ref(twins, a, b, delta)
    y, ga = memory.empty((), a.dtype), memory.empty(a.shape, a.dtype)
    _ffi.check(f(y, ga, memory.dense(a), memory.dense(b), a.size, delta))
    return y, ga


@composition
def huber_with_grad_ref(xp: XP, a: Array, b: Array, delta: float) -> tuple[Array, Array]:
    loss = xp.huber(a, b, delta)
    return loss, xp.huber_backward(xp.full_like(loss, 1.0), a, b, delta, None)


def huber_backward(g: Array, a: Array, b: Array, delta: float, ga: Array | None) -> Array:
    """g d / n, d = a − b held between −delta and delta: the gradient of a; that of b is its negative. ga as in `mse_backward`."""
    if ga is not None and g.item() == 1.0:
        return ga
    f = _HUBER_BACKWARD.get(a.dtype)
    if f is None or b.dtype is not a.dtype or g.dtype is not a.dtype:
        return twins.huber_backward(g, a, b, delta, None)
    ga = memory.empty(a.shape, a.dtype)
    f(ga, g, memory.dense(a), memory.dense(b), a.size, delta)
    return ga


@composition
def huber_backward_ref(xp: XP, g: Array, a: Array, b: Array, delta: float, ga: Array | None) -> Array:
    return xp.mul(xp.clamp(xp.sub(a, b), -delta, delta), xp.affine(g, 1.0 / max(prod(a.shape), 1), 0.0))


def bce_with_logits(x: Array, t: Array) -> Array:
    """Σ (t ln(1 + e^−x) + (1 − t) ln(1 + eˣ)) / n: logits x, targets t in [0, 1], of one shape; exact to the last places at any x."""
    f = _BCE.get(x.dtype)
    if f is None or t.dtype is not x.dtype:
        return twins.bce_with_logits(x, t)
    y: Array = memory.empty((), x.dtype)
    _ffi.check(f(y, memory.dense(x), memory.dense(t), x.size))
    return y


@composition
def bce_with_logits_ref(xp: XP, x: Array, t: Array) -> Array:
    return _mean(xp, xp.add(xp.mul(t, xp.softplus(xp.neg(x))), xp.mul(xp.affine(t, -1.0, 1.0), xp.softplus(x))))


def bce_with_logits_backward(g: Array, x: Array, t: Array) -> Array:
    """g (sigmoid(x) − t) / n, in the form (1 − t) sigmoid(x) − t sigmoid(−x) that keeps the small values at both ends."""
    f = _BCE_BACKWARD.get(x.dtype)
    if f is None or t.dtype is not x.dtype or g.dtype is not x.dtype:
        return twins.bce_with_logits_backward(g, x, t)
    gx: Array = memory.empty(x.shape, x.dtype)
    f(gx, g, memory.dense(x), memory.dense(t), x.size)
    return gx


@composition
def bce_with_logits_backward_ref(xp: XP, g: Array, x: Array, t: Array) -> Array:
    slope = xp.sub(xp.mul(xp.affine(t, -1.0, 1.0), xp.sigmoid(x)), xp.mul(t, xp.sigmoid(xp.neg(x))))
    return xp.mul(slope, xp.affine(g, 1.0 / max(prod(x.shape), 1), 0.0))


def _mean(xp: XP, x: Array) -> Array:
    total = xp.sum(x, tuple(range(len(x.shape))), False)
    return xp.div(total, xp.full_like(total, float(prod(x.shape))))
