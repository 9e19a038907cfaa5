"""11.2 Batch normalisation: by the batch's own numbers in training, by the running ones afterwards.
Both by hand as well, on one image of two channels.
"""

from __future__ import annotations

import math

from rust import rust_debug, unwrap_err

from cafe import DType, Tensor
from cafe.nn import BatchNormConfig, VarBuilder, VarMap, batch_norm


def channel_0(t: Tensor) -> str:
    return rust_debug(t.narrow(1, 0, 1).flatten_all().to_vec1())


varmap = VarMap()
bn = batch_norm(2, BatchNormConfig(), VarBuilder.from_varmap(varmap, DType.F32).pp("bn"))
print(f"tensors: {rust_debug(sorted(varmap.data()))}")
print(f"config: {rust_debug(BatchNormConfig(), width=64)}")

x = Tensor([[[[1.0, 2.0], [3.0, 4.0]], [[10.0, 10.0], [10.0, 30.0]]]])
print(f"train output, channel 0: {channel_0(bn.forward_train(x))}")
print(f"running_mean {rust_debug(bn.running_mean.to_vec1())}, running_var {rust_debug(bn.running_var.to_vec1())}")

mean, biased = 2.5, 1.25
unbiased = biased * 4 / 3
print(f"by hand, channel 0: (1 - 2.5)/sqrt(1.25 + 1e-5) = {(1 - mean) / math.sqrt(biased + 1e-5):.5f}")
running = f"running_mean = 0.9*0 + 0.1*2.5 = {0.1 * mean:.3f}, running_var = 0.9*1 + 0.1*{unbiased:.4f} = {0.9 + 0.1 * unbiased:.5f}"
print(f"by hand: {running}")

print(f"eval output, channel 0: {channel_0(bn.forward_t(x, False))}")
print(f"by hand: (1 - 0.25)/sqrt(1.06667 + 1e-5) = {(1 - 0.25) / math.sqrt(0.9 + 0.1 * unbiased + 1e-5):.5f}")
print(f"wrong channel count: {unwrap_err(bn.forward_t, Tensor.zeros((1, 3, 2, 2)), False)}")
