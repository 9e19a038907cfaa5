"""Methods that pick and place by position or by ids (floor 4). Any dtype.

Ids are integers of any dtype. The largest U8, U32 and I64 means "skip", as in candle: reading gives 0 there, writing leaves the place
alone. Any other id that is not there, a negative one too, is an error that shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cafe.dtype import check_same
from cafe.errors import ShapeMismatchBinaryOp, UnexpectedNumberOfDims, UnsupportedDTypeForOp
from cafe.ops import indexing as ops
from cafe.ops.binary import Where
from cafe.shape import Dim, check_broadcast_to, resolve_dim

from .base import Base, apply, check_tensors
from .keys import index
from .pairs import constant

if TYPE_CHECKING:
    from .core import Tensor


class IndexingMethods(Base):
    """`t[…]`, `t.i(…)`, and the ops on id tensors."""

    __slots__ = ()

    # -- by position

    def __getitem__(self, key: Any) -> Tensor:
        """Parts by int (negative too, dropping the dim), slice with steps, None (a new dim), `...`, an integer tensor of rank 1 or a list
        of ints (picks, each along its own dim), and a U8 tensor of the leading dims' shape (a mask).

        A view, except for picks and masks.

        Raises: NarrowInvalidArgs and InvalidIndex, which are IndexErrors, for places that are not there; Error for what is no index.
        Gradient: g among zeros; repeated picks add up.
        Source: candle-core/src/indexer.rs, i; negatives, steps, None, `...` and masks are ours.

        >>> import cafe
        >>> t = cafe.Tensor.arange(0, 12).reshape((3, 4))
        >>> t[-1, ::2].tolist(), t[:, None, 1].dims(), t[[0, 2], 1].tolist(), t[t.gt(9)].tolist()
        ([8, 10], [3, 1], [1, 9], [10, 11])
        """
        return index(self, key if isinstance(key, tuple) else (key,))

    def i(self, *key: Any) -> Tensor:
        """`t[key]`, candle's `i`: `t.i(0)`, `t.i(0, slice(1, None))`, or with a tuple.

        >>> import cafe
        >>> t = cafe.Tensor([[1, 2, 3], [4, 5, 6]])
        >>> t.i(1).tolist(), t.i((slice(None), 2)).tolist()
        ([4, 5, 6], [3, 6])
        """
        return index(self, key[0] if len(key) == 1 and isinstance(key[0], tuple) else key)

    # -- reading by ids

    def index_select(self, ids: Tensor, dim: Dim) -> Tensor:
        """Slices of a dim, by ids: y[…, i, …] = x[…, ids[i], …].

        Shape: (…, n, …), ids (m) → (…, m, …).
        Raises: InvalidIndex, UnexpectedNumberOfDims for ids of another rank than 1, UnsupportedDTypeForOp for float ids, DimOutOfRange.
        Gradient: g's slices, added up at the ids; none for a skip.
        Source: candle-core/src/tensor.rs, index_select.

        >>> import cafe
        >>> x = cafe.Var([[1.0, 2.0], [3.0, 4.0]])
        >>> y = x.index_select(cafe.Tensor([1, 1, 0]), 0)
        >>> y.tolist(), y.sum_all().backward()[x].tolist()
        ([[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]], [[1.0, 1.0], [2.0, 2.0]])
        """
        d = resolve_dim(self.shape, dim, "index-select")
        _check_ids(ids, "index-select")
        if len(ids.shape) != 1:
            raise UnexpectedNumberOfDims(1, len(ids.shape), ids.shape)
        return apply(ops.IndexSelect(d), self, ids)

    def embedding(self, ids: Tensor) -> Tensor:
        """Rows of this table, by ids.

        Shape: (n, h), ids (m) → (m, h).
        Raises: ShapeMismatchBinaryOp for other ranks, InvalidIndex, UnsupportedDTypeForOp for float ids.
        Gradient: as `index_select`.
        Source: candle-core/src/tensor.rs, embedding.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 2.0], [3.0, 4.0]]).embedding(cafe.Tensor([1, 0])).tolist()
        [[3.0, 4.0], [1.0, 2.0]]
        """
        check_tensors("embedding", ids)
        if len(self.shape) != 2 or len(ids.shape) != 1:
            raise ShapeMismatchBinaryOp("embedding", self.shape, ids.shape)
        return self.index_select(ids, 0)

    def gather(self, ids: Tensor, dim: Dim) -> Tensor:
        """One element for each id: y[i, j, k] = x[i, ids[i, j, k], k] for dim 1.

        Shape: (…, n, …), ids (…, m, …) → ids' shape; ids has the same rank and is no larger off the dim.
        Raises: InvalidIndex, ShapeMismatchBinaryOp, UnsupportedDTypeForOp for float ids, DimOutOfRange.
        Gradient: g, added back where it was read (candle fails for ids smaller off the dim).
        Source: candle-core/src/tensor.rs, gather.

        >>> import cafe
        >>> x = cafe.Var([[1.0, 2.0], [3.0, 4.0]])
        >>> y = x.gather(cafe.Tensor([[1], [0]]), 1)
        >>> y.tolist(), y.sum_all().backward()[x].tolist()
        ([[2.0], [3.0]], [[0.0, 1.0], [1.0, 0.0]])
        """
        d = resolve_dim(self.shape, dim, "gather")
        check_tensors("gather", ids)
        if len(ids.shape) != len(self.shape) or any(i != d and m > n for i, (m, n) in enumerate(zip(ids.shape, self.shape))):
            raise ShapeMismatchBinaryOp("gather", self.shape, ids.shape)
        _check_ids(ids, "gather")
        return apply(ops.Gather(d), self, ids)

    # -- writing by ids, out of place

    def index_add(self, ids: Tensor, source: Tensor, dim: Dim) -> Tensor:
        """This tensor with source's slices added at the ids: y[…, ids[i], …] += source[…, i, …].

        Shape: (…, n, …), ids (m), source (…, m, …) → (…, n, …).
        Raises: InvalidIndex, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for float ids, DimOutOfRange.
        Gradient: g, and to source g's slices at the ids.
        Source: candle-core/src/tensor.rs, index_add.

        >>> import cafe
        >>> cafe.Tensor([0, 0, 0]).index_add(cafe.Tensor([2, 2, 1]), cafe.Tensor([1, 2, 3]), 0).tolist()
        [0, 3, 3]
        """
        d = resolve_dim(self.shape, dim, "index-add")
        check_tensors("index-add", ids, source)
        _check_ids(ids, "index-add")
        if len(source.shape) != len(self.shape) or any(i != d and m != n for i, (m, n) in enumerate(zip(source.shape, self.shape))):
            raise ShapeMismatchBinaryOp("index-add (self, source)", self.shape, source.shape)
        if ids.shape != (source.shape[d],):
            raise ShapeMismatchBinaryOp("index-add (ids, source))", ids.shape, source.shape)  # the second parenthesis is candle's
        check_same("index-add", self._data, source._data)
        return apply(ops.IndexAdd(d), self, ids, source)

    def scatter_add(self, ids: Tensor, source: Tensor, dim: Dim) -> Tensor:
        """This tensor with source added where `gather` by the ids would read: y[i, ids[i, j, k], k] += source[i, j, k] for dim 1.

        Shape: (…, n, …), ids and source (…, m, …) → (…, n, …).
        Raises: InvalidIndex (which says `gather`, as candle's does), ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp
        for float ids, DimOutOfRange.
        Gradient: g (candle gives `scatter`'s), and to source g gathered by the ids.
        Source: candle-core/src/tensor.rs, scatter_add.

        >>> import cafe
        >>> cafe.Tensor([0, 0, 0]).scatter_add(cafe.Tensor([0, 0, 2]), cafe.Tensor([1, 2, 3]), 0).tolist()
        [3, 0, 3]
        """
        d = _check_scatter(self, ids, source, dim, "scatter-add")
        return apply(ops.ScatterAdd(d), self, ids, source)

    def scatter(self, ids: Tensor, source: Tensor, dim: Dim) -> Tensor:
        """This tensor with source in place of what `gather` by the ids would read; of several writes to one place the last one stays.

        Shape: (…, n, …), ids and source (…, m, …) → (…, n, …).
        Raises: InvalidIndex (which says `gather`, as candle's does), ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp
        for float ids, DimOutOfRange.
        Gradient: g with zeros where something was written (candle gives `scatter_add`'s), and to source g gathered by the ids, 0 where
        a later write covered it.
        Source: candle-core/src/tensor.rs, scatter.

        >>> import cafe
        >>> x, source = cafe.Var([1.0, 2.0, 3.0]), cafe.Var([10.0, 20.0])
        >>> y = x.scatter(cafe.Tensor([0, 0]), source, 0)
        >>> grads = y.sum_all().backward()
        >>> y.tolist(), grads[x].tolist(), grads[source].tolist()
        ([20.0, 2.0, 3.0], [0.0, 1.0, 1.0], [0.0, 1.0])
        """
        d = _check_scatter(self, ids, source, dim, "scatter")
        return apply(ops.Scatter(d), self, ids, source)

    def masked_fill(self, mask: Tensor, value: float) -> Tensor:
        """This tensor with one number where a mask, of any integer dtype, is not 0.

        Shape: (…), mask (…) which broadcasts to it → the same.
        Raises: UnsupportedDTypeForOp for a float mask, BroadcastIncompatibleShapes; Error for a number that an integer tensor cannot hold.
        Gradient: g, and 0 where the mask is set.
        Source: ours; candle's models write it with `where_cond`.

        >>> import cafe
        >>> causal = cafe.Tensor.triu2(3, "u8") - cafe.Tensor.eye(3, "u8")
        >>> cafe.Tensor.zeros((3, 3)).masked_fill(causal, -1.0).tolist()
        [[0.0, -1.0, -1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0]]
        """
        _check_ids(mask, "masked-fill")
        check_broadcast_to(mask.shape, self.shape)
        filling = constant(self, value, "masked_fill")
        return apply(Where(), mask, filling, self)


def _check_ids(ids: Base, op: str) -> None:
    """Raises UnsupportedDTypeForOp unless the ids are integers, TypeError if they are no Tensor."""
    check_tensors(op, ids)
    if ids._data.dtype.kind not in "iu":
        raise UnsupportedDTypeForOp(ids.dtype, op).help("`to_dtype(DType.U32)` makes ids of numbers, `t.ne(0.0)` a mask")


def _check_scatter(x: Base, ids: Base, source: Base, dim: Dim, op: str) -> int:
    """The dim, once ids and source go with x."""
    d = resolve_dim(x.shape, dim, op)
    check_tensors(op, ids, source)
    _check_ids(ids, op)
    if len(source.shape) != len(x.shape) or any(i != d and m != n for i, (m, n) in enumerate(zip(source.shape, x.shape))):
        raise ShapeMismatchBinaryOp("scatter (self, src)", x.shape, source.shape)
    if ids.shape != source.shape:
        raise ShapeMismatchBinaryOp("scatter (indexes, src)", ids.shape, source.shape)
    check_same(op, x._data, source._data)
    return d
