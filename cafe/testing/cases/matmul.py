"""Matrix products (above the tensor floor)."""

from __future__ import annotations

import numpy as np

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
]
