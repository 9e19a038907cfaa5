"""7.3 The transposed convolution is the transposed matrix of the convolution.
Not its inverse: the shape comes back, the numbers do not.
"""

from __future__ import annotations

from rust import rust_debug

from cafe import Tensor


def flat(t: Tensor) -> str:
    return rust_debug(t.flatten_all().to_vec1())


image = [float(v) for v in range(1, 17)]
kernel = [0.0, -1.0, 0.0, -1.0, 5.0, -1.0, 0.0, -1.0, 0.0]

# C is 4 × 16: a row for each pixel of the output, a column for each pixel of the input
rows = [[0.0] * 16 for _ in range(4)]
for r, (oy, ox) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
    for ky in range(3):
        for kx in range(3):
            rows[r][(oy + ky) * 4 + (ox + kx)] = kernel[ky * 3 + kx]
c = Tensor(rows)
y = c.mv(Tensor(image))
back = c.t().mv(y)

x_t = Tensor.from_slice(image, (1, 1, 4, 4))
k_t = Tensor.from_slice(kernel, (1, 1, 3, 3))
y_t = x_t.conv2d(k_t, padding=0, stride=1, dilation=1, groups=1)
back_t = y_t.conv_transpose2d(k_t, padding=0, output_padding=0, stride=1, dilation=1)

print(f"C·x by hand       : {flat(y)}")
print(f"candle conv2d     : {flat(y_t)} shape {y_t.dims()}")
print(f"Cᵀ·y by hand      : {flat(back)}")
print(f"conv_transpose2d  : {flat(back_t)} shape {back_t.dims()}")
for row in back_t.squeeze(0).squeeze(0):
    print(f"   {flat(row)}")
