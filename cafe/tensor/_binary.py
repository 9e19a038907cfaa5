"""Arithmetic on two tensors, or on a tensor and a number (floor 4).

`add`, `+` and their like want one shape and one dtype, as candle does; `broadcast_add` and its like broadcast. Nothing is promoted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cafe.dtype import DType, check_float, rounded
from cafe.ops import binary as ops
from cafe.ops import unary
from cafe.ops.base import Op
from cafe.tape import is_half

from .base import Base, apply
from .convert import is_number, real
from .pairs import as_tensor, broadcasting, constant, strict, unanswered

if TYPE_CHECKING:
    from .core import Tensor

_ADD, _SUB, _MUL, _DIV, _POW = ops.Add(), ops.Sub(), ops.Mul(), ops.Div(), ops.Pow()
_F32 = DType.F32.numpy
_MAXIMUM, _MINIMUM = ops.Maximum(), ops.Minimum()


class BinaryMethods(Base):
    """Sums, differences, products, quotients, powers, and the larger and smaller of two."""

    __slots__ = ()

    # -- one shape

    def add(self, rhs: Tensor) -> Tensor:
        """The sum of two tensors, `a + b`. Integers wrap.

        Shape: one shape, for both and the result.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g to both.
        Source: candle-core/src/tensor.rs, add.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0]).add(cafe.Tensor([10.0, 20.0])).tolist()
        [11.0, 22.0]
        """
        return strict(_ADD, "add", self, rhs)

    def sub(self, rhs: Tensor) -> Tensor:
        """The difference of two tensors, `a - b`. Integers wrap.

        Shape: one shape, for both and the result.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g to a, −g to b.
        Source: candle-core/src/tensor.rs, sub.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0]).sub(cafe.Tensor([10.0, 20.0])).tolist()
        [-9.0, -18.0]
        """
        return strict(_SUB, "sub", self, rhs)

    def mul(self, rhs: Tensor) -> Tensor:
        """The product of two tensors, element by element, `a * b`. Integers wrap.

        Shape: one shape, for both and the result.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g b to a, g a to b.
        Source: candle-core/src/tensor.rs, mul.

        >>> import cafe
        >>> a, b = cafe.Var([1.0, 2.0]), cafe.Var([10.0, 20.0])
        >>> grads = a.mul(b).sum_all().backward()
        >>> grads[a].tolist(), grads[b].tolist()
        ([10.0, 20.0], [1.0, 2.0])
        """
        return strict(_MUL, "mul", self, rhs)

    def div(self, rhs: Tensor) -> Tensor:
        """The quotient of two tensors, `a / b`. Integers truncate toward zero.

        Shape: one shape, for both and the result.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp; Error on an integer division by zero (candle panics).
        Gradient: g / b to a, −g a / b² to b.
        Source: candle-core/src/tensor.rs, div.

        >>> import cafe
        >>> cafe.Tensor([1.0, 3.0]).div(cafe.Tensor([4.0, 2.0])).tolist(), cafe.Tensor([-7]).div(cafe.Tensor([2])).tolist()
        ([0.25, 1.5], [-3])
        """
        return strict(_DIV, "div", self, rhs)

    def maximum(self, rhs: Tensor | float) -> Tensor:
        """The larger of each two elements, or of each element and a number; NaN if either is.

        Shape: one shape, for both and the result.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g to the larger; at a tie half to each, as candle.
        Source: candle-core/src/tensor.rs, maximum.

        >>> import cafe
        >>> a, b = cafe.Var([1.0, 2.0]), cafe.Var([3.0, 2.0])
        >>> grads = a.maximum(b).sum_all().backward()
        >>> a.maximum(b).tolist(), grads[a].tolist(), grads[b].tolist()
        ([3.0, 2.0], [0.0, 0.5], [1.0, 0.5])
        """
        if is_number(rhs):
            return apply(_MAXIMUM, self, constant(self, rhs, "maximum"))
        return strict(_MAXIMUM, "maximum", self, rhs)  # type: ignore[arg-type]

    def minimum(self, rhs: Tensor | float) -> Tensor:
        """The smaller of each two elements, or of each element and a number; NaN if either is.

        Shape: one shape, for both and the result.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g to the smaller; at a tie half to each, as candle.
        Source: candle-core/src/tensor.rs, minimum.

        >>> import cafe
        >>> cafe.Tensor([1.0, 5.0]).minimum(cafe.Tensor([3.0, 2.0])).tolist(), cafe.Tensor([1, 5]).minimum(2).tolist()
        ([1.0, 2.0], [1, 2])
        """
        if is_number(rhs):
            return apply(_MINIMUM, self, constant(self, rhs, "minimum"))
        return strict(_MINIMUM, "minimum", self, rhs)  # type: ignore[arg-type]

    def pow(self, rhs: Tensor) -> Tensor:
        """Each element of one tensor to the power of the other's, `a ** b`. 0^0 is 1; a negative base takes whole exponents
        (candle's exp(b ln a) gives NaN for both).

        Shape: one shape, for both and the result.
        Raises: UnsupportedDTypeForOp for integers, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g b a^(b−1) to a, 0 where b = 0; g a^b ln a to b, 0 where a = 0 ≤ b, NaN for a negative base.
        Source: candle-core/src/tensor.rs, pow.

        >>> import cafe
        >>> cafe.Tensor([2.0, 9.0, 0.0]).pow(cafe.Tensor([3.0, 0.5, 0.0])).tolist()
        [8.0, 3.0, 1.0]
        """
        check_float("pow", self._data)
        return strict(_POW, "pow", self, rhs)

    # -- broadcasting

    def broadcast_add(self, rhs: Tensor) -> Tensor:
        """`add` for shapes that broadcast.

        Shape: (…), (…) → broadcast, dims matched from the last.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g, summed back over what each side was repeated along.
        Source: candle-core/src/tensor.rs, broadcast_add.

        >>> import cafe
        >>> rows, bias = cafe.Var([[1.0, 2.0], [3.0, 4.0]]), cafe.Var([10.0, 20.0])
        >>> y = rows.broadcast_add(bias)
        >>> y.tolist(), y.sum_all().backward()[bias].tolist()
        ([[11.0, 22.0], [13.0, 24.0]], [2.0, 2.0])
        """
        return broadcasting(_ADD, "broadcast_add", self, rhs)

    def broadcast_sub(self, rhs: Tensor) -> Tensor:
        """`sub` for shapes that broadcast.

        Shape: (…), (…) → broadcast, dims matched from the last.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g and −g, summed back over what each side was repeated along.
        Source: candle-core/src/tensor.rs, broadcast_sub.

        >>> import cafe
        >>> cafe.Tensor([[1.0], [2.0]]).broadcast_sub(cafe.Tensor([10.0, 20.0])).tolist()
        [[-9.0, -19.0], [-8.0, -18.0]]
        """
        return broadcasting(_SUB, "broadcast_sub", self, rhs)

    def broadcast_mul(self, rhs: Tensor) -> Tensor:
        """`mul` for shapes that broadcast.

        Shape: (…), (…) → broadcast, dims matched from the last.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g b and g a, summed back over what each side was repeated along.
        Source: candle-core/src/tensor.rs, broadcast_mul.

        >>> import cafe
        >>> cafe.Tensor([[1.0], [2.0]]).broadcast_mul(cafe.Tensor([10.0, 20.0])).tolist()
        [[10.0, 20.0], [20.0, 40.0]]
        """
        return broadcasting(_MUL, "broadcast_mul", self, rhs)

    def broadcast_div(self, rhs: Tensor) -> Tensor:
        """`div` for shapes that broadcast.

        Shape: (…), (…) → broadcast, dims matched from the last.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp; Error on an integer division by zero.
        Gradient: g / b and −g a / b², summed back over what each side was repeated along.
        Source: candle-core/src/tensor.rs, broadcast_div.

        >>> import cafe
        >>> cafe.Tensor([[1.0], [2.0]]).broadcast_div(cafe.Tensor([1.0, 4.0])).tolist()
        [[1.0, 0.25], [2.0, 0.5]]
        """
        return broadcasting(_DIV, "broadcast_div", self, rhs)

    def broadcast_maximum(self, rhs: Tensor) -> Tensor:
        """`maximum` for shapes that broadcast.

        Shape: (…), (…) → broadcast, dims matched from the last.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g to the larger, half each at a tie, summed back over what each side was repeated along.
        Source: candle-core/src/tensor.rs, broadcast_maximum.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 5.0], [4.0, 2.0]]).broadcast_maximum(cafe.Tensor(3.0)).tolist()
        [[3.0, 5.0], [4.0, 3.0]]
        """
        return broadcasting(_MAXIMUM, "broadcast_maximum", self, rhs)

    def broadcast_minimum(self, rhs: Tensor) -> Tensor:
        """`minimum` for shapes that broadcast.

        Shape: (…), (…) → broadcast, dims matched from the last.
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: g to the smaller, half each at a tie, summed back over what each side was repeated along.
        Source: candle-core/src/tensor.rs, broadcast_minimum.

        >>> import cafe
        >>> cafe.Tensor([[1.0, 5.0], [4.0, 2.0]]).broadcast_minimum(cafe.Tensor(3.0)).tolist()
        [[1.0, 3.0], [3.0, 2.0]]
        """
        return broadcasting(_MINIMUM, "broadcast_minimum", self, rhs)

    def broadcast_pow(self, rhs: Tensor) -> Tensor:
        """`pow` for shapes that broadcast.

        Shape: (…), (…) → broadcast, dims matched from the last.
        Raises: UnsupportedDTypeForOp for integers, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        Gradient: as `pow`, summed back over what each side was repeated along.
        Source: candle-core/src/tensor.rs, broadcast_pow.

        >>> import cafe
        >>> cafe.Tensor([[2.0], [3.0]]).broadcast_pow(cafe.Tensor([1.0, 2.0])).tolist()
        [[2.0, 4.0], [3.0, 9.0]]
        """
        check_float("pow", self._data)
        return broadcasting(_POW, "broadcast_pow", self, rhs)

    # -- operators: with a tensor of one shape and dtype, an ndarray of these, or a number

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
            return apply(_SUB, constant(self, lhs, "sub"), self)
        return apply(unary.Affine(-1.0, real("sub", lhs)), self)

    def __mul__(self, rhs: Any) -> Tensor:
        return self._operate(_MUL, "mul", rhs)

    def __rmul__(self, lhs: Any) -> Tensor:
        return self._with_number(_MUL, "mul", lhs) if is_number(lhs) else self._reflect(_MUL, "mul", lhs)

    def __truediv__(self, rhs: Any) -> Tensor:
        return self._operate(_DIV, "div", rhs)

    def __rtruediv__(self, lhs: Any) -> Tensor:
        if is_number(lhs):
            return self._exactly("div", lhs, lambda x: apply(_DIV, constant(x, lhs, "div"), x))
        return self._reflect(_DIV, "div", lhs)

    def __pow__(self, rhs: Any) -> Tensor:
        if is_number(rhs):
            return self.powf(rhs)  # type: ignore[attr-defined, no-any-return]
        other = as_tensor(rhs)
        return unanswered("pow", rhs) if other is None else self.pow(other)

    def __rpow__(self, lhs: Any) -> Tensor:
        check_float("pow", self._data)
        if is_number(lhs):
            return self._wide(lambda x: apply(_POW, constant(x, lhs, "pow"), x))
        return self._reflect(_POW, "pow", lhs)

    def _operate(self, op: Op, name: str, rhs: Any) -> Tensor:
        if isinstance(rhs, Base):
            return strict(op, name, self, rhs)
        if type(rhs) is float or is_number(rhs):
            return self._with_number(op, name, rhs)
        other = as_tensor(rhs)
        return unanswered(name, rhs) if other is None else strict(op, name, self, other)

    def _with_number(self, op: Op, name: str, number: Any) -> Tensor:
        dtype = self._data.dtype
        if op is _DIV or (dtype is not _F32 and dtype.kind in "iu"):  # a division divides; integers stay integers
            return self._exactly(name, number, lambda x: apply(op, x, constant(x, number, name)))
        value = number if type(number) is float else real(name, number)
        if op is _MUL:
            return apply(unary.Affine(value, 0.0), self)
        return apply(unary.Affine(1.0, value if op is _ADD else -value), self)

    def _exactly(self, name: str, number: Any, compute: Callable[[Any], Tensor]) -> Tensor:
        """`_wide`, which of F16 and BF16 that have the number as it is the kernels do by themselves; for what keeps its operands alone."""
        dtype = self._data.dtype
        if is_half(dtype) and float(rounded(np.asarray(real(name, number)), dtype)) == number:
            return compute(self)
        return self._wide(compute)

    def _wide(self, compute: Callable[[Any], Tensor]) -> Tensor:
        """What is computed of this with a number: of F16 and BF16 in F32, whose range and digits the number may need, and rounded once."""
        if not is_half(self._data.dtype):
            return compute(self)
        return compute(self.to_dtype(DType.F32)).to_dtype(self.dtype)  # type: ignore[attr-defined]

    def _reflect(self, op: Op, name: str, lhs: Any) -> Tensor:
        other = as_tensor(lhs)
        return unanswered(name, lhs) if other is None else strict(op, name, other, self)
