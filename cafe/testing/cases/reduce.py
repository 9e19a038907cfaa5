"""Sums, means, extremes, norms over dims (above the tensor floor)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cafe.dtype import Array
from cafe.errors import EmptyTensor, Error
from cafe.ops import reduce as ops

from ..arrays import Distinct, Real
from ..case import EVERY, FLOATS, Case, Shapes

_ALONG_1: list[Shapes] = [((1, 1),), ((3, 5),), ((2, 37),), ((2, 3, 4),), ((4, 9, 2),)]
_NOTHING_TO_ADD: list[tuple[Shapes, type[Error] | None]] = [(((2, 0),), None), (((0, 3),), None)]
_NOTHING_TO_PICK: list[tuple[Shapes, type[Error] | None]] = [(((2, 0),), EmptyTensor), (((0, 3),), None)]
_FEW = Real(whole=(0, 3))  # sums that fit U8


def _sum_1(x: Array) -> Any:
    return np.sum(x, axis=1)


def _log_sum_exp(x: Array, dims: tuple[int, ...]) -> Array:
    y: Array = np.log(np.sum(np.exp(x), axis=dims))
    return y


CASES = [
    Case("sum", ops.Sum((1,), False), _ALONG_1, _sum_1, _NOTHING_TO_ADD, [_FEW], EVERY),
    Case("sum keepdim", ops.Sum((1,), True), _ALONG_1, lambda x: np.sum(x, axis=1, keepdims=True), _NOTHING_TO_ADD, [_FEW], EVERY),
    Case(
        "sum of two dims",
        ops.Sum((2, 0), False),
        [((1, 1, 1),), ((3, 2, 17),), ((2, 3, 2),), ((2, 3, 4, 5),)],
        lambda x: np.sum(x, axis=(0, 2)),
        [(((2, 3, 0),), None), (((2, 0, 3),), None)],
        [_FEW],
        EVERY,
    ),
    Case(
        "sum of all",
        lambda x: ops.Sum(tuple(range(len(x))), False),
        [((),), ((1,),), ((41,),), ((3, 5),), ((2, 3, 4),)],
        np.sum,
        [(((0,),), None), (((2, 0, 3),), None)],
        [_FEW],
        EVERY,
    ),
    Case("sum of no dim", ops.Sum((), False), [((),), ((1,),), ((17,),), ((2, 3),)], lambda x: x, [(((0,),), None)], [_FEW], EVERY),
    Case("mean", ops.Mean((1,), False), _ALONG_1, lambda x: np.sum(x, axis=1) / x.shape[1], _NOTHING_TO_ADD),
    Case(
        "mean of two dims",
        ops.Mean((0, 2), True),
        [((1, 1, 1),), ((3, 2, 17),)],
        lambda x: np.sum(x, axis=(0, 2), keepdims=True) / (x.shape[0] * x.shape[2]),
        [(((2, 3, 0),), None)],
    ),
    Case(
        "var",
        ops.Var(1, False),
        [((1, 2),), ((3, 5),), ((2, 37),), ((2, 3, 4),)],
        lambda x: np.var(x, axis=1, ddof=1),
        [(((0, 3),), None)],
        ulps=4.0,
    ),
    Case(
        "var keepdim",
        ops.Var(0, True),
        [((2,),), ((5, 3),), ((19, 2),)],
        lambda x: np.var(x, axis=0, ddof=1, keepdims=True),
        [(((3, 0),), None)],
        ulps=4.0,
    ),
    *(
        Case(f"{name}{' keepdim' * keepdim}", ops.Extreme(name, 1, keepdim), _ALONG_1, reference, _NOTHING_TO_PICK, [Distinct()], EVERY)
        for name, keepdim, reference in (
            ("max", False, lambda x: np.max(x, axis=1)),
            ("max", True, lambda x: np.max(x, axis=1, keepdims=True)),
            ("min", False, lambda x: np.min(x, axis=1)),
            ("min", True, lambda x: np.min(x, axis=1, keepdims=True)),
        )
    ),
    Case(
        "argmax",
        ops.ArgExtreme("argmax", 1, False),
        _ALONG_1,
        lambda x: np.argmax(x, axis=1),
        _NOTHING_TO_PICK,
        [Distinct()],
        EVERY,
        "u32",
    ),
    Case(
        "argmin keepdim",
        ops.ArgExtreme("argmin", 1, True),
        _ALONG_1,
        lambda x: np.argmin(x, axis=1)[:, None],
        _NOTHING_TO_PICK,
        [Distinct()],
        EVERY,
        "u32",
    ),
    Case("cumsum", ops.Cumsum(1), _ALONG_1, lambda x: np.cumsum(x, axis=1), _NOTHING_TO_ADD, [_FEW], EVERY),
    Case(
        "log_sum_exp",
        ops.LogSumExp((1,)),
        _ALONG_1,
        lambda x: _log_sum_exp(x, (1,)),
        [(((2, 0),), EmptyTensor), (((0, 3),), None)],
        [Real(-4.0, 4.0)],
        FLOATS,
    ),
    Case(
        "log_sum_exp of two dims",
        ops.LogSumExp((0, 2)),
        [((1, 1, 1),), ((3, 2, 17),)],
        lambda x: _log_sum_exp(x, (0, 2)),
        [(((0, 2, 3),), EmptyTensor)],
    ),
    Case("dot", ops.Dot(), [((n,), (n,)) for n in (1, 7, 8, 9, 37, 5000)], lambda a, b: np.sum(a * b), [(((0,), (0,)), None)]),
    Case("norm", ops.Norm(), [((),), ((1,),), ((37,),), ((2, 3, 4),)], lambda x: np.sqrt(np.sum(x * x)), [(((0,),), None)]),
]
