"""Sliding windows along a dim, as a view, and their adjoint (floor 1). Any dtype."""

from __future__ import annotations

import numpy as np

from cafe.dtype import Array

from .base import primitive


def unfold(x: Array, dim: int, size: int, step: int) -> Array:
    """y[…, i, …, j] = x[…, i · step + j, …]: (…, n, …) → (…, ⌊(n − size) / step⌋ + 1, …, size), a view."""
    return unfold_ref(x, dim, size, step)


@primitive
def unfold_ref(x: Array, dim: int, size: int, step: int) -> Array:
    every = (slice(None),) * dim
    y: Array = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim)[(*every, slice(None, None, step))]
    return y


def fold(g: Array, dim: int, size: int, step: int, length: int) -> Array:
    """Zeros with a dim of `length` and g's windows added where `unfold` reads them: the adjoint of `unfold`.

    Each place adds its windows' shares in the order of their places within the window.
    """
    return fold_ref(g, dim, size, step, length)


@primitive
def fold_ref(g: Array, dim: int, size: int, step: int, length: int) -> Array:
    y = np.zeros((*g.shape[:dim], length, *g.shape[dim + 1 : -1]), g.dtype)
    every = (slice(None),) * dim
    for j in range(size):
        y[(*every, slice(j, j + step * g.shape[dim], step))] += g[..., j]
    return y
