"""Weight normalisation: a kernel as a length and a direction, each a variable of its own (floor 6).

    layer = conv1d_weight_norm(128, 256, 3, Conv1dConfig(padding=1), vb.pp("conv"))
    layer(x)                     # the weight is made of weight_g and weight_v in every call, so both are trained
"""

from __future__ import annotations

import math
from typing import Any

from cafe.shape import per_axis
from cafe.tensor._conv import PerAxis
from cafe.tensor.base import check_tensors
from cafe.tensor.core import Tensor

from .building import builds
from .conv import Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, check_groups
from .init import DEFAULT_KAIMING_NORMAL, Init
from .module import Module
from .var_builder import VarBuilder


def weight_norm(g: Tensor, v: Tensor) -> Tensor:
    """w = g v / ‖v‖, with a norm over all dims but the first: an output's weights have length |g| and v's direction.

    Shape: g (O, 1, …), v (O, …) → (O, …).
    Gradient: in g that of w along v / ‖v‖; in v the part of g/‖v‖ times that of w which is orthogonal to v. NaN where an output's v is
    zero, which has no direction.
    Source: Salimans and Kingma, "Weight Normalization", 2016.

    >>> from cafe import Tensor, nn
    >>> nn.weight_norm(Tensor([[[2.0]]]), Tensor([[[3.0, 4.0]]])).tolist()
    [[[1.2000000476837158, 1.600000023841858]]]
    """
    check_tensors("weight_norm", g, v)
    norm = v.sqr().sum_keepdim(tuple(range(1, v.rank))).sqrt()
    return v.broadcast_mul(g).broadcast_div(norm)


class WeightNorm(Module):
    """A convolution whose weight is `weight_norm(weight_g, weight_v)`, made anew in every call.

    kind: `Conv1d`, `Conv2d`, or what else takes a weight, a bias and a configuration.

    Shape: weight_g (O, 1, …), weight_v (O, C / groups, …), bias (O).
    """

    __slots__ = ("bias", "config", "kind", "weight_g", "weight_v")

    @builds
    def __init__(self, kind: type[Any], weight_g: Tensor, weight_v: Tensor, bias: Tensor | None = None, config: Any = None) -> None:
        self.kind = kind
        self.weight_g = weight_g
        self.weight_v = weight_v
        self.bias = bias
        self.config = config

    @property
    def weight(self) -> Tensor:
        """g v / ‖v‖, as it is now."""
        return weight_norm(self.weight_g, self.weight_v)

    def plain(self) -> Any:
        """The layer with the weight as it is now: no product and norm in each call, and no training of the two."""
        return self.kind(self.weight.detach(), self.bias, self.config)

    def forward(self, xs: Tensor) -> Tensor:
        """The convolution with the weight as it is now."""
        out: Tensor = self.kind(self.weight, self.bias, self.config)(xs)
        return out

    def __repr__(self) -> str:
        return f"WeightNorm({self.kind(self.weight_v, self.bias, self.config)!r})"


@builds
def conv1d_weight_norm(
    in_channels: int, out_channels: int, kernel_size: int, cfg: Conv1dConfig, vb: VarBuilder, bias: bool = True
) -> Conv1d | WeightNorm:
    """A Conv1d with the variables `weight_g` (out, 1, 1), `weight_v` (out, in / groups, k) and, with `bias`, `bias` (out).

    Where the builder has a plain `weight`, the layer is a plain Conv1d of it. New variables start so that the weight is as large as that of
    `conv1d`: v is normal, every g is √2, the length that a row of a Kaiming weight has on average.

    Source: candle-transformers, encodec.rs and dac.rs, conv1d_weight_norm.

    >>> from cafe.nn import Conv1dConfig, VarBuilder, VarMap, conv1d_weight_norm
    >>> varmap = VarMap()
    >>> layer = conv1d_weight_norm(4, 8, 3, Conv1dConfig(), VarBuilder.from_varmap(varmap))
    >>> [(name, v.dims()) for name, v in varmap.data().items()]
    [('weight_g', [8, 1, 1]), ('weight_v', [8, 4, 3]), ('bias', [8])]
    """
    check_groups("conv1d_weight_norm", in_channels, out_channels, cfg.groups)
    return _build(Conv1d, (out_channels, in_channels // cfg.groups, kernel_size), in_channels, cfg, vb, bias)  # type: ignore[no-any-return]


@builds
def conv2d_weight_norm(
    in_channels: int, out_channels: int, kernel_size: PerAxis, cfg: Conv2dConfig, vb: VarBuilder, bias: bool = True
) -> Conv2d | WeightNorm:
    """A Conv2d with the variables `weight_g` (out, 1, 1, 1), `weight_v` (out, in / groups, k, k) and, with `bias`, `bias` (out).

    As `conv1d_weight_norm`, over two axes; the kernel is an int or one an axis.
    """
    check_groups("conv2d_weight_norm", in_channels, out_channels, cfg.groups)
    sizes = per_axis("conv2d_weight_norm", 2, "kernel_size", kernel_size, 1)
    return _build(Conv2d, (out_channels, in_channels // cfg.groups, *sizes), in_channels, cfg, vb, bias)  # type: ignore[no-any-return]


def _build(kind: type[Any], shape: tuple[int, ...], in_channels: int, cfg: Any, vb: VarBuilder, bias: bool) -> Any:
    """The plain layer where there is a plain weight, else the normalised one."""
    bound = 1.0 / math.sqrt(in_channels) if in_channels else 0.0
    if vb.contains_tensor("weight"):
        weight = vb.get(shape, "weight")
        return kind(weight, vb.get_with_hints(shape[0], "bias", Init.Uniform(-bound, bound)) if bias else None, cfg)
    g = vb.get_with_hints((shape[0], *(1,) * (len(shape) - 1)), "weight_g", Init.Const(math.sqrt(2.0)))
    v = vb.get_with_hints(shape, "weight_v", DEFAULT_KAIMING_NORMAL)
    return WeightNorm(kind, g, v, vb.get_with_hints(shape[0], "bias", Init.Uniform(-bound, bound)) if bias else None, cfg)
