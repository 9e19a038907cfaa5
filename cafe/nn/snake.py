"""Snake, an activation for what repeats: sound, seasons (floor 6)."""

from __future__ import annotations

from cafe.tensor.core import Tensor

from .building import builds
from .init import Init
from .module import Module
from .var_builder import VarBuilder


class Snake1d(Module):
    """y = x + sin²(α x) / (α + 10⁻⁹), with an α for each channel: the higher, the faster what repeats.

    Shape: x (N, C, …), alpha (1, C, 1) → x's.
    Gradient: g (1 + sin(2 α x)) in x, about; in α by the chain rule.
    Source: Ziyin et al., "Neural Networks Fail to Learn Periodic Functions and How to Fix It", 2020; candle-transformers, dac.rs, Snake1d.

    >>> from cafe import Tensor, nn
    >>> y = nn.Snake1d(Tensor.ones((1, 1, 1)))(Tensor([[[0.0, 1.0]]]))
    >>> [round(v, 4) for v in y.flatten_all().tolist()]
    [0.0, 1.7081]
    """

    __slots__ = ("alpha",)

    @builds
    def __init__(self, alpha: Tensor) -> None:
        self.alpha = alpha

    def forward(self, xs: Tensor) -> Tensor:
        """xs + sin²(α xs) / (α + 10⁻⁹)."""
        flat = xs.flatten_from(2)
        wave = flat.broadcast_mul(self.alpha).sin().sqr()
        return (flat + wave.broadcast_mul((self.alpha + 1e-9).recip())).reshape(xs.shape)

    def __repr__(self) -> str:
        return f"Snake1d({self.alpha.dim(1)})"


@builds
def snake1d(channels: int, vb: VarBuilder) -> Snake1d:
    """A Snake1d with the variable `alpha` (1, channels, 1), which starts at 1.

    Source: candle-transformers, dac.rs, Snake1d::new.

    >>> from cafe.nn import VarBuilder, VarMap, snake1d
    >>> varmap = VarMap()
    >>> snake1d(8, VarBuilder.from_varmap(varmap)), [v.dims() for v in varmap.all_vars()]
    (Snake1d(8), [[1, 8, 1]])
    """
    return Snake1d(vb.get_with_hints((1, channels, 1), "alpha", Init.Const(1.0)))
