"""Methods that act on each element alone (floor 4). The activations have a module of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never, cast

from cafe.dtype import DType, DTypeLike, as_dtype, check_float, dtype_of
from cafe.errors import Error, UnsupportedDTypeForOp
from cafe.habits import NEEDED
from cafe.ops import unary as ops
from cafe.shape import whole

from .base import Base, apply
from .convert import number_for, real
from .habits import wrong

if TYPE_CHECKING:
    from .core import Tensor

_F32 = DType.F32.numpy
_MOST_DECIMALS = {DType.F16: 4, DType.BF16: 38, DType.F32: 38, DType.F64: 308}  # 10 to the power of more is no such float


class UnaryMethods(Base):
    """Elementwise functions of one tensor. Those of floats refuse integers by name; none has a case for shapes."""

    __slots__ = ()

    def _float_unary(self, name: str) -> Tensor:
        if self._data.dtype is not _F32:
            check_float(name, self._data)
        return apply(ops.BY_NAME[name], self)

    # -- signs

    def neg(self) -> Tensor:
        """The negative of each element, `-t`: y = −x. Signed integers too.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for U8 and U32, which have no negatives.
        Gradient: −g.
        Source: candle-core/src/op.rs, Neg.

        >>> import cafe
        >>> cafe.Tensor([1.0, -2.0]).neg().tolist()
        [-1.0, 2.0]
        """
        if self._data.dtype.kind == "u":
            raise UnsupportedDTypeForOp(self.dtype, "neg")
        return apply(ops.BY_NAME["neg"], self)

    def abs(self) -> Tensor:
        """The magnitude of each element, `abs(t)`: y = |x|. Integers too.

        Shape: any → the same.
        Gradient: g · sign(x), 0 at 0 (candle gives +1 there).
        Source: candle-core/src/op.rs, Abs.

        >>> import cafe
        >>> x = cafe.Var([-3.0, 0.0, 2.0])
        >>> x.abs().tolist(), x.abs().sum_all().backward()[x].tolist()
        ([3.0, 0.0, 2.0], [-1.0, 0.0, 1.0])
        """
        return apply(ops.BY_NAME["abs"], self)

    def sign(self) -> Tensor:
        """−1, 0 or 1 by the sign of each element; NaN stays. Integers too.

        Shape: any → the same.
        Gradient: none, it is a step.
        Source: candle-core/src/op.rs, Sign.

        >>> import cafe
        >>> cafe.Tensor([-3.0, 0.0, 2.0]).sign().tolist()
        [-1.0, 0.0, 1.0]
        """
        return apply(ops.BY_NAME["sign"], self)

    # -- powers and roots

    def sqr(self) -> Tensor:
        """The square of each element: y = x². Integers too, which wrap.

        Shape: any → the same.
        Gradient: 2 g x.
        Source: candle-core/src/op.rs, Sqr.

        >>> import cafe
        >>> x = cafe.Var([3.0, -1.0])
        >>> x.sqr().tolist(), x.sqr().sum_all().backward()[x].tolist()
        ([9.0, 1.0], [6.0, -2.0])
        """
        return apply(ops.BY_NAME["sqr"], self)

    def sqrt(self) -> Tensor:
        """The square root of each element: y = √x; NaN below 0.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g / (2 y), infinite at 0 as IEEE has it; `norm` has a gradient of 0 there.
        Source: candle-core/src/op.rs, Sqrt.

        >>> import cafe
        >>> cafe.Tensor([4.0, 2.25, 0.0]).sqrt().tolist()
        [2.0, 1.5, 0.0]
        """
        return self._float_unary("sqrt")

    def recip(self) -> Tensor:
        """The reciprocal of each element: y = 1 / x; infinite at 0.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: −g y².
        Source: candle-core/src/op.rs, Recip.

        >>> import cafe
        >>> cafe.Tensor([4.0, -0.5]).recip().tolist()
        [0.25, -2.0]
        """
        return self._float_unary("recip")

    def powf(self, e: float) -> Tensor:
        """Each element to the power of one number, `t ** e`: y = x^e. 0^0 is 1; a negative base takes whole exponents.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g e x^(e−1), and 0 for e = 0 at x = 0 too (candle gives NaN there).
        Source: candle-core/src/tensor.rs, powf.

        >>> import cafe
        >>> x = cafe.Var([4.0, 0.0])
        >>> x.powf(1.5).tolist(), (x**0).sum_all().backward()[x].tolist()
        ([8.0, 0.0], [0.0, 0.0])
        """
        check_float("powf", self._data)
        return apply(ops.Powf(real("powf", e)), self)

    # -- exponentials and waves

    def exp(self) -> Tensor:
        """e to the power of each element: y = eˣ.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g y.
        Source: candle-core/src/op.rs, Exp.

        >>> import cafe
        >>> print(cafe.Tensor([0.0, 1.0]).exp())
        [1.0000, 2.7183]
        Tensor[[2], f32]
        """
        return self._float_unary("exp")

    def log(self) -> Tensor:
        """The natural logarithm of each element: y = ln x; −inf at 0, NaN below.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g / x.
        Source: candle-core/src/op.rs, Log.

        >>> import cafe
        >>> cafe.Tensor([1.0, 0.0]).log().tolist()
        [0.0, -inf]
        """
        return self._float_unary("log")

    def sin(self) -> Tensor:
        """The sine of each element, in radians: y = sin x.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g cos x.
        Source: candle-core/src/op.rs, Sin.

        >>> import cafe
        >>> print(cafe.Tensor([0.0, 1.0]).sin())
        [0.0000, 0.8415]
        Tensor[[2], f32]
        """
        return self._float_unary("sin")

    def cos(self) -> Tensor:
        """The cosine of each element, in radians: y = cos x.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: −g sin x.
        Source: candle-core/src/op.rs, Cos.

        >>> import cafe
        >>> print(cafe.Tensor([0.0, 1.0]).cos())
        [1.0000, 0.5403]
        Tensor[[2], f32]
        """
        return self._float_unary("cos")

    def erf(self) -> Tensor:
        """The error function of each element: y = 2/√π ∫₀ˣ e^(−t²) dt.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g · 2/√π · e^(−x²).
        Source: candle-core/src/op.rs, Erf.

        >>> import cafe
        >>> print(cafe.Tensor([0.0, 1.0, -9.0]).erf())
        [ 0.0000,  0.8427, -1.0000]
        Tensor[[3], f32]
        """
        return self._float_unary("erf")

    # -- whole numbers

    def floor(self) -> Tensor:
        """The largest whole number at most each element. Integers stay.

        Shape: any → the same.
        Gradient: none, it is a step.
        Source: candle-core/src/op.rs, Floor.

        >>> import cafe
        >>> cafe.Tensor([1.5, -1.5]).floor().tolist()
        [1.0, -2.0]
        """
        return apply(ops.BY_NAME["floor"], self)

    def ceil(self) -> Tensor:
        """The smallest whole number at least each element. Integers stay.

        Shape: any → the same.
        Gradient: none, it is a step.
        Source: candle-core/src/op.rs, Ceil.

        >>> import cafe
        >>> cafe.Tensor([1.5, -1.5]).ceil().tolist()
        [2.0, -1.0]
        """
        return apply(ops.BY_NAME["ceil"], self)

    def round(self, *more: Never, **others: Never) -> Tensor:
        """The whole number nearest to each element, halves away from zero. Integers stay.

        Shape: any → the same.
        Gradient: none, it is a step.
        Source: candle-core/src/op.rs, Round.

        >>> import cafe
        >>> cafe.Tensor([0.5, 1.5, -2.5]).round().tolist()
        [1.0, 2.0, -3.0]
        """
        if more or others:
            raise wrong("round", others)
        return apply(ops.BY_NAME["round"], self)

    def round_to(self, decimals: int) -> Tensor:
        """Each element with so many decimals (negative: whole tens, hundreds …), halves away from zero.

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers, Error for so many decimals that the dtype has no such power of ten.
        Gradient: none, it is a step.
        Source: candle-core/src/tensor.rs, round_to.

        >>> import cafe
        >>> cafe.Tensor([2.345, 1234.5], "f64").round_to(1).tolist(), cafe.Tensor([1234.5]).round_to(-2).tolist()
        ([2.3, 1234.5], [1200.0])
        """
        check_float("round_to", self._data)
        most = _MOST_DECIMALS[self.dtype]
        if abs(whole("round_to", "decimals", decimals)) > most:
            raise Error(f"round_to: decimals of {self.dtype!r} are at most {most}, got {decimals}")
        factor, x = 10.0 ** abs(decimals), cast(Any, self.detach())
        # dividing gives the float nearest to the decimal number, where candle's product with 10^−decimals is an ulp off
        # adding −0 leaves a zero its sign
        return x.affine(factor, -0.0).round() / factor if decimals >= 0 else (x / factor).round().affine(factor, -0.0)  # type: ignore[no-any-return]

    # -- with numbers

    def affine(self, mul: float, add: float) -> Tensor:
        """Each element times one number plus another: y = x · mul + add, rounded after each, both numbers first rounded to the dtype.

        Shape: any → the same.
        Raises: Error when an integer tensor meets a number that is no integer, IntegerOverflow for one that does not fit.
        Gradient: g · mul, so zeros for mul = 0 (candle gives no gradient at all there).
        Source: candle-core/src/tensor.rs, affine.

        >>> import cafe
        >>> x = cafe.Var([1.0, 2.0])
        >>> x.affine(3.0, 0.5).tolist(), x.affine(0.0, 1.0).sum_all().backward()[x].tolist()
        ([3.5, 6.5], [0.0, 0.0])
        """
        mul, add = number_for(self._data, mul, "affine"), number_for(self._data, add, "affine")
        return apply(ops.Affine(mul, add), self)

    def clamp(self, low: float | Tensor = NEEDED, high: float | Tensor = NEEDED, *more: Never, **others: Never) -> Tensor:
        """Each element held between low and high, numbers or tensors of this shape; NaN stays. Integers too.

        Shape: any → the same.
        Raises: Error when low > high, and for a number that an integer tensor cannot hold.
        Gradient: g inside and at the bounds (candle halves it there), 0 outside. With tensors: as `maximum` and `minimum`.
        Source: candle-core/src/tensor.rs, clamp.

        >>> import cafe
        >>> x = cafe.Var([-2.0, 0.5, 1.0, 3.0])
        >>> x.clamp(0.0, 1.0).tolist(), x.clamp(0.0, 1.0).sum_all().backward()[x].tolist()
        ([0.0, 0.5, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0])
        """
        if high is NEEDED or more or others:
            raise wrong("clamp", others)
        if isinstance(low, Base) or isinstance(high, Base):
            return self.maximum(low).minimum(high)  # type: ignore[attr-defined, no-any-return]
        low, high = number_for(self._data, low, "clamp"), number_for(self._data, high, "clamp")
        if not low <= high:  # a NaN is no bound either
            raise Error(f"clamp: low must be at most high, got {low} > {high}")
        return apply(ops.Clamp(low, high), self)

    # -- dtypes

    def to_dtype(self, dtype: DTypeLike) -> Tensor:
        """The same numbers under another dtype; the tensor itself if it has that one.

        To a float: rounded to nearest, ties to even. From float to integer: truncated, held at the bounds, NaN gives 0. From integer
        to integer: wraps.

        Shape: any → the same.
        Raises: DTypeParse, UnsupportedDTypeForOp for what is no dtype of cafe.
        Gradient: g in the old dtype, between floats; none to or from integers.
        Source: candle-core/src/tensor.rs, to_dtype.

        >>> import cafe
        >>> cafe.Tensor([1.9, -1.9, 300.0]).to_dtype("u8").tolist(), cafe.Tensor([300]).to_dtype("u8").tolist()
        ([1, 0, 255], [44])
        """
        target = as_dtype(dtype)
        if target is self.dtype:
            return self  # type: ignore[return-value]
        return apply(ops.Cast(target.numpy, target.is_float and dtype_of(self._data).is_float), self)

    def detach(self) -> Tensor:
        """The same storage outside the graph."""
        raise NotImplementedError  # given by the facade's core, named here for the families that use it

    def __neg__(self) -> Tensor:
        return self.neg()

    def __pos__(self) -> Tensor:
        return self  # type: ignore[return-value]

    def __abs__(self) -> Tensor:
        return self.abs()
