"""Convolution layers: a weight, a bias and a configuration over the methods of Tensor (floor 6).

cfg = Conv2dConfig(padding=1)
layer = conv2d(3, 64, 3, cfg, vb.pp("c1"))        # in, out, kernel size, configuration, names
layer(x)                                          # (N, 3, H, W) → (N, 64, H, W)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cafe import tape
from cafe.dtype import DType
from cafe.errors import Error
from cafe.kernels.conv import Geometry
from cafe.ops import conv as rules
from cafe.ops.base import Op
from cafe.shape import per_axis, whole
from cafe.tensor._conv import Padding, PerAxis, convolve, convolve_transpose
from cafe.tensor.core import Tensor

from .activation import Activation
from .building import builds
from .habits import called
from .init import DEFAULT_KAIMING_NORMAL, Init
from .module import Module
from .norm import BatchNorm, absorbed
from .var_builder import VarBuilder


@called
@dataclass(frozen=True)
class Conv1dConfig:
    """How a Conv1d walks. `padding` may be "same"; `padding_mode` (zeros, reflect, replicate, circular) is cafe's own, and not printed.

    >>> Conv1dConfig(padding=1, stride=2)
    Conv1dConfig(padding=1, stride=2, dilation=1, groups=1, cudnn_fwd_algo=None)
    """

    padding: Padding = 0
    stride: PerAxis = 1
    dilation: PerAxis = 1
    groups: int = 1
    cudnn_fwd_algo: Any = None
    padding_mode: str = field(default="zeros", repr=False)


@called
@dataclass(frozen=True)
class Conv2dConfig:
    """How a Conv2d walks: an int for both axes, or one an axis. `padding` may be "same"; `padding_mode` as in Conv1dConfig."""

    padding: Padding = 0
    stride: PerAxis = 1
    dilation: PerAxis = 1
    groups: int = 1
    cudnn_fwd_algo: Any = None
    padding_mode: str = field(default="zeros", repr=False)


@called
@dataclass(frozen=True)
class ConvTranspose1dConfig:
    """How a ConvTranspose1d walks."""

    padding: PerAxis = 0
    output_padding: PerAxis = 0
    stride: PerAxis = 1
    dilation: PerAxis = 1
    groups: int = 1


@called
@dataclass(frozen=True)
class ConvTranspose2dConfig:
    """How a ConvTranspose2d walks: an int for both axes, or one an axis. `groups` is cafe's own, and not printed."""

    padding: PerAxis = 0
    output_padding: PerAxis = 0
    stride: PerAxis = 1
    dilation: PerAxis = 1
    groups: int = field(default=1, repr=False)


class _Layer(Module):
    """A weight, a bias or None, a configuration."""

    __slots__ = ("bias", "config", "weight")
    _config: ClassVar[Any]

    @builds
    def __init__(self, weight: Tensor, bias: Tensor | None = None, config: Any = None) -> None:
        self.weight = weight
        self.bias = bias
        if config is not None and not isinstance(config, self._config):
            raise TypeError(f"{type(self).__name__}: expected {self._config.__name__}, found {type(config).__name__}")
        self.config = self._config() if config is None else config

    def __repr__(self) -> str:
        return f"{type(self).__name__}(weight {self.weight.dims()}{'' if self.bias is not None else ', no bias'}, {self.config!r})"


class _Conv(_Layer):
    """What Conv1d and Conv2d do alike."""

    __slots__ = ()
    _axes: ClassVar[int]

    def forward(self, xs: Tensor) -> Tensor:
        """w ∗ xs + b."""
        return self._convolved(xs, rules.Conv, ())

    def normed(self, xs: Tensor, bn: BatchNorm, activation: Activation | None = None) -> Tensor:
        """The batch norm in use of this layer of xs, and the activation of that, to the same bits: in one op where nothing is recorded,
        with the norm and ReLU applied to each block of outputs while it is in the nearest caches.

        `Sequential` asks for it by itself where the layers follow each other, in use.

        Shape: as the layer's.
        Raises: as the layers themselves.

        >>> from cafe import Tensor, nn
        >>> layer, bn = nn.Conv1d(Tensor([[[1.0, -1.0]]])), nn.BatchNorm(1, Tensor([1.0]), Tensor([4.0]), eps=0.0)
        >>> layer.normed(Tensor([[[5.0, 2.0, 4.0]]]), bn, nn.Activation.Relu).tolist()
        [[[1.0, 0.0]]]
        """
        if not self._is_one_with(bn, xs):
            ys = bn.forward_t(self(xs), False)
            return ys if activation is None else activation(ys)
        then = "relu" if activation == Activation.Relu else ""
        mean, var, biased = bn.running_mean.as_detached_tensor(), bn.running_var.as_detached_tensor(), self.bias is not None
        ys = self._convolved(xs, lambda g: rules.ConvNorm(g, bn.eps, then, biased), (mean, var, *(bn.weight_and_bias() or ())))
        return ys if then or activation is None else activation(ys)

    def _convolved(self, xs: Tensor, rule: Callable[[Geometry], Op], more: Sequence[Tensor]) -> Tensor:
        c = self.config
        return convolve(self._axes, xs, self.weight, self.bias, c.padding, c.stride, c.dilation, c.groups, c.padding_mode, rule, more)

    def _is_one_with(self, bn: BatchNorm, xs: Tensor) -> bool:
        """Whether one op does all that this layer and the norm do: they are just these two, of one F32 or F64, and nothing is recorded."""
        if not isinstance(xs, Tensor) or type(self).forward is not _Conv.forward or type(bn).forward_t is not BatchNorm.forward_t:
            return False
        ours = [self.weight, *([] if self.bias is None else [self.bias]), *(bn.weight_and_bias() or ())]
        dtypes = {t.dtype for t in (xs, bn.running_mean, bn.running_var, *ours)}
        return (
            dtypes <= {DType.F32, DType.F64}
            and len(dtypes) == 1
            and bn.running_mean.shape == self.weight.shape[:1]
            and not tape.records(xs, *ours)
        )


class Conv1d(_Conv):
    """y = w ∗ x + b over one axis, in one op; see `Tensor.conv1d`.

    Shape: x (N, C, L), weight (O, C / groups, k), bias (O) → (N, O, L').
    Raises: what `Tensor.conv1d` raises; ShapeMismatchBinaryOp for a bias that is not (O).
    Source: candle-nn/src/conv.rs, Conv1d.

    >>> from cafe import Tensor, nn
    >>> layer = nn.Conv1d(Tensor([[[1.0, -1.0]]]), Tensor([0.5]), nn.Conv1dConfig(stride=2))
    >>> layer(Tensor([[[5.0, 2.0, 4.0, 3.0]]])).tolist()
    [[[3.5, 1.5]]]
    """

    __slots__ = ()
    _axes, _config = 1, Conv1dConfig

    def absorb_bn(self, bn: BatchNorm) -> Conv1d:
        """A layer that does what this one and then the batch norm in use do.

        Raises: Error for a batch norm without weight and bias.
        """
        return Conv1d(*absorbed(bn, self.weight, self.bias, 0), self.config)


class Conv2d(_Conv):
    """y = w ∗ x + b over two axes, in one op; see `Tensor.conv2d`.

    Shape: x (N, C, H, W), weight (O, C / groups, kh, kw), bias (O) → (N, O, H', W').
    Raises: what `Tensor.conv2d` raises; ShapeMismatchBinaryOp for a bias that is not (O).
    Source: candle-nn/src/conv.rs, Conv2d.
    """

    __slots__ = ()
    _axes, _config = 2, Conv2dConfig

    def absorb_bn(self, bn: BatchNorm) -> Conv2d:
        """A layer that does what this one and then the batch norm in use do.

        Raises: Error for a batch norm without weight and bias.
        """
        return Conv2d(*absorbed(bn, self.weight, self.bias, 0), self.config)


class ConvTranspose1d(_Layer):
    """The adjoint of a Conv1d, and a bias; see `Tensor.conv_transpose1d`.

    Shape: x (N, C, L), weight (C, O / groups, k), bias (O) → (N, O, L').
    Source: candle-nn/src/conv.rs, ConvTranspose1d.
    """

    __slots__ = ()
    _config = ConvTranspose1dConfig

    def forward(self, xs: Tensor) -> Tensor:
        """w ∗ᵀ xs + b."""
        c = self.config
        return _biased(convolve_transpose(1, xs, self.weight, c.padding, c.output_padding, c.stride, c.dilation, c.groups), self.bias)

    def absorb_bn(self, bn: BatchNorm) -> ConvTranspose1d:
        """A layer that does what this one and then the batch norm in use do.

        Raises: Error for a batch norm without weight and bias.
        """
        return ConvTranspose1d(*absorbed(bn, self.weight, self.bias, 1, self.config.groups), self.config)


class ConvTranspose2d(_Layer):
    """The adjoint of a Conv2d, and a bias; see `Tensor.conv_transpose2d`.

    Shape: x (N, C, H, W), weight (C, O / groups, kh, kw), bias (O) → (N, O, H', W').
    Source: candle-nn/src/conv.rs, ConvTranspose2d.
    """

    __slots__ = ()
    _config = ConvTranspose2dConfig

    def forward(self, xs: Tensor) -> Tensor:
        """w ∗ᵀ xs + b."""
        c = self.config
        return _biased(convolve_transpose(2, xs, self.weight, c.padding, c.output_padding, c.stride, c.dilation, c.groups), self.bias)

    def absorb_bn(self, bn: BatchNorm) -> ConvTranspose2d:
        """A layer that does what this one and then the batch norm in use do.

        Raises: Error for a batch norm without weight and bias.
        """
        return ConvTranspose2d(*absorbed(bn, self.weight, self.bias, 1, self.config.groups), self.config)


def _biased(ys: Tensor, bias: Tensor | None) -> Tensor:
    return ys if bias is None else ys.broadcast_add(bias.reshape((1, bias.dims1(), *(1,) * (ys.rank - 2))))


@builds
def conv1d(in_channels: int, out_channels: int, kernel_size: int, cfg: Conv1dConfig, vb: VarBuilder) -> Conv1d:
    """A Conv1d with `weight` (out, in / groups, k), normal with deviation √(2 / fan in), and `bias` (out), uniform in ± 1/√in.

    Raises: Error unless groups divides the channels.
    Source: candle-nn/src/conv.rs, conv1d; the bias's bound counts channels, not the kernel's places, as candle's does.

    >>> from cafe.nn import Conv1dConfig, VarBuilder, VarMap, conv1d
    >>> varmap = VarMap()
    >>> layer = conv1d(4, 8, 3, Conv1dConfig(groups=2), VarBuilder.from_varmap(varmap).pp("c"))
    >>> [(name, v.dims()) for name, v in varmap.data().items()]
    [('c.weight', [8, 2, 3]), ('c.bias', [8])]
    """
    weight = _weight("conv1d", in_channels, out_channels, kernel_size, 1, cfg.groups, vb)
    return Conv1d(weight, _bias(in_channels, out_channels, vb), cfg)


@builds
def conv1d_no_bias(in_channels: int, out_channels: int, kernel_size: int, cfg: Conv1dConfig, vb: VarBuilder) -> Conv1d:
    """`conv1d` with the variable `weight` alone.

    Source: candle-nn/src/conv.rs, conv1d_no_bias.
    """
    return Conv1d(_weight("conv1d", in_channels, out_channels, kernel_size, 1, cfg.groups, vb), None, cfg)


@builds
def conv2d(in_channels: int, out_channels: int, kernel_size: PerAxis, cfg: Conv2dConfig, vb: VarBuilder) -> Conv2d:
    """A Conv2d with `weight` (out, in / groups, k, k), normal with deviation √(2 / fan in), and `bias` (out), uniform in ± 1/√in.

    kernel_size: an int, or one an axis.

    Raises: Error unless groups divides the channels.
    Source: candle-nn/src/conv.rs, conv2d; the bias's bound counts channels, not the kernel's places, as candle's does.
    """
    weight = _weight("conv2d", in_channels, out_channels, kernel_size, 2, cfg.groups, vb)
    return Conv2d(weight, _bias(in_channels, out_channels, vb), cfg)


@builds
def conv2d_no_bias(in_channels: int, out_channels: int, kernel_size: PerAxis, cfg: Conv2dConfig, vb: VarBuilder) -> Conv2d:
    """`conv2d` with the variable `weight` alone.

    Source: candle-nn/src/conv.rs, conv2d_no_bias.
    """
    return Conv2d(_weight("conv2d", in_channels, out_channels, kernel_size, 2, cfg.groups, vb), None, cfg)


@builds
def conv_transpose1d(
    in_channels: int, out_channels: int, kernel_size: int, cfg: ConvTranspose1dConfig, vb: VarBuilder
) -> ConvTranspose1d:
    """A ConvTranspose1d with `weight` (in, out / groups, k) and `bias` (out), both uniform in ± 1/√(out · k).

    Raises: Error unless groups divides the channels.
    Source: candle-nn/src/conv.rs, conv_transpose1d.
    """
    weight, init = _transposed_weight("conv_transpose1d", in_channels, out_channels, kernel_size, 1, cfg.groups, vb)
    return ConvTranspose1d(weight, vb.get_with_hints(out_channels, "bias", init), cfg)


@builds
def conv_transpose1d_no_bias(
    in_channels: int, out_channels: int, kernel_size: int, cfg: ConvTranspose1dConfig, vb: VarBuilder
) -> ConvTranspose1d:
    """`conv_transpose1d` with the variable `weight` alone.

    Source: candle-nn/src/conv.rs, conv_transpose1d_no_bias.
    """
    weight, _ = _transposed_weight("conv_transpose1d", in_channels, out_channels, kernel_size, 1, cfg.groups, vb)
    return ConvTranspose1d(weight, None, cfg)


@builds
def conv_transpose2d(
    in_channels: int, out_channels: int, kernel_size: PerAxis, cfg: ConvTranspose2dConfig, vb: VarBuilder
) -> ConvTranspose2d:
    """A ConvTranspose2d with `weight` (in, out / groups, k, k) and `bias` (out), both uniform in ± 1/√(out · k²).

    Raises: Error unless groups divides the channels.
    Source: candle-nn/src/conv.rs, conv_transpose2d.
    """
    weight, init = _transposed_weight("conv_transpose2d", in_channels, out_channels, kernel_size, 2, cfg.groups, vb)
    return ConvTranspose2d(weight, vb.get_with_hints(out_channels, "bias", init), cfg)


@builds
def conv_transpose2d_no_bias(
    in_channels: int, out_channels: int, kernel_size: PerAxis, cfg: ConvTranspose2dConfig, vb: VarBuilder
) -> ConvTranspose2d:
    """`conv_transpose2d` with the variable `weight` alone.

    Source: candle-nn/src/conv.rs, conv_transpose2d_no_bias.
    """
    weight, _ = _transposed_weight("conv_transpose2d", in_channels, out_channels, kernel_size, 2, cfg.groups, vb)
    return ConvTranspose2d(weight, None, cfg)


def check_groups(name: str, in_channels: int, out_channels: int, groups: int) -> None:
    """Raises Error unless the groups divide the channels."""
    if whole(name, "groups", groups) < 1 or in_channels % groups or out_channels % groups:
        raise Error(f"{name}: groups {groups} must divide the channels, in {in_channels} and out {out_channels}")


def _weight(name: str, in_channels: int, out_channels: int, kernel_size: PerAxis, axes: int, groups: int, vb: VarBuilder) -> Tensor:
    check_groups(name, in_channels, out_channels, groups)
    kernel = per_axis(name, axes, "kernel_size", kernel_size, 1)
    return vb.get_with_hints((out_channels, in_channels // groups, *kernel), "weight", DEFAULT_KAIMING_NORMAL)


def _bias(in_channels: int, out_channels: int, vb: VarBuilder) -> Tensor:
    bound = 1.0 / math.sqrt(in_channels) if in_channels else 0.0
    return vb.get_with_hints(out_channels, "bias", Init.Uniform(-bound, bound))


def _transposed_weight(
    name: str, in_channels: int, out_channels: int, kernel_size: PerAxis, axes: int, groups: int, vb: VarBuilder
) -> tuple[Tensor, Init]:
    """The weight, and how the bias starts too."""
    check_groups(name, in_channels, out_channels, groups)
    kernel = per_axis(name, axes, "kernel_size", kernel_size, 1)
    fan = out_channels * math.prod(kernel)
    bound = 1.0 / math.sqrt(fan) if fan else 0.0
    init = Init.Uniform(-bound, bound)
    return vb.get_with_hints((in_channels, out_channels // groups, *kernel), "weight", init), init
