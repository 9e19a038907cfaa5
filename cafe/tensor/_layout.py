"""Methods that give the same numbers another shape or order: views wherever the strides allow one (floor 4). Any dtype.

Parts of a tensor (`narrow`, `chunk`, `unfold`) and joins (`cat`, `repeat`, pads) have modules of their own.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Never

from cafe.errors import Error, ShapeMismatchBinaryOp, UnexpectedNumberOfDims, show
from cafe.habits import NEEDED
from cafe.ops import layout as ops
from cafe.shape import Dim, ShapeLike, check_broadcast_to, parse_hole, parse_shape, resolve_dim, resolve_dims, resolve_new_dim, whole

from .base import Base, apply
from .habits import called, wrong

if TYPE_CHECKING:
    from .core import Tensor


class LayoutMethods(Base):
    """Shapes and orders. A dim counts from 0, or from the end as `-1` or `D.Minus1`."""

    __slots__ = ()

    # -- shapes

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in row-major order under another shape, in which one size may be a hole: -1, None or ().

        A view where the strides allow one, else a copy. `reshape(())` is a scalar.

        Shape: any → the one given, of as many elements.
        Raises: ShapeMismatchBinaryOp when the counts differ; Error when the hole cannot be filled.
        Gradient: g, reshaped back.
        Source: candle-core/src/tensor.rs, reshape.

        >>> import cafe
        >>> t = cafe.Tensor.arange(0, 6)
        >>> t.reshape((2, -1)).tolist(), t.reshape(3, 2).dims(), t.reshape(((), 1)).dims()
        ([[0, 1, 2], [3, 4, 5]], [3, 2], [6, 1])
        """
        given = shape[0] if len(shape) == 1 else shape
        size = self._data.size
        target = parse_hole(given, size)
        if prod(target) != size:
            raise ShapeMismatchBinaryOp("reshape", self.shape, target)
        return apply(ops.Reshape(target), self)

    def flatten(self, start: Dim = NEEDED, end: Dim = NEEDED, *more: Never, **others: Never) -> Tensor:
        """Dims start to end, both included, as one. A scalar gives one element.

        Shape: (…, a, …, b, …) → (…, a · … · b, …).
        Raises: DimOutOfRange.
        Gradient: g, reshaped back.
        Source: candle-core/src/tensor.rs, flatten.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3, 4)).flatten(1, 2).dims()
        [2, 12]
        """
        if end is NEEDED or more or others:
            raise wrong("flatten", others)
        if not self.shape:
            return apply(ops.Reshape((1,)), self)
        a, b = resolve_dim(self.shape, start, "flatten"), resolve_dim(self.shape, end, "flatten")
        if a >= b:
            return self  # type: ignore[return-value]
        return apply(ops.Reshape((*self.shape[:a], prod(self.shape[a : b + 1]), *self.shape[b + 1 :])), self)

    def flatten_to(self, end: Dim) -> Tensor:
        """`flatten` from the first dim.

        Shape: (a, …, b, …) → (a · … · b, …).
        Gradient: g, reshaped back.
        Source: candle-core/src/tensor.rs, flatten_to.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3, 4)).flatten_to(1).dims()
        [6, 4]
        """
        return self.flatten(0, end)

    def flatten_from(self, start: Dim) -> Tensor:
        """`flatten` to the last dim.

        Shape: (…, a, …, b) → (…, a · … · b).
        Gradient: g, reshaped back.
        Source: candle-core/src/tensor.rs, flatten_from.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3, 4)).flatten_from(1).dims()
        [2, 12]
        """
        return self.flatten(start, -1)

    def flatten_all(self) -> Tensor:
        """Everything as one dim.

        Shape: any → (n).
        Gradient: g, reshaped back.
        Source: candle-core/src/tensor.rs, flatten_all.

        >>> import cafe
        >>> cafe.Tensor([[1, 2], [3, 4]]).flatten_all().tolist()
        [1, 2, 3, 4]
        """
        return apply(ops.Reshape((prod(self.shape),)), self)

    def squeeze(self, dim: Dim = NEEDED, *more: Never, **others: Never) -> Tensor:
        """Without the dim if its size is 1; the tensor itself otherwise.

        Shape: (…, 1, …) → (…, …).
        Raises: DimOutOfRange.
        Gradient: g, with the dim.
        Source: candle-core/src/tensor.rs, squeeze.

        >>> import cafe
        >>> t = cafe.Tensor.zeros((2, 1, 3))
        >>> t.squeeze(1).dims(), t.squeeze(0) is t
        ([2, 3], True)
        """
        if dim is NEEDED or more or others:
            raise wrong("squeeze", others)
        d = resolve_dim(self.shape, dim, "squeeze")
        if self.shape[d] != 1:
            return self  # type: ignore[return-value]
        return apply(ops.Reshape((*self.shape[:d], *self.shape[d + 1 :])), self)

    def unsqueeze(self, dim: Dim) -> Tensor:
        """With a dim of size 1 put in before `dim`; `-1` or `D.Minus1` puts it last.

        Shape: (…, …) → (…, 1, …).
        Raises: DimOutOfRange.
        Gradient: g, without the dim.
        Source: candle-core/src/tensor.rs, unsqueeze.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3)).unsqueeze(0).dims(), cafe.Tensor.zeros((2, 3)).unsqueeze(-1).dims()
        ([1, 2, 3], [2, 3, 1])
        """
        d = resolve_new_dim(self.shape, dim, "unsqueeze")
        return apply(ops.Reshape((*self.shape[:d], 1, *self.shape[d:])), self)

    # -- orders

    def permute(self, *dims: Any) -> Tensor:
        """A view with dim i taken from dim dims[i].

        Shape: (s₀, s₁, …) → (s[dims[0]], s[dims[1]], …).
        Raises: Error when dims is no permutation of all, DimOutOfRange, DuplicateDimIndex.
        Gradient: g, in the inverse order.
        Source: candle-core/src/tensor.rs, permute.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3, 4)).permute((2, 0, 1)).dims()
        [4, 2, 3]
        """
        given = dims[0] if len(dims) == 1 else dims
        found = resolve_dims(self.shape, given, "permute")
        if len(found) != len(self.shape):
            raise Error(f"dimension mismatch in permute, tensor {show(self.shape)}, dims: {show(found)}")
        return apply(ops.Permute(found), self)

    def transpose(self, dim1: Dim, dim2: Dim) -> Tensor:
        """A view with two dims swapped; the tensor itself if they are one.

        Shape: (…, a, …, b, …) → (…, b, …, a, …).
        Raises: DimOutOfRange.
        Gradient: g, swapped back.
        Source: candle-core/src/tensor.rs, transpose.

        >>> import cafe
        >>> cafe.Tensor([[1, 2, 3], [4, 5, 6]]).transpose(0, 1).tolist()
        [[1, 4], [2, 5], [3, 6]]
        """
        a, b = resolve_dim(self.shape, dim1, "transpose"), resolve_dim(self.shape, dim2, "transpose")
        if a == b:
            return self  # type: ignore[return-value]
        dims = list(range(len(self.shape)))
        dims[a], dims[b] = b, a
        return apply(ops.Permute(tuple(dims)), self)

    def t(self) -> Tensor:
        """A view with the last two dims swapped.

        Shape: (…, m, n) → (…, n, m).
        Raises: UnexpectedNumberOfDims below rank 2.
        Gradient: g, swapped back.
        Source: candle-core/src/tensor.rs, t.

        >>> import cafe
        >>> cafe.Tensor([[1, 2, 3], [4, 5, 6]]).t().tolist()
        [[1, 4], [2, 5], [3, 6]]
        """
        rank = len(self.shape)
        if rank < 2:
            raise UnexpectedNumberOfDims(2, rank, self.shape)
        return apply(ops.Permute((*range(rank - 2), rank - 1, rank - 2)), self)

    @property
    def T(self) -> Tensor:
        """`t()`."""
        return self.t()

    # -- repeated views

    def broadcast_as(self, shape: ShapeLike, *more: Never) -> Tensor:
        """A view repeated, with stride 0, to the shape.

        Shape: (…) → the one given, to which it broadcasts.
        Raises: BroadcastIncompatibleShapes.
        Gradient: g, summed over what was repeated.
        Source: candle-core/src/tensor.rs, broadcast_as.

        >>> import cafe
        >>> x = cafe.Var([1.0, 2.0])
        >>> x.broadcast_as((3, 2)).dims(), x.broadcast_as((3, 2)).sum_all().backward()[x].tolist()
        ([3, 2], [3.0, 3.0])
        """
        if more:
            raise wrong("broadcast_as")
        target = parse_shape(shape)
        check_broadcast_to(self.shape, target)
        return apply(ops.BroadcastTo(target), self)

    def expand(self, shape: ShapeLike, *more: Never) -> Tensor:
        """`broadcast_as`, by its other name in candle."""
        if more:
            raise wrong("expand")
        return self.broadcast_as(shape)

    @called
    def broadcast_left(self, shape: ShapeLike) -> Tensor:
        """A view repeated along new dims of these sizes before its own.

        Shape: (…) → (shape …, …).
        Gradient: g, summed over the new dims.
        Source: candle-core/src/tensor.rs, broadcast_left.

        >>> import cafe
        >>> cafe.Tensor([1, 2]).broadcast_left((2, 1)).tolist()
        [[[1, 2]], [[1, 2]]]
        """
        return self.broadcast_as((*parse_shape(shape), *self.shape))

    # -- copies

    def contiguous(self) -> Tensor:
        """The tensor itself if its elements lie in row-major order, else a copy in which they do.

        Shape: any → the same.
        Gradient: g.
        Source: candle-core/src/tensor.rs, contiguous.

        >>> import cafe
        >>> t = cafe.Tensor([[1, 2], [3, 4]])
        >>> t.contiguous() is t, t.t().contiguous().stride
        (True, (2, 1))
        """
        return self if self._data.flags.c_contiguous else apply(ops.Contiguous(), self)  # type: ignore[return-value]

    def force_contiguous(self) -> Tensor:
        """A copy in row-major order, always.

        Shape: any → the same.
        Gradient: g.
        Source: candle-core/src/tensor.rs, force_contiguous.

        >>> import cafe
        >>> t = cafe.Tensor([1, 2])
        >>> t.force_contiguous() is t
        False
        """
        return apply(ops.Copy(), self)

    def copy(self) -> Tensor:
        """The same numbers in memory of their own, in row-major order.

        Shape: any → the same.
        Gradient: g.
        Source: candle-core/src/tensor.rs, copy.

        >>> import cafe
        >>> v = cafe.Var([1.0, 2.0])
        >>> before = v.copy()
        >>> v.set(cafe.Tensor([3.0, 4.0]))
        >>> before.tolist()
        [1.0, 2.0]
        """
        return apply(ops.Copy(), self)

    # -- facts

    def normalize_axis(self, axis: int) -> int:
        """A dim counted from the front.

        Raises: Error for a dim that is not there, TypeError for what is no int.
        Source: candle-core/src/tensor.rs, normalize_axis.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3)).normalize_axis(-1)
        1
        """
        rank, axis = len(self.shape), whole("normalize_axis", "axis", axis)
        if axis >= rank:
            raise Error(f"axis {axis} is too large, tensor rank {rank}")
        if axis < -rank:
            raise Error(f"axis {axis} is too small, tensor rank {rank}")
        return axis % rank if rank else 0
