"""4.9 To freeze a part, give the optimizer the variables of the rest.
The gradient of `head.w` is 2 · (2 − 1) · 2 = 4, the learning rate 0.1.
"""

from __future__ import annotations

from cafe import DType, Tensor
from cafe.nn import SGD, Init, VarBuilder, VarMap

varmap = VarMap()
vb = VarBuilder.from_varmap(varmap, DType.F32)
backbone = vb.get_with_hints(1, "backbone.w", Init.Const(1.0))
head = vb.get_with_hints(1, "head.w", Init.Const(1.0))

sgd = SGD([var for name, var in varmap.data().items() if name.startswith("head")], 0.1)

x = Tensor([2.0])
out = x * backbone * head  # 2 · 1 · 1
loss = (out - 1.0).sqr().sum_all()
sgd.backward_step(loss)

print(f"backbone.w {backbone:.2f} (frozen)")
print(f"head.w     {head:.2f} (1 - 0.1 * 4)")
