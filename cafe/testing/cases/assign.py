"""One tensor put into a part of another (above the tensor floor)."""

from __future__ import annotations

from cafe.dtype import Array
from cafe.ops import assign as ops

from ..case import EVERY, Case


def _rows(x: Array, source: Array) -> Array:
    y = x.copy()
    y[1 : 1 + len(source)] = source
    return y


def _every_second(x: Array, source: Array) -> Array:
    y = x.copy()
    y[:, ::2] = source
    return y


CASES = [
    Case(
        "slice-scatter",
        lambda x, source: ops.Assign((slice(1, 1 + source[0]), *(slice(None),) * (len(x) - 1))),
        [((2,), (1,)), ((5, 17), (3, 17)), ((4, 2, 3), (2, 2, 3))],
        _rows,
        [(((4, 2), (0, 2)), None), (((4, 0), (2, 0)), None)],
        dtypes=EVERY,
        ulps=0.0,
    ),
    Case(
        "assign with steps",
        ops.Assign((slice(None), slice(None, None, 2))),
        [((1, 1), (1, 1)), ((3, 17), (3, 9))],
        _every_second,
        [(((0, 3), (0, 2)), None)],
        dtypes=EVERY,
        ulps=0.0,
    ),
]
