"""Weight standardisation: a convolution whose weights are normalised before each use (floor 6)."""

from __future__ import annotations

from math import prod

from cafe.dtype import check_float
from cafe.errors import bail, show
from cafe.ops.norm import LayerNorm
from cafe.tensor.base import apply, check_tensors
from cafe.tensor.core import Tensor

from .building import builds
from .conv import Conv2d, Conv2dConfig, conv2d
from .ops import check_eps
from .var_builder import VarBuilder


def standardize(weight: Tensor, eps: float = 1e-5) -> Tensor:
    """(w − mean) / √(var + eps) for each output's weights by themselves.

    Shape: (out, in, …) → the same.
    Raises: Error for a rank below 2; UnsupportedDTypeForOp for integers.
    Gradient: as that of the formula, through mean and variance.
    Source: Qiao, Wang, Liu, Shen, Yuille, "Micro-Batch Training with Batch-Channel Normalization and Weight Standardization" (2019).

    >>> from cafe import Tensor
    >>> standardize(Tensor([[1.0, 3.0], [5.0, 5.0]]), 0.25).tolist() == [[-(0.8**0.5), 0.8**0.5], [0.0, 0.0]]
    False
    """
    check_tensors("standardize", weight)
    if weight.rank < 2:
        bail(f"standardize: a weight has outputs and inputs, got shape {show(weight.shape)}")
    check_float("standardize", weight._data)
    rows = weight.reshape((weight.dim(0), prod(weight.shape[1:])))
    return apply(LayerNorm(check_eps("standardize", eps)), rows).reshape(weight.shape)


class StdConv2d(Conv2d):
    """A Conv2d that uses its weight standardised; what it learns and saves is the weight as it is.

    Shape: as Conv2d.
    """

    __slots__ = ("eps",)

    @builds
    def __init__(self, weight: Tensor, bias: Tensor | None = None, config: Conv2dConfig | None = None, eps: float = 1e-5) -> None:
        super().__init__(weight, bias, config)
        self.eps = check_eps("standardize", eps)

    def fixed(self) -> Conv2d:
        """A Conv2d with the standardised weight, for use after training."""
        return Conv2d(standardize(self.weight, self.eps), self.bias, self.config)

    def forward(self, xs: Tensor) -> Tensor:
        """standardize(w) ∗ xs + b."""
        return self.fixed().forward(xs)


@builds
def std_conv2d(in_channels: int, out_channels: int, kernel_size: int, cfg: Conv2dConfig, vb: VarBuilder, eps: float = 1e-5) -> StdConv2d:
    """A StdConv2d with the variables of `conv2d`."""
    made = conv2d(in_channels, out_channels, kernel_size, cfg, vb)
    return StdConv2d(made.weight, made.bias, made.config, eps)
