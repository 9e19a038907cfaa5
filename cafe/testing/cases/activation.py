"""Activations made of other verbs, and dropout (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.ops import activation as ops

from ..arrays import Real
from ..case import Case
from .base import ELEMENTWISE, EMPTY

_WIDE = Real(-6.0, 6.0, (-3.0, 0.0, 3.0))

CASES = [
    Case("leaky_relu", ops.LeakyRelu(0.25), ELEMENTWISE, lambda x: np.where(x > 0.0, x, 0.25 * x), EMPTY),
    Case("mish", ops.Mish(), ELEMENTWISE, lambda x: x * np.tanh(np.log1p(np.exp(x))), EMPTY, [_WIDE]),
    Case(
        "dropout",
        ops.Dropout(),
        [((), ()), ((1,), (1,)), ((37,), (37,)), ((2, 3, 5), (2, 3, 5))],
        lambda x, mask: x * mask,
        [(((0,), (0,)), None)],
        constant=[1],
    ),
]
