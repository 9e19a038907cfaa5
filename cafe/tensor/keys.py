"""What stands in `t[…]`, made into views and picks (floor 4)."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cafe import kernels
from cafe.dtype import DType
from cafe.errors import Error, InvalidIndex, ShapeMismatchBinaryOp, UnsupportedDTypeForOp, bail, show
from cafe.ops.layout import Reshape, Slice
from cafe.shape import Shape, check_narrow, whole

from .base import Base, apply, wrap
from .convert import to_array

if TYPE_CHECKING:
    from .core import Tensor


def index(t: Any, keys: tuple[Any, ...]) -> Tensor:
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
            shape.append(_length(key, size))
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
        key = wrap(to_array(key))
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
    try:
        return np.array([whole("indexing", "an id", k) for k in key], np.int64)
    except OverflowError:
        raise Error("indexing error: an id does not fit I64") from None


def _length(key: slice, size: int) -> int:
    """How many places of a dim a slice takes.

    Raises: Error for bounds that are no ints, ValueError for a step of 0.
    """
    try:
        return len(range(*key.indices(size)))
    except TypeError:
        raise Error(f"indexing error: a slice takes ints, got {key!r}") from None


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
    return flat, wrap(kernels.ids_where(mask._data))


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
