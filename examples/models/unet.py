"""A U-Net: down to a small plane with many channels, up again, and at each height the way down is handed across.

    net = UNet(1, 2, vb)                             # one channel in, two classes
    logits = net(xs)                                 # (B, 1, H, W) → (B, 2, H, W), H and W multiples of 2 ** depth

Ronneberger, Fischer, Brox, "U-Net" (2015). Its convolutions are unpadded and its skips cropped; here they are padded, so that what comes
out has the size of what went in. The weights are the same: 31,030,658 with 64 channels at the top, four halvings and two classes.
"""

from __future__ import annotations

import cafe
from cafe import Tensor
from cafe.nn import Conv2dConfig, ConvTranspose2dConfig, Module, VarBuilder, conv2d, conv_transpose2d


class TwoConvs(Module):
    """Two 3 × 3 convolutions, each with a ReLU: (B, in, H, W) → (B, out, H, W)."""

    def __init__(self, inputs: int, outputs: int, vb: VarBuilder) -> None:
        same = Conv2dConfig(padding=1)
        self.first, self.second = conv2d(inputs, outputs, 3, same, vb.pp("conv1")), conv2d(outputs, outputs, 3, same, vb.pp("conv2"))

    def forward(self, xs: Tensor) -> Tensor:
        return self.second(self.first(xs).relu()).relu()


class Up(Module):
    """Doubles the plane, puts what was handed across beside it, and looks at both: (B, 2 C, H, W), (B, C, 2 H, 2 W) → (B, C, 2 H, 2 W)."""

    def __init__(self, channels: int, vb: VarBuilder) -> None:
        self.double = conv_transpose2d(2 * channels, channels, 2, ConvTranspose2dConfig(stride=2), vb.pp("up"))
        self.convs = TwoConvs(2 * channels, channels, vb.pp("convs"))

    def join(self, xs: Tensor, skip: Tensor) -> Tensor:
        return self.convs(Tensor.cat([skip, self.double(xs)], 1))


class UNet(Module):
    """Down `depth` times, up again: (B, in, H, W) → (B, classes, H, W)."""

    def __init__(self, inputs: int, classes: int, vb: VarBuilder, channels: int = 64, depth: int = 4) -> None:
        widths = [channels * 2**i for i in range(depth + 1)]
        self.depth = depth
        self.down = [TwoConvs(a, b, vb.pp(f"down_{i}")) for i, (a, b) in enumerate(zip([inputs, *widths], widths))]
        self.up = [Up(widths[i], vb.pp(f"up_{i}")) for i in reversed(range(depth))]
        self.head = conv2d(channels, classes, 1, Conv2dConfig(), vb.pp("head"))

    def forward(self, xs: Tensor) -> Tensor:
        _, _, h, w = xs.dims4()
        if h % 2**self.depth or w % 2**self.depth:
            cafe.bail(f"height {h} and width {w} must be divisible by {2**self.depth}")
        skips = []
        for stage in self.down[:-1]:
            xs = stage(xs)
            skips.append(xs)
            xs = xs.max_pool2d(2)
        xs = self.down[-1](xs)
        for stage, skip in zip(self.up, reversed(skips)):
            xs = stage.join(xs, skip)
        return self.head(xs)
