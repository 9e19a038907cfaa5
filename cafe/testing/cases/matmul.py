"""Matrix products (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.dtype import DType
from cafe.ops import matmul as ops

from ..case import Case

CASES = [
    Case(
        "matmul",
        ops.Matmul(),
        [((1, 1), (1, 1)), ((3, 37), (37, 5)), ((7, 3), (3, 19)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 2), (4, 2, 2)), ((3, 2), (2, 2, 3))],
        np.matmul,
        [(((2, 0), (0, 3)), None), (((0, 2), (2, 3)), None), (((2, 3), (3, 0)), None)],
        ulps=8.0,
    ),
    Case(
        "linear",
        ops.Linear(),
        [((1, 1), (1, 1), (1,)), ((3, 37), (5, 37), (5,)), ((2, 3, 4), (2, 4), (2,)), ((4,), (3, 4), (3,))],
        lambda x, w, b: x @ w.T + b,
        [(((0, 2), (3, 2), (3,)), None), (((2, 0), (3, 0), (3,)), None)],
        ulps=8.0,
    ),
    Case(
        "linear without bias",
        ops.Linear(),
        [((1, 1), (1, 1)), ((3, 37), (5, 37)), ((2, 3, 4), (2, 4))],
        lambda x, w: x @ w.T,
        [(((0, 2), (3, 2)), None)],
        ulps=8.0,
    ),
    *(
        Case(
            f"linear, {name}",
            ops.LinearThen(name),
            [((1, 1), (1, 1), (1,)), ((3, 37), (5, 37), (5,)), ((2, 3, 4), (2, 4), (2,)), ((3, 17), (2, 17))],
            lambda x, w, b=0.0, f=f: f(x @ w.T + b),
            [(((0, 2), (3, 2), (3,)), None), (((2, 0), (3, 0), (3,)), None)],
            ulps=8.0,
            dtypes=(DType.F32, DType.F64),  # of halves the layer rounds what goes into the function
        )
        for name, f in (
            ("relu", lambda v: np.maximum(v, 0.0)),
            ("tanh", np.tanh),
            ("sigmoid", lambda v: 1.0 / (1.0 + np.exp(-v))),
            ("silu", lambda v: v / (1.0 + np.exp(-v))),
        )
    ),
]
