"""Builders: prefixes, sources, renaming, dtypes, and candle's errors from each source."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
from expect import raises

from cafe import Device, DType, Error, Tensor, errors
from cafe.io import npy, safetensors
from cafe.nn import Init, Linear, VarBuilder, VarMap, init, linear

Make = Callable[[dict[str, Tensor], pathlib.Path], VarBuilder]


def _npz(tensors: dict[str, Tensor], folder: pathlib.Path) -> VarBuilder:
    npy.write_npz(tensors, folder / "t.npz")
    return VarBuilder.from_npz(folder / "t.npz")


def _mapped(tensors: dict[str, Tensor], folder: pathlib.Path) -> VarBuilder:
    safetensors.save(tensors, folder / "t.safetensors")
    return VarBuilder.from_mmaped_safetensors([folder / "t.safetensors"])


def _buffered(tensors: dict[str, Tensor], folder: pathlib.Path) -> VarBuilder:
    safetensors.save(tensors, folder / "t.safetensors")
    return VarBuilder.from_buffered_safetensors((folder / "t.safetensors").read_bytes())


def _sliced(tensors: dict[str, Tensor], folder: pathlib.Path) -> VarBuilder:
    safetensors.save(tensors, folder / "t.safetensors")
    return VarBuilder.from_slice_safetensors((folder / "t.safetensors").read_bytes())


SOURCES: dict[str, Make] = {
    "tensors": lambda tensors, _: VarBuilder.from_tensors(tensors),
    "mapped": _mapped,
    "buffered": _buffered,
    "sliced": _sliced,
    "npz": _npz,
}
sources = pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())


# -- places


def test_prefixes_go_down_and_back_to_the_root() -> None:
    vb = VarBuilder.zeros()
    assert vb.prefix() == ""
    deep = vb.pp("till").push_prefix("layers").pp(0)
    assert deep.prefix() == "till.layers.0"
    assert (deep.root().prefix(), deep.set_prefix("other").prefix(), vb.prefix()) == ("", "other", "")
    assert vb.pp("a.b").pp("c").prefix() == "a.b.c"
    assert repr(deep) == "VarBuilder(prefix='till.layers.0', dtype=F32)"


def test_a_builder_is_never_changed() -> None:
    vb = VarBuilder.zeros(DType.F32)
    assert vb.to_dtype("f64").dtype is vb.set_dtype(DType.F64).dtype is DType.F64
    assert vb.dtype is DType.F32
    assert vb.pp("a").to_dtype("f64").prefix() == "a"
    assert (vb.device, vb.set_device(Device.Cpu).device) == (Device.Cpu, Device.Cpu)


def test_what_is_no_map_no_device_no_init_is_refused() -> None:
    with raises(TypeError, "expected VarMap, found dict"):
        VarBuilder.from_varmap({})  # type: ignore[arg-type]
    with raises(TypeError, "expected a Device, found str"):
        VarBuilder.zeros("f32", "cpu")  # type: ignore[arg-type]
    with raises(TypeError, "expected Init, found float"):
        VarBuilder.zeros().get_with_hints(2, "w", 0.5)  # type: ignore[arg-type]


# -- over a map


def test_a_map_makes_what_is_not_there() -> None:
    varmap = VarMap()
    vb = VarBuilder.from_varmap(varmap, DType.F64).pp("a")
    assert not vb.contains_tensor("w")
    w = vb.get_with_hints((1, 2), "w", Init.Const(2.0))
    assert (w.tolist(), w.dtype, w.is_variable(), w is varmap.data()["a.w"]) == ([[2.0, 2.0]], DType.F64, True, True)
    assert vb.contains_tensor("w") and not vb.contains_tensor("W") and not vb.root().contains_tensor("w")
    assert vb.get(3, "zeros").tolist() == [0.0] * 3
    assert vb.get_with_hints_dtype(1, "half", init.ONE, "f16").dtype is DType.F16


def test_a_map_and_zeros_need_a_shape() -> None:
    with raises(Error, "`get_unchecked` does not make sense for `VarMap`, use `get`."):
        VarBuilder.from_varmap(VarMap()).get_unchecked("w")
    with raises(Error, "`Zeros` requires a shape for tensor retrieval, use `get` instead of `get_unchecked`"):
        VarBuilder.zeros().get_unchecked("w")


def test_zeros_hold_every_name() -> None:
    vb = VarBuilder.zeros("f64")
    z = vb.get_with_hints((2,), "anything", init.ONE)
    assert (z.tolist(), z.dtype, z.is_variable(), vb.contains_tensor("x")) == ([0.0, 0.0], DType.F64, False, True)


# -- over tensors and files


@sources
def test_tensors_come_back_by_full_name_in_the_dtype_wanted(make: Make, tmp_path: pathlib.Path) -> None:
    vb = make({"a.w": Tensor([[1.0, 2.0]]), "n": Tensor([3])}, tmp_path)
    assert vb.pp("a").get((1, 2), "w").tolist() == [[1.0, 2.0]]
    assert not vb.pp("a").get((1, 2), "w").is_variable()
    assert (vb.contains_tensor("a.w"), vb.contains_tensor("a"), vb.contains_tensor("w")) == (True, False, False)
    assert vb.pp("a").contains_tensor("w")
    for got in (vb.to_dtype("f64").get(1, "n"), vb.get_with_hints_dtype(1, "n", init.ZERO, "f64"), vb.get_unchecked_dtype("n", "f64")):
        assert (got.tolist(), got.dtype) == ([3.0], DType.F64)


@sources
def test_get_unchecked_takes_any_shape_and_follows_to_dtype(make: Make, tmp_path: pathlib.Path) -> None:
    vb = make({"w": Tensor([[1.0, 2.0]])}, tmp_path)
    assert vb.get_unchecked("w").tolist() == [[1.0, 2.0]]
    assert vb.to_dtype(DType.F64).get_unchecked("w").dtype is DType.F64  # candle keeps the first dtype


@sources
def test_a_name_that_is_not_there_is_named_in_full_with_near_ones(make: Make, tmp_path: pathlib.Path) -> None:
    vb = make({"till.out.weight": Tensor([1.0])}, tmp_path).pp("till").pp("out")
    for call in (lambda: vb.get(1, "weigth"), lambda: vb.get_unchecked("weigth")):
        with raises(errors.CannotFindTensor, "cannot find tensor till.out.weigth", "did you mean `till.out.weight`?"):
            call()


@sources
def test_another_shape_is_an_error(make: Make, tmp_path: pathlib.Path) -> None:
    vb = make({"a.weight": Tensor.zeros((3, 2))}, tmp_path)
    with raises(errors.UnexpectedShape, "shape mismatch for a.weight, expected: [2, 3], got: [3, 2]"):
        vb.pp("a").get((2, 3), "weight")


def test_of_several_files_the_later_one_counts(tmp_path: pathlib.Path) -> None:
    safetensors.save({"a": Tensor([1.0]), "b": Tensor([1.0])}, tmp_path / "1.safetensors")
    safetensors.save({"b": Tensor([2.0])}, tmp_path / "2.safetensors")
    vb = VarBuilder.from_mmaped_safetensors([tmp_path / "1.safetensors", tmp_path / "2.safetensors"])
    assert (vb.get(1, "a").tolist(), vb.get(1, "b").tolist()) == ([1.0], [2.0])
    for one in (tmp_path / "1.safetensors", str(tmp_path / "1.safetensors")):
        assert VarBuilder.from_mmaped_safetensors(one).get(1, "b").tolist() == [1.0]


def test_a_file_that_is_not_there() -> None:
    with raises(errors.Io, 'path: "nowhere.safetensors" No such file or directory (os error 2)'):
        VarBuilder.from_mmaped_safetensors(["nowhere.safetensors"])


def test_a_layer_from_tensors_has_no_variables() -> None:
    weights = {"till.hidden.weight": Tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), "till.hidden.bias": Tensor([0.0, 0.5])}
    vb = VarBuilder.from_tensors(weights)
    layer = linear(3, 2, vb.pp("till").pp("hidden"))
    assert not layer.weight.is_variable()
    assert layer(Tensor([[3.0, 4.0, 5.0]])).to_vec2() == [[3.0, 4.5]]
    with raises(errors.CannotFindTensor, "cannot find tensor till.out.weight"):
        linear(2, 1, vb.pp("till").pp("out"))


def test_a_model_trained_in_a_map_is_used_from_its_file(tmp_path: pathlib.Path) -> None:
    def build(vb: VarBuilder) -> Linear:
        return linear(3, 2, vb.pp("fc"))

    varmap = VarMap()
    trained = build(VarBuilder.from_varmap(varmap))
    varmap.save(tmp_path / "m.safetensors")
    used = build(VarBuilder.from_mmaped_safetensors([tmp_path / "m.safetensors"]))
    x = Tensor.randn(0, 1, (4, 3))
    assert used(x).tolist() == trained(x).tolist()


# -- other names


def test_the_same_name_deeper_or_higher_is_offered_before_like_ones() -> None:
    deeper = VarBuilder.from_tensors({"model.emb.weight": Tensor([1.0]), "model.bn.weight": Tensor([1.0])})
    with raises(errors.CannotFindTensor, "cannot find tensor emb.weight", "help: did you mean `model.emb.weight`?"):
        deeper.get(1, "emb.weight")
    with raises(errors.CannotFindTensor, "cannot find tensor a.model.bn.weight", "help: did you mean `model.bn.weight`?"):
        deeper.pp("a").get(1, "model.bn.weight")


def test_renaming_after_a_prefix_looks_up_the_name_once() -> None:
    """candle joins the prefix twice here."""
    vb = VarBuilder.from_tensors({"a.w": Tensor([1.0])})
    seen = []

    def same(name: str) -> str:
        seen.append(name)
        return name

    assert vb.pp("a").rename_f(same).get(1, "w").tolist() == [1.0]
    assert vb.rename_f(same).pp("a").get(1, "w").tolist() == [1.0]
    assert seen == ["a.w", "a.w"]


def test_renaming_reaches_every_lookup_and_can_be_repeated() -> None:
    vb = VarBuilder.from_tensors({"x.weight": Tensor([1.0])}).rename(lambda name: name.replace("gamma", "weight"))
    twice = vb.rename_f(lambda name: name.replace("g.", "x."))
    assert vb.pp("x").contains_tensor("gamma") and not vb.contains_tensor("gamma")
    assert twice.pp("g").get(1, "gamma").tolist() == twice.get_unchecked("g.gamma").tolist() == [1.0]
    with raises(errors.CannotFindTensor, "cannot find tensor x.beta"):
        twice.pp("g").get(1, "beta")


def test_a_map_can_be_filled_under_other_names() -> None:
    varmap = VarMap()
    linear(2, 1, VarBuilder.from_varmap(varmap).pp("new").rename_f(lambda name: name.replace("new.", "old.")))
    assert list(varmap.data()) == ["old.weight", "old.bias"]


def test_ones_own_source() -> None:
    class Ones:
        def get(self, shape: tuple[int, ...], name: str, init: Init, dtype: DType) -> Tensor:
            return Tensor.ones(shape, dtype)

        def get_unchecked(self, name: str, dtype: DType) -> Tensor:
            raise errors.CannotFindTensor(name)

        def contains_tensor(self, name: str) -> bool:
            return name.endswith("w")

    vb = VarBuilder.from_backend(Ones(), "f64").pp("a")
    assert (vb.get(2, "w").tolist(), vb.contains_tensor("w"), vb.contains_tensor("b")) == ([1.0, 1.0], True, False)
