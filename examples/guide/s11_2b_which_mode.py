"""11.2 BatchNorm has no plain `forward`: it must be told whether it is training.
Asking for one says what to call instead.
"""

from __future__ import annotations

from rust import unwrap_err, with_help

from cafe import DType, Tensor
from cafe.nn import BatchNormConfig, VarBuilder, VarMap, batch_norm

bn = batch_norm(2, BatchNormConfig(), VarBuilder.from_varmap(VarMap(), DType.F32).pp("bn"))
x = Tensor.zeros((1, 2, 2, 2))
print(with_help(unwrap_err(lambda: bn.forward(x))))
print(bn.forward_t(x, False).dims())
