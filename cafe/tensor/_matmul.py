"""Matrix products (floor 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cafe.dtype import check_float, check_same
from cafe.errors import ShapeMismatchBinaryOp, bail, show
from cafe.kernels.tensors import conformable
from cafe.ops import matmul as ops
from cafe.shape import broadcast, check_matmul

from .base import Base, apply, check_tensors
from .pairs import as_tensor, unanswered

if TYPE_CHECKING:
    from .core import Tensor

_MATMUL = ops.Matmul()


class MatmulMethods(Base):
    """Products of matrices and vectors."""

    __slots__ = ()

    def matmul(self, rhs: Tensor) -> Tensor:
        """The matrix product, `a @ b`, of one batch: c[…, i, j] = Σₖ a[…, i, k] b[…, k, j]. Any strides; zeros where k is empty.

        Shape: (…, m, k), (…, k, n) → (…, m, n), the same batch dims on both sides.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for integers.
        Gradient: g bᵀ to a, aᵀ g to b.
        Source: candle-core/src/tensor.rs, matmul; unlike batch dims with one product are refused (candle takes the left's).

        >>> import cafe
        >>> a, b = cafe.Var([[1.0, 2.0], [3.0, 4.0]]), cafe.Tensor([[1.0], [10.0]])
        >>> a.matmul(b).tolist(), a.matmul(b).sum_all().backward()[a].tolist()
        ([[21.0], [43.0]], [[1.0, 10.0], [1.0, 10.0]])
        """
        try:
            a, b = self._data, rhs._data
        except AttributeError:
            check_tensors("matmul", rhs)
            raise
        if not conformable(a, b):  # most are, and the checks' tuples alone would take a quarter of a small product's time
            check_matmul(a.shape, b.shape)
            check_same("matmul", a, b)
            check_float("matmul", a)
        return apply(_MATMUL, self, rhs)

    def broadcast_matmul(self, rhs: Tensor) -> Tensor:
        """The matrix product with the batch dims broadcast.

        Shape: (…, m, k), (…, k, n) → (…, m, n), the batch dims matched from the last.
        Raises: Error with candle's texts for ranks below 2 or unlike inner dims, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp,
        UnsupportedDTypeForOp for integers.
        Gradient: as `matmul`, summed back over what each side was repeated along.
        Source: candle-core/src/tensor.rs, broadcast_matmul.

        >>> import cafe
        >>> cafe.Tensor.ones((3, 1, 2, 4)).broadcast_matmul(cafe.Tensor.ones((4, 5))).dims()
        [3, 1, 2, 5]
        """
        check_tensors("broadcast_matmul", rhs)
        a, b = self._data, rhs._data
        if a.ndim < 2 or b.ndim < 2:
            bail(f"only 2d matrixes are supported {show(a.shape)} {show(b.shape)}")
        if a.shape[-1] != b.shape[-2]:
            bail(f"different inner dimensions in broadcast matmul {show(a.shape)} {show(b.shape)}")
        if a.shape[:-2] != b.shape[:-2]:
            broadcast_batch(a.shape, b.shape)
        check_same("matmul", a, b)
        check_float("matmul", a)
        return apply(_MATMUL, self, rhs)

    def mv(self, rhs: Tensor) -> Tensor:
        """The product of a matrix and a vector.

        Shape: (m, k), (k) → (m).
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for integers.
        Gradient: as `matmul`.
        Source: candle-core/src/tensor.rs, mv.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 2.0], [3.0, 4.0]]).mv(cafe.Tensor([1.0, 10.0])).tolist()
        [21.0, 43.0]
        """
        check_tensors("mv", rhs)
        if len(self.shape) != 2 or len(rhs.shape) != 1 or self.shape[1] != rhs.shape[0]:
            raise ShapeMismatchBinaryOp("mv", self.shape, rhs.shape)
        return self.matmul(rhs.unsqueeze(1)).squeeze(1)

    def __matmul__(self, rhs: Any) -> Tensor:
        other = as_tensor(rhs)
        return unanswered("matmul", rhs) if other is None else self.matmul(other)

    def __rmatmul__(self, lhs: Any) -> Tensor:
        other = as_tensor(lhs)
        return unanswered("matmul", lhs) if other is None else other.matmul(self)  # type: ignore[no-any-return]


def broadcast_batch(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> tuple[int, ...]:
    """The batch dims that both broadcast to.

    Raises: ShapeMismatchBinaryOp with the whole shapes.
    """
    try:
        return broadcast("broadcast_matmul", lhs[:-2], rhs[:-2])
    except ShapeMismatchBinaryOp:
        raise ShapeMismatchBinaryOp("broadcast_matmul", lhs, rhs) from None
