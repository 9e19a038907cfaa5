"""Comparisons, which give U8, and what a mask picks of two tensors (floor 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cafe.dtype import check_same
from cafe.errors import Error, ShapeMismatchBinaryOp, UnsupportedDTypeForOp
from cafe.ops import binary as ops
from cafe.ops.base import Op

from .base import Base, apply, check_tensors, wrap
from .convert import is_number, number_for
from .pairs import as_tensor, broadcasting, strict, unanswered

if TYPE_CHECKING:
    from .core import Tensor

_EQ, _NE, _LT = ops.Compare("eq"), ops.Compare("ne"), ops.Compare("lt")
_LE, _GT, _GE = ops.Compare("le"), ops.Compare("gt"), ops.Compare("ge")
_WHERE = ops.Where()


class CompareMethods(Base):
    """Equal, less, greater: with a tensor of one shape and dtype, or with a number. None has a gradient; NaN compares as IEEE has it."""

    __slots__ = ()

    def eq(self, rhs: Tensor | float) -> Tensor:
        """Where two tensors are equal, or a tensor and a number, `a == b`: 1 or 0, as U8.

        Shape: one shape, for both and the result.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp; Error for a number that an integer tensor cannot hold.
        Source: candle-core/src/tensor.rs, eq.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0]).eq(cafe.Tensor([1.0, 3.0])).tolist(), (cafe.Tensor([1, 2]) == 2).tolist()
        ([1, 0], [0, 1])
        """
        return self._compare(_EQ, rhs)

    def ne(self, rhs: Tensor | float) -> Tensor:
        """Where they differ, `a != b`; NaN differs from everything. Otherwise as `eq`.

        Shape: one shape, for both and the result.
        Source: candle-core/src/tensor.rs, ne.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0]).ne(2.0).tolist()
        [1, 0]
        """
        return self._compare(_NE, rhs)

    def lt(self, rhs: Tensor | float) -> Tensor:
        """Where the left is less, `a < b`. Otherwise as `eq`.

        Shape: one shape, for both and the result.
        Source: candle-core/src/tensor.rs, lt.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0]).lt(2.0).tolist()
        [1, 0]
        """
        return self._compare(_LT, rhs)

    def le(self, rhs: Tensor | float) -> Tensor:
        """Where the left is less or equal, `a <= b`. Otherwise as `eq`.

        Shape: one shape, for both and the result.
        Source: candle-core/src/tensor.rs, le.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0, 3.0]).le(2.0).tolist()
        [1, 1, 0]
        """
        return self._compare(_LE, rhs)

    def gt(self, rhs: Tensor | float) -> Tensor:
        """Where the left is greater, `a > b`. Otherwise as `eq`.

        Shape: one shape, for both and the result.
        Source: candle-core/src/tensor.rs, gt.

        >>> import cafe
        >>> cafe.Tensor([1.0, 3.0]).gt(cafe.Tensor([2.0, 2.0])).tolist()
        [0, 1]
        """
        return self._compare(_GT, rhs)

    def ge(self, rhs: Tensor | float) -> Tensor:
        """Where the left is greater or equal, `a >= b`. Otherwise as `eq`.

        Shape: one shape, for both and the result.
        Source: candle-core/src/tensor.rs, ge.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0, 3.0]).ge(2.0).tolist()
        [0, 1, 1]
        """
        return self._compare(_GE, rhs)

    def _compare(self, op: Op, rhs: Tensor | float) -> Tensor:
        if is_number(rhs):
            return apply(op, self, wrap(_comparable(self, rhs)))
        return strict(op, "cmp", self, rhs)  # type: ignore[arg-type]

    # -- broadcasting

    def broadcast_eq(self, rhs: Tensor) -> Tensor:
        """`eq` for shapes that broadcast.

        Shape: (…), (…) → broadcast, dims matched from the last.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Source: candle-core/src/tensor.rs, broadcast_eq.

        >>> import cafe
        >>> labels = cafe.Tensor([2, 0])
        >>> labels.unsqueeze(1).broadcast_eq(cafe.Tensor.arange(0, 3)).tolist()
        [[0, 0, 1], [1, 0, 0]]
        """
        return broadcasting(_EQ, "broadcast_eq", self, rhs)

    def broadcast_ne(self, rhs: Tensor) -> Tensor:
        """`ne` for shapes that broadcast; as `broadcast_eq`.

        Shape: (…), (…) → broadcast.

        >>> import cafe
        >>> cafe.Tensor([[1], [2]]).broadcast_ne(cafe.Tensor([1, 2])).tolist()
        [[0, 1], [1, 0]]
        """
        return broadcasting(_NE, "broadcast_ne", self, rhs)

    def broadcast_lt(self, rhs: Tensor) -> Tensor:
        """`lt` for shapes that broadcast; as `broadcast_eq`.

        Shape: (…), (…) → broadcast.

        >>> import cafe
        >>> cafe.Tensor([[1], [2]]).broadcast_lt(cafe.Tensor([1, 2])).tolist()
        [[0, 1], [0, 0]]
        """
        return broadcasting(_LT, "broadcast_lt", self, rhs)

    def broadcast_le(self, rhs: Tensor) -> Tensor:
        """`le` for shapes that broadcast; as `broadcast_eq`.

        Shape: (…), (…) → broadcast.

        >>> import cafe
        >>> cafe.Tensor([[1], [2]]).broadcast_le(cafe.Tensor([1, 2])).tolist()
        [[1, 1], [0, 1]]
        """
        return broadcasting(_LE, "broadcast_le", self, rhs)

    def broadcast_gt(self, rhs: Tensor) -> Tensor:
        """`gt` for shapes that broadcast; as `broadcast_eq`.

        Shape: (…), (…) → broadcast.

        >>> import cafe
        >>> cafe.Tensor([[1], [2]]).broadcast_gt(cafe.Tensor([1, 2])).tolist()
        [[0, 0], [1, 0]]
        """
        return broadcasting(_GT, "broadcast_gt", self, rhs)

    def broadcast_ge(self, rhs: Tensor) -> Tensor:
        """`ge` for shapes that broadcast; as `broadcast_eq`.

        Shape: (…), (…) → broadcast.

        >>> import cafe
        >>> cafe.Tensor([[1], [2]]).broadcast_ge(cafe.Tensor([1, 2])).tolist()
        [[1, 0], [1, 1]]
        """
        return broadcasting(_GE, "broadcast_ge", self, rhs)

    # -- masks

    def where_cond(self, on_true: Tensor, on_false: Tensor) -> Tensor:
        """on_true where this mask, of any integer dtype, is not 0, and on_false elsewhere.

        Shape: one shape, for the mask, both sides and the result.
        Raises: UnsupportedDTypeForOp for a float mask, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g to the side taken, 0 to the other. IEEE holds: where the side not taken has an infinite slope its gradient is
        0 · ∞ = NaN, so the guard goes inside, `mask.where_cond(x, ones).sqrt()`, and not outside alone, `mask.where_cond(x.sqrt(), ones)`.
        Source: candle-core/src/tensor.rs, where_cond.

        >>> import cafe
        >>> x = cafe.Var([0.0, 4.0])
        >>> safe = x.gt(0.0).where_cond(x, x.ones_like())
        >>> y = x.gt(0.0).where_cond(safe.sqrt(), x.zeros_like())
        >>> y.tolist(), y.sum_all().backward()[x].tolist()
        ([0.0, 2.0], [0.0, 0.25])
        """
        if self._data.dtype.kind not in "iu":
            raise UnsupportedDTypeForOp(self.dtype, "where-cond").help("a mask is of integers: `t.ne(0.0)` is 1 where t is not 0")
        try:
            a, b = on_true._data, on_false._data
        except AttributeError:
            check_tensors("where_cond", on_true, on_false)
            raise
        shape = self._data.shape
        if a.shape != shape or b.shape != shape:
            raise ShapeMismatchBinaryOp("where_cond", shape, b.shape if a.shape == shape else a.shape)
        check_same("where", a, b)
        return apply(_WHERE, self, on_true, on_false)

    # -- operators

    def __eq__(self, rhs: object) -> Tensor:  # type: ignore[override]
        return self._comparison(_EQ, rhs)

    def __ne__(self, rhs: object) -> Tensor:  # type: ignore[override]
        return self._comparison(_NE, rhs)

    def __lt__(self, rhs: Any) -> Tensor:
        return self._comparison(_LT, rhs)

    def __le__(self, rhs: Any) -> Tensor:
        return self._comparison(_LE, rhs)

    def __gt__(self, rhs: Any) -> Tensor:
        return self._comparison(_GT, rhs)

    def __ge__(self, rhs: Any) -> Tensor:
        return self._comparison(_GE, rhs)

    def __hash__(self) -> int:
        return hash(self._id)

    def _comparison(self, op: Op, rhs: Any) -> Tensor:
        if is_number(rhs):
            return self._compare(op, rhs)
        other = as_tensor(rhs)
        if other is not None:
            return strict(op, "cmp", self, other)
        return NotImplemented if op is _EQ or op is _NE else unanswered("cmp", rhs)


def _comparable(like: Base, number: Any) -> Any:
    """A number to compare with, in the tensor's dtype.

    Raises: Error when an integer tensor meets a number that is no integer or that it cannot hold.
    """
    try:
        return np.asarray(number_for(like._data, number, "cmp"), like._data.dtype)
    except OverflowError:
        raise Error(f"cmp: {number} does not fit {like.dtype!r}") from None
