"""Methods that pick the largest or smallest along a dim, and where it is (floor 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from cafe.habits import NEEDED
from cafe.ops import reduce as ops
from cafe.shape import Dim, resolve_dim

from .base import Base, apply
from .habits import wrong

if TYPE_CHECKING:
    from .core import Tensor


class ExtremeMethods(Base):
    """Extremes, of integers too. NaN is larger and smaller than everything: where there is one, it comes out."""

    __slots__ = ()

    def max(self, dim: Dim = NEEDED, *more: Never, **others: Never) -> Tensor:
        """The largest along a dim, which goes.

        Shape: without the dim.
        Raises: TypeError without a dim (`max_all` is the largest of all), DimOutOfRange, EmptyTensor along a dim of size 0.
        Gradient: g, shared evenly among equals (candle gives each of them all of it).
        Source: candle-core/src/tensor.rs, max.

        >>> import cafe
        >>> x = cafe.Var([[1.0, 4.0, 4.0], [3.0, 2.0, 1.0]])
        >>> x.max(1).tolist(), x.max(1).sum_all().backward()[x].tolist()
        ([4.0, 3.0], [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
        """
        if dim is NEEDED or more or others:
            raise wrong("max", others)
        return self._extreme("max", dim, False)

    def max_keepdim(self, dim: Dim) -> Tensor:
        """As `max`, with the dim kept at size 1.

        Shape: the dim becomes 1.
        Gradient: as `max`.
        Source: candle-core/src/tensor.rs, max_keepdim.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 4.0], [3.0, 2.0]]).max_keepdim(1).tolist()
        [[4.0], [3.0]]
        """
        return self._extreme("max", dim, True)

    def max_all(self) -> Tensor:
        """The largest of all elements.

        Shape: any → ().
        Raises: EmptyTensor.
        Gradient: as `max`.
        Source: candle-core/src/tensor.rs, max_all.

        >>> import cafe
        >>> cafe.Tensor([[1, 4], [3, 2]]).max_all().to_scalar()
        4
        """
        return self._extreme_all("max")

    def min(self, dim: Dim = NEEDED, *more: Never, **others: Never) -> Tensor:
        """The smallest along a dim, which goes.

        Shape: without the dim.
        Raises: TypeError without a dim (`min_all` is the smallest of all), DimOutOfRange, EmptyTensor along a dim of size 0.
        Gradient: g, shared evenly among equals (candle gives each of them all of it).
        Source: candle-core/src/tensor.rs, min.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 4.0], [3.0, 2.0]]).min(0).tolist()
        [1.0, 2.0]
        """
        if dim is NEEDED or more or others:
            raise wrong("min", others)
        return self._extreme("min", dim, False)

    def min_keepdim(self, dim: Dim) -> Tensor:
        """As `min`, with the dim kept at size 1.

        Shape: the dim becomes 1.
        Gradient: as `min`.
        Source: candle-core/src/tensor.rs, min_keepdim.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 4.0], [3.0, 2.0]]).min_keepdim(0).tolist()
        [[1.0, 2.0]]
        """
        return self._extreme("min", dim, True)

    def min_all(self) -> Tensor:
        """The smallest of all elements.

        Shape: any → ().
        Raises: EmptyTensor.
        Gradient: as `min`.
        Source: candle-core/src/tensor.rs, min_all.

        >>> import cafe
        >>> cafe.Tensor([[1, 4], [3, 2]]).min_all().to_scalar()
        1
        """
        return self._extreme_all("min")

    def argmax(self, dim: Dim = NEEDED, *more: Never, **others: Never) -> Tensor:
        """Where the largest along a dim is, as U32: the first of equals, the first NaN if there is one.

        Shape: without the dim.
        Raises: DimOutOfRange, EmptyTensor along a dim of size 0.
        Gradient: none.
        Source: candle-core/src/tensor.rs, argmax.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 4.0, 4.0], [3.0, 2.0, 1.0]]).argmax(1).tolist()
        [1, 0]
        """
        if dim is NEEDED or more or others:
            raise wrong("argmax", others)
        return apply(ops.ArgExtreme("argmax", resolve_dim(self.shape, dim, "argmax"), False), self)

    def argmax_keepdim(self, dim: Dim) -> Tensor:
        """As `argmax`, with the dim kept at size 1.

        Shape: the dim becomes 1.
        Gradient: none.
        Source: candle-core/src/tensor.rs, argmax_keepdim.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 4.0], [3.0, 2.0]]).argmax_keepdim(1).tolist()
        [[1], [0]]
        """
        return apply(ops.ArgExtreme("argmax", resolve_dim(self.shape, dim, "argmax"), True), self)

    def argmin(self, dim: Dim = NEEDED, *more: Never, **others: Never) -> Tensor:
        """Where the smallest along a dim is, as U32: the first of equals, the first NaN if there is one.

        Shape: without the dim.
        Raises: DimOutOfRange, EmptyTensor along a dim of size 0.
        Gradient: none.
        Source: candle-core/src/tensor.rs, argmin.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 4.0], [3.0, 2.0]]).argmin(1).tolist()
        [0, 1]
        """
        if dim is NEEDED or more or others:
            raise wrong("argmin", others)
        return apply(ops.ArgExtreme("argmin", resolve_dim(self.shape, dim, "argmin"), False), self)

    def argmin_keepdim(self, dim: Dim) -> Tensor:
        """As `argmin`, with the dim kept at size 1.

        Shape: the dim becomes 1.
        Gradient: none.
        Source: candle-core/src/tensor.rs, argmin_keepdim.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 4.0], [3.0, 2.0]]).argmin_keepdim(1).tolist()
        [[0], [1]]
        """
        return apply(ops.ArgExtreme("argmin", resolve_dim(self.shape, dim, "argmin"), True), self)

    def _extreme(self, name: str, dim: Dim, keepdim: bool) -> Tensor:
        return apply(ops.Extreme(name, resolve_dim(self.shape, dim, name), keepdim), self)

    def _extreme_all(self, name: str) -> Tensor:
        return apply(ops.Extreme(name, 0, False), self.flatten_all())  # type: ignore[attr-defined]
