"""How two tensors, or a tensor and a number, meet: strictly or broadcast, with candle's errors (floor 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cafe.dtype import check_same, rounded
from cafe.errors import ShapeMismatchBinaryOp
from cafe.kernels.tensors import alike
from cafe.ops.base import Op
from cafe.shape import broadcast

from .base import Base, apply, check_tensors, wrap
from .convert import number_for, to_array

if TYPE_CHECKING:
    from .core import Tensor


_BUILTIN = frozenset((list, tuple, range, str, bytes, dict, set, frozenset, bool, int, float, complex, type(None)))


def as_tensor(value: Any) -> Any:
    """A Tensor from a Tensor or an ndarray, else None."""
    if isinstance(value, Base):
        return value
    return wrap(to_array(value)) if isinstance(value, np.ndarray) else None


def unanswered(op: str, value: Any) -> Any:
    """What an operator gives for something that is no operand of a tensor: NotImplemented, so that its own operator is asked.

    Raises: TypeError for the built-in types, of which none has an answer (a list would speak of concatenating), and for other libraries'
    tensors, whose answer would be that a Tensor is no Tensor.
    """
    if type(value) in _BUILTIN or hasattr(type(value), "__dlpack__"):
        check_tensors(op, value)
    return NotImplemented


def strict(op: Op, name: str, lhs: Base, rhs: Base) -> Tensor:
    """The op on two tensors of one shape and one dtype; the shape is looked at first, as in candle.

    Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, TypeError for what is no Tensor.
    """
    try:
        a, b = lhs._data, rhs._data
    except AttributeError:
        check_tensors(name, lhs, rhs)
        raise
    if not alike(a, b):  # most are; the shapes alone, as tuples, take a quarter of a small op's time
        if a.shape != b.shape:
            raise ShapeMismatchBinaryOp(name, a.shape, b.shape).help(_how_to_broadcast(name))
        check_same(name, a, b)
    return apply(op, lhs, rhs)


def broadcasting(op: Op, name: str, lhs: Base, rhs: Base) -> Tensor:
    """The op on two tensors of one dtype whose shapes broadcast.

    Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, TypeError for what is no Tensor.
    """
    check_tensors(name, lhs, rhs)
    broadcast(name, lhs._data.shape, rhs._data.shape)
    check_same(name, lhs._data, rhs._data)
    return apply(op, lhs, rhs)


def constant(like: Base, value: Any, op: str) -> Tensor:
    """A number as a 0-d tensor of the other's dtype.

    Raises: Error when an integer tensor meets a number that is no integer, IntegerOverflow.
    """
    return wrap(rounded(np.asarray(number_for(like._data, value, op)), like._data.dtype))


def _how_to_broadcast(name: str) -> str:
    if name == "cmp":
        return "`broadcast_eq` and its like broadcast, comparisons and their operators do not"
    return f"`broadcast_{name}` broadcasts, `{name}` and its operator do not"
