"""Sorting along the last dim (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.errors import Error
from cafe.ops import sort as ops

from ..arrays import Distinct
from ..case import EVERY, Case, Shapes

_ROWS: list[Shapes] = [((1,),), ((37,),), ((3, 1),), ((2, 3, 5),)]

_NOTHING: list[tuple[Shapes, type[Error] | None]] = [(((2, 0),), None), (((0, 3),), None)]

CASES = [
    Case("sort", ops.Sort(True), _ROWS, lambda x: np.sort(x, axis=-1), _NOTHING, [Distinct()], EVERY, ulps=0.0),
    Case("sort, falling", ops.Sort(False), _ROWS, lambda x: np.sort(x, axis=-1)[..., ::-1], _NOTHING, [Distinct()], EVERY, ulps=0.0),
]
