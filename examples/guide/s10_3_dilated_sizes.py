"""10.3 The output size of a dilated convolution, by formula and by running it.
Padding as large as the dilation keeps the size of a 3×3 one.
"""

from __future__ import annotations

from cafe import Tensor


def out_len(length: int, k: int, d: int, p: int, s: int) -> int:
    return (length + 2 * p - d * (k - 1) - 1) // s + 1


w = Tensor.ones((1, 1, 3, 3))
print("L_in  d  p  s | formula candle")
for length, d, p, s in [(128, 1, 1, 1), (128, 2, 2, 1), (128, 2, 1, 1), (128, 4, 4, 1), (32, 4, 4, 2), (32, 4, 3, 2), (33, 4, 4, 2)]:
    x = Tensor.ones((1, 1, length, length))
    y = x.conv2d(w, padding=p, stride=s, dilation=d, groups=1)
    print(f"{length:>4} {d:>2} {p:>2} {s:>2} | {out_len(length, 3, d, p, s):>7} {y.dims()}")
