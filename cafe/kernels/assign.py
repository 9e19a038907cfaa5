"""One array put into a part of another, out of place (floor 1). Any dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from cafe.dtype import Array

from . import memory
from .base import primitive


def assign(x: Array, source: Array, key: tuple[Any, ...]) -> Array:
    """x with source where `slice` by this key would read."""
    y = memory.copy(x)
    memory.assign(y[(*key, ...)], source)
    return y


@primitive
def assign_ref(x: Array, source: Array, key: tuple[Any, ...]) -> Array:
    y = np.array(x, order="C", copy=True)
    y[key] = source
    return y
