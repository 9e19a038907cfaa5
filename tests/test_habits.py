"""What hands used to PyTorch and NumPy write, and what they are told: names, keywords, operators, layers, other libraries' tensors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cafe
from cafe import DType, Tensor, Var, nn
from cafe.habits import PACKAGE, Unlike
from cafe.nn import habits as of_nn
from cafe.nn import loss, ops
from cafe.tensor.habits import Habits

T, V = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Var([1.0, 2.0])
VARMAP = nn.VarMap()
VB = nn.VarBuilder.from_varmap(VARMAP, DType.F32)
LINEAR = nn.linear(3, 2, VB)
OWNERS: list[tuple[object, type]] = [
    (T, Habits),
    (LINEAR, of_nn.ModuleHabits),
    (nn.Dropout(0.5), of_nn.ModuleHabits),
    (VARMAP, of_nn.VarMapHabits),
    (nn.SGD([], 0.1), of_nn.OptimizerHabits),
    (nn.AdamW([], nn.ParamsAdamW()), of_nn.OptimizerHabits),
]
MODULES: list[tuple[Any, dict[str, str]]] = [(cafe, PACKAGE), (nn, of_nn.MODULE), (loss, of_nn.LOSSES), (ops, of_nn.OPS)]


def names_of(table: type) -> list[str]:
    return [name for name, value in vars(table).items() if isinstance(value, Unlike)]


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, table in OWNERS for name in names_of(table)])
def test_a_name_that_others_have_is_told_what_there_is_instead(owner: object, name: str) -> None:
    with pytest.raises(AttributeError, match=rf"^an? {type(owner).__name__} has no (method )?`{name}`: .+"):
        getattr(owner, name)
    assert not hasattr(owner, name)


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, table in MODULES for name in table])
def test_a_modules_name_that_others_have_is_told_what_there_is_instead(module: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=rf"module `{module.__name__}` has no `{name}`: .*"):
        getattr(module, name)


def test_a_method_asked_of_a_module_is_pointed_to() -> None:
    for module, name in ((cafe, "zeros"), (cafe, "cat"), (ops, "relu")):
        with pytest.raises(AttributeError, match=f"module `{module.__name__}` has no `{name}`: it is a method, `Tensor.{name}`"):
            getattr(module, name)


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    with pytest.raises(AttributeError, match=r"module `cafe\.nn` has no attribute `Linaer`") as caught:
        nn.Linaer  # type: ignore[attr-defined]  # noqa: B018
    assert caught.value.__notes__ == ["help: did you mean `Linear` or `linear`?"]
    assert not hasattr(cafe, "__wrapped__")


def test_what_the_tables_name_is_there() -> None:
    """In `…` a call on nothing, or on t, a, b, mask or Tensor, is a method of Tensor; of a layer's or map's table it is looked up there."""
    for name in names_of(Habits):
        for called in re.findall(r"(?:(?<=`)|\b(?:t|a|mask|Tensor)\.)(\w+)\(", vars(Habits)[name].instead):
            assert hasattr(Tensor, called) or hasattr(cafe, called), f"{name} speaks of {called}"
    for name, text in of_nn.MODULE.items():
        for said in re.findall(r"`(?:loss\.)?(\w+)", text):
            assert hasattr(nn, said) or hasattr(loss, said) or said in ("cafe", "vb", "Var"), f"{name} speaks of {said}"
    for layer, call in of_nn.BUILDERS.items():
        assert hasattr(nn, layer) and hasattr(nn, call.partition("(")[0])


def test_a_class_of_ones_own_may_have_such_names() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            self.children = [LINEAR]

        def parameters(self) -> list[Var]:
            return VARMAP.all_vars()

    assert Counted().children == [LINEAR] and len(Counted().parameters()) == 2


# -- keywords and orders


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: T.sum(axis=0), "sum has no `axis`: it takes a `dim`"),
        (lambda: T.sum(0, keepdim=True), "sum has no `keepdim`: `sum_keepdim(dim)` keeps the dim at size 1"),
        (lambda: T.mean(dim=0, keepdim=True), "mean has no `keepdim`: `mean_keepdim(dim)` keeps the dim at size 1"),
        (lambda: T.max(axis=1), "max has no `axis`: it takes a `dim`"),
        (lambda: T.prod(axis=1), "prod has no `axis`: it takes a `dim`"),
        (lambda: T.argmin(axis=1), "argmin has no `axis`: it takes a `dim`"),
        (lambda: T.var(0, unbiased=False), "var has no `unbiased`: it takes a `dim`, and divides by n − 1"),
        (lambda: T.argmax(), "argmax() needs a dim"),
        (lambda: T.var(), "var() needs a dim"),
        (lambda: Tensor([1.0], requires_grad=True), "Tensor has no `requires_grad`: it takes `data`, `dtype` and `device`"),
        (lambda: Var([1.0], requires_grad=True), "Var has no `requires_grad`"),
        (lambda: Tensor.randn(2, 3), "randn takes the mean and deviation first: `Tensor.randn(0.0, 1.0, (2, 3))`"),
        (lambda: Tensor.rand((2, 3)), "rand takes the bounds first: `Tensor.rand(0.0, 1.0, (2, 3))`"),
        (lambda: Tensor.arange(3), "arange takes the start first: `Tensor.arange(0, 3)`"),
        (lambda: Tensor.full((2, 3), 1.0), "full takes the value first: `Tensor.full(1.0, (2, 3))`"),
        (lambda: T // 2, "a Tensor has no operator //"),
        (lambda: T % 2, "a Tensor has no operator %"),
        (lambda: T & T, "a Tensor has no operator &"),
        (lambda: T | T, "a Tensor has no operator |"),
        (lambda: T ^ T, "a Tensor has no operator ^"),
        (lambda: ~T, "a Tensor has no operator ~"),
        (lambda: T.apply(None), "apply: expected a module or a function, found NoneType"),
        (lambda: T.apply_t(None, True), "apply_t: expected a module, found NoneType"),
        (lambda: cafe.apply(None, T), "apply: expected an Op, found NoneType"),
        (lambda: nn.StepDecay(0.1, 2)("3"), "StepDecay: a step is an int, got '3'"),
        (lambda: nn.Cosine(0.1, 2)("3"), "Cosine: a step is an int, got '3'"),
        (lambda: nn.Warmup(2, nn.Cosine(0.1, 2))(0.5), "Warmup: a step is an int, got 0.5"),
    ],
)
def test_a_habit_is_told_what_to_write(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match="^" + re.escape(said)):
        slip()


def test_dims_may_be_named() -> None:
    assert T.sum(dim=0).tolist() == T.sum(0).tolist() and T.mean(dim=(0, 1)).item() == 3.5 and T.argmax(dim=1).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("slip", "kind", "help"),
    [
        (lambda: Tensor.zeros(2, 3), cafe.Error, "several dims are one argument, a tuple: `Tensor.zeros((2, 3))`"),
        (lambda: Tensor([1.0], device="cuda"), TypeError, "there is one, `Device.Cpu`"),
        (lambda: T.pow(2), TypeError, "it is `powf(e)` for a number"),
        (lambda: T.index_select(0, Tensor([0])), TypeError, "the ids come first: `t.index_select(ids, dim)`"),
        (lambda: T.gather(0, Tensor([[0]])), TypeError, "the ids come first: `t.gather(ids, dim)`"),
        (lambda: T.scatter(0, Tensor([[0]]), T), TypeError, "the dim comes last, after the ids"),
        (lambda: nn.Linear(3, 2), TypeError, "`Linear` is made of tensors; `nn.linear(in_dim, out_dim, vb)` makes one"),
        (lambda: nn.Linear(3, 2, bias=False), TypeError, "`nn.linear(in_dim, out_dim, vb)` makes one"),
        (lambda: nn.Conv2d(3, 2, kernel_size=3), TypeError, "`nn.conv2d(in_channels, out_channels, kernel_size, Conv2dConfig(), vb)`"),
        (lambda: nn.BatchNorm(3), TypeError, "`nn.batch_norm(num_features, 1e-5, vb)` makes one"),
        (lambda: nn.LSTM(3, 4), TypeError, "`nn.lstm(in_dim, hidden_dim, LSTMConfig(), vb)` makes one"),
        (lambda: nn.Sequential([LINEAR]), TypeError, "`Sequential(*layers)` takes the layers of a list"),
        (lambda: nn.SGD(LINEAR, 0.1), TypeError, "a model's variables are those of the VarMap it was made from, `varmap.all_vars()`"),
        (lambda: nn.SGD([T], 0.1), TypeError, "`Var.from_tensor(t)` makes one of a tensor"),
        (lambda: nn.AdamW([], lr=0.01), TypeError, "`AdamW.new_lr(vars, 0.01)`, or `AdamW(vars, ParamsAdamW(lr=0.01))`"),
        (lambda: nn.AdamW([]), TypeError, "`AdamW.new_lr(vars, 0.001)`"),
        (lambda: nn.Adam([], nn.ParamsAdamW()), TypeError, "`AdamW` alone takes its parameters in one"),
    ],
)
def test_a_habits_cure_stands_under_the_error(slip: Callable[[], object], kind: type[Exception], help: str) -> None:
    with pytest.raises(kind) as caught:
        slip()
    assert any(help in note for note in caught.value.__notes__)


# -- changes in place


def test_no_item_of_a_tensor_can_be_set() -> None:
    for t in (T, V):
        with pytest.raises(TypeError, match=f"a {type(t).__name__} does not change: no item can be set"):
            t[0] = 1.0


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "**", "@"])
def test_an_operator_does_not_make_a_variable_a_tensor(symbol: str) -> None:
    names = {"v": Var([1.0, 2.0]), "t": T}
    with pytest.raises(TypeError, match="a Var is not changed by an operator") as caught:
        exec(f"v {symbol}= 2.0", names)
    assert "`v.set(v + x)`" in caught.value.__notes__[0] and isinstance(names["v"], Var)
    if symbol != "@":
        exec(f"t {symbol}= 2.0", names)
        assert isinstance(names["t"], Tensor)


# -- other libraries' tensors


def test_another_librarys_tensor_is_called_by_its_full_name() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2, 3)
    for slip, said in (
        (lambda: T + x, "add: expected Tensor, found torch.Tensor"),
        (lambda: x * T, "mul: expected Tensor, found torch.Tensor"),
        (lambda: LINEAR(x), "Linear: expected Tensor, found torch.Tensor"),
        (lambda: Tensor(x), "a tensor holds numbers, found torch.Tensor"),
        (lambda: Tensor.from_numpy(x), "from_numpy: expected an ndarray, found torch.Tensor"),
    ):
        with pytest.raises(TypeError, match=said) as caught:
            slip()  # type: ignore[no-untyped-call]
        assert "`Tensor.from_dlpack(x)`" in caught.value.__notes__[0]
    assert Tensor.from_dlpack(x).tolist() == Tensor(x.numpy()).tolist() == np.ones((2, 3)).tolist()


def test_what_stands_in_for_fmod_and_conversions_is_what_pytorch_computes() -> None:
    t, n = Tensor([-7.0, 7.0, -1.5, 0.0]), 3.0
    with pytest.raises(AttributeError, match=re.escape("`t.sign() * (t.abs() - (t.abs() / n).floor() * n)`")):
        t.fmod  # noqa: B018
    assert (t.sign() * (t.abs() - (t.abs() / n).floor() * n)).tolist() == [-1.0, 1.0, -1.5, 0.0]
    for name, dtype in {"float": "F32", "double": "F64", "half": "F16", "long": "I64", "int": "I32"}.items():
        with pytest.raises(AttributeError, match=rf"to_dtype\(DType\.{dtype}\)"):
            getattr(t, name)
