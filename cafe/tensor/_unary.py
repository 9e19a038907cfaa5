"""Methods that act on each element alone (floor 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cafe.dtype import DTypeLike, as_dtype, check_float, dtype_of
from cafe.errors import Error, UnsupportedDTypeForOp
from cafe.ops import unary as ops

from .base import Base, apply
from .convert import number_for

if TYPE_CHECKING:
    from .core import Tensor


class UnaryMethods(Base):
    """Elementwise functions of one tensor."""

    __slots__ = ()

    def _float_unary(self, name: str) -> Tensor:
        check_float(name, self._data)
        return apply(ops.BY_NAME[name], self)

    def _signed_unary(self, name: str) -> Tensor:
        if self._data.dtype.kind == "u":
            raise UnsupportedDTypeForOp(self.dtype, name)
        return apply(ops.BY_NAME[name], self)

    def neg(self) -> Tensor:
        """−x. Gradient: −g. Signed integers too."""
        return self._signed_unary("neg")

    def abs(self) -> Tensor:
        """|x|. Gradient: g · sign(x), 0 at 0. Integers too."""
        return apply(ops.BY_NAME["abs"], self)

    def sign(self) -> Tensor:
        """−1, 0 or 1. No gradient. Integers too."""
        return apply(ops.BY_NAME["sign"], self)

    def sqr(self) -> Tensor:
        """x². Gradient: 2 g x. Integers too."""
        return apply(ops.BY_NAME["sqr"], self)

    def sqrt(self) -> Tensor:
        """√x. Gradient: g / (2 √x), infinite at 0 as in IEEE."""
        return self._float_unary("sqrt")

    def recip(self) -> Tensor:
        """1 / x. Gradient: −g / x²."""
        return self._float_unary("recip")

    def exp(self) -> Tensor:
        """eˣ. Gradient: g eˣ."""
        return self._float_unary("exp")

    def log(self) -> Tensor:
        """ln x. Gradient: g / x."""
        return self._float_unary("log")

    def sin(self) -> Tensor:
        """sin x. Gradient: g cos x."""
        return self._float_unary("sin")

    def cos(self) -> Tensor:
        """cos x. Gradient: −g sin x."""
        return self._float_unary("cos")

    def tanh(self) -> Tensor:
        """tanh x. Gradient: g (1 − tanh² x)."""
        return self._float_unary("tanh")

    def erf(self) -> Tensor:
        """The error function. Gradient: g · 2/√π · e^(−x²)."""
        return self._float_unary("erf")

    def relu(self) -> Tensor:
        """max(x, 0). Gradient: g where x > 0, 0 at 0 (candle gives 1 there). Integers too."""
        return apply(ops.BY_NAME["relu"], self)

    def gelu(self) -> Tensor:
        """½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), the tanh form. Gradient: exact, where candle uses six digits."""
        return self._float_unary("gelu")

    def gelu_erf(self) -> Tensor:
        """½ x (1 + erf(x/√2)), the exact form. Gradient: g (Φ(x) + x φ(x))."""
        return self._float_unary("gelu_erf")

    def silu(self) -> Tensor:
        """x · sigmoid(x). Gradient: g s (1 + x (1 − s))."""
        return self._float_unary("silu")

    def elu(self, alpha: float = 1.0) -> Tensor:
        """x where x > 0, alpha (eˣ − 1) elsewhere. Gradient: g where x > 0, g alpha eˣ elsewhere, so alpha at 0."""
        check_float("elu", self._data)
        return apply(ops.Elu(float(alpha)), self)

    def powf(self, e: float) -> Tensor:
        """x^e for a number e; 0^0 is 1. Gradient: g e x^(e−1), 0 for e = 0."""
        check_float("powf", self._data)
        return apply(ops.Powf(float(e)), self)

    def floor(self) -> Tensor:
        """The largest whole number at most x. No gradient."""
        return apply(ops.BY_NAME["floor"], self)

    def ceil(self) -> Tensor:
        """The smallest whole number at least x. No gradient."""
        return apply(ops.BY_NAME["ceil"], self)

    def round(self) -> Tensor:
        """The nearest whole number, halves away from zero. No gradient."""
        return apply(ops.BY_NAME["round"], self)

    def round_to(self, decimals: int) -> Tensor:
        """Rounded to so many decimals (negative: to tens, hundreds …), halves away from zero. No gradient."""
        check_float("round_to", self._data)
        return self.affine(10.0**decimals, 0.0).round().affine(10.0**-decimals, 0.0).detach()

    def affine(self, mul: float, add: float) -> Tensor:
        """x · mul + add. Gradient: g · mul (zeros for mul = 0).

        Raises: Error when an integer tensor meets a number that is no integer.
        """
        mul, add = number_for(self._data, mul, "affine"), number_for(self._data, add, "affine")
        return apply(ops.Affine(mul, add), self)

    def clamp(self, low: float | Tensor, high: float | Tensor) -> Tensor:
        """x held between low and high, numbers or tensors. Gradient: g inside and at the bounds, 0 outside.

        Raises: Error when low > high or for a number an integer tensor cannot hold.
        """
        if isinstance(low, Base) or isinstance(high, Base):
            return self.maximum(low).minimum(high)  # type: ignore[attr-defined, no-any-return]
        low, high = number_for(self._data, low, "clamp"), number_for(self._data, high, "clamp")
        if low > high:
            raise Error(f"clamp: low must be at most high, got {low} > {high}")
        return apply(ops.Clamp(low, high), self)

    def detach(self) -> Tensor:
        """The same storage outside the graph: no gradient passes."""
        raise NotImplementedError  # given by the facade's core, named here for the families that use it

    def to_dtype(self, dtype: DTypeLike) -> Tensor:
        """Under another dtype; itself if it has that one. To integers: truncated, held at the bounds, NaN gives 0.

        Gradient: g in the old dtype, between floats; none to or from integers.
        """
        target = as_dtype(dtype)
        if target is self.dtype:
            return self  # type: ignore[return-value]
        return apply(ops.Cast(target.numpy, target.is_float and dtype_of(self._data).is_float), self)

    def __neg__(self) -> Tensor:
        return self.neg()

    def __pos__(self) -> Tensor:
        return self  # type: ignore[return-value]

    def __abs__(self) -> Tensor:
        return self.abs()


