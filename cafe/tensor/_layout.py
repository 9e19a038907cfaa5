"""Methods that give the same numbers another shape or order: views wherever NumPy can (floor 4)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from cafe.dtype import check_same
from cafe.errors import Error, OpRequiresAtLeastOneTensor, ShapeMismatchBinaryOp, UnexpectedNumberOfDims, show
from cafe.ops import layout as ops
from cafe.shape import (
    Dim,
    Dims,
    ShapeLike,
    check_broadcast_to,
    check_cat,
    check_narrow,
    chunk_sizes,
    parse_hole,
    parse_shape,
    resolve_dim,
    resolve_dims,
    resolve_new_dim,
)

from .base import Base, apply

if TYPE_CHECKING:
    from .core import Tensor


class LayoutMethods(Base):
    """Shapes, orders, parts."""

    __slots__ = ()

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in row-major order under another shape, in which one size may be a hole: -1, None or ().

        `reshape(())` is a scalar. A view where the strides allow one. Gradient: g, reshaped back.

        Raises: ShapeMismatchBinaryOp when the counts differ; Error when a hole cannot be filled.

        >>> import cafe
        >>> cafe.Tensor.arange(0, 6).reshape((2, -1)).dims()
        [2, 3]
        """
        given = shape[0] if len(shape) == 1 else shape
        target = parse_hole(given, prod(self.shape))
        if prod(target) != prod(self.shape):
            raise ShapeMismatchBinaryOp("reshape", self.shape, target)
        return apply(ops.Reshape(target), self)

    def flatten(self, start: Dim, end: Dim) -> Tensor:
        """Dims start .. end, both included, as one. A scalar gives one element."""
        if not self.shape:
            return apply(ops.Reshape((1,)), self)
        a, b = resolve_dim(self.shape, start, "flatten"), resolve_dim(self.shape, end, "flatten")
        if a >= b:
            return self  # type: ignore[return-value]
        return apply(ops.Reshape((*self.shape[:a], prod(self.shape[a : b + 1]), *self.shape[b + 1 :])), self)

    def flatten_to(self, end: Dim) -> Tensor:
        """Dims 0 .. end, end included, as one."""
        return self.flatten(0, end)

    def flatten_from(self, start: Dim) -> Tensor:
        """Dims start .. last as one."""
        return self.flatten(start, -1)

    def flatten_all(self) -> Tensor:
        """Everything as one dim."""
        return apply(ops.Reshape((prod(self.shape),)), self)

    def squeeze(self, dim: Dim) -> Tensor:
        """Without the dim if its size is 1; itself otherwise."""
        d = resolve_dim(self.shape, dim, "squeeze")
        if self.shape[d] != 1:
            return self  # type: ignore[return-value]
        return apply(ops.Reshape((*self.shape[:d], *self.shape[d + 1 :])), self)

    def unsqueeze(self, dim: Dim) -> Tensor:
        """With a dim of size 1 put in before `dim`; `D.Minus1` puts it last."""
        d = resolve_new_dim(self.shape, dim, "unsqueeze")
        return apply(ops.Reshape((*self.shape[:d], 1, *self.shape[d:])), self)

    def permute(self, *dims: Any) -> Tensor:
        """A view with dim i taken from dim dims[i]. Gradient: the inverse order.

        Raises: Error when dims is no permutation.
        """
        given = dims[0] if len(dims) == 1 else dims
        found = resolve_dims(self.shape, given, "permute")
        if len(found) != len(self.shape):
            raise Error(f"dimension mismatch in permute, tensor {show(self.shape)}, dims: {show(found)}")
        return apply(ops.Permute(found), self)

    def transpose(self, dim1: Dim, dim2: Dim) -> Tensor:
        """A view with two dims swapped; itself if they are one."""
        a, b = resolve_dim(self.shape, dim1, "transpose"), resolve_dim(self.shape, dim2, "transpose")
        if a == b:
            return self  # type: ignore[return-value]
        dims = list(range(len(self.shape)))
        dims[a], dims[b] = b, a
        return apply(ops.Permute(tuple(dims)), self)

    def t(self) -> Tensor:
        """A view with the last two dims swapped.

        Raises: UnexpectedNumberOfDims below rank 2.
        """
        rank = len(self.shape)
        if rank < 2:
            raise UnexpectedNumberOfDims(2, rank, self.shape)
        return apply(ops.Permute((*range(rank - 2), rank - 1, rank - 2)), self)

    @property
    def T(self) -> Tensor:
        """`t()`."""
        return self.t()

    def broadcast_as(self, shape: ShapeLike) -> Tensor:
        """A view repeated with stride 0 to the shape. Gradient: summed over what was repeated.

        Raises: BroadcastIncompatibleShapes.
        """
        target = parse_shape(shape)
        check_broadcast_to(self.shape, target)
        return apply(ops.BroadcastTo(target), self)

    def expand(self, shape: ShapeLike) -> Tensor:
        """`broadcast_as`."""
        return self.broadcast_as(shape)

    def broadcast_left(self, shape: ShapeLike) -> Tensor:
        """A view with new dims of these sizes before its own."""
        return self.broadcast_as((*parse_shape(shape), *self.shape))

    def narrow(self, dim: Dim, start: int, length: int) -> Tensor:
        """A view of `length` places of a dim from `start` on; itself if that is all. Gradient: g among zeros.

        Raises: NarrowInvalidArgs.
        """
        d = resolve_dim(self.shape, dim, "narrow")
        check_narrow(self.shape, d, start, length)
        if start == 0 and length == self.shape[d]:
            return self  # type: ignore[return-value]
        return apply(ops.Slice((*(slice(None),) * d, slice(start, start + length))), self)

    def chunk(self, chunks: int, dim: Dim) -> list[Tensor]:
        """Views of the dim's parts; the first `size % chunks` are one longer, and there are never more than the size."""
        d = resolve_dim(self.shape, dim, "chunk")
        if chunks < 1:
            raise Error(f"chunk: chunks must be at least 1, got {chunks}")
        out, start = [], 0
        for length in chunk_sizes(self.shape[d], chunks):
            out.append(self.narrow(d, start, length))
            start += length
        return out

    def get(self, index: int) -> Tensor:
        """Place `index` of the first dim, without that dim; a scalar gives itself."""
        return self.get_on_dim(0, index) if self.shape else self  # type: ignore[return-value]

    def get_on_dim(self, dim: Dim, index: int) -> Tensor:
        """Place `index` of a dim, without that dim."""
        d = resolve_dim(self.shape, dim, "get_on_dim")
        return self.narrow(d, index, 1).reshape((*self.shape[:d], *self.shape[d + 1 :]))

    def contiguous(self) -> Tensor:
        """Itself if row-major, else a row-major copy. Gradient: g."""
        return self if self._data.flags.c_contiguous else apply(ops.Contiguous(), self)  # type: ignore[return-value]

    def force_contiguous(self) -> Tensor:
        """A row-major copy, always. Gradient: g."""
        return apply(ops.Copy(), self)

    def copy(self) -> Tensor:
        """The same numbers in memory of their own. Gradient: g."""
        return apply(ops.Copy(), self)

    def flip(self, dims: Dims) -> Tensor:
        """A view with the order along the dims reversed. Gradient: g, flipped."""
        found = resolve_dims(self.shape, dims, "flip")
        key = tuple(slice(None, None, -1) if i in found else slice(None) for i in range(len(self.shape)))
        return apply(ops.Slice(key), self)

    def roll(self, shift: int, dim: Dim) -> Tensor:
        """Shifted along a dim, what falls off coming in at the other end."""
        d = resolve_dim(self.shape, dim, "roll")
        size = self.shape[d]
        if size == 0 or shift % size == 0:
            return self  # type: ignore[return-value]
        cut = size - shift % size
        return cat([self.narrow(d, cut, size - cut), self.narrow(d, 0, cut)], d)

    def repeat(self, shape: ShapeLike) -> Tensor:
        """Copies side by side, shape[i] of them along dim i; fewer counts than dims go to the first dims, more put new dims in front."""
        counts = parse_shape(shape)
        out: Any = self
        for _ in range(len(counts) - len(self.shape)):
            out = out.unsqueeze(0)
        for d, n in enumerate(counts):
            out = out.narrow(d, 0, 0) if n == 0 else cat([out] * n, d)
        return out  # type: ignore[no-any-return]

    def pad_with_zeros(self, dim: Dim, left: int, right: int) -> Tensor:
        """With so many zeros before and after along a dim. Gradient: g without them."""
        d = resolve_dim(self.shape, dim, "pad_with_zeros")
        if left < 0 or right < 0:
            raise Error(f"pad_with_zeros: left and right must be at least 0, got {left} and {right}")
        size = self.shape[d]
        shape = (*self.shape[:d], left + size + right, *self.shape[d + 1 :])
        return apply(ops.Unslice((*(slice(None),) * d, slice(left, left + size)), shape), self)

    def pad_with_same(self, dim: Dim, left: int, right: int) -> Tensor:
        """With the first place repeated before and the last one after along a dim.

        Raises: Error on a dim of size 0.
        """
        d = resolve_dim(self.shape, dim, "pad_with_same")
        size = self.shape[d]
        if left < 0 or right < 0:
            raise Error(f"pad_with_same: left and right must be at least 0, got {left} and {right}")
        if size == 0 and (left or right):
            raise Error("cannot use pad_with_same on an empty tensor")
        first = [self.narrow(d, 0, 1)] * left
        last = [self.narrow(d, size - 1, 1)] * right
        parts: list[Any] = [*first, self, *last]
        return cat(parts, d)

    def normalize_axis(self, axis: int) -> int:
        """A dim counted from the front.

        Raises: Error with candle's words.
        """
        rank = len(self.shape)
        if axis >= rank:
            raise Error(f"axis {axis} is too large, tensor rank {rank}")
        if axis < -rank:
            raise Error(f"axis {axis} is too small, tensor rank {rank}")
        return axis % rank if rank else 0

    @staticmethod
    def cat(tensors: Sequence[Tensor], dim: Dim) -> Tensor:
        """Tensors one after the other along a dim; one tensor is given back itself. Gradient: each takes its part.

        Raises: OpRequiresAtLeastOneTensor, ShapeMismatchCat, UnexpectedNumberOfDims, DTypeMismatchBinaryOp.
        """
        return cat(tensors, dim)

    @staticmethod
    def stack(tensors: Sequence[Tensor], dim: Dim) -> Tensor:
        """Tensors of one shape side by side along a new dim.

        Raises: OpRequiresAtLeastOneTensor, ShapeMismatchCat, UnexpectedNumberOfDims, DTypeMismatchBinaryOp.
        """
        if not tensors:
            raise OpRequiresAtLeastOneTensor("stack")
        d = resolve_new_dim(tensors[0].shape, dim, "stack")
        return cat([t.unsqueeze(min(d, len(t.shape))) for t in tensors], d)


def cat(tensors: Sequence[Base], dim: Dim) -> Tensor:
    """See `Tensor.cat`."""
    if not tensors:
        raise OpRequiresAtLeastOneTensor("cat")
    d = resolve_dim(tensors[0].shape, dim, "cat")
    check_cat([t.shape for t in tensors], d)
    for t in tensors[1:]:
        check_same("cat", tensors[0]._data, t._data)
    return tensors[0] if len(tensors) == 1 else apply(ops.Cat(d), *tensors)  # type: ignore[return-value]


