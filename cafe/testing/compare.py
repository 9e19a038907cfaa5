"""Comparing numbers with a bound that means something (above the tensor floor).

A bound on a tensor is a fraction of the larger of 1 and the reference's largest element: what float32 can promise about a sum of numbers
near 1000 is not what it can promise about one near 1. An ulp of a tensor is the ulp of its largest element.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from cafe.dtype import Array, DType, DTypeLike, as_dtype
from cafe.tensor.base import Base


def to_numpy(value: Any) -> Array:
    """An ndarray from a Tensor, an ndarray, a number or nested lists; BF16 as it is."""
    return value._data if isinstance(value, Base) else np.asarray(value)


def epsilon(dtype: DTypeLike) -> float:
    """The distance from 1 to the next number of a float dtype; 0 for integers, which are exact."""
    found = as_dtype(dtype)
    return float(ml_dtypes.finfo(found.numpy).eps) if found.is_float else 0.0  # type: ignore[no-untyped-call]


def ulp(reference: Any, dtype: DTypeLike = DType.F32) -> float:
    """The step between neighbours of `dtype` at the reference's largest finite element.

    >>> ulp([0.5, -3.0], "f32") == 2.0**-22
    True
    """
    _, exponent = np.frexp(_largest(to_numpy(reference)))
    return float(np.ldexp(epsilon(dtype), int(exponent) - 1))


def scale(reference: Any) -> float:
    """The larger of 1 and the reference's largest finite element: what bounds are fractions of."""
    return max(1.0, _largest(to_numpy(reference)))


def assert_close(actual: Any, expected: Any, bound: float, what: str = "") -> None:
    """Raises AssertionError unless the shapes agree and no element is off by more than `bound` of the larger of 1 and expected's largest.

    NaN meets NaN and an infinity the same infinity. The message shows the worst element.

    >>> assert_close([1.0, 2.0], [1.0, 2.0], 0.0)
    >>> assert_close([1.0, 2.5], [1.0, 2.0], 1e-3)
    Traceback (most recent call last):
        ...
    AssertionError: 1 of 2 elements differ by more than 0.002 (0.001 of 2); the worst at [1]: got 2.5, expected 2.0
    """
    got, wanted = to_numpy(actual), to_numpy(expected)
    prefix = f"{what}: " if what else ""
    assert got.shape == wanted.shape, f"{prefix}got shape {list(got.shape)}, expected {list(wanted.shape)}"
    with np.errstate(all="ignore"):
        a, e = got.astype(np.float64), wanted.astype(np.float64)
        off = np.abs(a - e)
        off = np.where((a == e) | (np.isnan(a) & np.isnan(e)), 0.0, np.where(np.isnan(off), np.inf, off))
    allowed = bound * scale(wanted)
    wrong = (off > allowed) | np.isinf(off)
    if not wrong.any():
        return
    worst = np.unravel_index(int(off.argmax()), off.shape)
    raise AssertionError(
        f"{prefix}{int(wrong.sum())} of {off.size} elements differ by more than {allowed:.3g} ({bound:.3g} of {scale(wanted):.3g});"
        f" the worst at {[int(i) for i in worst]}: got {float(a[worst])!r}, expected {float(e[worst])!r}"
    )


def assert_same_bits(actual: Any, expected: Any, what: str = "") -> None:
    """Raises AssertionError unless both have one dtype, one shape and the same bits (so −0 is not 0, and each NaN is itself)."""
    got, wanted = to_numpy(actual), to_numpy(expected)
    prefix = f"{what}: " if what else ""
    assert got.dtype == wanted.dtype, f"{prefix}got dtype {got.dtype}, expected {wanted.dtype}"
    assert got.shape == wanted.shape, f"{prefix}got shape {list(got.shape)}, expected {list(wanted.shape)}"
    if np.ascontiguousarray(got).tobytes() != np.ascontiguousarray(wanted).tobytes():
        assert_close(got, wanted, 0.0, what)
        raise AssertionError(f"{prefix}the same numbers, but other bits (a signed zero or another NaN)")


def assert_integers(actual: Any, expected: Any, what: str = "") -> None:
    """Raises AssertionError unless an integer array holds just these Python ints (any nesting, or an array of them)."""
    got, wanted = to_numpy(actual), np.asarray(expected, dtype=object)
    prefix = f"{what}: " if what else ""
    assert got.dtype.kind in "iu", f"{prefix}got dtype {got.dtype}, expected integers"
    assert got.shape == wanted.shape, f"{prefix}got shape {list(got.shape)}, expected {list(wanted.shape)}"
    wrong = [i for i in np.ndindex(got.shape) if int(got[i]) != int(wanted[i])]
    assert not wrong, f"{prefix}at {list(wrong[0])}: got {int(got[wrong[0]])}, expected {int(wanted[wrong[0]])}"


def _largest(array: Array) -> float:
    with np.errstate(all="ignore"):
        magnitudes = np.abs(array.astype(np.float64))
    finite = magnitudes[np.isfinite(magnitudes)]
    return float(finite.max()) if finite.size else 0.0
