"""9.1 A grouped convolution is several smaller ones side by side, bit for bit.
With a group for each channel it is called depthwise; a 1×1 convolution then mixes the channels.
"""

from __future__ import annotations

from rust import rust_display, unwrap_err

import cafe
from cafe import Tensor

cafe.manual_seed(42)


def same(a: Tensor, b: Tensor) -> str:
    return rust_display((a - b).abs().max_all().to_scalar() == 0.0)


def conv(x: Tensor, w: Tensor, groups: int = 1) -> Tensor:
    return x.conv2d(w, padding=1, stride=1, dilation=1, groups=groups)


x = Tensor.randn(0.0, 1.0, (1, 4, 5, 5))

w = Tensor.randn(0.0, 1.0, (4, 2, 3, 3))  # (out, in / 2, 3, 3)
grouped = conv(x, w, groups=2)
halves = [conv(x.narrow(1, i, 2), w.narrow(0, i, 2)) for i in (0, 2)]
print(f"grouped {grouped.dims()}, equals per-group convolutions: {same(grouped, Tensor.cat(halves, 1))}")
full_depth = Tensor.randn(0.0, 1.0, (4, 4, 3, 3))
print(f"full-depth weight with groups 2: {unwrap_err(conv, x, full_depth, groups=2)}")

wd = Tensor.randn(0.0, 1.0, (4, 1, 3, 3))
depthwise = conv(x, wd, groups=4)
channel_2 = conv(x.narrow(1, 2, 1), wd.narrow(0, 2, 1))
equal = same(depthwise.narrow(1, 2, 1), channel_2)
print(f"depthwise {depthwise.dims()}, channel 2 equals a single-channel convolution: {equal}")

wp = Tensor.randn(0.0, 1.0, (8, 4, 1, 1))  # mixes the 4 channels into 8
print(f"separable output {depthwise.conv2d(wp, padding=0, stride=1, dilation=1, groups=1).dims()}")
