"""7.2 A convolution is a matrix product: each row of the matrix is the kernel, shifted by one.
Here the full convolution of three numbers with two.
"""

from __future__ import annotations

from rust import rust_debug

from cafe import Tensor

x, h = [1.0, 2.0, 3.0], [10.0, 1.0]
rows, n = len(x) + len(h) - 1, len(x)
c = Tensor([[h[r - j] if 0 <= r - j < len(h) else 0.0 for j in range(n)] for r in range(rows)])
y = c.mv(Tensor(x))
for row in c:
    print(rust_debug(row.to_vec1()))
print(f"y = C x = {rust_debug(y.to_vec1())}")
