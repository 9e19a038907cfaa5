"""11.4 A bias before batch normalisation does nothing in training: the mean takes it away again.
So such convolutions go without one.
"""

from __future__ import annotations

from rust import rust_display

import cafe
from cafe import DType, Tensor
from cafe.nn import BatchNormConfig, Conv2d, Conv2dConfig, VarBuilder, VarMap, batch_norm, conv2d

cafe.manual_seed(42)

vb = VarBuilder.from_varmap(VarMap(), DType.F32)
with_bias = conv2d(2, 3, 3, Conv2dConfig(padding=1), vb.pp("conv"))
without = Conv2d(with_bias.weight, None, with_bias.config)
bn = batch_norm(3, BatchNormConfig(), vb.pp("bn"))

x = Tensor.randn(0.0, 1.0, (4, 2, 6, 6))
a = bn.forward_train(with_bias(x))
b = bn.forward_train(without(x))
difference = (a - b).abs().max_all().to_scalar()
print(f"BN(conv + bias) equals BN(conv) in training mode: {rust_display(difference < 1e-5)}")
