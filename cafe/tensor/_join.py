"""Methods that put tensors together, or a tensor beside copies of itself (floor 4). Any dtype."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Never

from cafe.dtype import check_same
from cafe.errors import Error, OpRequiresAtLeastOneTensor, OpRequiresAtLeastTwoTensors
from cafe.ops.layout import Cat, Unslice
from cafe.shape import Dim, ShapeLike, check_cat, check_rank, parse_shape, resolve_dim, resolve_new_dim, whole

from .base import Base, apply, check_tensors
from .habits import called, wrong

if TYPE_CHECKING:
    from .core import Tensor


class JoinMethods(Base):
    """Joins, grids, repeats, pads along one dim (`pad` takes several)."""

    __slots__ = ()

    @staticmethod
    def cat(tensors: Sequence[Tensor], dim: Dim) -> Tensor:
        """Tensors one after the other along a dim: always a copy, of one tensor too.

        Shape: (…, n₁, …), (…, n₂, …), … → (…, n₁ + n₂ + …, …).
        Raises: OpRequiresAtLeastOneTensor, ShapeMismatchCat, UnexpectedNumberOfDims, DTypeMismatchBinaryOp, DimOutOfRange.
        Gradient: each takes its part of g.
        Source: candle-core/src/tensor_cat.rs, cat.

        >>> import cafe
        >>> cafe.Tensor.cat([cafe.Tensor([[1, 2]]), cafe.Tensor([[3, 4], [5, 6]])], 0).tolist()
        [[1, 2], [3, 4], [5, 6]]
        """
        return _cat(tensors, dim)

    @staticmethod
    def stack(tensors: Sequence[Tensor], dim: Dim) -> Tensor:
        """Tensors of one shape side by side along a new dim; `-1` or `D.Minus1` puts it last.

        Shape: n of (…, …) → (…, n, …).
        Raises: OpRequiresAtLeastOneTensor, ShapeMismatchCat, UnexpectedNumberOfDims, DTypeMismatchBinaryOp, DimOutOfRange.
        Gradient: each takes its part of g.
        Source: candle-core/src/tensor.rs, stack.

        >>> import cafe
        >>> a, b = cafe.Tensor([1, 2]), cafe.Tensor([3, 4])
        >>> cafe.Tensor.stack([a, b], 0).tolist(), cafe.Tensor.stack([a, b], -1).tolist()
        ([[1, 2], [3, 4]], [[1, 3], [2, 4]])
        """
        tensors = _listed("stack", tensors)
        d = resolve_new_dim(tensors[0].shape, dim, "stack")
        return _cat([t.unsqueeze(min(d, len(t.shape))) for t in tensors], d)

    @staticmethod
    @called
    def meshgrid(tensors: Sequence[Tensor], xy_indexing: bool = False) -> list[Tensor]:
        """Each vector repeated over the grid of all, as views; `xy_indexing` swaps the first two dims, as NumPy does by default.

        Shape: n vectors (s₀), (s₁), … → n tensors (s₀, s₁, …), or (s₁, s₀, …) for xy.
        Raises: OpRequiresAtLeastTwoTensors, UnexpectedNumberOfDims.
        Gradient: g, summed over what each vector was repeated along.
        Source: candle-core/src/tensor.rs, meshgrid.

        >>> import cafe
        >>> x, y = cafe.Tensor.meshgrid([cafe.Tensor([1, 2]), cafe.Tensor([3, 4, 5])])
        >>> x.tolist(), y.tolist()
        ([[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]])
        """
        if not isinstance(tensors, list | tuple):
            raise TypeError(f"meshgrid: expected a list of Tensors, found {type(tensors).__name__}")
        check_tensors("meshgrid", *tensors)
        if len(tensors) < 2:
            raise OpRequiresAtLeastTwoTensors("meshgrid")
        for t in tensors:
            check_rank(t.shape, 1)
        order = [1, 0, *range(2, len(tensors))] if xy_indexing else list(range(len(tensors)))
        sizes = tuple(tensors[i].shape[0] for i in order)
        out = []
        for i, t in enumerate(tensors):
            place = order.index(i)
            out.append(t.reshape(tuple(t.shape[0] if d == place else 1 for d in range(len(sizes)))).broadcast_as(sizes))
        return out

    def repeat(self, shape: ShapeLike, *more: Never) -> Tensor:
        """Copies side by side, shape[i] of them along dim i. Fewer counts than dims go to the first dims; more put new dims in front.

        Shape: (n₀, n₁, …), (r₀, r₁, …) → (r₀ n₀, r₁ n₁, …).
        Gradient: g, summed over the copies.
        Source: candle-core/src/tensor.rs, repeat.

        >>> import cafe
        >>> cafe.Tensor([[1, 2]]).repeat((2, 2)).tolist(), cafe.Tensor([1, 2]).repeat((2, 1)).tolist()
        ([[1, 2, 1, 2], [1, 2, 1, 2]], [[1, 2], [1, 2]])
        """
        if more:
            raise wrong("repeat")
        counts = parse_shape(shape)
        out: Any = self
        for _ in range(len(counts) - len(self.shape)):
            out = out.unsqueeze(0)
        once = (1,) * (len(out.shape) - len(counts))
        beside = [(n, size) for n, size in zip((*counts, *once), out.shape)]  # a new dim of copies before each
        whole = parse_shape(tuple(n * size for n, size in beside))
        apart = out.reshape(tuple(m for _, size in beside for m in (1, size))).broadcast_as(tuple(m for pair in beside for m in pair))
        return apart.copy().reshape(whole)  # type: ignore[no-any-return]

    @called
    def roll(self, shift: int, dim: Dim) -> Tensor:
        """Shifted along a dim, towards its end for a positive shift, what falls off coming in at the other end.

        Shape: any → the same.
        Raises: DimOutOfRange.
        Gradient: g, rolled back.
        Source: candle-core/src/tensor.rs, roll.

        >>> import cafe
        >>> cafe.Tensor([1, 2, 3, 4]).roll(1, 0).tolist(), cafe.Tensor([1, 2, 3, 4]).roll(-1, 0).tolist()
        ([4, 1, 2, 3], [2, 3, 4, 1])
        """
        d, shift = resolve_dim(self.shape, dim, "roll"), whole("roll", "shift", shift)
        size = self.shape[d]
        if size == 0 or shift % size == 0:
            return self  # type: ignore[return-value]
        cut, t = size - shift % size, self._plainly()
        return _cat([t.narrow(d, cut, size - cut), t.narrow(d, 0, cut)], d)

    def pad_with_zeros(self, dim: Dim, left: int, right: int) -> Tensor:
        """With so many zeros before and after along a dim.

        Shape: (…, n, …) → (…, left + n + right, …).
        Raises: Error for a negative count, DimOutOfRange.
        Gradient: g, without the pads.
        Source: candle-core/src/tensor.rs, pad_with_zeros.

        >>> import cafe
        >>> cafe.Tensor([1, 2]).pad_with_zeros(0, 1, 2).tolist()
        [0, 1, 2, 0, 0]
        """
        d = resolve_dim(self.shape, dim, "pad_with_zeros")
        _check_pads("pad_with_zeros", left, right)
        size = self.shape[d]
        shape = parse_shape((*self.shape[:d], left + size + right, *self.shape[d + 1 :]))
        return apply(Unslice((*(slice(None),) * d, slice(left, left + size)), shape), self)

    def pad_with_same(self, dim: Dim, left: int, right: int) -> Tensor:
        """With the first place repeated before and the last one after along a dim.

        Shape: (…, n, …) → (…, left + n + right, …).
        Raises: Error for a negative count or on a dim of size 0, DimOutOfRange.
        Gradient: g; the first and the last place take the sums of their copies, too.
        Source: candle-core/src/tensor.rs, pad_with_same.

        >>> import cafe
        >>> x = cafe.Var([1.0, 2.0])
        >>> x.pad_with_same(0, 1, 2).tolist(), x.pad_with_same(0, 1, 2).backward()[x].tolist()
        ([1.0, 1.0, 2.0, 2.0, 2.0], [2.0, 3.0])
        """
        d = resolve_dim(self.shape, dim, "pad_with_same")
        _check_pads("pad_with_same", left, right)
        size = self.shape[d]
        if size == 0 and (left or right):
            raise Error("cannot use pad_with_same on an empty tensor")
        parse_shape((*self.shape[:d], left + size + right, *self.shape[d + 1 :]))
        t = self._plainly()
        first, last = t.narrow(d, 0, min(1, size)), t.narrow(d, max(0, size - 1), min(1, size))
        return _cat([*[first] * left, t, *[last] * right], d)

    def _plainly(self) -> Tensor:
        """This tensor, as one whose other methods the type checker knows."""
        return self  # type: ignore[return-value]


def _check_pads(name: str, left: int, right: int) -> None:
    if whole(name, "left", left) < 0 or whole(name, "right", right) < 0:
        raise Error(f"{name}: left and right must be at least 0, got {left} and {right}")


def _listed(name: str, tensors: Any) -> Sequence[Any]:
    """The tensors as a list or tuple of at least one.

    Raises: TypeError for what is no iterable of Tensors, OpRequiresAtLeastOneTensor for an empty one.
    """
    if not isinstance(tensors, list | tuple):
        if isinstance(tensors, Base) or not isinstance(tensors, Iterable):
            raise TypeError(f"{name}: expected a list of Tensors, found {'a ' * isinstance(tensors, Base)}{type(tensors).__name__}")
        tensors = tuple(tensors)
    if not tensors:
        raise OpRequiresAtLeastOneTensor(name)
    check_tensors(name, *tensors)
    return tensors  # type: ignore[no-any-return]


def _cat(tensors: Sequence[Base], dim: Dim) -> Tensor:
    tensors = _listed("cat", tensors)
    d = resolve_dim(tensors[0].shape, dim, "cat")
    check_cat([t.shape for t in tensors], d)
    for t in tensors[1:]:
        check_same("cat", tensors[0]._data, t._data)
    return apply(Cat(d), *tensors)
