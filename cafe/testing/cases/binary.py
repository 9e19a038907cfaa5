"""Elementwise functions of two or three tensors (above the tensor floor)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cafe.dtype import Array
from cafe.ops import binary as ops
from cafe.ops.base import Op

from ..arrays import Distinct, Draw, Mask, Real
from ..case import EVERY, FLOATS, Case
from .base import BROADCAST, EMPTY_PAIRS

_SMALL = Real(whole=(0, 9))
_LARGE = Real(3.0, 5.0, whole=(10, 20))
_POSITIVE = Real(0.5, 2.5, whole=(1, 9))


def _case(op: Op, reference: Callable[..., Any], *draws: Draw, **more: Any) -> Case:
    return Case(op.name, op, BROADCAST, reference, EMPTY_PAIRS, draws or (_SMALL,), **more)


def _truncated(a: Array, b: Array) -> Array:
    """Integer division toward zero, on Python ints."""
    y: Array = np.vectorize(lambda m, n: abs(m) // abs(n) * (1 if (m < 0) == (n < 0) else -1), otypes=[object])(a, b)
    return y


CASES = [
    _case(ops.Add(), lambda a, b: a + b, dtypes=EVERY),
    _case(ops.Sub(), lambda a, b: a - b, _LARGE, _SMALL, dtypes=EVERY),
    _case(ops.Mul(), lambda a, b: a * b, dtypes=EVERY),
    _case(ops.Div(), lambda a, b: a / b, Real(), _POSITIVE, dtypes=EVERY, whole=_truncated),
    _case(ops.Maximum(), np.maximum, Distinct(), Distinct(shift=0.05), dtypes=EVERY),
    _case(ops.Minimum(), np.minimum, Distinct(), Distinct(shift=0.05), dtypes=EVERY),
    _case(ops.Pow(), lambda a, b: a**b, _POSITIVE, Real(), dtypes=FLOATS, ulps=4.0),
    Case(
        "where_cond",
        ops.Where(),
        [((), (), ()), ((1,), (1,), (1,)), ((37,), (37,), (37,)), ((2, 3, 5), (5,), ()), ((3,), (2, 3), (2, 1))],
        lambda c, a, b: np.where(c != 0, a, b),
        [(((0,), (0,), (0,)), None), (((2, 0), (1,), ()), None)],
        [Mask(), Real()],
        EVERY,
    ),
    *(
        _case(ops.Compare(name), reference, dtypes=EVERY, result="u8")
        for name, reference in {
            "eq": lambda a, b: (a == b).astype(int),
            "ne": lambda a, b: (a != b).astype(int),
            "lt": lambda a, b: (a < b).astype(int),
            "le": lambda a, b: (a <= b).astype(int),
            "gt": lambda a, b: (a > b).astype(int),
            "ge": lambda a, b: (a >= b).astype(int),
        }.items()
    ),
]
