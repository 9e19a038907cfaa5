"""8.1 A 1×1 convolution is a linear layer on the channels of each pixel.
By hand: pixels as rows, a matrix product, and back.
"""

from __future__ import annotations

from rust import rust_debug, rust_display

import cafe
from cafe import DType, Tensor
from cafe.nn import Conv2dConfig, VarBuilder, VarMap, conv2d

cafe.manual_seed(42)

vb = VarBuilder.from_varmap(VarMap(), DType.F32)
mix = conv2d(64, 128, 1, Conv2dConfig(padding=0, stride=1, dilation=1, groups=1), vb.pp("mix"))

x = Tensor.randn(0.0, 1.0, (1, 64, 32, 32))
y = mix(x)
parameters = mix.weight.elem_count() + mix.bias.elem_count()
print(f"{x.dims()} -> {y.dims()}; weight {mix.weight.dims()}; parameters {parameters}")

b, c, h, w = x.dims4()
pixels = x.permute((0, 2, 3, 1)).reshape((b * h * w, c))
per_pixel = pixels.matmul(mix.weight.reshape((128, 64)).t()).broadcast_add(mix.bias)
per_pixel = per_pixel.reshape((b, h, w, 128)).permute((0, 3, 1, 2))
difference = (per_pixel - y).abs().max_all().to_scalar()
print(f"same as a per-pixel Linear: {rust_display(difference < 1e-5)}")
print(f"default config: {rust_debug(Conv2dConfig())}")
