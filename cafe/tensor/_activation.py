"""The activations that are methods in candle; the others are functions of `cafe.nn.ops` (floor 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cafe.dtype import check_float
from cafe.ops import unary as ops

from .base import Base, apply
from .convert import real

if TYPE_CHECKING:
    from .core import Tensor


class ActivationMethods(Base):
    """Elementwise functions between a layer and the next. All but `relu` are of floats."""

    __slots__ = ()

    def relu(self) -> Tensor:
        """What is positive of each element: y = max(x, 0); NaN stays. Integers too.

        Shape: any → the same.
        Gradient: g where x > 0, and 0 at 0 (candle gives 1 there).
        Source: candle-core/src/op.rs, Relu.

        >>> import cafe
        >>> x = cafe.Var([-1.0, 0.0, 2.0])
        >>> x.relu().tolist(), x.relu().sum_all().backward()[x].tolist()
        ([0.0, 0.0, 2.0], [0.0, 0.0, 1.0])
        """
        return apply(ops.BY_NAME["relu"], self)

    def tanh(self) -> Tensor:
        """The hyperbolic tangent of each element: y = (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ).

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g (1 − y²); of F16 and BF16 with y before it is rounded (with `create_graph` after).
        Source: candle-core/src/op.rs, Tanh.

        >>> import cafe
        >>> print(cafe.Tensor([0.0, 1.0, -50.0]).tanh())
        [ 0.0000,  0.7616, -1.0000]
        Tensor[[3], f32]
        """
        check_float("tanh", self._data)
        return apply(ops.BY_NAME["tanh"], self)

    def silu(self) -> Tensor:
        """Each element times its sigmoid: y = x / (1 + e⁻ˣ).

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g s (1 + x (1 − s)) with s = sigmoid(x).
        Source: candle-core/src/op.rs, Silu; Elfwing et al., "Sigmoid-weighted linear units" (2017).

        >>> import cafe
        >>> print(cafe.Tensor([0.0, 1.0]).silu())
        [0.0000, 0.7311]
        Tensor[[2], f32]
        """
        check_float("silu", self._data)
        return apply(ops.BY_NAME["silu"], self)

    def gelu(self) -> Tensor:
        """The GELU by its tanh form, as candle's `gelu`: y = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))).

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: exact (candle's has constants of six digits).
        Source: candle-core/src/op.rs, Gelu; Hendrycks and Gimpel, "Gaussian error linear units" (2016).

        >>> import cafe
        >>> print(cafe.Tensor([0.0, 1.0]).gelu())
        [0.0000, 0.8412]
        Tensor[[2], f32]
        """
        check_float("gelu", self._data)
        return apply(ops.BY_NAME["gelu"], self)

    def gelu_erf(self) -> Tensor:
        """The GELU itself: y = x Φ(x) = ½ x (1 + erf(x / √2)).

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g (Φ(x) + x φ(x)), the normal distribution's cumulative and density.
        Source: candle-core/src/op.rs, GeluErf.

        >>> import cafe
        >>> print(cafe.Tensor([0.0, 1.0]).gelu_erf())
        [0.0000, 0.8413]
        Tensor[[2], f32]
        """
        check_float("gelu_erf", self._data)
        return apply(ops.BY_NAME["gelu_erf"], self)

    def elu(self, alpha: float = 1.0) -> Tensor:
        """Each element where it is positive, elsewhere an exponential that ends at −alpha: y = x, or alpha (eˣ − 1).

        Shape: any → the same.
        Raises: UnsupportedDTypeForOp for integers.
        Gradient: g where x > 0, g alpha eˣ elsewhere, so alpha at 0, as candle.
        Source: candle-core/src/tensor.rs, elu; Clevert et al., "Exponential linear units" (2015).

        >>> import cafe
        >>> x = cafe.Var([0.0, 2.0])
        >>> x.elu(0.5).tolist(), x.elu(0.5).sum_all().backward()[x].tolist()
        ([0.0, 2.0], [0.5, 1.0])
        """
        check_float("elu", self._data)
        return apply(ops.Elu(real("elu", alpha)), self)
