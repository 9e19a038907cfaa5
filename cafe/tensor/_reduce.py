"""Methods that reduce dims: sums, means, extremes, norms (floor 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cafe.dtype import check_float
from cafe.errors import Error, ShapeMismatchBinaryOp, UnsupportedDTypeForOp
from cafe.ops import reduce as ops
from cafe.ops.layout import Reshape
from cafe.shape import Dim, Dims, check_rank, resolve_dim, resolve_dims

from .base import Base, apply

if TYPE_CHECKING:
    from .core import Tensor

_NO_DIMS: Any = object()  # `t.sum()` must not silently mean "all"


class ReduceMethods(Base):
    """Reductions."""

    __slots__ = ()

    def sum(self, dims: Dims = _NO_DIMS) -> Tensor:
        """Σ x over the dims, which go. Integers keep their dtype and must fit. Gradient: g, repeated.

        Raises: TypeError without dims (`sum_all` sums everything), DimOutOfRange, DuplicateDimIndex, IntegerOverflow.
        """
        if dims is _NO_DIMS:
            raise _needs_dims("sum")
        return apply(ops.Sum(resolve_dims(self.shape, dims, "sum"), False), self)

    def sum_keepdim(self, dims: Dims) -> Tensor:
        """Σ x over the dims, which stay with size 1. Gradient: g, repeated."""
        return apply(ops.Sum(resolve_dims(self.shape, dims, "sum"), True), self)

    def sum_all(self) -> Tensor:
        """Σ x over everything, a scalar. Gradient: g everywhere."""
        return apply(ops.Sum(tuple(range(len(self.shape))), False), self)

    def _mean(self, dims: Dims, keepdim: bool, name: str) -> Tensor:
        if self._data.dtype.kind in "iu":
            raise UnsupportedDTypeForOp(self.dtype, "mean").help("take `to_dtype(DType.F32)` first, or `sum`")
        return apply(ops.Mean(resolve_dims(self.shape, dims, name), keepdim), self)

    def mean(self, dims: Dims = _NO_DIMS) -> Tensor:
        """Σ x / n over the dims. Gradient: g / n, repeated.

        Raises: UnsupportedDTypeForOp for integers, TypeError without dims, DimOutOfRange, DuplicateDimIndex.
        """
        if dims is _NO_DIMS:
            raise _needs_dims("mean")
        return self._mean(dims, False, "mean")

    def mean_keepdim(self, dims: Dims) -> Tensor:
        """Σ x / n over the dims, which stay with size 1. Gradient: g / n, repeated."""
        return self._mean(dims, True, "mean-keepdim")

    def mean_all(self) -> Tensor:
        """Σ x / n over everything, a scalar. Gradient: g / n everywhere."""
        return self._mean(tuple(range(len(self.shape))), False, "mean")

    def var(self, dim: Dim) -> Tensor:
        """Σ (x − mean)² / (n − 1) along the dim; NaN for one value. Gradient: 2 g (x − mean) / (n − 1)."""
        check_float("var", self._data)
        return apply(ops.Var(resolve_dim(self.shape, dim, "var"), False), self)

    def var_keepdim(self, dim: Dim) -> Tensor:
        """As `var`, with the dim kept at size 1."""
        check_float("var", self._data)
        return apply(ops.Var(resolve_dim(self.shape, dim, "var"), True), self)

    def max(self, dim: Dim = _NO_DIMS) -> Tensor:
        """The largest along a dim. Gradient: shared evenly among equals.

        Raises: EmptyTensor, DimOutOfRange, TypeError without a dim.
        """
        return self._extreme("max", dim, False)

    def max_keepdim(self, dim: Dim) -> Tensor:
        """As `max`, with the dim kept at size 1."""
        return self._extreme("max", dim, True)

    def max_all(self) -> Tensor:
        """The largest of all, a scalar. Gradient: shared evenly among equals."""
        return self._extreme_all("max")

    def min(self, dim: Dim = _NO_DIMS) -> Tensor:
        """The smallest along a dim. Gradient: shared evenly among equals.

        Raises: EmptyTensor, DimOutOfRange, TypeError without a dim.
        """
        return self._extreme("min", dim, False)

    def min_keepdim(self, dim: Dim) -> Tensor:
        """As `min`, with the dim kept at size 1."""
        return self._extreme("min", dim, True)

    def min_all(self) -> Tensor:
        """The smallest of all, a scalar. Gradient: shared evenly among equals."""
        return self._extreme_all("min")

    def _extreme(self, name: str, dim: Dim, keepdim: bool) -> Tensor:
        if dim is _NO_DIMS:
            raise _needs_dims(name)
        return apply(ops.Extreme(name, resolve_dim(self.shape, dim, name), keepdim), self)

    def _extreme_all(self, name: str) -> Tensor:
        flat = apply(Reshape((int(np.prod(self.shape, dtype=np.int64)),)), self)
        return apply(ops.Extreme(name, 0, False), flat)

    def argmax(self, dim: Dim) -> Tensor:
        """Where the largest along a dim is, as U32; the first of equals. No gradient."""
        return apply(ops.ArgExtreme("argmax", resolve_dim(self.shape, dim, "argmax"), False), self)

    def argmax_keepdim(self, dim: Dim) -> Tensor:
        """As `argmax`, with the dim kept at size 1."""
        return apply(ops.ArgExtreme("argmax", resolve_dim(self.shape, dim, "argmax"), True), self)

    def argmin(self, dim: Dim) -> Tensor:
        """Where the smallest along a dim is, as U32; the first of equals. No gradient."""
        return apply(ops.ArgExtreme("argmin", resolve_dim(self.shape, dim, "argmin"), False), self)

    def argmin_keepdim(self, dim: Dim) -> Tensor:
        """As `argmin`, with the dim kept at size 1."""
        return apply(ops.ArgExtreme("argmin", resolve_dim(self.shape, dim, "argmin"), True), self)

    def cumsum(self, dim: Dim) -> Tensor:
        """Running sums along a dim. Gradient: running sums of g from the other end."""
        return apply(ops.Cumsum(resolve_dim(self.shape, dim, "cumsum")), self)

    def log_sum_exp(self, dims: Dims) -> Tensor:
        """ln Σ eˣ over the dims, shifted by the largest. Gradient: g softmax(x)."""
        check_float("log_sum_exp", self._data)
        return apply(ops.LogSumExp(resolve_dims(self.shape, dims, "log-sum-exp")), self)

    def norm(self) -> Tensor:
        """√Σ x² over everything, a scalar. Gradient: g x / ‖x‖, 0 at zero.

        Raises: Error for integers.
        """
        if self._data.dtype.kind in "iu":
            raise Error("norm not supported for integer dtypes")
        return apply(ops.Norm(), self)

    def dot(self, rhs: Tensor) -> Tensor:
        """Σ a b of two vectors of one length, a scalar. Gradient: g b and g a."""
        check_rank(self.shape, 1)
        if self.shape != rhs.shape:
            raise ShapeMismatchBinaryOp("dot", self.shape, rhs.shape)
        return self.mul(rhs).sum_all()  # type: ignore[attr-defined, no-any-return]


def _needs_dims(name: str) -> TypeError:
    return TypeError(f"{name}() needs a dim; `{name}_all()` reduces everything to a scalar")
