"""What hands used to PyTorch and NumPy write, and what they are told: names, keywords, operators, layers, other libraries' tensors."""

from __future__ import annotations

import functools
import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cafe
from cafe import DType, Tensor, Var, nn
from cafe.habits import PACKAGE, Unlike, told
from cafe.io import safetensors
from cafe.nn import habits as of_nn
from cafe.nn import loss, ops
from cafe.tensor import habits as of_tensors
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
PARAMETERS = ["inp", "target", "q", "k", "v", "mask", "causal", "scale", "kernel_size", "weight", "ignore_index", "label_smoothing"]
PARAMETERS += ["reduction", "delta", "lr", "beta1", "beta2", "eps", "weight_decay", "momentum", "dampening", "nesterov"]
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
    for name, text in {**{name: vars(Habits)[name].instead for name in names_of(Habits)}, **of_tensors.CALLS}.items():
        for called in re.findall(r"(?:(?<=`)|\b(?:t|a|b|mask|Tensor|Var)\.)(\w+)\(", text):
            assert hasattr(Var, called) or hasattr(cafe, called), f"{name} speaks of {called}"
    for name, text in of_nn.CALLS.items():
        for called in re.findall(r"(?<=`)(\w+)[(`]", text):
            known = dir(nn) + dir(loss) + dir(nn.SGD) + PARAMETERS
            assert called in known, f"{name} speaks of {called}"
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


# -- calls that do not fit


def misfit(call: Callable[..., object]) -> str:
    """What a call with one argument more than fits is told: by a name that nothing has, unless only places are taken."""
    parameters = inspect.signature(call, follow_wrapped=False).parameters
    needed = [None for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
    by_name = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    with pytest.raises(TypeError) as caught:
        call(*needed, **{"nonsense": 1} if by_name else {}) if by_name or "more" not in parameters else call(*needed, None)
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize("name", of_tensors.CALLS)
def test_a_call_that_does_not_fit_a_method_is_told_how_it_is_written(name: str) -> None:
    call = {"Tensor": functools.partial(Tensor, 1.0), "Var": functools.partial(Var, 1.0)}.get(name) or getattr(T, name)
    said = misfit(call)
    row = of_tensors.CALLS[name]
    told = f"Tensor.{name}() got an unexpected keyword argument 'nonsense'\nhelp: {row}"
    assert said in (told, f"{name} has no `nonsense`: {row}", f"{name}: {row}")


@pytest.mark.parametrize("name", of_nn.CALLS)
def test_a_call_that_does_not_fit_a_function_is_told_how_it_is_written(name: str) -> None:
    call = nn.SGD([], 0.1).step if name == "step" else getattr(nn, name, None) or getattr(loss, name)
    if name == "step":
        with pytest.raises(TypeError, match=re.escape(f"step: {of_nn.CALLS[name]}")):
            call()
    else:
        assert misfit(call).count(of_nn.CALLS[name]) == 1


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: T.clamp(min=0.0), "clamp has no `min`: `clamp(low, high)` wants both bounds; one alone is `maximum(low)`"),
        (lambda: T.clamp(0.0), "clamp: `clamp(low, high)` wants both bounds; one alone is `maximum(low)`"),
        (lambda: T.sort_last_dim(), "sort_last_dim: `sort_last_dim(True)` gives the smallest first"),
        (lambda: T.arg_sort_last_dim(descending=True), "arg_sort_last_dim has no `descending`: `arg_sort_last_dim(True)` gives"),
        (lambda: T.sort_last_dim(-1), "sort_last_dim: `sort_last_dim(True)` gives the smallest first"),
        (lambda: T.arg_sort_last_dim(0), "arg_sort_last_dim: `arg_sort_last_dim(True)` gives the place"),
        (lambda: T.flatten(), "flatten: `flatten(start, end)` joins these dims and those between"),
        (lambda: T.squeeze(), "squeeze: `squeeze(dim)` drops one dim of size 1"),
        (lambda: T.expand(3, 2, 2), "expand: the sizes are one argument, a tuple: `t.expand((3, 2))`"),
        (lambda: T.repeat(2, 1), "repeat: how often along each dim is one argument, a tuple"),
        (lambda: T.round(decimals=2), "round has no `decimals`: it rounds to whole numbers; `round_to(decimals)`"),
        (lambda: Tensor.zeros(2, requires_grad=True), "zeros has no `requires_grad`: `Tensor.zeros((2, 3), DType.F32)`; `Var.zeros` takes"),
        (lambda: T.zeros_like(dtype="f64"), "zeros_like has no `dtype`: it is of t's dtype"),
        (lambda: Tensor.arange(0, 10, 2), "arange: `Tensor.arange(0, 3)`; `Tensor.arange_step(0, 9, 3)` has steps"),
        (lambda: V.backward(T), "backward: it starts from ones; other weights go before it, `(t * weights).sum_all().backward()`"),
        (lambda: V.backward(gradient=T), "backward has no `gradient`: it starts from ones"),
        (lambda: loss.mse(T, T, reduction="sum"), "mse has no `reduction`: it takes `inp` and `target` and gives the mean"),
        (lambda: loss.cross_entropy(T, T, T), "cross_entropy: `cross_entropy(inp, target)`; `weight`, `ignore_index`"),
        (lambda: nn.SGD([], 0.1).step(), "step: it takes the gradients: `step(loss.backward())`"),
    ],
)
def test_a_call_in_others_manner_is_told_what_to_write(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match="^" + re.escape(said)):
        slip()


@pytest.mark.parametrize(
    ("slip", "said", "help"),
    [
        (lambda: T.log_sum_exp(dims=0), "Tensor.log_sum_exp() got an unexpected keyword argument 'dims'", "`log_sum_exp(dim)`"),
        (lambda: Tensor.linspace(0, 1), "Tensor.linspace() missing 1 required positional argument: 'steps'", "how many; `Var.linspace`"),
        (lambda: nn.ParamsAdamW(betas=(0.9, 0.999)), "ParamsAdamW.__init__() got an unexpected keyword", "it takes `lr`, `beta1`,"),
        (lambda: nn.MaxPool2d(kernel_size=2), "MaxPool2d.__init__() got an unexpected keyword argument", "it takes `kernel`, `stride`,"),
        (lambda: nn.SGD(params=[], lr=0.1), "SGD.__init__() got an unexpected keyword argument 'params'", "it takes `vars`, `lr`,"),
        (lambda: nn.Cosine(0.1, T_max=10), "Cosine.__init__() got an unexpected keyword argument 'T_max'", "it takes `lr`, `steps`"),
        (lambda: nn.TransformerConfig(d_model=4), "TransformerConfig.__init__() got an unexpected keyword", "it takes `dim`, `heads`,"),
        (lambda: nn.linear(3, 2), "linear: missing a required argument: 'vb'", "it is `linear(in_dim, out_dim, vb)`"),
        (lambda: nn.conv2d(1, 2, 3, padding=1, vb=VB), "conv2d: missing a required argument: 'cfg'", "`Conv2dConfig(padding=1)`"),
        (lambda: nn.Conv2d(T, groups=2), "Conv2d: got an unexpected keyword argument 'groups'", "`nn.conv2d(in_channels,"),
        (lambda: nn.VarBuilder(VARMAP), "VarBuilder.__init__() missing 2 required", "`VarBuilder.from_varmap(varmap, DType.F32)`"),
        (lambda: nn.clip_grad_norm([V], 1.0), "clip_grad_norm() missing 1 required positional argument", "`clip_grad_norm(grads, "),
        (lambda: cafe.no_grad(print), "no_grad() takes 0 positional arguments but 1 was given", "`@no_grad()`"),
    ],
)
def test_a_wrong_call_has_public_names_and_a_cure(slip: Callable[[], object], said: str, help: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)) as caught:
        slip()
    assert len(caught.value.__notes__) == 1 and help in caught.value.__notes__[0]


def test_python_speaks_of_tensor_whichever_file_a_method_is_in() -> None:
    methods = [n for n in dir(Tensor) if not n.startswith("_") and callable(getattr(Tensor, n, None))]
    assert len(methods) > 150
    for name in set(methods) - {"i"} - set(of_tensors.CALLS):
        with pytest.raises(TypeError, match=rf"^(Tensor|Var)\.{name}\(\) got an unexpected keyword argument 'nonsense'"):
            getattr(V, name)(nonsense=1)
    assert pickle.loads(pickle.dumps(Tensor.relu)) is Tensor.relu and pickle.loads(pickle.dumps(Tensor.clamp)) is Tensor.clamp


def test_an_error_inside_a_function_is_not_taken_for_a_wrong_call() -> None:
    with pytest.raises(TypeError, match="a shape is an int or several of them") as caught:
        T.expand("ab")  # type: ignore[arg-type]
    assert not hasattr(caught.value, "__notes__")
    help = "`brew(grams)`"

    @told({"brew": help})
    def brew(grams: int) -> None:
        len(grams)  # type: ignore[arg-type]

    with pytest.raises(TypeError) as caught:
        brew(2)
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(TypeError) as caught:
        brew()  # type: ignore[call-arg]
    assert caught.value.__notes__ == [f"help: {help}"]


def test_dims_in_the_place_of_a_device() -> None:
    with pytest.raises(TypeError, match="expected a Device, found int") as caught:
        Tensor.zeros(2, 3, 4)  # type: ignore[arg-type]
    assert caught.value.__notes__ == ["help: several dims are one argument, a tuple"]


def test_other_classes_and_modules_answer_too() -> None:
    grads = V.sqr().sum_all().backward()
    for owner, name, said in (
        (cafe.Device, "cuda", "a Device has no `cuda`: there is the CPU alone"),
        (cafe.Device, "cpu", "a Device has no `cpu`: it is `Device.Cpu`"),
        (grads, "items", r"a GradStore has no `items`: `grads\[v\]`"),
        (safetensors, "save_file", r"module `cafe\.io\.safetensors` has no `save_file`: it is `save`"),
        (loss, "CrossEntropyLoss", r"module `cafe\.nn\.loss` has no `CrossEntropyLoss`: it is the function `loss\.cross_entropy"),
        (nn, "softmax", r"module `cafe\.nn` has no `softmax`: it is `cafe\.nn\.ops\.softmax`"),
        (nn, "mse", r"module `cafe\.nn` has no `mse`: it is `cafe\.nn\.loss\.mse`"),
        (nn, "relu", r"module `cafe\.nn` has no `relu`: it is a method, `Tensor\.relu`"),
        (loss, "softmax", r"module `cafe\.nn\.loss` has no `softmax`: it is `cafe\.nn\.ops\.softmax`"),
    ):
        with pytest.raises(AttributeError, match=said):
            getattr(owner, name)


# -- keywords and orders


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: T.sum(axis=0), "sum has no `axis`: `sum(dim)`; `sum_keepdim(dim)` keeps the dim at size 1, `sum_all()` reduces"),
        (lambda: T.sum(0, keepdim=True), "sum has no `keepdim`: `sum(dim)`; `sum_keepdim(dim)` keeps the dim at size 1"),
        (lambda: T.mean(dim=0, keepdim=True), "mean has no `keepdim`: `mean(dim)`; `mean_keepdim(dim)` keeps the dim at size 1"),
        (lambda: T.max(axis=1), "max has no `axis`: `max(dim)`;"),
        (lambda: T.prod(axis=1), "prod has no `axis`: `prod(dim)`;"),
        (lambda: T.argmin(axis=1), "argmin has no `axis`: `argmin(dim)`; `argmin_keepdim(dim)` keeps the dim at size 1"),
        (lambda: T.var(0, unbiased=False), "var has no `unbiased`: `var(dim)`; `var_keepdim(dim)` keeps the dim at size 1; it divides"),
        (lambda: T.sum(0, True), "sum: `sum(dim)`; `sum_keepdim(dim)` keeps the dim at size 1"),
        (lambda: T.max(1, True), "max: `max(dim)`;"),
        (lambda: T.var(1, False), "var: `var(dim)`;"),
        (lambda: T.squeeze(0, 1), "squeeze: `squeeze(dim)` drops one dim"),
        (lambda: T.clamp(0, 1, 2), "clamp: `clamp(low, high)` wants both bounds"),
        (lambda: T.sort_last_dim(-1, True), "sort_last_dim: `sort_last_dim(True)` gives the smallest first"),
        (lambda: T.dim(), "dim: `dim(i)` is the size of one dim; `rank` is the number of dims"),
        (lambda: T.argmax(), "argmax: `argmax(dim)`;"),
        (lambda: T.var(), "var: `var(dim)`;"),
        (lambda: Tensor([1.0], requires_grad=True), "Tensor has no `requires_grad`: it takes `data`, `dtype` and `device`"),
        (lambda: Var([1.0], requires_grad=True), "Var has no `requires_grad`"),
        (lambda: Tensor.randn(2, 3), "randn: `Tensor.randn(0.0, 1.0, (2, 3))`: mean, deviation, shape"),
        (lambda: Tensor.rand((2, 3)), "rand: `Tensor.rand(0.0, 1.0, (2, 3))`: bounds, shape"),
        (lambda: Tensor.arange(3), "arange: `Tensor.arange(0, 3)`;"),
        (lambda: Tensor.full((2, 3), 1.0), "full: `Tensor.full(1.0, (2, 3))`"),
        (lambda: Tensor.full((2, 3), fill_value=1.0), "full has no `fill_value`: `Tensor.full(1.0, (2, 3))`"),
        (lambda: Tensor.eye(2, 3), "eye: `Tensor.eye(3)`, a square"),
        (lambda: T // 2, "a Tensor has no operator //"),
        (lambda: T % 2, "a Tensor has no operator %"),
        (lambda: divmod(T, 2), "a Tensor has no operator divmod"),
        (lambda: divmod(2, T), "a Tensor has no operator divmod"),
        (lambda: 2 // T, "a Tensor has no operator //"),
        (lambda: 2 % T, "a Tensor has no operator %"),
        (lambda: 1 & T, "a Tensor has no operator &"),
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
        (lambda: T.add(1.0), TypeError, "`t + 1.0` takes a number"),
        (lambda: T.gt(2.0).where_cond(T, 0.0), TypeError, "`masked_fill` takes a number"),
        (lambda: T.where_cond(T, T), cafe.Error, "a mask is of integers: `t.ne(0.0)` is 1 where t is not 0"),
        (lambda: T.masked_fill(T, 0.0), cafe.Error, "`t.ne(0.0)` a mask"),
        (lambda: T.index_select(Tensor([0.0]), 0), cafe.Error, "`to_dtype(DType.U32)` makes ids of numbers"),
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


def test_a_module_with_the_name_of_others_function_says_what_makes_a_tensor() -> None:
    with pytest.raises(TypeError, match="^" + re.escape("`cafe.tensor` is a module: `cafe.Tensor(data)` makes a tensor")):
        cafe.tensor([1, 2], dtype="f32")
    assert inspect.ismodule(cafe.tensor)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "u8"])
@pytest.mark.parametrize(("numbers", "some", "every"), [([], 0, 1), ([0.0], 0, 0), ([0.0, 2.0], 1, 0), ([1.0], 1, 1)])
def test_hints_for_any_all_and_equal_hold_for_nothing_too(dtype: str, numbers: list[float], some: int, every: int) -> None:
    t = Tensor(numbers).to_dtype(dtype)
    for name, hint in (("any", "`t.numpy().any()`"), ("all", "`t.numpy().all()`"), ("equal", "`numpy.array_equal(a.numpy(), b.numpy())`")):
        with pytest.raises(AttributeError, match=re.escape(hint)):
            getattr(t, name)
    assert t.numpy().any() == some and t.numpy().all() == every
    assert np.array_equal(t.numpy(), t.numpy()) and not np.array_equal(t.numpy(), t.numpy() + 1 if numbers else np.ones(1))


def test_a_hint_of_a_unit_length_holds_for_zeros_too() -> None:
    assert of_nn.OPS["normalize"] == "`xs.broadcast_div(xs.sqr().sum_keepdim(dim).sqrt().maximum(1e-12))`"
    xs = Tensor([[3.0, 4.0], [0.0, 0.0]])
    assert np.allclose(xs.broadcast_div(xs.sqr().sum_keepdim(1).sqrt().maximum(1e-12)).numpy(), [[0.6, 0.8], [0.0, 0.0]])


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
