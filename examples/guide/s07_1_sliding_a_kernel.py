"""7.1 A convolution slides the kernel over the input; nothing is flipped.
1, 10, 100 on 1, 2, 3 gives 1 + 20 + 300.
"""

from __future__ import annotations

from rust import rust_debug

from cafe import Tensor

x = Tensor([[[[1.0, 2.0, 3.0, 4.0]]]])  # (batch, channels, height, width)
k = Tensor([[[[1.0, 10.0, 100.0]]]])  # (out, in, kernel height, kernel width)
y = x.conv2d(k, padding=0, stride=1, dilation=1, groups=1)
print(f"{x.dims()} -> {y.dims()}: {rust_debug(y.flatten_all().to_vec1())}")
