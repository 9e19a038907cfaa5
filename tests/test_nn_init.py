"""Initial values: variants, gains, fans, how they print, and that the same seed gives the same numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from expect import raises

import cafe
from cafe import DType, Tensor, Var, errors
from cafe.nn import Init, init
from cafe.nn.init import FanInOut, Kaiming, NonLinearity, NormalOrUniform

RELU, FAN_IN, FAN_OUT = NonLinearity.ReLU, FanInOut.FanIn, FanInOut.FanOut


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Init.default(), "Const(0.0)"),
        (init.ONE, "Const(1.0)"),
        (Init.Const(1e-5), "Const(1e-5)"),
        (Init.Randn(0, 0.02), "Randn { mean: 0.0, stdev: 0.02 }"),
        (Init.Uniform(-1, 1), "Uniform { lo: -1.0, up: 1.0 }"),
        (init.DEFAULT_KAIMING_NORMAL, "Kaiming { dist: Normal, fan: FanIn, non_linearity: ReLU }"),
        (init.DEFAULT_KAIMING_UNIFORM, "Kaiming { dist: Uniform, fan: FanIn, non_linearity: ReLU }"),
        (NonLinearity.ExplicitGain(2), "ExplicitGain(2.0)"),
    ],
)
def test_they_print_as_in_candle(value: object, text: str) -> None:
    assert repr(value) == text


@pytest.mark.parametrize(
    ("non_linearity", "gain"),
    [
        (NonLinearity.ReLU, math.sqrt(2)),
        (NonLinearity.Tanh, 5 / 3),
        (NonLinearity.Linear, 1.0),
        (NonLinearity.Sigmoid, 1.0),
        (NonLinearity.SELU, 0.75),
        (NonLinearity.ExplicitGain(1.25), 1.25),
    ],
)
def test_gains(non_linearity: NonLinearity, gain: float) -> None:
    assert non_linearity.gain() == gain


@pytest.mark.parametrize(
    ("shape", "fan_in", "fan_out"),
    [((), 1, 1), ((5,), 1, 5), ((5, 3), 3, 5), ((8, 4, 3, 3), 36, 72), ((2, 0), 0, 2)],
)
def test_fans(shape: tuple[int, ...], fan_in: int, fan_out: int) -> None:
    assert (FAN_IN.for_shape(shape), FAN_OUT.for_shape(shape)) == (fan_in, fan_out)


def test_constants() -> None:
    assert init.ZERO.var((2, 1)).tolist() == [[0.0], [0.0]]
    v = Init.Const(2.5).var(2, DType.F64)
    assert (v.tolist(), v.dtype, v.is_variable()) == ([2.5, 2.5], DType.F64, True)
    assert Init.Const(3.0).var(1, DType.U32).tolist() == [3]
    assert Init.Const(1.0) == init.ONE


def test_randn_has_its_mean_and_deviation() -> None:
    x = Init.Randn(3.0, 0.5).var(40_000, DType.F64).numpy()
    assert abs(x.mean() - 3.0) < 0.015  # 6 standard deviations
    assert abs(x.std() - 0.5) < 0.011


def test_uniform_fills_its_range() -> None:
    x = Init.Uniform(-2.0, 1.0).var(40_000).numpy()
    assert -2.0 <= x.min() < -1.99 and 0.99 < x.max() < 1.0
    assert abs(x.mean() + 0.5) < 0.027


@pytest.mark.parametrize("non_linearity", [RELU, NonLinearity.Tanh])
@pytest.mark.parametrize("fan", FanInOut)
def test_kaiming_has_deviation_gain_over_root_fan(fan: FanInOut, non_linearity: NonLinearity) -> None:
    shape = (200, 50, 2)
    wanted = non_linearity.gain() / math.sqrt({FAN_IN: 100, FAN_OUT: 400}[fan])
    normal = Kaiming(NormalOrUniform.Normal, fan, non_linearity).var(shape, DType.F64).numpy()
    assert normal.std() == pytest.approx(wanted, rel=0.03)
    assert normal.max() > 3 * wanted
    uniform = Kaiming(NormalOrUniform.Uniform, fan, non_linearity).var(shape, DType.F64).numpy()
    assert uniform.std() == pytest.approx(wanted, rel=0.03)
    assert 0.99 * math.sqrt(3) * wanted < uniform.max() < math.sqrt(3) * wanted


def test_a_weight_without_inputs_can_be_made() -> None:
    assert init.DEFAULT_KAIMING_NORMAL.var((3, 0)).dims() == [3, 0]
    assert init.DEFAULT_KAIMING_UNIFORM.var((3, 0)).dims() == [3, 0]


@pytest.mark.parametrize("how", [Init.Randn(0.0, 1.0), Init.Uniform(-1.0, 1.0), init.DEFAULT_KAIMING_NORMAL, init.DEFAULT_KAIMING_UNIFORM])
def test_the_same_seed_gives_the_same_numbers_rounded_once_from_float64(how: Init) -> None:
    made = {}
    for dtype in (DType.F64, DType.F32, DType.F16):
        cafe.manual_seed(7)
        made[dtype] = how.var((3, 5), dtype)
    for dtype, v in made.items():
        assert v.tolist() == made[DType.F64].to_dtype(dtype).tolist()
    cafe.manual_seed(8)
    assert how.var((3, 5)).tolist() != made[DType.F32].tolist()


def test_two_draws_differ() -> None:
    assert init.DEFAULT_KAIMING_NORMAL.var(8).tolist() != init.DEFAULT_KAIMING_NORMAL.var(8).tolist()


def test_random_integers_are_refused() -> None:
    with raises(errors.UnsupportedDTypeForOp, "unsupported dtype U32 for op rand_normal"):
        Init.Randn(0.0, 1.0).var(2, DType.U32)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("kaiming_normal", "`init.DEFAULT_KAIMING_NORMAL`"),
        ("kaiming_uniform", "`init.DEFAULT_KAIMING_UNIFORM`"),
        ("zeros", "`init.ZERO`"),
        ("xavier_uniform", "Init.Uniform"),
    ],
)
def test_asking_for_a_function_names_the_value(name: str, instead: str) -> None:
    with raises(AttributeError, f"cannot find `{name}` in module `init`", instead):
        getattr(init, name)


def test_another_name_gets_no_advice() -> None:
    with raises(AttributeError, "cannot find `nothing` in module `init`") as caught:
        init.nothing  # noqa: B018
    assert not hasattr(caught.value, "__notes__")


def test_a_variable_is_a_leaf_of_its_own() -> None:
    v = Init.Const(1.0).var(2)
    assert isinstance(v, Var) and not isinstance(v.as_detached_tensor(), Var)
    grads = (v * Tensor([2.0, 3.0])).sum_all().backward()
    assert grads[v].numpy().tolist() == np.array([2.0, 3.0]).tolist()
