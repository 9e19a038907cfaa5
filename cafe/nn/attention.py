"""Scaled dot-product attention as a function of queries, keys and values (floor 6)."""

from __future__ import annotations

import math

import numpy as np

from cafe.dtype import check_float, check_same
from cafe.errors import Error, ShapeMismatchBinaryOp, show
from cafe.kernels.attention import attention_ref
from cafe.ops.attention import Attention
from cafe.shape import check_broadcast_to, check_rank
from cafe.tensor.base import apply, check_tensors, wrap
from cafe.tensor.convert import real
from cafe.tensor.core import Tensor
from cafe.tensor.verbs import GRAPH

from .habits import called


@called
def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, causal: bool = False, scale: float | None = None
) -> Tensor:
    """softmax(scale · q kᵀ + mask) v, for every batch item and head.

    Shape: q (b, h, s, d), k (b, g, t, d), v (b, g, t, e) → (b, h, s, e); h is a multiple of g, and query head i reads key/value head
    i // (h / g). The mask broadcasts to (b, h, s, t).
    Args: mask is U8, 1 where a query may see a key (as in PyTorch; `RotatingKvCache.attn_mask` says the opposite), or a float added to the
    scores. Causal: query i sees the keys up to i + (t − s). scale is 1/√d unless given.
    Raises: UnexpectedNumberOfDims, ShapeMismatchBinaryOp, BroadcastIncompatibleShapes, DTypeMismatchBinaryOp, UnsupportedDTypeForOp, Error
    when g does not divide h.
    Gradient: for q, k, v, and for a float mask that descends from a variable. A query that may see no key gives a row of zeros and passes
    no gradient.
    Source: Vaswani et al., "Attention Is All You Need", 2017.

    >>> from cafe import Tensor
    >>> q = k = v = Tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    >>> scaled_dot_product_attention(q, k, v, causal=True).i((0, 0, 0)).tolist()
    [1.0, 0.0]
    """
    _check(q, k, v)
    factor = 1.0 / math.sqrt(q.dim(-1) or 1) if scale is None else real("attention", scale)
    if mask is None:
        return apply(Attention(factor, causal), q, k, v)
    check_tensors("attention", mask)
    check_broadcast_to(mask.shape, (*q.shape[:3], k.dim(2)))
    added = _additive(mask, q)
    if added.track_op():  # a learned bias: the composition gives it its gradient
        return attention_ref(GRAPH.xp, q, k, v, added, factor, causal)[0]  # type: ignore[arg-type, return-value]
    return apply(Attention(factor, causal), q, k, v, added)


def _additive(mask: Tensor, q: Tensor) -> Tensor:
    """A mask to add: −inf where a U8 mask has 0."""
    if mask.dtype.is_float:
        check_same("attention", q._data, mask._data)
        return mask
    return wrap(np.where(mask._data != 0, 0.0, -np.inf).astype(q._data.dtype))


def _check(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raises unless ranks, dtypes, batches, heads, widths and lengths go together."""
    check_tensors("attention", q, k, v)
    for t in (q, k, v):
        check_rank(t._data.shape, 4)
        check_float("attention", t._data)
        check_same("attention", q._data, t._data)
    (b, heads, _, d), keys, values = q._data.shape, k._data.shape, v._data.shape
    if b != keys[0] or d != keys[3]:
        raise ShapeMismatchBinaryOp("attention (q, k)", q.shape, k.shape)
    if keys[:3] != values[:3]:
        raise ShapeMismatchBinaryOp("attention (k, v)", k.shape, v.shape)
    if keys[1] == 0 or heads % keys[1]:
        raise Error(f"attention: the key/value heads must divide the query heads, got q {show(q.shape)} and k {show(k.shape)}")
