"""Attention over channels and places, in three sizes: squeeze-and-excitation, ECA and CBAM. Each scales its input by numbers in (0, 1).

block = SqueezeExcitation(64, 16, vb.pp("se"))
ys = block(xs)                                   # (B, 64, H, W) → the same
"""

from __future__ import annotations

import math

import cafe
from cafe import Tensor
from cafe.nn import Conv1dConfig, Conv2dConfig, Module, VarBuilder, conv1d_no_bias, conv2d_no_bias, linear, linear_no_bias, ops


def check_channels(xs: Tensor, channels: int) -> None:
    """Raises Error unless xs is (B, channels, H, W)."""
    _, c, _, _ = xs.dims4()
    if c != channels:
        cafe.bail(f"expected {channels} channels, got {c}")


def reduced(channels: int, reduction: int) -> int:
    """channels / reduction, which has to be whole."""
    if reduction < 1 or channels % reduction:
        cafe.bail(f"channels {channels} must be divisible by reduction {reduction}")
    return channels // reduction


class SqueezeExcitation(Module):
    """Each channel's mean goes through two small layers and becomes its gate.

    2 C² / r weights and C / r + C biases. Hu, Shen, Sun, "Squeeze-and-Excitation Networks" (2018).
    """

    def __init__(self, channels: int, reduction: int, vb: VarBuilder) -> None:
        middle = reduced(channels, reduction)
        self.channels = channels
        self.fc1, self.fc2 = linear(channels, middle, vb.pp("fc1")), linear(middle, channels, vb.pp("fc2"))

    def gate(self, xs: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C)."""
        check_channels(xs, self.channels)
        return ops.sigmoid(self.fc2(self.fc1(xs.mean((2, 3))).relu()))

    def forward(self, xs: Tensor) -> Tensor:
        return xs.broadcast_mul(self.gate(xs).unsqueeze(2).unsqueeze(3))


class EfficientChannelAttention(Module):
    """Each channel's gate depends on the means of its k neighbours: one convolution along the channels.

    k weights, where k is the odd number next to (log₂ C + 1) / 2. Wang and others, "ECA-Net" (2020).
    """

    def __init__(self, channels: int, vb: VarBuilder) -> None:
        near = int(abs(math.log2(channels) + 1.0) / 2.0)
        self.channels, self.kernel = channels, near if near % 2 else near + 1
        self.conv = conv1d_no_bias(1, 1, self.kernel, Conv1dConfig(padding=self.kernel // 2), vb.pp("conv"))

    def gate(self, xs: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C)."""
        check_channels(xs, self.channels)
        return ops.sigmoid(self.conv(xs.mean((2, 3)).unsqueeze(1)).squeeze(1))

    def forward(self, xs: Tensor) -> Tensor:
        return xs.broadcast_mul(self.gate(xs).unsqueeze(2).unsqueeze(3))


class ChannelGate(Module):
    """CBAM's first half: mean and maximum of each channel go through the same two layers and are added. 2 C² / r weights."""

    def __init__(self, channels: int, reduction: int, vb: VarBuilder) -> None:
        middle = reduced(channels, reduction)
        self.channels = channels
        self.fc1, self.fc2 = linear_no_bias(channels, middle, vb.pp("fc1")), linear_no_bias(middle, channels, vb.pp("fc2"))

    def forward(self, xs: Tensor) -> Tensor:
        check_channels(xs, self.channels)
        pooled = [xs.global_avg_pool(), xs.global_max_pool()]
        mean, largest = (self.fc2(self.fc1(p.flatten_from(1)).relu()) for p in pooled)
        return xs.broadcast_mul(ops.sigmoid(mean + largest).unsqueeze(2).unsqueeze(3))


class SpatialGate(Module):
    """CBAM's second half: mean and maximum over the channels, seen through a k × k window, gate each place. 2 k² weights."""

    def __init__(self, kernel: int, vb: VarBuilder) -> None:
        self.conv = conv2d_no_bias(2, 1, kernel, Conv2dConfig(padding=kernel // 2), vb.pp("conv"))

    def forward(self, xs: Tensor) -> Tensor:
        seen = Tensor.cat([xs.mean_keepdim(1), xs.max_keepdim(1)], 1)
        return xs.broadcast_mul(ops.sigmoid(self.conv(seen)))


class Cbam(Module):
    """What matters, then where. 2 C² / r + 2 k² weights. Woo, Park, Lee, Kweon, "CBAM" (2018)."""

    def __init__(self, channels: int, reduction: int, vb: VarBuilder, kernel: int = 7) -> None:
        self.channel = ChannelGate(channels, reduction, vb.pp("channel"))
        self.spatial = SpatialGate(kernel, vb.pp("spatial"))

    def forward(self, xs: Tensor) -> Tensor:
        return self.spatial(self.channel(xs))
