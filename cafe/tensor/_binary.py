"""Methods of two tensors, or of a tensor and a number (floor 4).

`add`, `+` and their like want one shape and one dtype, as candle does; `broadcast_add` and its like broadcast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cafe.dtype import check_float, check_same
from cafe.errors import Error, ShapeMismatchBinaryOp, UnsupportedDTypeForOp
from cafe.ops import binary as ops
from cafe.ops import unary
from cafe.ops.base import Op
from cafe.shape import broadcast

from .base import Base, apply, wrap
from .convert import is_number, number_for, to_array

if TYPE_CHECKING:
    from .core import Tensor

_ADD, _SUB, _MUL, _DIV, _POW = ops.Add(), ops.Sub(), ops.Mul(), ops.Div(), ops.Pow()
_MAXIMUM, _MINIMUM, _WHERE = ops.Maximum(), ops.Minimum(), ops.Where()
_EQ, _NE, _LT = ops.Compare("eq"), ops.Compare("ne"), ops.Compare("lt")
_LE, _GT, _GE = ops.Compare("le"), ops.Compare("gt"), ops.Compare("ge")


def _tensor(value: Any) -> Any:
    """A Tensor from a Tensor or an ndarray, else None."""
    if isinstance(value, Base):
        return value
    return wrap(to_array(value)) if isinstance(value, np.ndarray) else None


def _strict(op: Op, name: str, lhs: Base, rhs: Base) -> Tensor:
    """One shape and one dtype, or candle's error; the shape is looked at first."""
    a, b = lhs._data, rhs._data
    if a.shape != b.shape:
        raise ShapeMismatchBinaryOp(name, a.shape, b.shape).help(_how_to_broadcast(name))
    check_same(name, a, b)
    return apply(op, lhs, rhs)


def _how_to_broadcast(name: str) -> str:
    if name == "cmp":
        return "`broadcast_eq` and its like broadcast, comparisons and their operators do not"
    return f"`broadcast_{name}` broadcasts, `{name}` and its operator do not"


def _broadcast(op: Op, name: str, lhs: Base, rhs: Base) -> Tensor:
    """Shapes that broadcast and one dtype, or candle's error."""
    broadcast(name, lhs._data.shape, rhs._data.shape)
    check_same(name, lhs._data, rhs._data)
    return apply(op, lhs, rhs)


def _constant(like: Base, value: Any, op: str) -> Tensor:
    """A number as a 0-d tensor of the other's dtype."""
    return wrap(np.asarray(number_for(like._data, value, op), like._data.dtype))


class BinaryMethods(Base):
    """Arithmetic and comparison."""

    __slots__ = ()

    # -- strict

    def add(self, rhs: Tensor) -> Tensor:
        """a + b, one shape. Gradient: g to both."""
        return _strict(_ADD, "add", self, rhs)

    def sub(self, rhs: Tensor) -> Tensor:
        """a − b, one shape. Gradient: g and −g."""
        return _strict(_SUB, "sub", self, rhs)

    def mul(self, rhs: Tensor) -> Tensor:
        """a · b, one shape. Gradient: g b and g a."""
        return _strict(_MUL, "mul", self, rhs)

    def div(self, rhs: Tensor) -> Tensor:
        """a / b, one shape; integers truncate. Gradient: g / b and −g a / b².

        Raises: Error on an integer division by zero.
        """
        return _strict(_DIV, "div", self, rhs)

    def maximum(self, rhs: Tensor | float) -> Tensor:
        """The larger of the two; NaN if either is. Gradient: to the larger, half each at a tie."""
        if is_number(rhs):
            return apply(_MAXIMUM, self, _constant(self, rhs, "maximum"))
        return _strict(_MAXIMUM, "maximum", self, rhs)  # type: ignore[arg-type]

    def minimum(self, rhs: Tensor | float) -> Tensor:
        """The smaller of the two; NaN if either is. Gradient: to the smaller, half each at a tie."""
        if is_number(rhs):
            return apply(_MINIMUM, self, _constant(self, rhs, "minimum"))
        return _strict(_MINIMUM, "minimum", self, rhs)  # type: ignore[arg-type]

    def pow(self, rhs: Tensor) -> Tensor:
        """a^b, one shape; 0^0 is 1. Gradient: g b a^(b−1) and g a^b ln a, 0 where the value does not depend on the one."""
        check_float("pow", self._data)
        return _strict(_POW, "pow", self, rhs)

    # -- broadcasting

    def broadcast_add(self, rhs: Tensor) -> Tensor:
        """a + b. Shape: (…), (…) → broadcast. Gradient: summed back to each shape."""
        return _broadcast(_ADD, "broadcast_add", self, rhs)

    def broadcast_sub(self, rhs: Tensor) -> Tensor:
        """a − b. Shape: (…), (…) → broadcast. Gradient: summed back to each shape."""
        return _broadcast(_SUB, "broadcast_sub", self, rhs)

    def broadcast_mul(self, rhs: Tensor) -> Tensor:
        """a · b. Shape: (…), (…) → broadcast. Gradient: summed back to each shape."""
        return _broadcast(_MUL, "broadcast_mul", self, rhs)

    def broadcast_div(self, rhs: Tensor) -> Tensor:
        """a / b. Shape: (…), (…) → broadcast. Gradient: summed back to each shape."""
        return _broadcast(_DIV, "broadcast_div", self, rhs)

    def broadcast_maximum(self, rhs: Tensor) -> Tensor:
        """The larger of the two, broadcast. Gradient: half each at a tie."""
        return _broadcast(_MAXIMUM, "broadcast_maximum", self, rhs)

    def broadcast_minimum(self, rhs: Tensor) -> Tensor:
        """The smaller of the two, broadcast. Gradient: half each at a tie."""
        return _broadcast(_MINIMUM, "broadcast_minimum", self, rhs)

    def broadcast_pow(self, rhs: Tensor) -> Tensor:
        """a^b, broadcast. Gradient: as `pow`."""
        check_float("pow", self._data)
        return _broadcast(_POW, "broadcast_pow", self, rhs)

    # -- comparison, to U8

    def _compare(self, op: Op, rhs: Tensor | float) -> Tensor:
        if is_number(rhs):
            return apply(op, self, wrap(_comparable(self, rhs)))
        return _strict(op, "cmp", self, rhs)  # type: ignore[arg-type]

    def eq(self, rhs: Tensor | float) -> Tensor:
        """a == b, as U8: a tensor of one shape or a number."""
        return self._compare(_EQ, rhs)

    def ne(self, rhs: Tensor | float) -> Tensor:
        """a != b, as U8."""
        return self._compare(_NE, rhs)

    def lt(self, rhs: Tensor | float) -> Tensor:
        """a < b, as U8."""
        return self._compare(_LT, rhs)

    def le(self, rhs: Tensor | float) -> Tensor:
        """a <= b, as U8."""
        return self._compare(_LE, rhs)

    def gt(self, rhs: Tensor | float) -> Tensor:
        """a > b, as U8."""
        return self._compare(_GT, rhs)

    def ge(self, rhs: Tensor | float) -> Tensor:
        """a >= b, as U8."""
        return self._compare(_GE, rhs)

    def broadcast_eq(self, rhs: Tensor) -> Tensor:
        """a == b, broadcast, as U8."""
        return _broadcast(_EQ, "broadcast_eq", self, rhs)

    def broadcast_ne(self, rhs: Tensor) -> Tensor:
        """a != b, broadcast, as U8."""
        return _broadcast(_NE, "broadcast_ne", self, rhs)

    def broadcast_lt(self, rhs: Tensor) -> Tensor:
        """a < b, broadcast, as U8."""
        return _broadcast(_LT, "broadcast_lt", self, rhs)

    def broadcast_le(self, rhs: Tensor) -> Tensor:
        """a <= b, broadcast, as U8."""
        return _broadcast(_LE, "broadcast_le", self, rhs)

    def broadcast_gt(self, rhs: Tensor) -> Tensor:
        """a > b, broadcast, as U8."""
        return _broadcast(_GT, "broadcast_gt", self, rhs)

    def broadcast_ge(self, rhs: Tensor) -> Tensor:
        """a >= b, broadcast, as U8."""
        return _broadcast(_GE, "broadcast_ge", self, rhs)

    def where_cond(self, on_true: Tensor, on_false: Tensor) -> Tensor:
        """on_true where this mask (of any integer dtype) is not 0, on_false elsewhere; one shape.

        Gradient: g to the side taken, 0 to the other. IEEE holds: where a side not taken has an infinite slope, its gradient
        is 0 · inf = NaN, so guard inside: `mask.where_cond(x, ones).sqrt()`, not `mask.where_cond(x.sqrt(), ones)` alone.

        Raises: UnsupportedDTypeForOp for a float mask, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        """
        if self._data.dtype.kind not in "iu":
            raise UnsupportedDTypeForOp(self.dtype, "where-cond")
        for side in (on_true, on_false):
            if side.shape != self.shape:
                raise ShapeMismatchBinaryOp("where_cond", self.shape, side.shape)
        check_same("where", on_true._data, on_false._data)
        return apply(_WHERE, self, on_true, on_false)

    # -- operators

    def __add__(self, rhs: Any) -> Tensor:
        return self._operate(_ADD, "add", rhs)

    def __radd__(self, lhs: Any) -> Tensor:
        return self._with_number(_ADD, "add", lhs) if is_number(lhs) else self._reflect(_ADD, "add", lhs)

    def __sub__(self, rhs: Any) -> Tensor:
        return self._operate(_SUB, "sub", rhs)

    def __rsub__(self, lhs: Any) -> Tensor:
        if not is_number(lhs):
            return self._reflect(_SUB, "sub", lhs)
        if self._data.dtype.kind in "iu":
            return apply(_SUB, _constant(self, lhs, "sub"), self)
        return apply(unary.Affine(-1.0, float(lhs)), self)

    def __mul__(self, rhs: Any) -> Tensor:
        return self._operate(_MUL, "mul", rhs)

    def __rmul__(self, lhs: Any) -> Tensor:
        return self._with_number(_MUL, "mul", lhs) if is_number(lhs) else self._reflect(_MUL, "mul", lhs)

    def __truediv__(self, rhs: Any) -> Tensor:
        return self._operate(_DIV, "div", rhs)

    def __rtruediv__(self, lhs: Any) -> Tensor:
        if is_number(lhs):
            return apply(_DIV, _constant(self, lhs, "div"), self)
        return self._reflect(_DIV, "div", lhs)

    def __pow__(self, rhs: Any) -> Tensor:
        if is_number(rhs):
            return self.powf(float(rhs))  # type: ignore[attr-defined, no-any-return]
        other = _tensor(rhs)
        return NotImplemented if other is None else self.pow(other)

    def __rpow__(self, lhs: Any) -> Tensor:
        check_float("pow", self._data)
        return apply(_POW, _constant(self, lhs, "pow"), self) if is_number(lhs) else NotImplemented

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

    def _operate(self, op: Op, name: str, rhs: Any) -> Tensor:
        """An operator with a tensor, an ndarray or a number on the right."""
        if isinstance(rhs, Base):
            return _strict(op, name, self, rhs)
        if is_number(rhs):
            return self._with_number(op, name, rhs)
        other = _tensor(rhs)
        return NotImplemented if other is None else _strict(op, name, self, other)

    def _with_number(self, op: Op, name: str, number: Any) -> Tensor:
        if op is _DIV or self._data.dtype.kind in "iu":  # a division divides; integers stay integers
            return apply(op, self, _constant(self, number, name))
        value = float(number)
        if op is _MUL:
            return apply(unary.Affine(value, 0.0), self)
        return apply(unary.Affine(1.0, value if op is _ADD else -value), self)

    def _reflect(self, op: Op, name: str, lhs: Any) -> Tensor:
        other = _tensor(lhs)
        return NotImplemented if other is None else _strict(op, name, other, self)

    def _comparison(self, op: Op, rhs: Any) -> Tensor:
        if is_number(rhs):
            return self._compare(op, rhs)
        other = _tensor(rhs)
        return NotImplemented if other is None else _strict(op, "cmp", self, other)


def _comparable(like: Base, number: Any) -> Any:
    """A number to compare with: in the tensor's dtype where that is exact, else as it is.

    Raises: Error when an integer tensor meets a number that is no integer.
    """
    try:
        return np.asarray(number_for(like._data, number, "cmp"), like._data.dtype)
    except OverflowError:
        raise Error(f"cmp: {number} does not fit {like.dtype!r}") from None
