"""Matrix products and the fused linear layer (floor 1). Float32 and float64, any strides."""

from __future__ import annotations

from math import prod

import numpy as np

from cafe.dtype import Array

from .base import XP, composition, primitive, twins


def matmul(a: Array, b: Array) -> Array:
    """c[…, i, j] = Σₖ a[…, i, k] b[…, k, j]; batch dims broadcast; zeros where k is empty.

    Bound: k · eps · (|a| @ |b|), elementwise.
    """
    return matmul_ref(a, b)


@primitive
def matmul_ref(a: Array, b: Array) -> Array:
    y: Array = np.matmul(a, b)
    return y


def linear(x: Array, w: Array, b: Array | None) -> Array:
    """x wᵀ + b: x (…, k), w (n, k), b (n) → (…, n)."""
    return twins.linear(x, w, b)


@composition
def linear_ref(xp: XP, x: Array, w: Array, b: Array | None) -> Array:
    rows = xp.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    y = xp.matmul(rows, xp.permute(w, (1, 0)))
    return xp.reshape(y if b is None else xp.add(y, b), (*x.shape[:-1], w.shape[0]))
