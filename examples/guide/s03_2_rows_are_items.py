"""3.2 A row is an item, a row of the weight is a neuron: a linear layer computes x wᵀ + b.
Leading dims are kept, so a sequence of items goes through as well.
"""

from __future__ import annotations

from rust import rust_debug, unwrap_err

from cafe import Tensor
from cafe.nn import Linear

w = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])  # 3 neurons, 2 inputs
b = Tensor([0.5, 0.0, -1.0])
layer = Linear(w, b)

x = Tensor([[10.0, 100.0]])  # one item, 2 inputs
print(f"layer  : {rust_debug(layer(x).to_vec2())}")
print(f"by hand: {rust_debug(x.matmul(w.t()).broadcast_add(b).to_vec2())}")

seq = Tensor([[[10.0, 100.0], [1.0, 1.0]]])  # (batch 1, 2 items, 2 inputs)
print(f"3-D input: {rust_debug(layer(seq).to_vec3())}")

wrong = Tensor([[1.0, 2.0, 3.0]])
print(f"wrong width: {unwrap_err(layer, wrong)}")
