"""Products along a dim (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.errors import Error
from cafe.ops import prod as ops

from ..arrays import Real
from ..case import EVERY, Case, Shapes

_ALONG_1: list[Shapes] = [((1, 1),), ((3, 2),), ((2, 17),), ((2, 5, 3),), ((1, 8),)]
_NOTHING: list[tuple[Shapes, type[Error] | None]] = [(((2, 0),), None), (((0, 3),), None)]
_NEAR_1 = Real(0.5, 1.6, whole=(0, 1))

CASES = [
    Case("prod", ops.Prod(1, False), _ALONG_1, lambda x: np.prod(x, axis=1), _NOTHING, [_NEAR_1], EVERY),
    Case("prod keepdim", ops.Prod(1, True), _ALONG_1, lambda x: np.prod(x, axis=1, keepdims=True), _NOTHING, [_NEAR_1], EVERY),
]
