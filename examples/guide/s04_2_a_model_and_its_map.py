"""4.2 A model of two layers, and the map that holds what it learns, by name.
A VarBuilder hands each layer its place in the map, as a path hands files theirs.
"""

from __future__ import annotations

from rust import rust_debug

from cafe import DType, Tensor
from cafe.nn import Module, VarBuilder, VarMap, linear


class Predictor(Module):
    """The café's busy-hour predictor: 3 numbers in, 2 hidden, 1 out."""

    def __init__(self, vb: VarBuilder) -> None:
        self.hidden = linear(3, 2, vb.pp("hidden"))  # makes hidden.weight (2, 3) and hidden.bias (2)
        self.out = linear(2, 1, vb.pp("out"))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.hidden(x).relu())


varmap = VarMap()
vb = VarBuilder.from_varmap(varmap, DType.F32)
model = Predictor(vb.pp("till"))

for name, var in sorted(varmap.data().items()):
    print(f"{name:<20} {var.dims()}")
total = sum(var.elem_count() for var in varmap.all_vars())
print(f"{len(varmap.all_vars())} variables, {total} numbers to learn")
print(f'prefix of vb.pp("till").pp("hidden"): {rust_debug(vb.pp("till").pp("hidden").prefix())}')

x = Tensor([[0.5, 0.25, 1.0]])
print(f"output shape {model(x).dims()}")
