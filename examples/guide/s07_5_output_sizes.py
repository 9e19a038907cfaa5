"""7.5 How large the output of a transposed convolution is, by formula and by running it.
The weight's layout is (in, out, kernel height, kernel width).
"""

from __future__ import annotations

import cafe
from cafe import DType, Tensor
from cafe.nn import ConvTranspose2dConfig, VarBuilder, VarMap, conv_transpose2d

cafe.manual_seed(42)


def out_size(h: int, s: int, p: int, d: int, k: int, op: int) -> int:
    return (h - 1) * s + d * (k - 1) + op + 1 - 2 * p


print("H_in stride pad k out_pad | formula candle")
for h, s, p, k, op in [(2, 1, 0, 3, 0), (2, 2, 0, 3, 0), (2, 2, 1, 4, 0), (2, 2, 0, 3, 1), (7, 2, 1, 3, 1)]:
    x = Tensor.ones((1, 1, h, h))
    kernel = Tensor.ones((1, 1, k, k))
    y = x.conv_transpose2d(kernel, padding=p, output_padding=op, stride=s, dilation=1)
    print(f"{h:>4} {s:>6} {p:>3} {k} {op:>7} | {out_size(h, s, p, 1, k, op):>7} {y.dims()}")

vb = VarBuilder.from_varmap(VarMap(), DType.F32)
up = conv_transpose2d(2, 3, 3, ConvTranspose2dConfig(stride=2, padding=1, output_padding=1), vb.pp("up"))
print(f"weight layout (in, out, kh, kw): {up.weight.dims()}")
print(f"(1,2,8,8) -> {up(Tensor.ones((1, 2, 8, 8))).dims()}")
