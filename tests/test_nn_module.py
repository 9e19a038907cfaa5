"""Modules, functions as modules, and layers one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from expect import raises

from cafe import Tensor, Var
from cafe.nn import Dropout, Identity, Linear, Module, ModuleT, Sequential, func, func_t, seq

X = Tensor([1.0, -2.0])


class Twice(Module):
    def forward(self, xs: Tensor) -> Tensor:
        return xs * 2.0


class Moody(ModuleT):
    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        return xs.neg() if train else xs


def test_a_module_is_called_through_forward_and_ignores_training() -> None:
    twice = Twice()
    for y in (twice(X), twice.forward(X), twice.forward_t(X, True), twice(X, False)):
        assert y.tolist() == [2.0, -4.0]
    assert isinstance(twice, ModuleT)


def test_a_module_t_is_told_about_training() -> None:
    assert Moody()(X, True).tolist() == [-1.0, 2.0]
    assert Moody().forward_t(X, False).tolist() == [1.0, -2.0]


@pytest.mark.parametrize("layer", [Moody(), func_t(lambda xs, train: xs)])
def test_a_module_t_has_no_forward_and_says_what_to_call(layer: ModuleT) -> None:
    text = f"{type(layer).__name__} differs between training and use: call `forward_t(xs, train)`"
    with raises(AttributeError, text):
        layer.forward(X)
    with raises(TypeError, text):
        layer(X)
    assert not hasattr(layer, "forward")


def test_an_attribute_that_is_not_there_is_an_ordinary_error() -> None:
    with raises(AttributeError, "'Twice' object has no attribute 'backward'"):
        Twice().backward  # noqa: B018


@pytest.mark.parametrize(
    ("call", "text"),
    [(lambda: Module()(X), "Module has no `forward`"), (lambda: ModuleT()(X, True), "ModuleT has no `forward_t`")],
)
def test_the_bare_classes_compute_nothing(call: Callable[[], Any], text: str) -> None:
    with raises(NotImplementedError, text):
        call()


def test_functions_are_modules_and_print_as_in_candle() -> None:
    half = func(lambda xs: xs * 0.5)
    assert half(X).tolist() == [0.5, -1.0]
    assert func_t(lambda xs, train: xs if train else xs.neg())(X, False).tolist() == [-1.0, 2.0]
    assert (repr(half), repr(func_t(lambda xs, train: xs)), repr(Identity())) == ("func", "func", "Identity")


def test_func_can_decorate() -> None:
    @func
    def shifted(xs: Tensor) -> Tensor:
        return xs + 1.0

    assert isinstance(shifted, Module)
    assert shifted(X).tolist() == [2.0, -1.0]


# -- Sequential


def test_an_empty_sequence_gives_its_input_back() -> None:
    net = seq()
    assert net(X) is X
    assert net.forward_t(X, True) is X
    assert net.forward_all(X) == []
    assert (len(net), net.is_empty(), bool(net)) == (0, True, True)


def test_layers_run_in_the_order_in_which_they_were_added() -> None:
    net = seq().add(Twice()).add_fn(lambda xs: xs + 1.0).add(lambda xs: xs.relu())
    assert net(X).tolist() == [3.0, 0.0]
    assert [y.tolist() for y in net.forward_all(X)] == [[2.0, -4.0], [3.0, -3.0], [3.0, 0.0]]
    assert (len(net), net.is_empty()) == (3, False)
    assert isinstance(net[0], Twice)
    assert [type(layer).__name__ for layer in net] == ["Twice", "Func", "Func"]
    assert repr(seq(Identity(), Dropout(0.5), lambda xs: xs)) == "Sequential(Identity, Dropout(0.5), func)"


def test_add_gives_the_sequence_itself() -> None:
    net = seq()
    assert net.add(Twice()) is net
    assert net.add_fn(lambda xs: xs) is net


def test_a_sequence_is_a_module_in_a_sequence() -> None:
    inner = seq(Twice(), Twice())
    assert seq(inner, Twice())(X).tolist() == [8.0, -16.0]


@pytest.mark.parametrize("net", [seq(Twice(), Moody()), seq(Twice(), seq(Moody()))], ids=["flat", "nested"])
def test_a_sequence_with_a_layer_of_two_modes_must_be_told(net: Sequential) -> None:
    text = "this Sequential holds a Moody, which differs between training and use: call `forward_t(xs, train)`"
    for call in (net, net.forward, net.forward_all):
        with raises(TypeError, text):
            call(X)
    assert net.forward_t(X, True).tolist() == net(X, True).tolist() == [-2.0, 4.0]
    assert net(X, False).tolist() == [2.0, -4.0]
    assert [y.tolist() for y in net.forward_all(X, True)] == [[2.0, -4.0], [-2.0, 4.0]]


def test_a_layer_of_two_modes_that_joins_an_inner_sequence_later_is_noticed() -> None:
    inner = seq()
    net = seq(inner)
    inner.add(Moody())
    with raises(TypeError, "this Sequential holds a Moody, which differs between training and use: call `forward_t(xs, train)`"):
        net(X)
    assert net.forward_t(X, True).tolist() == [-1.0, 2.0]


@pytest.mark.parametrize(("layer", "found"), [(3, "int"), (X, "Tensor"), (Twice, "the class Twice"), (None, "NoneType")])
def test_a_sequence_takes_layers_and_functions_alone(layer: Any, found: str) -> None:
    with raises(TypeError, f"add: expected a Module or a function, found {found}"):
        seq().add(layer)


def test_gradients_go_through_a_sequence() -> None:
    w = Var([[2.0, 3.0]])
    net = seq(Linear(w), lambda xs: xs.sqr())
    grads = net(Tensor([[1.0, 1.0]])).sum_all().backward()
    assert grads[w].tolist() == [[10.0, 10.0]]


# -- Dropout


def test_dropout_in_use_is_the_identity() -> None:
    assert Dropout(0.5).forward(X, False) is X
    assert Dropout(0.5).forward_t(X, False) is X
    assert Dropout(0.0).forward_t(X, True) is X


def test_dropout_in_training_keeps_the_mean_and_its_gradient_is_its_mask() -> None:
    x = Var.ones(100_000)
    y = Dropout(0.25)(x, True)
    values = y.numpy()
    kept = values != 0.0
    assert set(values.tolist()) == {0.0, (Tensor([4.0]) / 3.0).item()}
    assert abs(kept.mean() - 0.75) < 0.01  # 7 standard deviations
    assert y.sum_all().backward()[x].tolist() == y.tolist()


def test_dropout_wants_to_know_whether_this_is_training() -> None:
    with pytest.raises(TypeError, match="train"):
        Dropout(0.5).forward(X)  # type: ignore[call-arg]
    with raises(TypeError, "Dropout differs between training and use: call `forward_t(xs, train)`"):
        Dropout(0.5)(X)
