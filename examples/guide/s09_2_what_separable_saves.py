"""9.2 What a depthwise convolution followed by a 1×1 one saves against a standard one.
The ratio tends to 1/N + 1/k².
"""

from __future__ import annotations

k, c_in, c_out = 3, 32, 64
standard = k * k * c_in * c_out
depthwise = k * k * c_in
pointwise = c_in * c_out
print(f"3x3, {c_in} -> {c_out} channels, no biases:")
print(f"  standard   {standard}")
print(f"  depthwise  {depthwise} + pointwise {pointwise} = {depthwise + pointwise}")
print(f"  ratio      {standard / (depthwise + pointwise):.2f}x fewer;  1/N + 1/k² = {1 / c_out + 1 / (k * k):.4f}")
