"""Attention (above the tensor floor)."""

from __future__ import annotations

import math

import numpy as np

from cafe.dtype import Array
from cafe.errors import Error
from cafe.ops import attention as ops

from ..arrays import Real
from ..case import Case, Shapes

_SHAPES: list[Shapes] = [
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1)),
    ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)),
    ((2, 4, 3, 2), (2, 2, 3, 2), (2, 2, 3, 3)),  # two query heads a key/value head, wider values
    ((1, 1, 17, 3), (1, 1, 19, 3), (1, 1, 19, 2)),
]
_EMPTY: list[tuple[Shapes, type[Error] | None]] = [
    (((0, 2, 3, 4), (0, 2, 5, 4), (0, 2, 5, 4)), None),
    (((1, 2, 0, 4), (1, 2, 5, 4), (1, 2, 5, 4)), None),
    (((1, 1, 2, 3), (1, 1, 0, 3), (1, 1, 0, 2)), None),
]
_MASKED: list[Shapes] = [(*s, (1, 1, s[0][2], s[1][2])) for s in _SHAPES]


def _attention(scale: float, causal: bool) -> object:
    def reference(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        repeats = q.shape[1] // k.shape[1] if k.shape[1] else 1
        k, v = np.repeat(k, repeats, axis=1), np.repeat(v, repeats, axis=1)
        s, t = q.shape[2], k.shape[2]
        scores = scale * np.einsum("bhsd,bhtd->bhst", q, k) + (0.0 if mask is None else mask)
        if causal:
            scores = np.where(np.arange(t) <= np.arange(s)[:, None] + (t - s), scores, -np.inf)
        if t == 0:
            return np.zeros((*q.shape[:3], v.shape[3]))
        top = scores.max(axis=-1, keepdims=True)
        e = np.exp(scores - np.where(np.isinf(top), 0.0, top))
        total = e.sum(axis=-1, keepdims=True)
        y: Array = np.einsum("bhst,bhte->bhse", e / np.where(total == 0, 1.0, total), v)
        return y

    return reference


CASES = [
    Case("attention", ops.Attention(0.7, False), _SHAPES, _attention(0.7, False), _EMPTY, ulps=16.0),  # type: ignore[arg-type]
    Case("attention, causal", ops.Attention(0.5, True), _SHAPES, _attention(0.5, True), _EMPTY, ulps=16.0),  # type: ignore[arg-type]
    Case(
        "attention, masked",
        ops.Attention(1.0 / math.sqrt(2.0), False),
        _MASKED,
        _attention(1.0 / math.sqrt(2.0), False),  # type: ignore[arg-type]
        [((*s, (1, 1, 1, 1)), e) for s, e in _EMPTY[:2]],
        [Real(), Real(), Real(), Real(-2.0, 0.0)],
        ulps=16.0,
        constant=(3,),
    ),
]
