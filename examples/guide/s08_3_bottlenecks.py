"""8.3 Two blocks that shrink or widen the channels by 1×1 convolutions around a 3×3 one.
ResNet's goes narrow in the middle, MobileNetV2's goes wide and works on each channel alone.
"""

from __future__ import annotations

import cafe
from cafe import DType, Tensor
from cafe.nn import Conv2dConfig, Module, VarBuilder, VarMap, conv2d

cafe.manual_seed(42)


class Bottleneck(Module):
    """ResNet: 256 → 64 (1×1) → 64 (3×3) → 256 (1×1), plus the input."""

    def __init__(self, vb: VarBuilder) -> None:
        self.reduce = conv2d(256, 64, 1, Conv2dConfig(), vb.pp("reduce"))
        self.process = conv2d(64, 64, 3, Conv2dConfig(padding=1), vb.pp("process"))
        self.expand = conv2d(64, 256, 1, Conv2dConfig(), vb.pp("expand"))

    def forward(self, x: Tensor) -> Tensor:
        h = self.reduce(x).relu()
        h = self.process(h).relu()
        return (self.expand(h) + x).relu()


class InvertedResidual(Module):
    """MobileNetV2: 32 → 192 (1×1) → 192 (3×3, a filter for each channel) → 32 (1×1, linear), plus the input."""

    def __init__(self, vb: VarBuilder) -> None:
        self.expand = conv2d(32, 192, 1, Conv2dConfig(), vb.pp("expand"))
        self.depthwise = conv2d(192, 192, 3, Conv2dConfig(padding=1, groups=192), vb.pp("depthwise"))
        self.project = conv2d(192, 32, 1, Conv2dConfig(), vb.pp("project"))

    def forward(self, x: Tensor) -> Tensor:
        h = self.expand(x).clamp(0.0, 6.0)  # ReLU6
        h = self.depthwise(h).clamp(0.0, 6.0)
        return self.project(h) + x


def count(varmap: VarMap, prefix: str) -> int:
    return sum(var.elem_count() for name, var in varmap.data().items() if name.startswith(prefix))


varmap = VarMap()
vb = VarBuilder.from_varmap(varmap, DType.F32)
resnet = Bottleneck(vb.pp("resnet"))
mobile = InvertedResidual(vb.pp("mobile"))
plain = conv2d(256, 256, 3, Conv2dConfig(padding=1), vb.pp("plain"))

x = Tensor.randn(0.0, 1.0, (1, 256, 56, 56))
print(f"resnet bottleneck : {x.dims()} -> {resnet(x).dims()}, {count(varmap, 'resnet')} parameters")
print(f"plain 3x3 256->256: {count(varmap, 'plain')} parameters")
x = Tensor.randn(0.0, 1.0, (1, 32, 56, 56))
depthwise = f"(depthwise weight {mobile.depthwise.weight.dims()})"
print(f"inverted residual : {x.dims()} -> {mobile(x).dims()}, {count(varmap, 'mobile')} parameters {depthwise}")
