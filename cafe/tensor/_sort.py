"""Sorting along the last dim (floor 4). Any dtype, any strides; NaN comes last whichever the order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

import numpy as np

from cafe.errors import bail
from cafe.habits import NEEDED
from cafe.ops.sort import Sort

from .base import Base, apply_with_const, wrap
from .habits import wrong

if TYPE_CHECKING:
    from .core import Tensor


class SortMethods(Base):
    """Order."""

    __slots__ = ()

    def sort_last_dim(self, asc: bool = NEEDED, *more: Never, **others: Never) -> tuple[Tensor, Tensor]:
        """Each row in rising (or falling) order, and where its elements came from, as U32; equals keep their order.

        Shape: (…, n) → (…, n) twice.
        Raises: Error for a scalar, TypeError for an order that is neither True nor False.
        Gradient: g, back where each element came from; the places have none.
        Source: candle-core/src/sort.rs, sort_last_dim.

        >>> import cafe
        >>> x = cafe.Var([[3.0, 1.0, 2.0]])
        >>> y, places = x.sort_last_dim(True)
        >>> y.tolist(), places.tolist(), (y * cafe.Tensor([[1.0, 2.0, 4.0]])).backward()[x].tolist()
        ([[1.0, 2.0, 3.0]], [[1, 2, 0]], [[4.0, 1.0, 2.0]])
        """
        if not isinstance(asc, (bool, np.bool_)) or more or others:  # a dim was meant where another's sort is known
            raise wrong("sort_last_dim", others)
        if not self.shape:
            bail("empty last-dim in arg-sort")
        y, ids = apply_with_const(Sort(bool(asc)), self)
        return y, wrap(ids)

    def arg_sort_last_dim(self, asc: bool = NEEDED, *more: Never, **others: Never) -> Tensor:
        """Where the elements of each row stand in rising (or falling) order, as U32; equals keep their order.

        Shape: (…, n) → (…, n).
        Raises: as `sort_last_dim`.
        Gradient: none.
        Source: candle-core/src/sort.rs, arg_sort_last_dim.

        >>> import cafe
        >>> cafe.Tensor([3.0, 1.0, 2.0]).arg_sort_last_dim(False).tolist()
        [0, 2, 1]
        """
        if not isinstance(asc, (bool, np.bool_)) or more or others:
            raise wrong("arg_sort_last_dim", others)
        return self.sort_last_dim(asc)[1]
