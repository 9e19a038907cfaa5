"""14.6 A transformer block: normalise, mix the words, add back; normalise, think on each word, add back.
Layer normalisation gives each word mean 0 and variance 1.
"""

from __future__ import annotations

import math

from rust import rust_display

import cafe
from cafe import D, DType, Tensor
from cafe.nn import Module, VarBuilder, VarMap, layer_norm, linear
from cafe.nn.ops import softmax

cafe.manual_seed(42)


def attention(x: Tensor) -> Tensor:
    """One head, with the words as queries, keys and values."""
    scores = x.matmul(x.transpose(1, 2)) / math.sqrt(x.dim(2))
    return softmax(scores, D.Minus1).matmul(x)


class TransformerBlock(Module):
    def __init__(self, vb: VarBuilder, dim: int, hidden: int) -> None:
        self.ln1 = layer_norm(dim, 1e-5, vb.pp("ln1"))
        self.ln2 = layer_norm(dim, 1e-5, vb.pp("ln2"))
        self.ff1 = linear(dim, hidden, vb.pp("ff1"))
        self.ff2 = linear(hidden, dim, vb.pp("ff2"))

    def forward(self, x: Tensor) -> Tensor:
        x = x + attention(self.ln1(x))
        return x + self.ff2(self.ff1(self.ln2(x)).gelu_erf())


varmap = VarMap()
block = TransformerBlock(VarBuilder.from_varmap(varmap, DType.F32).pp("block0"), 8, 32)

x = Tensor.randn(0.0, 1.0, (1, 4, 8))
normed = block.ln1(x)
means = normed.mean_keepdim(D.Minus1).flatten_all().to_vec1()
variances = normed.sqr().mean_keepdim(D.Minus1).flatten_all().to_vec1()
mean_0 = rust_display(all(abs(m) < 1e-5 for m in means))
variance_1 = rust_display(all(abs(v - 1.0) < 1e-3 for v in variances))
print(f"after layer norm, per token: mean 0: {mean_0}, variance 1: {variance_1}")
print(f"{x.dims()} -> {block(x).dims()}")
n = sum(var.elem_count() for var in varmap.all_vars())
by_hand = 2 * 16 + 8 * 32 + 32 + 32 * 8 + 8
print(f"parameters: {n} = 2 layer norms (8 + 8 each) + (8*32 + 32) + (32*8 + 8) = {by_hand}")
