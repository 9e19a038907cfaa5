"""Methods that pick and place by position or by ids (floor 4)."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cafe.dtype import DType, check_same
from cafe.errors import (
    Error,
    InvalidIndex,
    ShapeMismatchBinaryOp,
    UnexpectedNumberOfDims,
    UnsupportedDTypeForOp,
    bail,
    show,
)
from cafe.ops import indexing as ops
from cafe.ops.layout import Reshape, Slice
from cafe.shape import Dim, Shape, check_narrow, resolve_dim

from .base import Base, apply, wrap

if TYPE_CHECKING:
    from .core import Tensor


def _check_ids(ids: Base, op: str) -> None:
    """Raises UnsupportedDTypeForOp unless the ids are integers."""
    if ids._data.dtype.kind not in "iu":
        raise UnsupportedDTypeForOp(ids.dtype, op)


class IndexingMethods(Base):
    """`t[…]`, `t.i(…)`, and the ops on id tensors."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Tensor:
        """Parts by int (negative too, dropping the dim), slice with steps, None (a new dim), `...`, an integer tensor of rank 1 or a list
        of ints (picks), and a U8 tensor of the leading dims' shape (a mask).

        A view, except for picks and masks. Gradient: g among zeros; repeated picks add up.

        >>> import cafe
        >>> t = cafe.Tensor.arange(0, 12).reshape((3, 4))
        >>> t[-1, ::2].tolist(), t[:, None, 1].dims(), t[[0, 2], 1].tolist()
        ([8, 10], [3, 1], [1, 9])
        """
        keys = key if isinstance(key, tuple) else (key,)
        return _index(self, keys)

    def i(self, *key: Any) -> Tensor:
        """`t[key]`, candle's `i`: `t.i(0)`, `t.i((slice(None), 2))`."""
        return _index(self, key[0] if len(key) == 1 and isinstance(key[0], tuple) else key)

    def index_select(self, ids: Tensor, dim: Dim) -> Tensor:
        """y[…, i, …] = x[…, ids[i], …]: ids of rank 1; the largest U8, U32 or I64 gives zeros. Gradient: added back at the ids.

        Raises: InvalidIndex, UnexpectedNumberOfDims, UnsupportedDTypeForOp for float ids.
        """
        d = resolve_dim(self.shape, dim, "index-select")
        _check_ids(ids, "index-select")
        if len(ids.shape) != 1:
            raise UnexpectedNumberOfDims(1, len(ids.shape), ids.shape)
        return apply(ops.IndexSelect(d), self, ids)

    def embedding(self, ids: Tensor) -> Tensor:
        """Rows of this (n, h) table: ids (m) → (m, h)."""
        if len(self.shape) != 2 or len(ids.shape) != 1:
            raise ShapeMismatchBinaryOp("embedding", self.shape, ids.shape)
        return self.index_select(ids, 0)

    def gather(self, ids: Tensor, dim: Dim) -> Tensor:
        """y[i, j, k] = x[i, ids[i, j, k], k] for dim 1: ids has the same rank and is no larger off the dim.

        The largest U8, U32 or I64 gives 0. Gradient: added back where it was read.

        Raises: InvalidIndex, ShapeMismatchBinaryOp, UnsupportedDTypeForOp for float ids.
        """
        d = resolve_dim(self.shape, dim, "gather")
        if len(ids.shape) != len(self.shape) or any(i != d and m > n for i, (m, n) in enumerate(zip(ids.shape, self.shape))):
            raise ShapeMismatchBinaryOp("gather", self.shape, ids.shape)
        _check_ids(ids, "gather")
        return apply(ops.Gather(d), self, ids)

    def index_add(self, ids: Tensor, source: Tensor, dim: Dim) -> Tensor:
        """This with source's slices added at the ids: y[…, ids[i], …] += source[…, i, …]. Gradient: g, and g at the ids.

        Raises: InvalidIndex, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for float ids.
        """
        d = resolve_dim(self.shape, dim, "index-add")
        _check_ids(ids, "index-add")
        if len(source.shape) != len(self.shape) or any(i != d and m != n for i, (m, n) in enumerate(zip(source.shape, self.shape))):
            raise ShapeMismatchBinaryOp("index-add (self, source)", self.shape, source.shape)
        if ids.shape != (source.shape[d],):
            raise ShapeMismatchBinaryOp("index-add (ids, source))", ids.shape, source.shape)
        check_same("index-add", self._data, source._data)
        return apply(ops.IndexAdd(d), self, ids, source)

    def scatter_add(self, ids: Tensor, source: Tensor, dim: Dim) -> Tensor:
        """This with source added where `gather` by the ids would read. Gradient: g, and g gathered by the ids.

        Raises: InvalidIndex, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for float ids.
        """
        d = resolve_dim(self.shape, dim, "scatter-add")
        _check_ids(ids, "scatter-add")
        if len(source.shape) != len(self.shape) or any(i != d and m != n for i, (m, n) in enumerate(zip(source.shape, self.shape))):
            raise ShapeMismatchBinaryOp("scatter (self, src)", self.shape, source.shape)
        if ids.shape != source.shape:
            raise ShapeMismatchBinaryOp("scatter (indexes, src)", ids.shape, source.shape)
        check_same("scatter-add", self._data, source._data)
        return apply(ops.ScatterAdd(d), self, ids, source)


def _index(t: Any, keys: tuple[Any, ...]) -> Tensor:
    """Basic parts first, as one view; then the picks, from the last dim to the first, so that earlier dims keep their place."""
    basic: list[Any] = []  # one slice a dim of t
    shape: list[int] = []  # the view's shape once ints have dropped their dim and None has put one in
    picks: list[tuple[int, Tensor]] = []
    dim = 0
    for key in _expand(t.shape, keys):
        if key is None:
            shape.append(1)
            continue
        if _is_mask(key):
            t, key = _flatten_masked(t, dim, key)
        size = t.shape[dim]
        if isinstance(key, slice):
            basic.append(key)
            shape.append(len(range(*key.indices(size))))
        elif isinstance(key, Base):
            picks.append((len(shape), _counted_from_front(key, size)))
            basic.append(slice(None))
            shape.append(size)
        else:
            basic.append(_one(t.shape, dim, key))
        dim += 1
    y = t if all(k == slice(None) for k in basic) else apply(Slice(tuple(basic)), t)
    y = y if tuple(shape) == y.shape else apply(Reshape(tuple(shape)), y)
    for d, ids in reversed(picks):
        y = y.index_select(ids, d)
    return y


def _expand(shape: Shape, keys: tuple[Any, ...]) -> list[Any]:
    """The keys in one strict form: ints, slices, None, tensors; `...` and missing dims filled in.

    Raises: Error for what is no index, or too many.
    """
    strict = [_strict_key(k) for k in keys]
    if sum(k is Ellipsis for k in strict) > 1:
        raise Error("an index has at most one `...`")
    used = sum(len(k.shape) if _is_mask(k) else 1 for k in strict if k is not None and k is not Ellipsis)
    if used > len(shape):
        raise Error(f"narrow: dimension index {len(shape)} out of range for shape {show(shape)}")
    fill = [slice(None)] * (len(shape) - used)
    at = next((i for i, k in enumerate(strict) if k is Ellipsis), None)
    return [*strict, *fill] if at is None else [*strict[:at], *fill, *strict[at + 1 :]]


def _strict_key(key: Any) -> Any:
    if key is None or key is Ellipsis or isinstance(key, slice):
        return key
    if isinstance(key, np.ndarray):
        key = wrap(np.array(key.view(np.uint8) if key.dtype == np.bool_ else key))
    if isinstance(key, list):
        key = wrap(_ids_from(key))
    if isinstance(key, Base):
        if not key.dtype.is_int:
            raise UnsupportedDTypeForOp(key.dtype, "index-select")
        if key.dtype is not DType.U8 and len(key.shape) > 1:
            bail("multi-dimensional tensor indexing is not supported")
        if key.dtype is not DType.U8 and not key.shape:
            return int(key._data)
        return key
    if isinstance(key, bool | np.bool_):
        raise Error(f"indexing error: {key} is no index").help("a mask is a U8 tensor")
    try:
        return operator.index(key)
    except TypeError:
        raise Error(f"indexing error: {type(key).__name__} is no index") from None


def _ids_from(key: list[Any]) -> Any:
    """Ids from a list of ints, or a mask from a list of bools."""
    if key and all(isinstance(k, bool) for k in key):
        return np.array(key, np.uint8)
    return np.array([operator.index(k) for k in key], np.int64)


def _counted_from_front(ids: Base, size: int) -> Tensor:
    """Ids with the negative ones counted from the end, as I64."""
    wide = ids._data.astype(np.int64)
    return wrap(np.where((wide < 0) & (wide >= -size), wide + size, wide))


def _is_mask(key: Any) -> bool:
    return isinstance(key, Base) and key.dtype is DType.U8


def _flatten_masked(t: Any, dim: int, mask: Any) -> tuple[Any, Any]:
    """The masked dims of t as one, and the places of the mask's ones along it.

    Raises: ShapeMismatchBinaryOp when the mask's shape is not that of the dims.
    """
    end = dim + len(mask.shape)
    if t.shape[dim:end] != mask.shape:
        raise ShapeMismatchBinaryOp("mask", t.shape, mask.shape)
    count = mask._data.size
    flat = t.reshape((*t.shape[:dim], count, *t.shape[end:]))
    return flat, wrap(np.flatnonzero(mask._data).astype(np.int64))


def _one(shape: Shape, dim: int, index: int) -> int:
    """One place of a dim, counted from the front.

    Raises: NarrowInvalidArgs with candle's words for a place that is not there.
    """
    size = shape[dim]
    place = index + size if index < 0 else index
    if place < 0:
        raise InvalidIndex("narrow", index, size)
    check_narrow(shape, dim, place, 1)
    return place
