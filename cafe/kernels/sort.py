"""Sorting along the last dim (floor 1). Any dtype; NaN comes last whichever the order."""

from __future__ import annotations

from typing import Any

import numpy as np

from cafe.dtype import Array, DType

from . import _ffi, memory
from .base import primitive

_KINDS = {dtype.numpy: _ffi.code(f"SORT_{dtype.name}") for dtype in DType} if _ffi.lib is not None else {}
_LONGEST = 2**32 - 1  # elements whose places U32 holds, less the one that means "skip" to a gather


def sort(x: Array, ascending: bool) -> tuple[Array, Array]:
    """Each row in order, and where its elements came from, as U32; equals keep their order."""
    kind, n = _KINDS.get(x.dtype), x.shape[-1]
    if kind is None or not x.size > 0 or n > _LONGEST:
        return sort_ref(x, ascending)
    x, y, ids = memory.dense(x), memory.empty(x.shape, x.dtype), memory.empty(x.shape, np.dtype(np.uint32))
    _ffi.check(_ffi.lib.cafe_sort(y, ids, x, kind, x.size // n, n, x.itemsize, not ascending))
    return y, ids


@primitive
def sort_ref(x: Array, ascending: bool) -> tuple[Array, Array]:
    wide: Any = x.astype(np.float32) if x.dtype.kind == "V" else x  # NumPy has no sort for BF16
    if not ascending:  # what reverses the order without overflow: −x for floats, all bits for integers
        wide = ~wide if x.dtype.kind in "iu" else -wide
    ids = np.argsort(wide, axis=-1, kind="stable")
    return np.take_along_axis(x, ids, -1), ids.astype(np.uint32)
