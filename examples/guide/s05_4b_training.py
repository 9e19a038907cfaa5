"""5.4 The training loop: forward, loss, backward, step. 64 hours, busy around breakfast and lunch.
The start is seeded, so the same machine prints the same numbers each time.
"""

from __future__ import annotations

import itertools

from rust import rust_display

import cafe
from cafe import D, DType, Tensor
from cafe.nn import AdamW, Module, VarBuilder, VarMap, linear, loss

cafe.manual_seed(42)


class Mlp(Module):
    def __init__(self, vb: VarBuilder, sizes: list[int]) -> None:
        self.layers = [linear(a, b, vb.pp(f"layer_{i}")) for i, (a, b) in enumerate(itertools.pairwise(sizes))]

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)


hours = [(i % 16, i // 16) for i in range(64)]  # hour of the day, day
x = Tensor([[h / 16, d / 4, abs((h - 8) / 4), 1.0] for h, d in hours])
y = Tensor([int(7 <= h <= 9 or 12 <= h <= 14) for h, _ in hours], dtype=DType.U32)  # the class of each hour

varmap = VarMap()
model = Mlp(VarBuilder.from_varmap(varmap, DType.F32), [4, 16, 16, 2])
opt = AdamW.new_lr(varmap.all_vars(), 0.05)

losses = []
for _ in range(300):
    error = loss.cross_entropy(model(x), y)
    opt.step(error.backward())
    losses.append(error.to_scalar())

predicted = model(x).argmax(D.Minus1)  # the likelier class of each row
accuracy = predicted.eq(y).to_dtype(DType.F32).mean_all()
first, last = losses[0], losses[-1]
print(f"loss {first:.4f} -> {last:.4f}, decreased: {rust_display(last < first)}, accuracy {accuracy:.3f}")
