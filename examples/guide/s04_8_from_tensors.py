"""4.8 The same layers on tensors that are already there: no map, nothing to train.
A name that is missing is an error that gives the full name.
"""

from __future__ import annotations

from rust import rust_debug, rust_display, unwrap_err

from cafe import DType, Tensor
from cafe.nn import VarBuilder, linear

weights = {
    "till.hidden.weight": Tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "till.hidden.bias": Tensor([0.0, 0.5]),
}
vb = VarBuilder.from_tensors(weights, DType.F32)
there = {name: rust_display(vb.contains_tensor(f"till.{name}")) for name in ("hidden.weight", "hidden.bias", "out.weight")}
print(", ".join(f"has {name}: {found}" for name, found in there.items()))
layer = linear(3, 2, vb.pp("till").pp("hidden"))
print(f"is a variable: {rust_display(layer.weight.is_variable())}")
print(rust_debug(layer(Tensor([[3.0, 4.0, 5.0]])).to_vec2()))
print(f"missing name: {unwrap_err(linear, 2, 1, vb.pp('till').pp('out'))}")
