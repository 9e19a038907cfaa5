"""14.5 Attention with several heads, written out: project, split, score, mask, mix, join, project.
A mask is 1 where looking is forbidden: the future, or a padded word.
"""

from __future__ import annotations

import math

from rust import rust_debug, rust_display, unwrap_err

import cafe
from cafe import D, DType, Tensor
from cafe.nn import Module, VarBuilder, VarMap, linear_b
from cafe.nn.ops import softmax

cafe.manual_seed(42)


class Mhsa(Module):
    def __init__(self, vb: VarBuilder, dim: int, heads: int, bias: bool) -> None:
        if dim == 0 or heads == 0 or dim % heads:
            cafe.bail(f"dim {dim} must be a positive multiple of heads {heads}")
        self.dim, self.heads = dim, heads
        self.q = linear_b(dim, dim, bias, vb.pp("q_linear"))
        self.k = linear_b(dim, dim, bias, vb.pp("k_linear"))
        self.v = linear_b(dim, dim, bias, vb.pp("v_linear"))
        self.o = linear_b(dim, dim, bias, vb.pp("output_linear"))

    def split_heads(self, t: Tensor) -> Tensor:
        """(batch, seq, dim) → (batch, heads, seq, dim / heads)."""
        b, n, _ = t.dims3()
        return t.reshape((b, n, self.heads, self.dim // self.heads)).transpose(1, 2)

    def weights(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, heads, seq, seq): how much each word takes from each."""
        _, _, d = x.dims3()
        if d != self.dim:
            cafe.bail(f"input dim {d} != model dim {self.dim}")
        q, k = self.split_heads(self.q(x)), self.split_heads(self.k(x))
        scores = q.matmul(k.transpose(2, 3)) / math.sqrt(self.dim / self.heads)
        if mask is not None:
            forbidden = mask.broadcast_as(scores.shape).to_dtype(DType.U8)
            scores = forbidden.where_cond(Tensor.full(-math.inf, scores.shape), scores)
        return softmax(scores, D.Minus1)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        b, n, _ = x.dims3()
        context = self.weights(x, mask).matmul(self.split_heads(self.v(x)))
        return self.o(context.transpose(1, 2).reshape((b, n, self.dim)))


def rows_sum_to_1(weights: Tensor) -> str:
    sums = weights.sum(D.Minus1).flatten_all().to_vec1()
    return rust_display(all(abs(s - 1.0) < 1e-5 for s in sums))


varmap = VarMap()
vb = VarBuilder.from_varmap(varmap, DType.F32)
attn = Mhsa(vb, 8, 2, bias=True)  # 8 numbers a word, 2 heads
slip = Tensor.randn(0.0, 1.0, (1, 4, 8))  # 1 slip of 4 words

w = attn.weights(slip)
print(f"in {slip.dims()} out {attn(slip).dims()} weights {w.dims()}; rows sum to 1: {rows_sum_to_1(w)}")
n = sum(var.elem_count() for var in varmap.all_vars())
print(f"parameters {n} = 4*8*8 + 4*8 = {4 * 64 + 4 * 8}")

q_full = attn.q(slip)
q_heads = attn.split_heads(q_full)
same = (q_heads[0, 1] - q_full[0].narrow(1, 4, 4)).abs().max_all().to_scalar() == 0.0
before, after = q_heads.is_contiguous(), q_heads.contiguous().is_contiguous()
contiguous = f"split_heads contiguous: {rust_display(before)}, after contiguous(): {rust_display(after)}"
print(f"head 1 == columns 4..8: {rust_display(same)}; {contiguous}")

causal = Tensor.tril2(4, DType.F32) * -1.0 + 1.0  # 1 above the diagonal: the future
print(f"causal mask\n{causal}")
wc = attn.weights(slip, causal)
zero = (wc[0, 0] * causal).abs().max_all().to_scalar() == 0.0
print(f"with the causal mask: future weights are 0: {rust_display(zero)}; rows still sum to 1: {rows_sum_to_1(wc)}")

pad = Tensor([[[[0, 0, 0, 1]]]], dtype=DType.U8)  # the last word is padding, for every head and query
wp = attn.weights(slip, pad)
print(f"with the padding mask: weights on the padded word {rust_debug(wp[0, 0].t()[3].to_vec1())}")

print(f"bad config: {unwrap_err(Mhsa, vb.pp('bad'), 10, 4, bias=True)}")
print(f"bad input : {unwrap_err(attn, Tensor.zeros((1, 4, 6)))}")
