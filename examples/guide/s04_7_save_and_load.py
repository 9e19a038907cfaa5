"""4.7 Weights go to a safetensors file and come back into a model built with the same names.
A layer made before the load sees the new numbers.
"""

from __future__ import annotations

import pathlib
import tempfile

from rust import rust_display

import cafe
from cafe import DType, Tensor
from cafe.nn import Linear, VarBuilder, VarMap, linear

cafe.manual_seed(42)


def build(varmap: VarMap) -> Linear:
    vb = VarBuilder.from_varmap(varmap, DType.F32)
    return linear(3, 2, vb.pp("till").pp("hidden"))


def all_quarter(t: Tensor) -> str:
    return rust_display(all(v == 0.25 for v in t.flatten_all().to_vec1()))


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "till.safetensors"

    trained = VarMap()
    build(trained)
    trained.set_one("till.hidden.weight", Tensor.full(0.25, (2, 3)))  # as if it had been trained
    trained.save(path)

    fresh = VarMap()
    layer = build(fresh)  # random weights, same names
    print(f"before load, weight is all 0.25: {all_quarter(layer.weight)}")
    fresh.load(path)
    print(f"after load,  weight is all 0.25: {all_quarter(layer.weight)}")
    print(f"the layer still works: {layer(Tensor.ones((1, 3))).dims()}")
