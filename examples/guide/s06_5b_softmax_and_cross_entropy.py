"""6.5 Softmax, log-softmax and the losses on tensors, with large logits, masks and wrong shapes.
Cross-entropy is the mean of −log p of the right class: by hand, a gather from log-softmax.
"""

from __future__ import annotations

import math

from rust import rust_debug, rust_display, unwrap_err

from cafe import D, DType, Tensor
from cafe.nn import loss, ops

big = Tensor([[1000.0, 1005.0, 1002.0]])
print(f"softmax of huge logits: {rust_debug(ops.softmax(big, D.Minus1).to_vec2())}")
print(f"softmax_last_dim      : {rust_debug(ops.softmax_last_dim(big).to_vec2())}")
naive = big.exp().broadcast_div(big.exp().sum_keepdim(1))
print(f"naive exp / sum       : {rust_debug(naive.to_vec2())}")
print(f"softmax([1, 5, 2])    : {rust_debug(ops.softmax(Tensor([[1.0, 5.0, 2.0]]), D.Minus1).to_vec2())}")

masked = Tensor([[1.0, -math.inf, 2.0], [-math.inf, -math.inf, -math.inf]])
print(f"with -inf entries     : {rust_debug(ops.softmax(masked, D.Minus1).to_vec2())}")

logits = Tensor([[2.0, 0.5, -1.0], [0.1, 0.2, 3.0]])  # 2 items, 3 classes
targets = Tensor([0, 2], dtype=DType.U32)  # the right class of each
ce = loss.cross_entropy(logits, targets)
log_p = ops.log_softmax(logits, D.Minus1)
by_hand = log_p.gather(targets.unsqueeze(1), 1).neg().mean_all()
print(f"cross_entropy {ce:.6f}  by hand {by_hand:.6f}")
print(f"gather needs equal ranks: {unwrap_err(log_p.gather, targets, 1)}")
print(f"cross_entropy needs rank 2: {unwrap_err(loss.cross_entropy, Tensor.zeros((2, 3, 4)), targets)}")
print(f"mse: {rust_display(loss.mse(Tensor([1.0, 2.0]), Tensor([0.0, 0.0])).to_scalar())}")
