"""Arithmetic on shapes: pure functions on tuples of ints (floor 0).

Friendly arguments (an int, a list, a negative dim, a hole) are parsed here, once, into one strict form: a tuple of ints,
dims counted from the front. Everything below the facade takes the strict form only.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence, Set
from math import prod
from typing import Any, ClassVar, TypeAlias

from numpy import may_share_memory as _may_share_memory

from cafe.dtype import Array
from cafe.errors import (
    BroadcastIncompatibleShapes,
    DimOutOfRange,
    DuplicateDimIndex,
    Error,
    NarrowInvalidArgs,
    ShapeMismatchBinaryOp,
    ShapeMismatchCat,
    UnexpectedNumberOfDims,
    bail,
    helped,
    show,
)

Shape: TypeAlias = tuple[int, ...]


def whole(op: str, what: str, value: Any) -> int:
    """The value as an int: Python's, NumPy's, a D, an integer tensor of one element.

    Raises: TypeError, showing it, for anything else: no float is cut, and a bool is no number here.
    """
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except (TypeError, Error):  # the latter of a tensor with more numbers than one
        got = f"a {type(value).__name__} of shape {show(value.shape)}" if hasattr(value, "shape") else repr(value)
        ids_first = "the dim comes last, after the ids" if what == "a dim" and hasattr(value, "shape") else None
        raise helped(TypeError(f"{op}: {what} is an int, got {got}"), ids_first) from None


class D:
    """A dim counted from the end, candle's `D::Minus1`, `D::Minus2`, `D::Minus(n)`. Plain negative ints do as well.

    >>> D.Minus1.resolve(3), D.Minus(3).resolve(3)
    (2, 0)
    """

    __slots__ = ("back",)
    Minus1: ClassVar[D]
    Minus2: ClassVar[D]

    def __init__(self, back: int) -> None:
        if whole("D.Minus", "its number", back) < 1:
            bail(f"D.Minus counts from 1, got {back}")
        self.back = back

    @staticmethod
    def Minus(n: int) -> D:
        """The n-th dim from the end."""
        return D(n)

    def resolve(self, rank: int) -> int:
        """The dim counted from the front."""
        return rank - self.back

    def __index__(self) -> int:
        return -self.back

    def __eq__(self, other: object) -> bool:
        return isinstance(other, D) and other.back == self.back

    def __hash__(self) -> int:
        return hash((D, self.back))

    def __repr__(self) -> str:
        return f"Minus{self.back}" if self.back < 3 else f"Minus({self.back})"


D.Minus1, D.Minus2 = D(1), D(2)

Dim: TypeAlias = "int | D"
Dims: TypeAlias = "Dim | Sequence[Dim]"
ShapeLike: TypeAlias = "int | Sequence[int]"
PerAxis: TypeAlias = "int | Sequence[int]"

_INT = frozenset((int,))
_MOST_DIMS = 64  # NumPy's limit
_MOST_ELEMENTS = (1 << 60) - 1  # of eight bytes each: beyond that NumPy cannot count them


def parse_shape(shape: ShapeLike) -> Shape:
    """A tuple of sizes from an int, a tuple or a list.

    Raises: Error on a negative size, TypeError on what is no int.
    """
    out = shape if type(shape) is tuple and _INT.issuperset(map(type, shape)) else _sizes(shape)
    if out and min(out) < 0:
        raise Error(f"a shape has sizes of at least 0, got {show(out)}")
    if len(out) > _MOST_DIMS:
        raise Error(f"a shape has at most {_MOST_DIMS} dims, got {len(out)}")
    if prod(out) > _MOST_ELEMENTS or (0 in out and prod(n for n in out if n) > _MOST_ELEMENTS):
        raise Error(f"a shape has at most {_MOST_ELEMENTS} elements, got {show(out)}")
    return out


def _sizes(shape: Any) -> Shape:
    """The sizes in their strict form, whatever they are."""
    try:
        return tuple(whole("shape", "a size", n) for n in _items(shape))
    except TypeError:
        raise TypeError(f"a shape is an int or several of them, got {shape!r}") from None


def _items(shape: Any) -> tuple[Any, ...]:
    """A tuple of one item for each dim.

    Raises: TypeError for what has no items, or none in an order that means anything.
    """
    if hasattr(shape, "__index__") or shape is None:
        return (shape,)
    if isinstance(shape, str | Mapping | Set) or not isinstance(shape, Iterable):
        raise TypeError(f"a shape is an int or several of them, got {shape!r}")
    return tuple(shape)


def per_axis(op: str, axes: int, what: str, value: PerAxis, least: int) -> Shape:
    """One number for each axis, from one for all or from as many as there are.

    Raises: Error for another count, and for a number below `least`.
    """
    given = ints_per_axis(op, axes, what, value)
    if min(given) < least:
        raise Error(f"{op}: {what} must be at least {least}, got {show(given)}")
    return given


def ints_per_axis(op: str, axes: int, what: str, value: PerAxis) -> Shape:
    """`per_axis` for numbers of any size."""
    if type(value) is int:
        return (value,) * axes
    try:
        given = tuple(whole(op, what, n) for n in ((value,) * axes if hasattr(value, "__index__") else value))
    except TypeError:
        raise TypeError(f"{op}: {what} takes an int or {axes} of them, got {value!r}") from None
    if len(given) != axes:
        raise Error(f"{op}: {what} takes an int or {axes} of them, got {show(given)}")
    return given


def parse_hole(shape: Any, count: int) -> Shape:
    """A shape in which one `-1`, `None` or `()` is worked out from the count of elements.

    Raises: Error with candle's texts where the hole cannot be filled.
    """
    items = shape if type(shape) is tuple else _items(shape)
    holes = [i for i, n in enumerate(items) if n is None or n == () or n == -1]
    if not holes:
        return parse_shape(items)
    if len(holes) > 1:
        raise Error(f"a shape has at most one hole, got {len(holes)} in {items}")
    known = parse_shape(tuple(n for i, n in enumerate(items) if i != holes[0]))
    rust = "(" + ", ".join("()" if i in holes else str(n) for i, n in enumerate(items)) + ("," if len(items) == 1 else "") + ")"
    size = prod(known)
    if size == 0:
        raise Error(f"cannot reshape tensor of {count} elements to {rust}").help("`()` is the size that was to be worked out")
    if count % size:
        raise Error(f"cannot reshape tensor with {count} elements to {rust}").help("`()` is the size that was to be worked out")
    return (*known[: holes[0]], count // size, *known[holes[0] :])


def resolve_dim(shape: Shape, dim: Dim, op: str) -> int:
    """A dim counted from the front.

    Raises: DimOutOfRange, showing the dim as it was given; TypeError on what is no int.
    """
    rank, given = len(shape), dim if type(dim) is int else whole(op, "a dim", dim)
    found = given + rank if given < 0 else given
    if not 0 <= found < rank:
        raise DimOutOfRange(shape, given, op)
    return found


def resolve_new_dim(shape: Shape, dim: Dim, op: str) -> int:
    """A place where a dim can be put in: 0 to rank, `D.Minus1` after the last.

    Raises: DimOutOfRange.
    """
    rank, given = len(shape), whole(op, "a dim", dim)
    found = given + rank + 1 if given < 0 else given
    if not 0 <= found <= rank:
        raise DimOutOfRange(shape, given, op)
    return found


def resolve_dims(shape: Shape, dims: Dims, op: str) -> Shape:
    """Several dims counted from the front, in the order given.

    Raises: DimOutOfRange, DuplicateDimIndex.
    """
    if type(dims) is int:
        return (resolve_dim(shape, dims, op),)
    given: tuple[Dim, ...] = tuple(dims) if isinstance(dims, Sequence) else (dims,)
    found = tuple(resolve_dim(shape, d, op) for d in given)
    if len(set(found)) != len(found):
        raise DuplicateDimIndex(shape, found, op)
    return found


def reduced(shape: Shape, dims: Shape, keepdim: bool) -> Shape:
    """The shape after a reduction over dims."""
    if keepdim:
        return tuple(1 if i in dims else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in dims)


def check_rank(shape: Shape, rank: int) -> None:
    """Raises UnexpectedNumberOfDims unless the shape has this rank."""
    if len(shape) != rank:
        raise UnexpectedNumberOfDims(rank, len(shape), shape)


def broadcast(op: str, lhs: Shape, rhs: Shape) -> Shape:
    """The shape that both broadcast to.

    Raises: ShapeMismatchBinaryOp.
    """
    if lhs == rhs:
        return lhs
    rank = max(len(lhs), len(rhs))
    a, b = (1,) * (rank - len(lhs)) + lhs, (1,) * (rank - len(rhs)) + rhs
    if any(m != n and m != 1 and n != 1 for m, n in zip(a, b)):
        raise ShapeMismatchBinaryOp(op, lhs, rhs)
    return tuple(n if m == 1 else m for m, n in zip(a, b))


def check_broadcast_to(src: Shape, dst: Shape) -> None:
    """Raises BroadcastIncompatibleShapes unless src broadcasts to just dst."""
    tail = dst[len(dst) - len(src) :] if len(src) <= len(dst) else ()
    if len(src) > len(dst) or any(m != n and m != 1 for m, n in zip(src, tail)):
        raise BroadcastIncompatibleShapes(src, dst)


def check_narrow(shape: Shape, dim: int, start: int, length: int) -> None:
    """Raises NarrowInvalidArgs unless start .. start + length lies in the dim, TypeError for what is no int."""
    if type(start) is not int or type(length) is not int:
        start, length = whole("narrow", "start", start), whole("narrow", "len", length)
    size = shape[dim]
    if start < 0 or start > size:
        raise NarrowInvalidArgs(shape, dim, start, length, "start > dim_len")
    if length < 0 or start + length > size:
        raise NarrowInvalidArgs(shape, dim, start, length, "start + len > dim_len")


def check_cat(shapes: Sequence[Shape], dim: int) -> None:
    """Raises UnexpectedNumberOfDims or ShapeMismatchCat unless the shapes agree off the dim."""
    first = shapes[0]
    for n, shape in enumerate(shapes[1:], start=2):
        check_rank(shape, len(first))
        for i, (a, b) in enumerate(zip(first, shape)):
            if i != dim and a != b:
                raise ShapeMismatchCat(i, first, n, shape)


def check_matmul(lhs: Shape, rhs: Shape) -> None:
    """Raises ShapeMismatchBinaryOp unless (…, m, k) and (…, k, n) have the same rank of at least 2 and the same batch."""
    rank = len(lhs)
    if rank != len(rhs) or rank < 2 or lhs[-1] != rhs[-2] or (rank > 2 and lhs[:-2] != rhs[:-2]):
        error = ShapeMismatchBinaryOp("matmul", lhs, rhs)
        if rank >= 2 and len(rhs) >= 2 and lhs[-1] == rhs[-2]:
            error.help("`broadcast_matmul` broadcasts the batch dims")
        raise error


def contiguous_stride(shape: Shape) -> Shape:
    """Strides, in elements, of a row-major tensor of this shape."""
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def chunk_sizes(size: int, parts: int) -> list[int]:
    """Lengths of the parts as candle cuts them: the first `size % parts` are one longer; no part is empty.

    >>> chunk_sizes(7, 3), chunk_sizes(2, 3)
    ([3, 2, 2], [1, 1])
    """
    if size < parts:
        return [1] * size
    each, longer = divmod(size, parts)
    return [each + 1] * longer + [each] * (parts - longer)


def shares_memory(a: Array, b: Array) -> bool:
    """Whether the two arrays' stretches of memory overlap (by their bounds: never a false no)."""
    return bool(_may_share_memory(a, b))


def conv_out(size: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    """How many places a kernel has along each axis: ⌊(size + 2 padding − dilation (kernel − 1) − 1) / stride⌋ + 1; below 1 for none.

    >>> conv_out((32, 33), (3, 3), (2, 2), (4, 4), (4, 4))
    (16, 17)
    """
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation))


def conv_transpose_out(size: Shape, kernel: Shape, stride: Shape, padding: Shape, output_padding: Shape, dilation: Shape) -> Shape:
    """The size of a transposed convolution: (size − 1) stride + dilation (kernel − 1) + output_padding + 1 − 2 padding.

    >>> conv_transpose_out((7,), (3,), (2,), (1,), (1,), (1,))
    (14,)
    """
    return tuple(
        (n - 1) * s + d * (k - 1) + extra + 1 - 2 * p
        for n, k, s, p, extra, d in zip(size, kernel, stride, padding, output_padding, dilation)
    )
