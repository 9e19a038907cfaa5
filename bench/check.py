"""Whether a result is right: how far it lies from the float64 reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .row import Array


def as_arrays(result: Any) -> list[Array]:
    """A result of any library (a tensor, a number, a tuple or list of them) as ndarrays."""
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in as_arrays(part)]
    plain = result.detach() if hasattr(result, "detach") else result
    return [np.asarray(plain.float() if str(getattr(plain, "dtype", "")) == "torch.bfloat16" else plain)]  # which NumPy does not know


def deviation(got: list[Array], expected: list[Array]) -> float:
    """The largest difference between elements, as a fraction of the reference's largest element (of 1 if that is 0), over all arrays.

    Infinite where a shape differs, an array is missing, or only one of two elements is NaN or infinite.
    """
    if [g.shape for g in got] != [e.shape for e in expected]:
        return math.inf
    return max((_difference(g, e) for g, e in zip(got, expected, strict=True)), default=math.inf)


def _difference(got: Array, expected: Array) -> float:
    if expected.size == 0:
        return 0.0
    finite = np.isfinite(expected)
    if not finite.all():
        if not np.array_equal(got[~finite], expected[~finite], equal_nan=True):
            return math.inf
        got, expected = got[finite], expected[finite]
    if expected.size == 0:
        return 0.0
    worst = float(np.abs(np.subtract(got, expected, dtype=np.float64)).max())
    scale = float(np.abs(expected).max()) or 1.0
    return worst / scale if math.isfinite(worst) else math.inf
