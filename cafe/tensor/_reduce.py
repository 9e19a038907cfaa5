"""Methods that add or multiply along dims: sums, means, variance, products, norms (floor 4). Extremes have a module of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from cafe.dtype import check_float, check_same
from cafe.errors import Error, ShapeMismatchBinaryOp, UnsupportedDTypeForOp
from cafe.habits import NEEDED
from cafe.ops import reduce as ops
from cafe.ops.prod import Prod
from cafe.shape import Dim, Dims, check_rank, resolve_dim, resolve_dims

from .base import Base, apply, check_tensors
from .habits import called, wrong

if TYPE_CHECKING:
    from .core import Tensor


class ReduceMethods(Base):
    """Reductions. A dim counts from 0, or from the end as `-1` or `D.Minus1`; several are a tuple; `()` is none at all."""

    __slots__ = ()

    # -- sums

    def sum(self, dim: Dims = NEEDED, *more: Never, **others: Never) -> Tensor:
        """The sum over dims, which go: y = Σ x, and 0 where there is nothing to add.

        Up to eight floats are added in their own dtype from left to right; more of them in float64, which is rounded once, the C kernel
        adding them by fours in their own dtype before. Integers keep their dtype, are added in 64 bits and must fit.

        Shape: without the dims.
        Raises: TypeError without dims (`sum_all` sums everything), DimOutOfRange, DuplicateDimIndex, IntegerOverflow (candle wraps).
        Gradient: g, repeated along the dims.
        Source: candle-core/src/tensor.rs, sum.

        >>> import cafe
        >>> x = cafe.Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x.sum(1).tolist(), x.sum((0, -1)).to_scalar(), (x.sum(0) * cafe.Tensor([1.0, 2.0, 3.0])).sum_all().backward()[x].tolist()
        ([6.0, 15.0], 21.0, [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
        """
        if dim is NEEDED or more or others:
            raise wrong("sum", others)
        return apply(ops.Sum(resolve_dims(self.shape, dim, "sum"), False), self)

    def sum_keepdim(self, dim: Dims) -> Tensor:
        """As `sum`, with the dims kept at size 1.

        Shape: the dims become 1.
        Gradient: g, repeated along the dims.
        Source: candle-core/src/tensor.rs, sum_keepdim.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 2.0], [3.0, 4.0]]).sum_keepdim(1).tolist()
        [[3.0], [7.0]]
        """
        return apply(ops.Sum(resolve_dims(self.shape, dim, "sum"), True), self)

    def sum_all(self) -> Tensor:
        """The sum of all elements.

        Shape: any → ().
        Raises: IntegerOverflow.
        Gradient: g everywhere.
        Source: candle-core/src/tensor.rs, sum_all.

        >>> import cafe
        >>> cafe.Tensor([[1, 2], [3, 4]]).sum_all().to_scalar()
        10
        """
        return apply(ops.Sum(tuple(range(self._data.ndim)), False), self)

    def cumsum(self, dim: Dim) -> Tensor:
        """Running sums along a dim: yᵢ = x₀ + … + xᵢ. Integers must fit, as in `sum`.

        Shape: any → the same.
        Raises: DimOutOfRange, IntegerOverflow.
        Gradient: running sums of g from the other end.
        Source: candle-core/src/tensor.rs, cumsum.

        >>> import cafe
        >>> x = cafe.Var([1.0, 2.0, 3.0])
        >>> x.cumsum(0).tolist(), x.cumsum(0).backward()[x].tolist()
        ([1.0, 3.0, 6.0], [3.0, 2.0, 1.0])
        """
        return apply(ops.Cumsum(resolve_dim(self.shape, dim, "cumsum")), self)

    # -- means and variances

    def mean(self, dim: Dims = NEEDED, *more: Never, **others: Never) -> Tensor:
        """The mean over dims, which go: y = Σ x / n; NaN where there is nothing.

        Shape: without the dims.
        Raises: TypeError without dims (`mean_all` is the mean of everything), UnsupportedDTypeForOp for integers, DimOutOfRange,
        DuplicateDimIndex.
        Gradient: g / n, repeated along the dims.
        Source: candle-core/src/tensor.rs, mean.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).mean(1).tolist()
        [2.0, 5.0]
        """
        if dim is NEEDED or more or others:
            raise wrong("mean", others)
        return self._mean(dim, False, "mean")

    def mean_keepdim(self, dim: Dims) -> Tensor:
        """As `mean`, with the dims kept at size 1.

        Shape: the dims become 1.
        Gradient: g / n, repeated along the dims.
        Source: candle-core/src/tensor.rs, mean_keepdim.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 3.0]]).mean_keepdim(1).tolist()
        [[2.0]]
        """
        return self._mean(dim, True, "mean-keepdim")

    def mean_all(self) -> Tensor:
        """The mean of all elements.

        Shape: any → ().
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g / n everywhere.
        Source: candle-core/src/tensor.rs, mean_all.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 2.0], [3.0, 4.0]]).mean_all().to_scalar()
        2.5
        """
        return self._mean(tuple(range(self._data.ndim)), False, "mean")

    def _mean(self, dims: Dims, keepdim: bool, name: str) -> Tensor:
        if self._data.dtype.kind in "iu":
            raise UnsupportedDTypeForOp(self.dtype, "mean").help("take `to_dtype(DType.F32)` first, or `sum`")
        return apply(ops.Mean(resolve_dims(self._data.shape, dims, name), keepdim), self)

    def var(self, dim: Dim = NEEDED, *more: Never, **others: Never) -> Tensor:
        """The unbiased variance along a dim, which goes: y = Σ (x − mean)² / (n − 1), in two passes; NaN for one value.

        Shape: without the dim.
        Raises: UnsupportedDTypeForOp for integers, DimOutOfRange.
        Gradient: 2 g (x − mean) / (n − 1).
        Source: candle-core/src/tensor.rs, var.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 3.0], [2.0, 2.0]]).var(1).tolist()
        [2.0, 0.0]
        """
        if dim is NEEDED or more or others:
            raise wrong("var", others)
        check_float("var", self._data)
        return apply(ops.Var(resolve_dim(self.shape, dim, "var"), False), self)

    def var_keepdim(self, dim: Dim) -> Tensor:
        """As `var`, with the dim kept at size 1.

        Shape: the dim becomes 1.
        Gradient: as `var`.
        Source: candle-core/src/tensor.rs, var_keepdim.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 3.0], [2.0, 2.0]]).var_keepdim(1).tolist()
        [[2.0], [0.0]]
        """
        check_float("var", self._data)
        return apply(ops.Var(resolve_dim(self.shape, dim, "var"), True), self)

    # -- products

    def prod(self, dim: Dim = NEEDED, *more: Never, **others: Never) -> Tensor:
        """The product along a dim, which goes: y = Π x, and 1 where there is nothing to multiply. Integers must fit, as in `sum`.

        Shape: without the dim.
        Raises: TypeError without a dim (`prod_all` multiplies everything), DimOutOfRange, IntegerOverflow.
        Gradient: g times the product of the others, so right at zeros too.
        Source: ours; candle has none.

        >>> import cafe
        >>> x = cafe.Var([[2.0, 3.0, 4.0], [0.0, 5.0, 6.0]])
        >>> x.prod(1).tolist(), x.prod(1).backward()[x].tolist()
        ([24.0, 0.0], [[12.0, 8.0, 6.0], [30.0, 0.0, 0.0]])
        """
        if dim is NEEDED or more or others:
            raise wrong("prod", others)
        return apply(Prod(resolve_dim(self.shape, dim, "prod"), False), self)

    def prod_keepdim(self, dim: Dim) -> Tensor:
        """As `prod`, with the dim kept at size 1.

        Shape: the dim becomes 1.
        Gradient: as `prod`.

        >>> import cafe
        >>> cafe.Tensor([[2, 3], [4, 5]]).prod_keepdim(1).tolist()
        [[6], [20]]
        """
        return apply(Prod(resolve_dim(self.shape, dim, "prod"), True), self)

    def prod_all(self) -> Tensor:
        """The product of all elements.

        Shape: any → ().
        Gradient: as `prod`.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 2.0], [3.0, 4.0]]).prod_all().to_scalar()
        24.0
        """
        return apply(Prod(0, False), self.flatten_all())  # type: ignore[attr-defined]

    # -- exponentials and norms

    @called
    def log_sum_exp(self, dim: Dims) -> Tensor:
        """The logarithm of the sum of exponentials over dims, which go: y = ln Σ eˣ, shifted by the largest so that nothing overflows.

        Shape: without the dims.
        Raises: UnsupportedDTypeForOp for integers, DimOutOfRange, DuplicateDimIndex, EmptyTensor.
        Gradient: g softmax(x).
        Source: candle-core/src/tensor.rs, log_sum_exp.

        >>> import cafe
        >>> print(cafe.Tensor([[1000.0, 1000.0], [0.0, 1.0]]).log_sum_exp(1))
        [1000.6932,    1.3133]
        Tensor[[2], f32]
        """
        check_float("log_sum_exp", self._data)
        return apply(ops.LogSumExp(resolve_dims(self.shape, dim, "log-sum-exp")), self)

    @called
    def norm(self) -> Tensor:
        """The Euclidean norm of all elements: y = √Σ x².

        Shape: any → ().
        Raises: Error for integers.
        Gradient: g x / y, and 0 at zero (candle gives NaN there).
        Source: candle-core/src/tensor.rs, norm.

        >>> import cafe
        >>> x = cafe.Var([0.0, 0.0])
        >>> cafe.Tensor([3.0, 4.0]).norm().to_scalar(), x.norm().backward()[x].tolist()
        (5.0, [0.0, 0.0])
        """
        if self._data.dtype.kind in "iu":
            raise Error("norm not supported for integer dtypes")
        return apply(ops.Norm(), self)

    def dot(self, rhs: Tensor) -> Tensor:
        """The dot product of two vectors: y = Σ a b.

        Shape: (n), (n) → ().
        Raises: UnexpectedNumberOfDims, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g b and g a.
        Source: candle-core/src/tensor.rs, dot.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0]).dot(cafe.Tensor([3.0, 4.0])).to_scalar()
        11.0
        """
        check_tensors("dot", rhs)
        check_rank(self.shape, 1)
        if self.shape != rhs.shape:
            raise ShapeMismatchBinaryOp("dot", self.shape, rhs.shape)
        check_same("dot", self._data, rhs._data)
        return apply(ops.Dot(), self, rhs)
