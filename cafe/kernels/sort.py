"""Sorting along the last dim (floor 1). Any dtype; NaN comes last whichever the order."""

from __future__ import annotations

from typing import Any

import numpy as np

from cafe.dtype import Array

from .base import primitive


def sort(x: Array, ascending: bool) -> tuple[Array, Array]:
    """Each row in order, and where its elements came from, as U32; equals keep their order."""
    return sort_ref(x, ascending)


@primitive
def sort_ref(x: Array, ascending: bool) -> tuple[Array, Array]:
    wide: Any = x.astype(np.float32) if x.dtype.kind == "V" else x  # NumPy has no sort for BF16
    if not ascending:  # what reverses the order without overflow: −x for floats, all bits for integers
        wide = ~wide if x.dtype.kind in "iu" else -wide
    ids = np.argsort(wide, axis=-1, kind="stable")
    return np.take_along_axis(x, ids, -1), ids.astype(np.uint32)
