"""Arrays to test with: numbers drawn from a safe domain, and the same numbers under other strides (above the tensor floor).

Each version lies in a larger buffer filled with poison (NaN, or the smallest integer), so that a read next to it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cafe.dtype import Array, DTypeLike, as_dtype
from cafe.shape import Shape

# -- other strides


def poison(shape: Shape, dtype: np.dtype[Any]) -> Array:
    """An array full of NaN, or of the smallest integer."""
    return np.full(shape, np.iinfo(dtype).min if dtype.kind in "iu" else np.nan, dtype)


def offset(x: Array) -> Array:
    """Row-major, but starting one element into its buffer: aligned to nothing that a vector would like."""
    buffer = poison((x.size + 2,), x.dtype)
    view = buffer[1 : 1 + x.size].reshape(x.shape)
    view[...] = x
    return view


def strided(x: Array) -> Array:
    """Every second element of the last dim, every third of the first (of one dim: every second)."""
    if x.ndim == 0:
        return offset(x)
    steps = [1] * x.ndim
    steps[0], steps[-1] = 3, 2
    buffer = poison(tuple(n * s + 1 for n, s in zip(x.shape, steps)), x.dtype)
    view = buffer[tuple(slice(1, 1 + n * s, s) for n, s in zip(x.shape, steps))]
    view[...] = x
    return view


def transposed(x: Array) -> Array:
    """Column-major."""
    return offset(np.array(x.T, order="C")).T


def backwards(x: Array) -> Array:
    """Negative strides along every dim."""
    every = tuple(range(x.ndim))
    return np.flip(offset(np.flip(x, every)), every)


def repeated(x: Array) -> Array:
    """Stride 0 along the first dim and, from rank 3 on, along the last: other numbers than x, in x's shape."""
    if x.ndim == 0 or x.size == 0:
        return offset(x)
    key = (slice(0, 1),) + (slice(None),) * (x.ndim - 2) + ((slice(0, 1),) if x.ndim > 2 else (slice(None),) * (x.ndim > 1))
    return np.broadcast_to(offset(x[key]), x.shape)


VERSIONS: dict[str, Callable[[Array], Array]] = {
    "offset": offset,
    "strided": strided,
    "transposed": transposed,
    "backwards": backwards,
    "repeated": repeated,
}


def versions(x: Array) -> Iterator[tuple[str, Array, Array]]:
    """x under each kind of strides, read-only, with a fresh row-major copy of the same numbers: (kind, view, copy)."""
    for kind, make in VERSIONS.items():
        view = make(x)[...]
        view.flags.writeable = False
        yield kind, view, np.array(view, order="C")


# -- numbers


@dataclass(frozen=True)
class Real:
    """Numbers between low and high, at least `gap` away from each of `kinks`; whole numbers in `whole` where an integer dtype is wanted."""

    low: float = -2.0
    high: float = 2.0
    kinks: tuple[float, ...] = (0.0,)
    gap: float = 0.05
    whole: tuple[int, int] = (-9, 9)

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: DTypeLike) -> Array:
        """An array of this shape and dtype."""
        target = as_dtype(dtype)
        if target.is_int:
            low = max(self.whole[0], int(np.iinfo(target.numpy).min))
            return rng.integers(low, self.whole[1], shape, endpoint=True).astype(target.numpy)
        x = rng.uniform(self.low, self.high, shape)
        for kink in self.kinks:
            x = np.where(np.abs(x - kink) < self.gap, kink + np.where(x < kink, -self.gap, self.gap), x)
        return np.asarray(x).astype(target.numpy)


@dataclass(frozen=True)
class Distinct:
    """Numbers no two of which are closer than `gap`, in random order, all moved by `shift`: for what compares elements with each other."""

    gap: float = 0.1
    shift: float = 0.0

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: DTypeLike) -> Array:
        """An array of this shape and dtype."""
        target = as_dtype(dtype)
        order = rng.permutation(int(np.prod(shape))).reshape(shape)
        if target.is_int:
            return order.astype(target.numpy)
        return np.asarray((order - order.size // 2) * self.gap + self.shift).astype(target.numpy)


@dataclass(frozen=True)
class Ids:
    """Ids below `size`, of a dtype of their own, with repeats; the first is `skip` where one is given."""

    size: int
    dtype: DTypeLike = "i64"
    skip: int | None = None

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: DTypeLike) -> Array:
        """An array of this shape; the dtype asked for is ignored."""
        target = as_dtype(self.dtype).numpy
        ids = rng.integers(0, self.size, shape).astype(target) if self.size else np.zeros(shape, target)
        if self.skip is not None and ids.size:
            ids.reshape(-1)[0] = self.skip
        return ids


@dataclass(frozen=True)
class Mask:
    """Zeros and ones, of a dtype of their own."""

    dtype: DTypeLike = "u8"

    def __call__(self, rng: np.random.Generator, shape: Shape, dtype: DTypeLike) -> Array:
        """An array of this shape; the dtype asked for is ignored."""
        return rng.integers(0, 2, shape).astype(as_dtype(self.dtype).numpy)


Draw = Callable[[np.random.Generator, Shape, DTypeLike], Array]
