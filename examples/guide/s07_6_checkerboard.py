"""7.6 Where a transposed convolution's copies of the kernel overlap, the sums pile up.
A kernel that the stride divides gives an even picture inside.
"""

from __future__ import annotations

from rust import rust_debug

from cafe import Tensor

for k, s in [(3, 2), (4, 2), (2, 2)]:
    x = Tensor.ones((1, 1, 3, 3))
    kernel = Tensor.ones((1, 1, k, k))
    y = x.conv_transpose2d(kernel, padding=0, output_padding=0, stride=s, dilation=1)
    rows = y.squeeze(0).squeeze(0).to_vec2()
    print(f"kernel {k} stride {s}: output {y.dims()}, middle row {rust_debug(rows[len(rows) // 2])}")
