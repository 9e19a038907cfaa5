"""14.2 Attention on three words of two numbers: scores, scaling, weights, and a mix of the values.
Queries, keys and values are the words themselves here.
"""

from __future__ import annotations

import math

from rust import rust_debug

from cafe import D, Tensor
from cafe.nn.ops import softmax


def rows(t: Tensor) -> str:
    return " ".join("[" + ",".join(f"{v:6.3f}" for v in row) + "]" for row in t.to_vec2())


x = Tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
scores = x.matmul(x.t())
scaled = scores / math.sqrt(2.0)
weights = softmax(scaled, D.Minus1)  # over the keys
out = weights.matmul(x)
print(f"scores  {rows(scores)}")
print(f"scaled  {rows(scaled)}")
print(f"weights {rows(weights)}")
print(f"row sums {rust_debug(weights.sum(D.Minus1).to_vec1())}")
print(f"output  {rows(out)}")
