"""Methods that give parts of a tensor, as views, or put one tensor into a part of another (floor 4). Any dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cafe.dtype import check_same
from cafe.errors import Error, ShapeMismatchBinaryOp, bail
from cafe.ops.assign import Assign
from cafe.ops.layout import Slice
from cafe.ops.unfold import Unfold
from cafe.shape import Dim, Dims, check_narrow, chunk_sizes, resolve_dim, resolve_dims, whole

from .base import Base, apply, check_tensors
from .habits import called

if TYPE_CHECKING:
    from .core import Tensor


class SliceMethods(Base):
    """Ranges, places, windows. `t[…]` takes parts by any mix of these."""

    __slots__ = ()

    # -- parts

    def narrow(self, dim: Dim, start: int, length: int) -> Tensor:
        """A view of `length` places of a dim from `start` on; the tensor itself if that is all.

        Shape: (…, n, …) → (…, length, …).
        Raises: NarrowInvalidArgs for places that are not there, DimOutOfRange.
        Gradient: g, among zeros.
        Source: candle-core/src/tensor.rs, narrow.

        >>> import cafe
        >>> x = cafe.Var([1.0, 2.0, 3.0, 4.0])
        >>> x.narrow(0, 1, 2).tolist(), x.narrow(0, 1, 2).backward()[x].tolist()
        ([2.0, 3.0], [0.0, 1.0, 1.0, 0.0])
        """
        d = resolve_dim(self.shape, dim, "narrow")
        check_narrow(self.shape, d, start, length)
        if start == 0 and length == self.shape[d]:
            return self  # type: ignore[return-value]
        return apply(Slice((*(slice(None),) * d, slice(start, start + length))), self)

    def chunk(self, chunks: int, dim: Dim) -> list[Tensor]:
        """Views of a dim's parts, as even as can be: the first `size % chunks` are one longer, and there are never more than the size.

        Shape: (…, n, …) → a list of (…, ⌈n / chunks⌉ or ⌊n / chunks⌋, …).
        Raises: Error for less than one chunk, DimOutOfRange.
        Gradient: each g, among zeros.
        Source: candle-core/src/tensor.rs, chunk.

        >>> import cafe
        >>> [c.tolist() for c in cafe.Tensor.arange(0, 7).chunk(3, 0)]
        [[0, 1, 2], [3, 4], [5, 6]]
        """
        d = resolve_dim(self.shape, dim, "chunk")
        if whole("chunk", "chunks", chunks) < 1:
            raise Error(f"chunk: chunks must be at least 1, got {chunks}")
        out, start = [], 0
        for length in chunk_sizes(self.shape[d], chunks):
            out.append(self.narrow(d, start, length))
            start += length
        return out

    def get(self, index: int) -> Tensor:
        """Place `index` of the first dim, without that dim; a scalar gives itself.

        Shape: (n, …) → (…).
        Raises: NarrowInvalidArgs.
        Gradient: g, among zeros.
        Source: candle-core/src/tensor.rs, get.

        >>> import cafe
        >>> cafe.Tensor([[1, 2], [3, 4]]).get(1).tolist()
        [3, 4]
        """
        return self.get_on_dim(0, index) if self.shape else self  # type: ignore[return-value]

    def get_on_dim(self, dim: Dim, index: int) -> Tensor:
        """Place `index` of a dim, without that dim.

        Shape: (…, n, …) → (…, …).
        Raises: NarrowInvalidArgs, DimOutOfRange.
        Gradient: g, among zeros.
        Source: candle-core/src/tensor.rs, get_on_dim.

        >>> import cafe
        >>> cafe.Tensor([[1, 2], [3, 4]]).get_on_dim(1, 0).tolist()
        [1, 3]
        """
        d = resolve_dim(self.shape, dim, "get_on_dim")
        check_narrow(self.shape, d, index, 1)
        return apply(Slice((*(slice(None),) * d, index)), self)

    @called
    def flip(self, dims: Dims) -> Tensor:
        """A view with the order along the dims reversed.

        Shape: any → the same.
        Raises: DimOutOfRange, DuplicateDimIndex.
        Gradient: g, flipped.
        Source: candle-core/src/tensor.rs, flip.

        >>> import cafe
        >>> cafe.Tensor([[1, 2], [3, 4]]).flip((0, 1)).tolist()
        [[4, 3], [2, 1]]
        """
        found = resolve_dims(self.shape, dims, "flip")
        key = tuple(slice(None, None, -1) if i in found else slice(None) for i in range(len(self.shape)))
        return apply(Slice(key), self)

    def unfold(self, dim: Dim, size: int, step: int) -> Tensor:
        """A view of windows of `size` places, `step` apart, along a dim; the places within a window become the last dim.

        y[…, i, …, j] = x[…, i · step + j, …].

        Shape: (…, n, …) → (…, ⌊(n − size) / step⌋ + 1, …, size).
        Raises: Error for a window larger than the dim, or a size or step below 1; DimOutOfRange.
        Gradient: each window's g goes back where it was read; where windows overlap they add up (candle's is wrong or raises).
        Source: candle-core/src/tensor.rs, unfold.

        >>> import cafe
        >>> x = cafe.Var([1.0, 2.0, 3.0, 4.0])
        >>> y = x.unfold(0, 2, 1)
        >>> y.tolist(), y.sum_all().backward()[x].tolist()
        ([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]], [1.0, 2.0, 2.0, 1.0])
        """
        d, size, step = resolve_dim(self.shape, dim, "unfold"), whole("unfold", "size", size), whole("unfold", "step", step)
        if self.shape[d] < size:
            raise Error(f"unfold: maximum size for tensor at dimension {d} is {self.shape[d]} but size is {size}")
        if size < 1 or step < 1:
            raise Error(f"unfold: size and step must be at least 1, got {size} and {step}")
        return apply(Unfold(d, size, step), self)

    # -- one tensor in a part of another, out of place

    def slice_scatter(self, source: Tensor, dim: Dim, start: int) -> Tensor:
        """This tensor with source in place of the places of a dim from `start` on.

        Shape: (…, n, …), (…, m, …) → (…, n, …), start + m at most n.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, NarrowInvalidArgs, DimOutOfRange.
        Gradient: g with zeros there, and to source g's part there.
        Source: candle-core/src/tensor.rs, slice_scatter.

        >>> import cafe
        >>> cafe.Tensor([1, 2, 3, 4]).slice_scatter(cafe.Tensor([9, 9]), 0, 1).tolist()
        [1, 9, 9, 4]
        """
        d = resolve_dim(self.shape, dim, "slice-scatter")
        if len(source.shape) != len(self.shape) or any(i != d and m != n for i, (m, n) in enumerate(zip(source.shape, self.shape))):
            raise ShapeMismatchBinaryOp("slice-scatter (self, src)", self.shape, source.shape)
        check_same("slice-scatter", self._data, source._data)
        length = source.shape[d]
        check_narrow(self.shape, d, start, length)
        return apply(Assign((*(slice(None),) * d, slice(start, start + length))), self, source)

    def slice_scatter0(self, source: Tensor, start: int) -> Tensor:
        """`slice_scatter` along the first dim.

        Shape: (n, …), (m, …) → (n, …).
        Gradient: as `slice_scatter`.
        Source: candle-core/src/tensor.rs, slice_scatter0.

        >>> import cafe
        >>> cafe.Tensor([[1], [2], [3]]).slice_scatter0(cafe.Tensor([[9]]), 2).tolist()
        [[1], [2], [9]]
        """
        return self.slice_scatter(source, 0, start)

    def slice_assign(self, ranges: Sequence[Any], source: Tensor) -> Tensor:
        """This tensor with source in a block of it: one slice (start and stop, no step) a dim, or `...` for all of a dim.

        Shape: (n₀, n₁, …), source (stop₀ − start₀, stop₁ − start₁, …) → (n₀, n₁, …).
        Raises: Error with candle's texts for ranks, empty or too long ranges, and sizes that differ; DTypeMismatchBinaryOp.
        Gradient: g with zeros there, and to source g's part there.
        Source: candle-core/src/indexer.rs, slice_assign.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3), "i64").slice_assign([slice(0, 2), slice(1, None)], cafe.Tensor([[1, 2], [3, 4]])).tolist()
        [[0, 1, 2], [0, 3, 4]]
        """
        check_tensors("slice-assign", source)
        if not isinstance(ranges, list | tuple):
            raise TypeError(f"slice_assign: expected one slice a dim, found {ranges!r}")
        rank = len(self.shape)
        if len(source.shape) != rank:
            bail(f"slice-assign requires input with the same rank {rank} <> {len(source.shape)}")
        if len(ranges) != rank:
            bail(f"slice-assign requires input with the same rank as there are ranges {rank} <> {len(ranges)}")
        key = tuple(_block(i, given, n, m) for i, (given, n, m) in enumerate(zip(ranges, self.shape, source.shape)))
        check_same("slice-assign", self._data, source._data)
        return apply(Assign(key), self, source)


def _block(dim: int, given: Any, size: int, wanted: int) -> slice:
    """One range of `slice_assign`, in bounds.

    Raises: Error with candle's texts.
    """
    given = slice(None) if given is Ellipsis else given
    if not isinstance(given, slice) or given.step not in (None, 1):
        raise TypeError(f"slice_assign: dim {dim} takes a slice without a step, found {given!r}")
    start = 0 if given.start is None else whole("slice_assign", "a bound", given.start)
    end = size if given.stop is None else whole("slice_assign", "a bound", given.stop)
    start, end = start + size if start < 0 else start, end + size if end < 0 else end
    if end <= start:
        bail(f"slice-assign: empty range for dim {dim}, {start} {end}")
    if size < end:
        bail(f"slice-assign: upper bound is out of range for dim {dim}, {end} {size}")
    if end - start != wanted:
        bail(f"slice-assign: the range for dim {dim} ({start}..{end}) does not match the size of src {wanted}")
    return slice(start, end)
