"""Optimizers: candle's own numbers, hand-computed steps, who is stepped and who is not, halves, and state in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import DType, Error, GradStore, Tensor, Var, errors, kernels
from cafe.io import safetensors
from cafe.nn import (
    SGD,
    Adam,
    AdamW,
    Init,
    Linear,
    Optimizer,
    ParamsAdam,
    ParamsAdamW,
    ParamsSGD,
    VarMap,
)
from cafe.testing import assert_close

Make = Callable[[Any], Optimizer]
EVERY: dict[str, Make] = {
    "sgd": lambda vs: SGD(vs, 0.1),
    "momentum": lambda vs: SGD(vs, 0.1, momentum=0.9, dampening=0.5),
    "nesterov": lambda vs: SGD(vs, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "adam": lambda vs: Adam(vs, 0.1, weight_decay=0.1),
    "adamw": lambda vs: AdamW(vs, ParamsAdamW(lr=0.1)),
}
every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())


def given(*pairs: tuple[Var, list[float]]) -> GradStore:
    """A store that holds just these gradients."""
    store = GradStore()
    for var, g in pairs:
        store.insert(var, Tensor(g, dtype=var.dtype))
    return store


# -- candle's own tests: y = 3 x₁ + x₂ − 2 from four samples


def regression(make: Make, steps: int, w: Var, b: Var) -> None:
    truth = Linear(Tensor([[3.0, 1.0]]), Tensor(-2.0))
    xs = Tensor([[2.0, 1.0], [7.0, 4.0], [-4.0, 12.0], [5.0, 8.0]])
    ys = truth(xs)
    layer, opt = Linear(w, b), make([w, b])
    for _ in range(steps):
        opt.backward_step(layer(xs).sub(ys).sqr().sum_all())


def test_sgd_finds_a_minimum_to_candles_last_digit() -> None:
    x = Var(0.0)
    sgd = SGD([x], 0.1)
    for _ in range(100):
        sgd.backward_step((x - 4.2) * (x - 4.2))
    assert x.to_scalar() == np.float32(4.199999)


def test_sgd_regresses_to_candles_numbers() -> None:
    w, b = Var([[0.0, 0.0]]), Var(0.0)
    regression(lambda vs: SGD(vs, 0.004), 1000, w, b)
    assert_close(w, np.array([[2.9983196, 0.99790204]]), 2 * 2.0**-23)
    assert_close(b, np.array(-1.9796902), 2 * 2.0**-23)


def test_adamw_regresses_to_candles_numbers() -> None:
    w, b = Var([[0.0, 0.0]]), Var(0.0)
    regression(lambda vs: AdamW(vs, ParamsAdamW(lr=0.1)), 100, w, b)
    assert [[round(v, 4) for v in row] for row in w.to_vec2()] == [[2.7257, 0.7097]]
    assert round(b.to_scalar(), 4) == 0.7873


def test_adamw_regresses_to_the_same_numbers_through_a_map() -> None:
    varmap = VarMap()
    w, b = varmap.get((1, 2), "w", Init.Const(0.0)), varmap.get((), "b", Init.Const(0.0))
    regression(lambda _: AdamW(varmap.all_vars(), ParamsAdamW(lr=0.1)), 100, w, b)
    assert [[round(v, 4) for v in row] for row in w.to_vec2()] == [[2.7257, 0.7097]]
    assert round(b.to_scalar(), 4) == 0.7873


# -- steps worked out by hand


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        (ParamsAdamW(lr=0.1, eps=1e-8, weight_decay=0.01), [0.899000002, 0.804883040, 0.824713860]),
        (ParamsAdamW(lr=0.1, eps=1e-2, weight_decay=0.1), [0.891960784, 0.792123611, 0.804530828]),
    ],
)
def test_adamw_takes_these_three_steps(params: ParamsAdamW, wanted: list[float]) -> None:
    p = Var([1.0], dtype=DType.F64)
    opt = AdamW([p], params)
    for g, value in zip([0.5, 0.25, -1.0], wanted):
        opt.step(given((p, [g])))
        assert p.item() == pytest.approx(value, abs=1e-9)


def test_momentum_starts_at_the_gradient_and_dampens_from_the_second_step_on() -> None:
    p = Var([1.0], dtype=DType.F64)
    opt = SGD([p], 0.5, momentum=0.5, dampening=0.25)
    opt.step(given((p, [1.0])))  # m = 1
    assert p.item() == 0.5
    opt.step(given((p, [1.0])))  # m = 0.5 + 0.75
    assert p.item() == 0.5 - 0.5 * 1.25


def test_nesterov_looks_ahead_and_weight_decay_joins_the_gradient() -> None:
    p = Var([2.0], dtype=DType.F64)
    opt = SGD([p], 0.5, momentum=0.5, nesterov=True, weight_decay=0.25)
    opt.step(given((p, [0.5])))  # g = 0.5 + 0.5; m = 1; step g + 0.5 m
    assert p.item() == 2.0 - 0.5 * 1.5


def test_a_gradient_of_zero_without_decay_changes_nothing() -> None:
    p = Var([1.25, -3.0])
    opt = AdamW([p], ParamsAdamW(weight_decay=0.0))
    for _ in range(3):
        opt.step(given((p, [0.0, 0.0])))
    assert p.tolist() == [1.25, -3.0]


def test_bias_correction_is_computed_in_float64() -> None:
    """1 − β₂ᵗ in float32 is off by 1e-5 within 100 steps; steady gradients make every step lr long but for eps."""
    p = Var([0.0], dtype=DType.F64)
    opt = AdamW([p], ParamsAdamW(lr=1.0, eps=0.0, weight_decay=0.0))
    for t in range(1, 101):
        opt.step(given((p, [3.0])))
        assert p.item() == pytest.approx(-t, rel=1e-13)


# -- who is stepped


@every
def test_a_variable_given_twice_is_stepped_once(make: Make) -> None:
    once, twice = Var([1.0]), Var([1.0])
    make([once]).step(given((once, [1.0])))
    make([twice, twice]).step(given((twice, [1.0])))
    assert once.tolist() == twice.tolist() != [1.0]


@every
def test_integers_are_dropped(make: Make) -> None:
    whole, p = Var([1, 2]), Var([1.0])
    opt = make([whole, p])
    opt.step(given((p, [1.0])))
    assert [v.id for v in opt.into_inner()] == [p.id]  # type: ignore[attr-defined]
    assert whole.tolist() == [1, 2]


@every
def test_a_variable_without_a_gradient_is_left_alone_and_starts_late_as_if_it_were_new(make: Make) -> None:
    early, late, alone = (Var([1.0], dtype=DType.F64) for _ in range(3))
    opt, other = make([early, late]), make([alone])
    for _ in range(3):
        opt.step(given((early, [0.5])))
    assert late.tolist() == [1.0]
    for _ in range(2):
        opt.step(given((early, [0.5]), (late, [0.5])))
        other.step(given((alone, [0.5])))
    assert late.tolist() == alone.tolist()


@every
def test_variables_that_come_and_go_step_as_each_alone(make: Make) -> None:
    rng = np.random.default_rng(5)
    vs = [Var(rng.normal(size=n), dtype=DType.F64) for n in (1, 3, 2, 5)]
    alone = [Var(v) for v in vs]
    opt, others = make(vs), [make([v]) for v in alone]
    for _ in range(40):
        pairs = [(i, rng.normal(size=vs[i].shape).tolist()) for i in range(4) if rng.random() < 0.6]
        opt.step(given(*((vs[i], g) for i, g in pairs)))
        for i, g in pairs:
            others[i].step(given((alone[i], g)))
    assert [v.tolist() for v in vs] == [v.tolist() for v in alone]


def test_all_variables_of_a_dtype_take_one_kernel_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[Any]] = []
    real = kernels.adam_step
    monkeypatch.setattr(kernels, "adam_step", lambda ps, *args: (calls.append(ps), real(ps, *args)))
    vs = [Var([1.0]), Var([1.0, 2.0]), Var([1.0], dtype=DType.F64), Var([[3.0]])]
    frozen = Var([1.0])
    opt = AdamW.new_lr([*vs, frozen], 0.1)
    for _ in range(3):
        opt.step(given(*((v, v.ones_like().tolist()) for v in vs)))
    assert [len(ps) for ps in calls] == [3, 1] * 3
    assert calls[2] is calls[4]  # the frozen one does not have the lists made anew in each step


def test_a_step_is_seen_by_a_backward_that_comes_too_late() -> None:
    w = Var([2.0])
    loss = w.sqr().sum_all()
    SGD([w], 0.1).step(given((w, [1.0])))
    with pytest.raises(errors.VersionMismatch):
        loss.backward()


def test_a_model_of_two_dtypes_is_stepped_in_both() -> None:
    a, b = Var([1.0]), Var([1.0], dtype=DType.F64)
    SGD([a, b], 0.5).step(given((a, [1.0]), (b, [1.0])))
    assert (a.tolist(), b.tolist()) == ([0.5], [0.5])


def test_a_gradient_of_another_float_dtype_is_converted() -> None:
    w = Var([1.0], dtype=DType.F64)
    store = GradStore()
    store.insert(w, Tensor([0.5]))
    SGD([w], 1.0).step(store)
    assert w.tolist() == [0.5]


# -- halves


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@every
def test_a_half_follows_the_f32_training_rounded(make: Make, dtype: DType) -> None:
    start, gradient = [1.0, -0.5, 0.25], [0.5, 0.25, -1.0]
    half, wide = Var(start, dtype=dtype), Var(start)
    a, b = make([half]), make([wide])
    for _ in range(10):
        a.step(given((half, gradient)))
        b.step(given((wide, gradient)))
        assert half.tolist() == wide.to_dtype(dtype).tolist()


def test_updates_too_small_for_a_half_add_up() -> None:
    w = Var([1.0], dtype=DType.BF16)  # the next BF16 below 1 is 1 − 2⁻⁸
    opt = SGD([w], 2.0**-12)
    for _ in range(16):
        opt.step(given((w, [1.0])))
    assert w.tolist() == [1.0 - 2.0**-8]


def test_a_half_that_was_set_goes_on_from_there() -> None:
    w = Var([1.0, 1.0], dtype=DType.BF16)
    opt = SGD([w], 2.0**-9)
    opt.step(given((w, [0.25, 0.25])))
    w.set(Tensor([4.0, 1.0], dtype=DType.BF16))  # the second keeps its value, and with it what the master has gathered
    for _ in range(7):
        opt.step(given((w, [0.0, 0.25])))
    assert w.tolist() == [4.0, 1.0 - 2.0**-8]


# -- parameters


def test_adamw_wants_its_params() -> None:
    with raises(TypeError, "expected ParamsAdamW, found float", "`AdamW.new_lr(vars, 0.001)`, or `AdamW(vars, ParamsAdamW(lr=0.001))`"):
        AdamW([], 0.001)  # type: ignore[arg-type]
    with raises(TypeError, "expected ParamsAdamW, found ParamsAdam"):
        AdamW([], ParamsAdam())  # type: ignore[arg-type]
    assert AdamW.new_lr([], 0.5).params == ParamsAdamW(lr=0.5)


def test_candles_defaults() -> None:
    p = ParamsAdamW()
    assert (p.lr, p.beta1, p.beta2, p.eps, p.weight_decay) == (0.001, 0.9, 0.999, 1e-8, 0.01)
    assert Adam([]).params == ParamsAdam(0.001, 0.9, 0.999, 1e-8, 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ParamsAdamW(beta1=1.0), "beta1 must be in [0, 1), got 1.0"),
        (lambda: Adam([], betas=(0.9, -0.5)), "beta2 must be in [0, 1), got -0.5"),
        (lambda: SGD([], 0.1, nesterov=True), "nesterov wants a momentum and no dampening, got 0.0 and 0.0"),
        (lambda: SGD([], 0.1, 0.9, 0.5, True), "nesterov wants a momentum and no dampening, got 0.9 and 0.5"),
    ],
)
def test_parameters_that_make_no_sense(make: Callable[[], Any], message: str) -> None:
    with raises(Error, message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SGD([Tensor([1.0])], 0.1), "expected Var, found Tensor"),  # type: ignore[list-item]
        (lambda: SGD([], ParamsAdamW()), "expected a number for the learning rate, found ParamsAdamW"),  # type: ignore[arg-type]
        (lambda: SGD([], 0.1).set_learning_rate("fast"), "expected a number for the learning rate, found str"),  # type: ignore[arg-type]
        (lambda: SGD([], 0.1).set_params(ParamsAdam()), "expected ParamsSGD, found ParamsAdam"),  # type: ignore[arg-type]
        (lambda: Adam([]).set_params(ParamsAdamW()), "expected ParamsAdam, found ParamsAdamW"),
        (lambda: AdamW.new_lr([], 0.1).set_params(0.5), "expected ParamsAdamW, found float"),  # type: ignore[arg-type]
    ],
)
def test_what_is_of_the_wrong_kind(make: Callable[[], Any], message: str) -> None:
    with raises(TypeError, message):
        make()


@every
def test_the_learning_rate_can_be_read_and_set(make: Make) -> None:
    p = Var([1.0])
    opt = make([p])
    assert opt.learning_rate == 0.1
    opt.set_learning_rate(0)
    assert opt.learning_rate == 0.0
    opt.step(given((p, [1.0])))
    assert p.tolist() == [1.0]


def test_params_can_be_set() -> None:
    p = Var([1.0], dtype=DType.F64)
    opt = AdamW([p], ParamsAdamW())
    opt.set_params(ParamsAdamW(lr=0.5, weight_decay=0.0, eps=0.0))
    opt.step(given((p, [1.0])))
    assert p.item() == pytest.approx(0.5, rel=1e-15)


def test_a_momentum_that_was_zero_starts_anew() -> None:
    p = Var([0.0], dtype=DType.F64)
    opt = SGD([p], 1.0)
    opt.step(given((p, [1.0])))
    opt.set_params(ParamsSGD(1.0, momentum=0.5, dampening=0.5))
    opt.step(given((p, [1.0])))  # m = g, as at a first step
    opt.step(given((p, [1.0])))  # m = 0.5 + 0.5
    assert p.tolist() == [-3.0]


def test_empty_push_from_slice_and_into_inner() -> None:
    a, b = Var([1.0]), Var([2.0])
    opt = SGD.empty(0.5)
    opt.push(a)
    opt.push(b)
    opt.push(a)
    opt.step(given((a, [1.0]), (b, [1.0])))
    assert [v.tolist() for v in opt.into_inner()] == [[0.5], [1.5]]
    assert AdamW.from_slice([a, b], ParamsAdamW()).into_inner() is not None
    assert [v.id for v in AdamW.from_slice([a, b], ParamsAdamW()).into_inner()] == [a.id, b.id]
    assert repr(opt) == "SGD(2 variables, ParamsSGD(lr=0.5, momentum=0.0, dampening=0.0, nesterov=False, weight_decay=0.0))"


def test_a_pushed_variable_starts_with_its_own_first_step() -> None:
    a, b, alone = (Var([1.0], dtype=DType.F64) for _ in range(3))
    opt = AdamW.new_lr([a], 0.1)
    opt.step(given((a, [1.0])))
    opt.push(b)
    opt.step(given((a, [1.0]), (b, [1.0])))
    AdamW.new_lr([alone], 0.1).step(given((alone, [1.0])))
    assert b.tolist() == alone.tolist()


def test_ones_own_optimizer_needs_three_methods() -> None:
    class Signed(Optimizer):
        def __init__(self, vars: list[Var], lr: float) -> None:
            self.vars, self.lr = vars, lr

        def step(self, grads: GradStore) -> None:
            for var in self.vars:
                if (g := grads.get(var)) is not None:
                    var.set(var - g.sign() * self.lr)

        @property
        def learning_rate(self) -> float:
            return self.lr

        def set_learning_rate(self, lr: float) -> None:
            self.lr = lr

    p = Var([1.0, -2.0])
    Signed.from_slice([p], 0.25).backward_step(p.sqr().sum_all())
    assert p.tolist() == [0.75, -1.75]


# -- state


def steps(opt: Optimizer, vs: list[Var], n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(n):
        opt.step(given(*((v, rng.normal(size=v.shape).tolist()) for v in vs)))


def variables(dtype: DType) -> list[Var]:
    return [Var([1.0, 2.0], dtype=dtype), Var([[0.5]], dtype=dtype)]


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64, DType.BF16])
@every
def test_a_training_goes_on_from_its_saved_state_to_the_bit(make: Make, dtype: DType, tmp_path: Any) -> None:
    whole = variables(dtype)
    opt = make(whole)
    steps(opt, whole, 3, 1)
    opt.step(given((whole[0], [1.0, 1.0])))  # unlike numbers of steps
    safetensors.save(opt.state_dict(), tmp_path / "opt.safetensors")  # type: ignore[attr-defined]
    resumed = [Var(v) for v in whole]
    again = make(resumed)
    again.set_learning_rate(123.0)
    again.load_state_dict(safetensors.load(tmp_path / "opt.safetensors"))  # type: ignore[attr-defined]
    assert again.learning_rate == 0.1
    steps(opt, whole, 3, 2)
    steps(again, resumed, 3, 2)
    assert [v.tolist() for v in resumed] == [v.tolist() for v in whole]


def test_state_goes_by_name_where_there_are_names() -> None:
    a, b = Var([1.0]), Var([2.0, 3.0])
    opt = AdamW({"a": a, "b": b}, ParamsAdamW())
    opt.step(given((a, [1.0]), (b, [1.0, 1.0])))
    state = opt.state_dict()
    assert {k for k in state if k.startswith("vars.a")} == {"vars.a.step", "vars.a.m", "vars.a.v"}
    other = AdamW({"b": Var([2.0, 3.0]), "a": Var([1.0])}, ParamsAdamW())  # another order
    other.load_state_dict(state)
    assert {k: v.tolist() for k, v in other.state_dict().items()} == {k: v.tolist() for k, v in state.items()}


def test_a_saved_state_is_a_copy() -> None:
    p = Var([1.0])
    opt = AdamW.new_lr([p], 0.1)
    state = opt.state_dict()
    steps(opt, [p], 1, 0)
    assert state["vars.0.m"].tolist() == [0.0]
    fresh = AdamW.new_lr([p], 0.1)
    fresh.load_state_dict(state)
    steps(fresh, [p], 1, 0)
    assert state["vars.0.m"].tolist() == [0.0]


def test_a_half_whose_value_is_not_the_saved_masters_keeps_its_value() -> None:
    w = Var([1.0], dtype=DType.BF16)
    opt = SGD([w], 2.0**-9)
    opt.step(given((w, [1.0])))
    elsewhere = Var([5.0], dtype=DType.BF16)
    other = SGD([elsewhere], 0.1)
    other.load_state_dict(opt.state_dict())
    other.step(given((elsewhere, [0.0])))
    assert elsewhere.tolist() == [5.0]


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (lambda s: s.pop("vars.0.m"), errors.CannotFindTensor, "cannot find tensor vars.0.m"),
        (lambda s: s.pop("params.lr"), errors.CannotFindTensor, "cannot find tensor params.lr"),
        (lambda s: s.update({"vars.0.v": Tensor([1.0])}), errors.UnexpectedShape, "shape mismatch for vars.0.v, expected: [2], got: [1]"),
        (
            lambda s: s.update({"vars.0.m": Tensor([1.0, 2.0], dtype="f64")}),
            errors.UnexpectedDType,
            "dtype mismatch for vars.0.m, expected: F32, got: F64",
        ),
        (lambda s: s.update({"vars.9.m": Tensor([1.0])}), Error, "this optimizer has no place for vars.9.m"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(change: Callable[[dict[str, Tensor]], Any], kind: type[Error], message: str) -> None:
    opt = AdamW([Var([1.0, 2.0])], ParamsAdamW())
    steps(opt, opt.into_inner(), 2, 0)
    before = {k: v.tolist() for k, v in opt.state_dict().items()}
    other = AdamW([Var([1.0, 2.0])], ParamsAdamW(lr=0.5))
    state = other.state_dict()
    change(state)
    with raises(kind, message):
        opt.load_state_dict(state)
    assert {k: v.tolist() for k, v in opt.state_dict().items()} == before
