"""Variables by name: made once, in order, set and loaded as a whole or not at all."""

from __future__ import annotations

import gc
import os
import pathlib
import threading
import weakref
from typing import Any

import pytest
from expect import raises

from cafe import DType, Error, Tensor, Var, errors
from cafe.io import safetensors
from cafe.nn import Init, VarMap, init


def of(**tensors: Tensor) -> VarMap:
    """A map with these variables."""
    varmap = VarMap()
    for name, t in tensors.items():
        varmap.get(t.shape, name, dtype=t.dtype).set(t)
    return varmap


def values(varmap: VarMap) -> dict[str, Any]:
    return {name: v.tolist() for name, v in varmap.data().items()}


def test_the_same_name_is_the_same_variable_whatever_the_hint() -> None:
    varmap = VarMap()
    a = varmap.get((2, 2), "shared", init.ONE)
    assert varmap.get([2, 2], "shared", init.ZERO) is a
    assert a.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert varmap.get(3, "plain").tolist() == [0.0, 0.0, 0.0]


def test_another_shape_or_dtype_under_a_name_is_an_error() -> None:
    varmap = of(shared=Tensor.zeros((2, 2)))
    with raises(Error, "shape mismatch on shared: [3, 3] <> [2, 2]"):
        varmap.get((3, 3), "shared")
    with raises(errors.UnexpectedDType, "dtype mismatch for shared, expected: F64, got: F32"):
        varmap.get((2, 2), "shared", dtype=DType.F64)


def test_the_order_is_that_of_creation() -> None:
    varmap = VarMap()
    names = ["z", "a", "m.0", "b"]
    made = [varmap.get(1, name) for name in names]
    varmap.get(1, "a")
    assert list(varmap.data()) == names
    assert all(one is other for one, other in zip(varmap.all_vars(), made))


def test_data_is_to_be_read_and_follows_the_map() -> None:
    varmap = of(w=Tensor([1.0]))
    data = varmap.data()
    with pytest.raises(TypeError):
        data["v"] = Var([1.0])  # type: ignore[index]
    varmap.get(1, "v")
    assert list(data) == ["w", "v"]
    assert ("v" in varmap, "x" in varmap, len(varmap), bool(VarMap())) == (True, False, 2, True)
    assert repr(varmap) == "VarMap(2 variables)"


def test_two_threads_that_make_a_name_get_one_variable() -> None:
    varmap = VarMap()
    start = threading.Barrier(8)
    got: list[Var] = []

    def work() -> None:
        start.wait()
        got.extend(varmap.get(4, f"v{i}", init.DEFAULT_KAIMING_NORMAL) for i in range(50))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({v.id for v in got}) == len(varmap) == 50


# -- setting


def test_set_one_and_set_are_seen_by_whoever_holds_the_variable() -> None:
    varmap = of(w=Tensor([1.0, 2.0]), b=Tensor([0.0]))
    w = varmap.data()["w"]
    view = w.narrow(0, 1, 1)
    varmap.set_one("w", Tensor([5.0, 6.0]))
    assert (w.tolist(), view.tolist()) == ([5.0, 6.0], [6.0])
    varmap.set([("w", Tensor([7.0, 8.0])), ("b", Tensor([9.0]))])
    assert values(varmap) == {"w": [7.0, 8.0], "b": [9.0]}
    varmap.set({"b": Tensor([1.0])})
    assert varmap.data()["b"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("name", "value", "text", "note"),
    [
        ("weigth", Tensor([1.0, 2.0]), "cannot find weigth in VarMap", "did you mean `weight`?"),
        ("weight", Tensor([1.0]), "error setting weight: shape mismatch in set, lhs: [2], rhs: [1]", ""),
        ("weight", Tensor([1.0, 2.0], dtype="f64"), "error setting weight: dtype mismatch in copy_strided, lhs: F64, rhs: F32", ""),
    ],
)
def test_nothing_is_set_unless_everything_can_be(name: str, value: Tensor, text: str, note: str) -> None:
    varmap = of(bias=Tensor([0.0]), weight=Tensor([1.0, 2.0]))
    with raises(Error, text, note):
        varmap.set([("bias", Tensor([3.0])), (name, value)])
    assert values(varmap) == {"bias": [0.0], "weight": [1.0, 2.0]}


def test_a_variable_cannot_be_set_to_its_own_view() -> None:
    varmap = of(w=Tensor([1.0, 2.0]), b=Tensor([0.0]))
    text = "error setting w: cannot set variable cannot set a variable to a tensor that is derived from its value"
    with raises(Error, text):
        varmap.set([("b", Tensor([3.0])), ("w", varmap.data()["w"].as_detached_tensor())])
    assert values(varmap)["b"] == [0.0]


# -- files


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "model.safetensors"


def test_what_is_saved_is_loaded(path: pathlib.Path) -> None:
    trained = of(w=Tensor([[1.0, 2.0]]), b=Tensor([3.0], dtype="f64"), h=Tensor([0.5]).to_dtype("bf16"), n=Tensor([7]))
    trained.save(path)
    assert {k: (v.tolist(), v.dtype) for k, v in safetensors.load(path).items()} == {
        k: (v.tolist(), v.dtype) for k, v in trained.data().items()
    }
    fresh = of(w=Tensor.zeros((1, 2)), b=Tensor.zeros(1, "f64"), h=Tensor.zeros(1, "bf16"), n=Tensor.zeros(1, "i64"))
    assert str(fresh.load(path)) == "4 set, 0 missing, 0 unexpected"
    assert values(fresh) == values(trained)


def test_a_load_sets_what_is_there_and_names_the_rest_of_the_file(path: pathlib.Path) -> None:
    of(w=Tensor([1.0]), head=Tensor([2.0]), extra=Tensor([3.0])).save(path)
    varmap = of(w=Tensor([0.0]))
    report = varmap.load(path)
    assert (report.set, report.missing, report.unexpected) == (["w"], [], ["extra", "head"])
    assert values(varmap) == {"w": [1.0]}


def test_a_name_that_the_file_lacks_is_an_error_and_nothing_is_set(path: pathlib.Path) -> None:
    of(w=Tensor([1.0]), weight=Tensor([2.0])).save(path)
    varmap = of(w=Tensor([0.0]), weigth=Tensor([0.0]))
    with raises(errors.TensorNotFound, "tensor `weigth` not found", "did you mean `weight`?"):
        varmap.load(path)
    assert values(varmap) == {"w": [0.0], "weigth": [0.0]}
    report = varmap.load(path, strict=False)
    assert (report.set, report.missing, report.unexpected) == (["w"], ["weigth"], ["weight"])
    assert values(varmap) == {"w": [1.0], "weigth": [0.0]}


@pytest.mark.parametrize(
    ("b", "inner"),
    [
        (Tensor([1.0, 2.0]), "shape mismatch in set, lhs: [1], rhs: [2]"),
        (Tensor([1.0], dtype="f64"), "dtype mismatch in copy_strided, lhs: F64, rhs: F32"),
    ],
)
def test_a_tensor_that_does_not_fit_is_an_error_and_nothing_is_set(path: pathlib.Path, b: Tensor, inner: str) -> None:
    of(a=Tensor([1.0]), b=b).save(path)
    varmap = of(a=Tensor([0.0]), b=Tensor([0.0]))
    with raises(Error, f'error setting b using data from "{path}": {inner}'):
        varmap.load(path)
    assert values(varmap) == {"a": [0.0], "b": [0.0]}


def test_a_damaged_file_sets_nothing(path: pathlib.Path) -> None:
    of(a=Tensor([1.0])).save(path)
    path.write_bytes(path.read_bytes()[:-1])
    varmap = of(a=Tensor([0.0]))
    with pytest.raises(errors.SafeTensor):
        varmap.load(path)
    assert values(varmap) == {"a": [0.0]}


def test_loading_into_an_empty_map_says_so(path: pathlib.Path) -> None:
    of(a=Tensor([1.0])).save(path)
    text = f'nothing to load from "{path}": this VarMap is empty, and a load sets the variables that are there'
    with raises(Error, text, "VarMap.from_safetensors"):
        VarMap().load(path)
    VarMap().save(path)
    assert str(VarMap().load(path)) == "0 set, 0 missing, 0 unexpected"


def test_a_map_can_be_made_from_a_file(path: pathlib.Path) -> None:
    of(w=Tensor([1.0]), n=Tensor([2])).save(path)
    made = VarMap.from_safetensors(path)
    assert {k: (v.tolist(), v.dtype, v.is_variable()) for k, v in made.data().items()} == {
        "n": ([2], DType.I64, True),
        "w": ([1.0], DType.F32, True),
    }
    assert VarMap.from_safetensors(path, "f64").data()["w"].dtype is DType.F64


def test_a_failed_save_leaves_the_old_file_and_nothing_else(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of(w=Tensor([1.0])).save(path)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with raises(errors.Io, f'path: "{path}" No space left on device (os error 28)'):
        of(w=Tensor([2.0])).save(path)
    assert safetensors.load(path)["w"].tolist() == [1.0]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_not_there() -> None:
    with raises(errors.Io, 'path: "nowhere.safetensors" No such file or directory (os error 2)'):
        of(w=Tensor([1.0])).load("nowhere.safetensors")


def test_a_map_is_freed_without_the_cycle_collector() -> None:
    gc.disable()
    try:
        varmap = of(w=Tensor([1.0]))
        gone: list[int] = []
        there = weakref.ref(varmap, lambda _: gone.append(1))
        del varmap
        assert gone == [1] and there() is None
    finally:
        gc.enable()


def test_an_init_is_what_a_map_takes_as_a_hint() -> None:
    assert VarMap().get(2, "w", Init.Const(2.0)).tolist() == [2.0, 2.0]
