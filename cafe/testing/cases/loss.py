"""Losses (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.dtype import Array
from cafe.errors import EmptyTensor, Error
from cafe.ops import loss as ops

from ..arrays import Ids, Real
from ..case import Case, Shapes

_PAIRS: list[Shapes] = [((), ()), ((1,), (1,)), ((37,), (37,)), ((2, 3, 5), (2, 3, 5))]
_NO_PAIR: list[tuple[Shapes, type[Error] | None]] = [(((0,), (0,)), None), (((2, 0), (2, 0)), None)]
_CLASSES: list[Shapes] = [((1, 4), (1,)), ((3, 4), (3,)), ((17, 4), (17,))]
_LOGITS, _WEIGHTS, _TARGETS = Real(-5.0, 5.0), Real(0.1, 2.0), Real(0.0, 1.0)
_APART = [Real(-0.05, 0.05, kinks=()), Real(kinks=(-0.7, 0.7), gap=0.1)]  # on both sides of huber's delta
_I64_SKIP = 2**63 - 1


def _mean(x: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sum(x) / np.float64(x.size))


def _cross_entropy(x: Array, ids: Array, weights: Array | None = None) -> Array:
    log_p = x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))
    rows = np.array([0.0 if i == _I64_SKIP else -log_p[n, i] for n, i in enumerate(ids)])
    return _mean(rows) if weights is None else np.asarray(np.sum(rows * weights))


def _bce(x: Array, t: Array) -> Array:
    p = 1.0 / (1.0 + np.exp(-x))
    return _mean(-t * np.log(p) - (1.0 - t) * np.log(1.0 - p))


def _huber(a: Array, b: Array) -> Array:
    d = np.abs(a - b)
    return _mean(np.where(d <= 0.7, d * d / 2.0, 0.7 * (d - 0.35)))


CASES = [
    Case("mse", ops.Mse(False), _PAIRS, lambda a, b: _mean((a - b) ** 2), _NO_PAIR, ulps=4.0),
    Case("mse with its gradient", ops.Mse(True), _PAIRS, lambda a, b: _mean((a - b) ** 2), _NO_PAIR, ulps=4.0),
    Case("huber", ops.Huber(0.7, False), _PAIRS, _huber, _NO_PAIR, _APART, ulps=4.0),
    Case("huber with its gradient", ops.Huber(0.7, True), _PAIRS, _huber, _NO_PAIR, _APART, ulps=4.0),
    Case("bce with logits", ops.BceWithLogits(), _PAIRS, _bce, _NO_PAIR, [_LOGITS, _TARGETS], ulps=4.0),
    Case(
        "cross-entropy",
        ops.CrossEntropy(False),
        [*_CLASSES, ((2, 37), (2,))],
        _cross_entropy,
        [(((0, 4), (0,)), None), (((2, 0), (2,)), EmptyTensor)],
        [_LOGITS, Ids(4)],
        ulps=4.0,
    ),
    Case(
        "cross-entropy with its gradient",
        ops.CrossEntropy(True),
        _CLASSES,
        _cross_entropy,
        [(((0, 4), (0,)), None)],
        [_LOGITS, Ids(4, "u32")],
        ulps=4.0,
    ),
    Case(
        "cross-entropy with a skip and weights",
        ops.CrossEntropy(True),
        [((1, 4), (1,), (1,)), ((17, 4), (17,), (17,))],
        _cross_entropy,
        [(((0, 4), (0,), (0,)), None)],
        [_LOGITS, Ids(4, "i64", _I64_SKIP), _WEIGHTS],
        constant=[2],
        ulps=8.0,
    ),
]
