"""Softmax and log-softmax (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.dtype import Array
from cafe.errors import EmptyTensor, Error
from cafe.ops import softmax as ops

from ..arrays import Real
from ..case import Case, Shapes

_LAST: list[Shapes] = [((1, 1),), ((3, 5),), ((2, 37),), ((4, 8),)]
_MIDDLE: list[Shapes] = [((1, 1, 1),), ((2, 5, 3),), ((3, 17, 2),)]
_EMPTY: list[tuple[Shapes, type[Error] | None]] = [(((0, 3),), None), (((2, 0),), EmptyTensor)]
_EMPTY_MIDDLE: list[tuple[Shapes, type[Error] | None]] = [(((0, 3, 2),), None), (((2, 3, 0),), None)]
_LOGITS = [Real(-5.0, 5.0)]


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    y: Array = e / e.sum(axis=1, keepdims=True)
    return y


def _log_softmax(x: Array) -> Array:
    y: Array = x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))
    return y


CASES = [
    Case("softmax", ops.Softmax(1), _LAST, _softmax, _EMPTY, _LOGITS, ulps=4.0),
    Case("softmax in the middle", ops.Softmax(1), _MIDDLE, _softmax, _EMPTY_MIDDLE, _LOGITS, ulps=4.0),
    Case("log-softmax", ops.LogSoftmax(1), _LAST, _log_softmax, _EMPTY, _LOGITS, ulps=4.0),
    Case("log-softmax in the middle", ops.LogSoftmax(1), _MIDDLE, _log_softmax, _EMPTY_MIDDLE, _LOGITS, ulps=4.0),
]
