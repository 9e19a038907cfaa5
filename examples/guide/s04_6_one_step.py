"""4.6 One step of the optimizer changes the model: both hold the same variable.
The weight is 1 and 1, the target 1, the gradient 4 and 8, the learning rate 0.1.
"""

from __future__ import annotations

from rust import rust_display

from cafe import DType, Tensor, Var
from cafe.nn import SGD, Init, Module, VarBuilder, VarMap, loss


class TinyLayer(Module):
    def __init__(self, vb: VarBuilder) -> None:
        self.weight = Var.from_tensor(vb.get_with_hints((1, 2), "weight", Init.Const(1.0)))

    def forward(self, x: Tensor) -> Tensor:
        return x.matmul(self.weight.t())


varmap = VarMap()
layer = TinyLayer(VarBuilder.from_varmap(varmap, DType.F32))
sgd = SGD(varmap.all_vars(), 0.1)

x = Tensor([[1.0, 2.0]])
target = Tensor([[1.0]])
print(f"output before: {layer(x):.2f}")

error = loss.mse(layer(x), target)
print(f"loss: {error:.2f}")
sgd.backward_step(error)

[w] = varmap.data()["weight"].to_vec2()
print(f"weight in the map after one step: [{w[0]:.2f}, {w[1]:.2f}]")
print(f"output after: {layer(x):.2f}")
print(f"same storage: {rust_display(layer.weight.id == varmap.all_vars()[0].id)}")
