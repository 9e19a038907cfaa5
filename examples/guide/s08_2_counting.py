"""8.2 What a 1×1 convolution saves, in parameters and in multiplications.
It costs a ninth of a 3×3 one.
"""

from __future__ import annotations


def params(k: int, c_in: int, c_out: int) -> int:
    return k * k * c_in * c_out + c_out


print(f"{'channels':>12} {'1x1':>10} {'3x3':>10} {'5x5':>12}")
for c_in, c_out in [(3, 2), (512, 64), (256, 256)]:
    counts = [params(k, c_in, c_out) for k in (1, 3, 5)]
    print(f"{f'{c_in}->{c_out}':>12} {counts[0]:>10} {counts[1]:>10} {counts[2]:>12}")
h, w = 32, 32
print(f"multiply-adds on a 32x32 map, 64->128: 1x1 {h * w * 64 * 128} vs 3x3 {h * w * 9 * 64 * 128}")
