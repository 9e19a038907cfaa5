"""Views and joins: each one's adjoint moves the gradient back (floor 2). Any dtype."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, sum_to_shape


class Reshape(Op):
    """The same elements under another shape."""

    name, moves, views = "reshape", True, True

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.reshape(x, self.shape)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.reshape(g, x.shape),)


class Permute(Op):
    """Dims in another order; the inverse order takes the gradient back."""

    name, moves, views = "permute", True, True

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.permute(x, self.dims)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        inverse = [0] * len(self.dims)
        for i, d in enumerate(self.dims):
            inverse[d] = i
        return (xp.permute(g, tuple(inverse)),)


class BroadcastTo(Op):
    """Repeated with stride 0; the gradient is summed."""

    name, moves, views = "broadcast_as", True, True

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.broadcast_to(x, self.shape)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (sum_to_shape(xp, g, x.shape),)


class Slice(Op):
    """Every step-th element between bounds, a slice a dim (or a place, whose dim goes); the gradient goes into zeros."""

    name, moves, views, fresh, part = "slice", True, True, True, True

    def __init__(self, key: tuple[slice | int, ...]) -> None:
        self.key = key

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.slice(x, self.key)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.unslice(g, self.key, x.shape),)

    def add_to(self, xp: XP, total: Array, g: Array) -> None:
        xp.accumulate(xp.slice(total, self.key), g)


class Unslice(Op):
    """Zeros of a shape with x in a slice of it."""

    name, moves = "unslice", True

    def __init__(self, key: tuple[slice | int, ...], shape: tuple[int, ...]) -> None:
        self.key, self.shape = key, shape

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.unslice(x, self.key, self.shape)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.slice(g, self.key),)


class Cat(Op):
    """Tensors one after the other along a dim; each takes its part of the gradient."""

    name, moves = "cat", True

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def forward(self, xp: XP, *xs: Array) -> Array:
        return xp.cat(xs, self.dim)

    def backward(self, xp: XP, g: Array, r: Record, *xs: Any) -> Grads:
        out: list[Array | None] = []
        start = 0
        for x, need in zip(xs, r.need):
            end = start + x.shape[self.dim]
            key = (slice(None),) * self.dim + (slice(start, end),)
            out.append(xp.slice(g, key) if need else None)
            start = end
        return tuple(out)


class Contiguous(Op):
    """Row-major, copied only where it was not."""

    name, moves, views = "contiguous", True, True

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.contiguous(x)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (g,)


class Copy(Op):
    """The same numbers in memory of their own."""

    name, moves = "copy", True

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.copy(x)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (g,)
