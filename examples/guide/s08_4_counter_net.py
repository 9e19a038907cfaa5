"""8.4 A small network for counter photos: 3×3 and 1×1 convolutions, a mean over all pixels, ten classes.
The mean makes it take photos of any size.
"""

from __future__ import annotations

import math

from rust import rust_display

import cafe
from cafe import D, DType, Tensor
from cafe.nn import Conv2dConfig, Module, VarBuilder, VarMap, conv2d, loss

cafe.manual_seed(42)


class CounterNet(Module):
    def __init__(self, vb: VarBuilder) -> None:
        k3, k1 = Conv2dConfig(padding=1), Conv2dConfig()
        self.c1 = conv2d(3, 64, 3, k3, vb.pp("c1"))
        self.reduce = conv2d(64, 32, 1, k1, vb.pp("reduce"))
        self.c2 = conv2d(32, 64, 3, k3, vb.pp("c2"))
        self.expand = conv2d(64, 128, 1, k1, vb.pp("expand"))
        self.classify = conv2d(128, 10, 1, k1, vb.pp("classify"))

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.c1, self.reduce, self.c2, self.expand):
            x = layer(x).relu()
        pooled = x.mean_keepdim(D.Minus2).mean_keepdim(D.Minus1)  # (batch, 128, 1, 1)
        return self.classify(pooled).squeeze(3).squeeze(2)


varmap = VarMap()
net = CounterNet(VarBuilder.from_varmap(varmap, DType.F32))
photos = Tensor.randn(0.0, 1.0, (4, 3, 32, 32))
labels = Tensor([2, 5, 1, 9], dtype=DType.U32)
logits = net(photos)
error = loss.cross_entropy(logits, labels).to_scalar()
print(f"{photos.dims()} -> logits {logits.dims()}; loss is finite: {rust_display(math.isfinite(error))}")
print(f"parameters: {sum(var.elem_count() for var in varmap.all_vars())}")
