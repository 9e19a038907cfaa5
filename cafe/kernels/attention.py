"""Scaled dot-product attention, forward and backward (floor 1).

Letters: B batch, H query heads, G key/value heads (H is a multiple of G), S queries, T keys, D width of queries and keys, E of values.
The mask is additive and a constant: −inf forbids a key. A query that may see no key gets a zero row and passes no gradient.

In C the scores are never there as a whole: memory grows with S and T, not with their product, and the backward works the weights out again
from each query's logsumexp. A key that a query may not see has a weight of 0, or is not looked at: NaN or infinity in it may get through or
not.
"""

from __future__ import annotations

import math

import numpy as np

from cafe.dtype import Array

from . import _ffi
from .base import XP, composition, twins
from .memory import copy, dense, empty

_ATTENTION = _ffi.kernel("attention")
_ATTENTION_BACKWARD = _ffi.kernel("attention_backward")


def attention(q: Array, k: Array, v: Array, mask: Array | None, scale: float, causal: bool) -> tuple[Array, Array]:
    """softmax(scale · q kᵀ + mask) v: q (B, H, S, D), k (B, G, T, D), v (B, G, T, E) → (B, H, S, E), and the logsumexp (B, H, S).

    mask broadcasts to (B, H, S, T). Causal: query i sees the keys up to i + (T − S). Head h reads key/value head h // (H / G).

    Bound: (8 + 4 s) eps of the largest value, with s the largest score: what rounds a score is its weight's relative error.
    """
    f = _ATTENTION.get(q.dtype)
    if f is None or not _of_one_dtype(q, k, v, mask):
        return twins.attention(q, k, v, mask, scale, causal)  # type: ignore[return-value]
    q, k, v = _by_rows(q), _by_rows(k), _by_rows(v)
    y, logsumexp = empty((*q.shape[:3], v.shape[3]), q.dtype), empty(q.shape[:3], q.dtype)
    mask = _broadcast(mask, q, k)
    added = _ffi.NULL if mask is None else _ffi.strided(mask)
    sizes = _sizes(q, k, v, mask, y, causal)
    _ffi.check(f(y, logsumexp, _ffi.strided(q), _ffi.strided(k), _ffi.strided(v), added, sizes, scale))
    return y, logsumexp


@composition
def attention_ref(xp: XP, q: Array, k: Array, v: Array, mask: Array | None, scale: float, causal: bool) -> tuple[Array, Array]:
    scores = _scores(xp, q, k, mask, scale, causal)
    top = xp.max(scores, 4, True) if k.shape[2] else xp.full_like(xp.sum(scores, (4,), True), -math.inf)
    blind = xp.eq(top, xp.full_like(top, -math.inf))
    e = xp.exp(xp.sub(scores, xp.where(blind, xp.full_like(top, 0.0), top)))
    total = xp.sum(e, (4,), True)
    total = xp.where(blind, xp.full_like(total, 1.0), total)  # inside the division and the logarithm, or their slopes would be NaN
    logsumexp = xp.where(blind, top, xp.add(top, xp.log(total)))
    y = xp.matmul(xp.div(e, total), _spread_heads(xp, v))
    return xp.reshape(y, (*q.shape[:3], v.shape[3])), xp.reshape(logsumexp, q.shape[:3])


def attention_backward(
    g: Array, q: Array, k: Array, v: Array, y: Array, mask: Array | None, scale: float, causal: bool, logsumexp: Array | None
) -> tuple[Array, Array, Array]:
    """The gradients of q, k and v: with p the weights, δ = Σₑ g y and ds = p (g vᵀ − δ): scale ds k, scale dsᵀ q, pᵀ g.

    The logsumexp is the forward's, or None to have it computed again.
    """
    f = _ATTENTION_BACKWARD.get(q.dtype)
    if f is None or logsumexp is None or not _of_one_dtype(q, k, v, mask, g, y, logsumexp):
        return twins.attention_backward(g, q, k, v, y, mask, scale, causal, logsumexp)  # type: ignore[return-value]
    g, q, k, v = _by_rows(g), _by_rows(q), _by_rows(k), _by_rows(v)
    gq, gk, gv, room = empty(q.shape, q.dtype), empty(k.shape, q.dtype), empty(v.shape, q.dtype), empty(q.shape[:3], q.dtype)
    mask = _broadcast(mask, q, k)
    kept = dense(y), dense(logsumexp), _ffi.NULL if mask is None else _ffi.strided(mask)
    sizes = _sizes(q, k, v, mask, g, causal)
    _ffi.check(f(gq, gk, gv, room, _ffi.strided(g), _ffi.strided(q), _ffi.strided(k), _ffi.strided(v), *kept, sizes, scale))
    return gq, gk, gv


@composition
def attention_backward_ref(
    xp: XP, g: Array, q: Array, k: Array, v: Array, y: Array, mask: Array | None, scale: float, causal: bool, logsumexp: Array | None
) -> tuple[Array, Array, Array]:
    if logsumexp is None:
        logsumexp = attention_ref(xp, q, k, v, mask, scale, causal)[1]
    b, h, s, d = q.shape
    groups, t, e = k.shape[1], k.shape[2], v.shape[3]
    split = (b, groups, h // groups if groups else 0, s)
    lse = xp.reshape(logsumexp, (*split, 1))
    blind = xp.eq(lse, xp.full_like(lse, -math.inf))
    lse = xp.where(blind, xp.full_like(lse, math.inf), lse)
    weights = xp.exp(xp.sub(_scores(xp, q, k, mask, scale, causal), lse))
    gs = xp.reshape(g, (*split, e))
    delta = xp.sum(xp.mul(gs, xp.reshape(y, (*split, e))), (4,), True)
    ds = xp.mul(weights, xp.sub(xp.matmul(gs, _swap(xp, _spread_heads(xp, v))), delta))
    ds = xp.affine(ds, scale, 0.0)
    gq = xp.reshape(xp.matmul(ds, _spread_heads(xp, k)), q.shape)
    gk = xp.sum(xp.matmul(_swap(xp, ds), xp.reshape(q, (*split, d))), (2,), False)
    gv = xp.sum(xp.matmul(_swap(xp, weights), gs), (2,), False)
    return gq, xp.reshape(gk, (b, groups, t, d)), xp.reshape(gv, (b, groups, t, e))


def _scores(xp: XP, q: Array, k: Array, mask: Array | None, scale: float, causal: bool) -> Array:
    """scale · q kᵀ + mask, as (B, G, H / G, S, T)."""
    b, h, s, d = q.shape
    groups, t = k.shape[1], k.shape[2]
    split = (b, groups, h // groups if groups else 0, s, d)
    scores = xp.affine(xp.matmul(xp.reshape(q, split), _swap(xp, _spread_heads(xp, k))), scale, 0.0)
    if causal:
        scores = xp.add(scores, _causal_mask(xp, s, t, q))
    if mask is None:
        return scores
    whole = xp.broadcast_to(mask, (b, h, s, t))
    return xp.add(scores, xp.reshape(whole, (*split[:4], t)))


def _spread_heads(xp: XP, x: Array) -> Array:
    """(B, G, T, D) → (B, G, 1, T, D), which broadcasts over the query heads of a group."""
    b, groups, t, d = x.shape
    return xp.reshape(x, (b, groups, 1, t, d))


def _swap(xp: XP, x: Array) -> Array:
    rank = len(x.shape)
    return xp.permute(x, (*range(rank - 2), rank - 1, rank - 2))


def _causal_mask(xp: XP, s: int, t: int, like: Array) -> Array:
    """(S, T): 0 where query i may see key j, j ≤ i + (T − S), −inf elsewhere."""
    j = xp.cumsum(xp.full_like(xp.zeros((1, t), like.dtype), 1.0), 1)
    i = xp.cumsum(xp.full_like(xp.zeros((s, 1), like.dtype), 1.0), 0)
    hidden = xp.gt(j, xp.affine(i, 1.0, float(t - s)))
    nothing = xp.zeros((s, t), like.dtype)
    return xp.where(hidden, xp.full_like(nothing, -math.inf), nothing)


# -- what C is told


def _of_one_dtype(*arrays: Array | None) -> bool:
    return len({a.dtype for a in arrays if a is not None}) == 1


def _by_rows(x: Array) -> Array:
    """x, or a row-major copy where its last dim is not contiguous."""
    return x if x.strides[-1] == x.itemsize else copy(x)


def _broadcast(mask: Array | None, q: Array, k: Array) -> Array | None:
    """The mask as (B, H, S, T), its strides 0 where it repeats, and along its last dim 0 or 1."""
    if mask is None:
        return None
    if mask.ndim and mask.shape[-1] > 1:
        mask = _by_rows(mask)
    return np.broadcast_to(mask, (*q.shape[:3], k.shape[2]))


def _sizes(q: Array, k: Array, v: Array, mask: Array | None, g: Array, causal: bool) -> tuple[int, ...]:
    """B H G S T D E and causal, then strides in elements."""
    strides = *q.strides[:3], *k.strides[:3], *v.strides[:3], *((0,) * 4 if mask is None else mask.strides), *g.strides[:3]
    (b, h, s, d), size = q.shape, q.itemsize
    return b, h, k.shape[1], s, k.shape[2], d, v.shape[3], int(causal), *[stride // size for stride in strides]
