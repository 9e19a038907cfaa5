"""5.3 A multi-layer perceptron of any widths: ReLU between the layers, none behind the last.
The count of parameters is weights and biases, layer by layer.
"""

from __future__ import annotations

from cafe import DType, Tensor
from cafe.nn import Module, VarBuilder, VarMap, linear


class Mlp(Module):
    def __init__(self, vb: VarBuilder, inputs: int, hidden: list[int], outputs: int) -> None:
        widths = [inputs, *hidden]
        self.hidden = [linear(a, b, vb.pp(f"layer_{i}")) for i, (a, b) in enumerate(zip(widths, hidden))]
        self.output = linear(widths[-1], outputs, vb.pp("output"))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.hidden:
            x = layer(x).relu()
        return self.output(x)


varmap = VarMap()
mlp = Mlp(VarBuilder.from_varmap(varmap, DType.F32), 4, [8, 8], 3)
batch = Tensor.zeros((5, 4))
print(f"{batch.dims()} -> {mlp(batch).dims()}")
n = sum(var.elem_count() for var in varmap.all_vars())
print(f"parameters: {n} = (4*8+8) + (8*8+8) + (8*3+3) = {4 * 8 + 8 + 8 * 8 + 8 + 8 * 3 + 3}")
