"""Whole trainings beside PyTorch's: the same start, the same data, every optimizer, in both widths (golden/make_training.py)."""

from __future__ import annotations

import gc
import json
import pathlib
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from cafe import DType, Tensor, Var
from cafe.io import safetensors
from cafe.nn import SGD, Adam, AdamW, Linear, Optimizer, ParamsAdamW, loss

GOLDEN = pathlib.Path(__file__).parent / "golden"
BOUNDS = {"f32": 5e-7, "f64": 5e-15}

Make = Callable[[Mapping[str, Var]], Optimizer]
A3: dict[str, Make] = {
    "adamw": lambda vs: AdamW(vs, ParamsAdamW(lr=1e-2)),
    "adamw_wd0": lambda vs: AdamW(vs, ParamsAdamW(lr=1e-2, weight_decay=0.0)),
    "adam_l2": lambda vs: Adam(vs, 1e-2, weight_decay=0.01),
    "sgd": lambda vs: SGD(vs, 0.1),
    "sgd_momentum": lambda vs: SGD(vs, 0.02, momentum=0.9),
    "sgd_nesterov_wd": lambda vs: SGD(vs, 0.02, momentum=0.9, nesterov=True, weight_decay=0.01),
}


class Golden:
    """A file of golden trainings, and the same trainings run here."""

    def __init__(self, name: str) -> None:
        file = safetensors.MmapedSafetensors.new(GOLDEN / f"{name}.safetensors")
        self.names: list[str] = json.loads(file.metadata["names"])
        self.tensors = {key: file.load(key) for key in file.names()}

    def start(self, width: str) -> dict[str, Var]:
        return {name: Var(self.tensors[name].to_dtype(width)) for name in self.names}

    def data(self, width: str) -> tuple[Tensor, Tensor]:
        x, y = self.tensors["x"], self.tensors["y"]
        return x.to_dtype(width), y.to_dtype(width) if y.dtype.is_float else y

    def train(self, make: Make, loss_of: Callable[..., Tensor], steps: int, width: str) -> dict[str, Any]:
        p = self.start(width)
        x, y = self.data(width)
        hidden, out = Linear(p["fc1.weight"], p["fc1.bias"]), Linear(p["fc2.weight"], p["fc2.bias"])
        opt = make(p)
        found: dict[str, Any] = {"loss": []}
        for step in range(steps):
            error = loss_of(out(hidden(x).relu()), y)
            found["loss"].append(error.item())
            opt.backward_step(error)
            if step in (0, steps - 1):
                flat = np.concatenate([p[name].numpy().reshape(-1) for name in self.names])
                found["first" if step == 0 else "last"] = flat.copy()
        return found

    def apart(self, found: dict[str, Any], name: str, width: str, what: str) -> float:
        """The largest difference to PyTorch's numbers, each in float64."""
        wanted = self.tensors[f"{name}.{width}.{what}"].numpy().astype(np.float64)
        assert np.std(wanted) > 0.0
        return float(np.max(np.abs(np.asarray(found[what], np.float64) - wanted)))


@pytest.fixture(scope="module")
def a3() -> Golden:
    return Golden("a3")


@pytest.mark.parametrize("width", ["f32", "f64"])
@pytest.mark.parametrize("name", A3)
def test_an_mlp_on_squared_error_ends_where_pytorch_ends(a3: Golden, name: str, width: str) -> None:
    found = a3.train(A3[name], loss.mse, 100, width)
    assert a3.apart(found, name, width, "last") <= BOUNDS[width]
    assert a3.apart(found, name, width, "first") <= BOUNDS[width]
    assert a3.apart(found, name, width, "loss") <= BOUNDS[width]
    assert found["loss"][-1] < found["loss"][0]


@pytest.mark.parametrize("width", ["f32", "f64"])
def test_an_mlp_on_cross_entropy_ends_where_pytorch_ends(width: str) -> None:
    a1 = Golden("a1")
    found = a1.train(lambda vs: Adam(vs, 0.01), loss.cross_entropy, 10, width)
    assert a1.apart(found, "adam", width, "last") <= BOUNDS[width]
    assert a1.apart(found, "adam", width, "loss") <= BOUNDS[width]


def test_the_first_gradients_are_within_two_ulp_of_their_largest_element(a3: Golden) -> None:
    p = a3.start("f32")
    x, y = a3.data("f32")
    hidden = Linear(p["fc1.weight"], p["fc1.bias"])(x).relu()
    grads = loss.mse(Linear(p["fc2.weight"], p["fc2.bias"])(hidden), y).backward()
    for name in a3.names:
        wanted = a3.tensors[f"grad.{name}"].numpy()
        ulp = np.spacing(np.abs(wanted).max())
        assert np.max(np.abs(grads[p[name]].numpy().astype(np.float64) - wanted)) <= 2.0 * ulp, name


def test_memory_stays_flat_over_ten_thousand_steps() -> None:
    w, b = Var.zeros((2, 1), DType.F64), Var.zeros(2, DType.F64)
    x, y = Tensor([[1.0], [2.0]], dtype=DType.F64), Tensor([[1.0, 0.0], [2.0, 1.0]], dtype=DType.F64)
    layer, opt = Linear(w, b), AdamW.new_lr([w, b], 1e-3)

    def steps(n: int) -> None:
        for _ in range(n):
            opt.backward_step(loss.mse(layer(x), y))

    steps(8_500)
    tracemalloc.start()
    gc.disable()
    try:
        steps(500)  # what is kept from the first use on
        gc.collect()  # empties Python's lists of tuples to use again, too
        before = tracemalloc.get_traced_memory()[0]
        steps(1_000)
        assert gc.collect() == 0, "a step leaves cycles behind, which wait for the collector"
        assert tracemalloc.get_traced_memory()[0] - before < 2_000
    finally:
        gc.enable()
        tracemalloc.stop()
