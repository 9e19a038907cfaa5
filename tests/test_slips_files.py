"""Names, paths and collections of tensors that are none, and what is said of them."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cafe import Error, Tensor, Var, nn
from cafe.io import gguf, idx, npy, pth, safetensors
from cafe.tools.inspect import inspect

X = Tensor([1.0, 2.0])


def varmap() -> nn.VarMap:
    out = nn.VarMap()
    out.get(2, "w")
    return out


@pytest.mark.parametrize("path", [None, 5, X, [], b"x"])
@pytest.mark.parametrize(
    "use",
    [
        safetensors.load,
        lambda p: safetensors.save({"a": X}, p),
        npy.read_npy,
        lambda p: npy.write_npy(X, p),
        npy.read_npz,
        lambda p: npy.write_npz({"a": X}, p),
        pth.read_all,
        gguf.load,
        idx.read_idx,
        inspect,
        lambda p: varmap().save(p),
        lambda p: varmap().load(p),
        lambda p: nn.save_checkpoint(p, varmap(), nn.SGD([], 0.1), 1),
    ],
)
def test_a_path_that_is_none(use: Callable[[Any], object], path: Any) -> None:
    with pytest.raises(TypeError, match=f"expected a path, found {type(path).__name__}"):
        use(path)


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        (None, "expected Tensors by name, found NoneType"),
        (5, "expected Tensors by name, found int"),
        (X, "expected Tensors by name, found Tensor"),
        ("ab", "expected Tensors by name, found str"),
        ({"w": [1.0]}, "w: expected Tensor, found list"),
        ({"w": None}, "w: expected Tensor, found NoneType"),
        ({"w": np.ones(2)}, "w: expected Tensor, found ndarray"),
        ({5: X}, "expected a name and a Tensor, found (5, "),
        ([X], "expected a name and a Tensor, found Tensor["),
    ],
)
@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("write_npz", lambda t, p: npy.write_npz(t, p)),
        ("VarMap.set", lambda t, p: varmap().set(t)),
        ("VarBuilder.from_tensors", lambda t, p: nn.VarBuilder.from_tensors(t)),
        ("load_state_dict", lambda t, p: nn.SGD([], 0.1).load_state_dict(t)),
    ],
)
def test_something_else_in_place_of_named_tensors(name: str, use: Any, tensors: Any, said: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(TypeError, match=re.escape(f"{name}: {said}")):
        use(tensors, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: safetensors.save([X], "x"), "safetensors.save: expected Tensors by name, found list"),  # type: ignore[arg-type]
        (lambda: safetensors.save({"w": [1.0]}, "x"), "safetensors.save: w: expected Tensor, found list"),  # type: ignore[dict-item]
        (lambda: npy.write_npy([1.0], "x.npy"), "write_npy: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: varmap().set_one("w", [1.0]), "VarMap.set: w: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: varmap().set_one(5, X), "VarMap.set: expected a name and a Tensor, found (5, "),  # type: ignore[arg-type]
        (lambda: varmap().get(2, None), "VarMap.get: a name is a string, got None"),  # type: ignore[arg-type]
        (lambda: varmap().get(2, "v", 0.0), "VarMap.get: expected Init, found float"),  # type: ignore[arg-type]
        (lambda: nn.VarBuilder.zeros().get(2, 5), "VarBuilder: a name is a string, got 5"),  # type: ignore[arg-type]
        (lambda: X.backward().insert(X, [1.0]), "insert: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.backward().remove("w"), "gradients by variable: expected Tensor, found str"),  # type: ignore[arg-type]
        (lambda: "w" in X.backward(), "gradients by variable: expected Tensor, found str"),
        (lambda: X.backward().extend({}), "extend: expected GradStore, found dict"),  # type: ignore[arg-type]
        (lambda: nn.SGD([Var([1.0])], 0.1).backward_step(1.0), "backward_step: expected Tensor, found float"),  # type: ignore[arg-type]
        (lambda: nn.func(None), "a layer of a function: expected a function, found NoneType"),  # type: ignore[arg-type]
        (lambda: nn.Conv2d(Tensor.ones((1, 1, 1, 1)), None, 5), "Conv2d: expected Conv2dConfig, found int"),
        (lambda: nn.StepDecay("a", 2), "StepDecay: expected a number, found str"),  # type: ignore[arg-type]
        (lambda: nn.Cosine(0.1, 2.5), "Cosine: steps is an int, got 2.5"),  # type: ignore[arg-type]
        (lambda: nn.Warmup(2, 0.1), "Warmup: expected a schedule, found float"),  # type: ignore[arg-type]
    ],
)
def test_something_else_in_an_arguments_place(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        slip()


@pytest.mark.parametrize(
    ("make", "said"), [(lambda: nn.Cosine(0.1, 0), "Cosine: steps"), (lambda: nn.StepDecay(0.1, 0), "StepDecay: every")]
)
def test_a_schedule_of_no_steps(make: Callable[[], object], said: str) -> None:
    with pytest.raises(Error, match=f"{said} must be at least 1, got 0"):
        make()
