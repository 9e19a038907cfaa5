"""15.1 Attention alone does not see the order of the words.
Shuffling the words and then attending gives what attending and then shuffling gives.
"""

from __future__ import annotations

import math

from rust import rust_display

from cafe import D, DType, Tensor
from cafe.nn.ops import softmax


def attention(x: Tensor) -> Tensor:
    scores = x.matmul(x.t()) / math.sqrt(x.dim(1))
    return softmax(scores, D.Minus1).matmul(x)


x = Tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.3, 0.7, 0.1]])
order = Tensor([2, 0, 3, 1], dtype=DType.U32)
a = attention(x.index_select(order, 0))
b = attention(x).index_select(order, 0)
difference = (a - b).abs().max_all().to_scalar()
print(f"attention(shuffled words) == shuffled attention(words): {rust_display(difference < 1e-6)}")
