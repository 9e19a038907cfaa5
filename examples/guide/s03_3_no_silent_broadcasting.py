"""3.3 Operators want one shape; `broadcast_mul` and its like say that broadcasting is meant.
A Python number goes with any tensor, on either side.
"""

from __future__ import annotations

import operator

from rust import rust_debug, unwrap_err

from cafe import Tensor


def flat(t: Tensor) -> str:
    return rust_debug(t.flatten_all().to_vec1())


image = Tensor([[[[1.0, 2.0], [3.0, 4.0]], [[10.0, 20.0], [30.0, 40.0]]]])  # (1, 2, 2, 2)
gate = Tensor([[[[0.5]], [[2.0]]]])  # (1, 2, 1, 1)
print(f"plain * : {unwrap_err(operator.mul, image, gate)}")
print(f"broadcast: {flat(image.broadcast_mul(gate))}")
print(f"scalar   : {flat(image * 2.0)}")
print(f"scalar on the left: {flat(1.0 - image)}")
print(f"same shape works: {flat(image + image)}")
