"""12.2 After training, a batch normalisation folds into the convolution before it.
By `absorb_bn`, by hand, and by hand with the mistake that keeps the shape.
"""

from __future__ import annotations

from rust import rust_display

import cafe
from cafe import DType, Tensor
from cafe.nn import BatchNormConfig, Conv2d, Conv2dConfig, VarBuilder, VarMap, batch_norm, conv2d

cafe.manual_seed(42)


def distance(a: Tensor, b: Tensor) -> float:
    return (a - b).abs().max_all().to_scalar()


vb = VarBuilder.from_varmap(VarMap(), DType.F32)
conv = conv2d(2, 3, 3, Conv2dConfig(padding=1), vb.pp("conv"))
bn = batch_norm(3, BatchNormConfig(), vb.pp("bn"))
for _ in range(3):  # so that the running statistics are not the 0 and 1 of the start
    bn.forward_train(conv(Tensor.randn(0.0, 1.0, (4, 2, 6, 6))))

x = Tensor.randn(0.0, 1.0, (2, 2, 6, 6))
reference = bn.forward_t(conv(x), False)

fused = conv.absorb_bn(bn)
matches = rust_display(distance(fused(x), reference) < 1e-4)
print(f"absorb_bn matches conv->bn: {matches}; fused bias present: {rust_display(fused.bias is not None)}")

gamma, beta = bn.weight_and_bias()
alpha = gamma / (bn.running_var + bn.eps).sqrt()
w = conv.weight.broadcast_mul(alpha.reshape((3, 1, 1, 1)))  # a factor for each output channel
b = beta + alpha * (conv.bias - bn.running_mean)
manual = Conv2d(w, b, conv.config)
print(f"manual fold matches: {rust_display(distance(manual(x), reference) < 1e-4)}")

wrong_w = conv.weight.broadcast_mul(alpha)  # without the reshape: the factors meet the kernel's columns
wrong = Conv2d(wrong_w, b, conv.config)
differs = rust_display(distance(wrong(x), reference) > 1e-2)
print(f"without the reshape: shape still {wrong_w.dims()}, but wrong: {differs}")
