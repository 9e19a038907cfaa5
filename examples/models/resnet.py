"""Residual networks for small pictures: 6 n + 2 layers, three widths, identities across every two of them.

    net = resnet(20, vb)                             # 269,722 parameters
    logits = net.forward_t(xs, train=True)           # (B, 3, 32, 32) → (B, 10)

He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition" (2016), section 4.2: where the width doubles, the identity takes every
second place and is filled up with channels of zeros, so that it has no weights.
"""

from __future__ import annotations

import cafe
from cafe import Tensor
from cafe.nn import Conv2dConfig, ModuleT, VarBuilder, batch_norm, conv2d_no_bias, linear


class NormedConv(ModuleT):
    """A 3 × 3 convolution and a batch norm: (B, in, H, W) → (B, out, H / stride, W / stride)."""

    def __init__(self, inputs: int, outputs: int, stride: int, vb: VarBuilder) -> None:
        self.conv = conv2d_no_bias(inputs, outputs, 3, Conv2dConfig(padding=1, stride=stride), vb.pp("conv"))
        self.norm = batch_norm(outputs, 1e-5, vb.pp("norm"))

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        return self.norm.forward_t(self.conv(xs), train)


class Residual(ModuleT):
    """Two of them, and the input added: what they learn is the difference."""

    def __init__(self, inputs: int, outputs: int, stride: int, vb: VarBuilder) -> None:
        self.first, self.second = NormedConv(inputs, outputs, stride, vb.pp("first")), NormedConv(outputs, outputs, 1, vb.pp("second"))
        self.stride, self.more = stride, outputs - inputs

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        learnt = self.second.forward_t(self.first.forward_t(xs, train).relu(), train)
        return (learnt + self.identity(xs)).relu()

    def identity(self, xs: Tensor) -> Tensor:
        if self.stride > 1:
            xs = xs[:, :, :: self.stride, :: self.stride]
        return xs.pad_with_zeros(1, self.more // 2, self.more - self.more // 2) if self.more else xs


class ResNet(ModuleT):
    """A first convolution, three stages of n residual pairs (16, 32, 64 channels), the mean of each channel, a linear layer."""

    def __init__(self, pairs: int, classes: int, vb: VarBuilder, inputs: int = 3, width: int = 16) -> None:
        self.stem = NormedConv(inputs, width, 1, vb.pp("stem"))
        self.blocks = []
        before = width
        for stage, channels in enumerate((width, 2 * width, 4 * width)):
            for i in range(pairs):
                stride = 2 if stage > 0 and i == 0 else 1
                self.blocks.append(Residual(before, channels, stride, vb.pp(f"stage_{stage}").pp(i)))
                before = channels
        self.head = linear(before, classes, vb.pp("head"))

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        xs = self.stem.forward_t(xs, train).relu()
        for block in self.blocks:
            xs = block.forward_t(xs, train)
        return self.head(xs.global_avg_pool().flatten_from(1))


def resnet(layers: int, vb: VarBuilder, classes: int = 10, inputs: int = 3) -> ResNet:
    """The network with so many layers: 20, 32, 44, 56, 110 in the paper."""
    if layers < 8 or layers % 6 != 2:
        cafe.bail(f"layers {layers} must be 6 n + 2")
    return ResNet((layers - 2) // 6, classes, vb, inputs)
