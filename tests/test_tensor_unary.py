"""Methods of one tensor: values to many digits, kinks, special values, integers. Derivatives elsewhere are the laws' affair."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import DType, Tensor, Var
from cafe.errors import Error, IntegerOverflow, UnsupportedDTypeForOp
from cafe.testing import INTS, assert_close

INPUT = [[-3.0, 1.0, 4.0, -0.1, 0.5], [2.7182817, -3.3141592, -1.7, 0.0, 2.8]]
PHI = {-3.0: 0.0013498980316300957, 1.0: 0.8413447460685429, 0.5: 0.6914624612740131}

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "neg": lambda x: -x,
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "sqr": lambda x: x * x,
    "erf": math.erf,
    "gelu": lambda x: 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_erf": lambda x: 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0))),
    "silu": lambda x: x / (1.0 + math.exp(-x)),
    "relu": lambda x: max(x, 0.0),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "floor": math.floor,
    "ceil": math.ceil,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
    "sign": lambda x: (x > 0) - (x < 0),
}
POSITIVE: dict[str, Callable[[float], float]] = {"log": math.log, "sqrt": math.sqrt, "recip": lambda x: 1.0 / x}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype, bound", [("f32", 2.5e-7), ("f64", 1e-15)])
def test_values(name: str, dtype: str, bound: float) -> None:
    x = Tensor(INPUT, dtype)
    wanted = [[FUNCTIONS[name](v) for v in row] for row in x.to_vec2()]

    assert_close(getattr(x, name)(), wanted, bound)


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("dtype, bound", [("f32", 2.5e-7), ("f64", 1e-15)])
def test_values_of_positive_numbers(name: str, dtype: str, bound: float) -> None:
    x = Tensor([0.25, 1.0, 4.0, 9.7], dtype)

    assert_close(getattr(x, name)(), [POSITIVE[name](v) for v in x.to_vec1()], bound)


def test_known_digits() -> None:
    """The two GELUs are not each other, and digits that any table has."""
    x = Tensor([-2.699, 2.685, 1.0], "f64")
    assert_close(x.gelu_erf(), [-0.009385526, 2.675262874, 0.841344747], 1e-9)
    assert_close(x.gelu(), [-0.008912291, 2.675735953, 0.841191991], 1e-9)
    assert_close(Tensor([0.5, 1.0, 2.0], "f64").erf(), [0.5204998778130465, 0.8427007929497149, 0.9953222650189527], 1e-15)
    assert_close(Tensor([1.0, 0.5, -3.0], "f64").gelu_erf(), [PHI[1.0], 0.5 * PHI[0.5], -3.0 * PHI[-3.0]], 1e-15)


def test_rounding_takes_halves_away_from_zero() -> None:
    x = Tensor([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609.0, -2.4])

    assert x.round().tolist() == [1.0, 2.0, 3.0, -1.0, -2.0, 0.0, 8388609.0, -2.0]
    assert Tensor([0.49999999999999994], "f64").round().tolist() == [0.0]


def test_round_to() -> None:
    x = Tensor([1234.5678, -0.0351], "f64")

    assert_close(x.round_to(2), [1234.57, -0.04], 1e-15)
    assert x.round_to(-2).tolist() == [1200.0, 0.0] and x.round_to(0).tolist() == [1235.0, 0.0]


def test_powers() -> None:
    x = Tensor([2.0, 3.0, 4.0], "f64")

    assert (x**2).tolist() == [4.0, 9.0, 16.0] and x.powf(0.5)[2].to_scalar() == 2.0
    assert_close(x.powf(2.5), [2**2.5, 3**2.5, 32.0], 1e-15)
    assert Tensor([0.0, -2.0, -2.0]).powf(3.0).tolist() == [0.0, -8.0, -8.0]
    assert Tensor([0.0, 5.0, math.nan]).powf(0.0).tolist() == [1.0, 1.0, 1.0]
    assert math.isnan(Tensor(-2.0).powf(0.5).to_scalar()) and Tensor(0.0).powf(-1.0).to_scalar() == math.inf


def test_affine() -> None:
    assert Tensor([1.0, 2.0]).affine(3.0, 0.5).tolist() == [3.5, 6.5]
    assert Tensor([1, 2]).affine(3, 1).tolist() == [4, 7] and Tensor([1, 2], "u8").affine(2.0, 0.0).tolist() == [2, 4]
    with raises(Error, "affine: a I64 tensor takes integers, got 0.5", "`to_dtype`"):
        Tensor([1, 2]).affine(0.5, 0.0)


def test_a_number_is_rounded_to_the_tensors_dtype_first() -> None:
    """0.1 in float32 is 0.100000001…: the product is that of two float32s."""
    assert (Tensor(3.0) * 0.1).to_scalar() == float(np.float32(3.0) * np.float32(0.1))


def test_clamp() -> None:
    x = Tensor([-2.0, 0.0, 1.0, 5.0, math.nan])

    assert x.clamp(-1.0, 1.5).tolist()[:4] == [-1.0, 0.0, 1.0, 1.5] and math.isnan(x.clamp(0.0, 1.0).tolist()[4])
    assert Tensor([1, 5, 9]).clamp(2, 7).tolist() == [2, 5, 7] and Tensor([1, 5], "u8").clamp(2.0, 3.0).tolist() == [2, 3]
    low, high = Tensor([0.0, 1.0]), Tensor([0.5, 1.5])
    assert Tensor([-1.0, 9.0]).clamp(low, high).tolist() == [0.0, 1.5]
    assert Tensor([-1.0, 9.0]).clamp(low, 2.0).tolist() == [0.0, 2.0] and Tensor([-1.0, 9.0]).clamp(0.0, high).tolist() == [0.0, 1.5]
    with raises(Error, "clamp: low must be at most high, got 2.0 > 1.0"):
        x.clamp(2.0, 1.0)
    with raises(Error, "clamp: a I64 tensor takes integers, got 1.5"):
        Tensor([1]).clamp(1.5, 2.0)


# -- kinks: each choice stands in its docstring


def slope(f: Callable[[Tensor], Tensor], at: Any, dtype: str = "f64") -> Any:
    x = Var(at, dtype)
    return f(x).sum_all().backward()[x].tolist()


def test_slopes_at_kinks() -> None:
    assert slope(lambda x: x.relu(), [-1.0, 0.0, 1.0]) == [0.0, 0.0, 1.0]
    assert slope(lambda x: x.abs(), [-1.0, 0.0, 1.0]) == [-1.0, 0.0, 1.0]
    assert slope(lambda x: x.elu(2.0), [0.0, 1.0]) == [2.0, 1.0] and slope(lambda x: x.elu(), [0.0]) == [1.0]
    assert slope(lambda x: x.clamp(-1.0, 1.0), [-1.1, -1.0, 0.0, 1.0, 1.1]) == [0.0, 1.0, 1.0, 1.0, 0.0]
    assert slope(lambda x: x.sqrt(), [0.0]) == [math.inf] and slope(lambda x: x.silu(), [0.0]) == [0.5]
    assert slope(lambda x: x.gelu(), [0.0]) == [0.5] and slope(lambda x: x.gelu_erf(), [0.0]) == [0.5]


def test_slopes_of_powers_at_nought() -> None:
    assert slope(lambda x: x.powf(2.0), [0.0]) == [0.0] and slope(lambda x: x.powf(1.0), [0.0]) == [1.0]
    assert slope(lambda x: x.powf(0.5), [0.0]) == [math.inf] and slope(lambda x: x.powf(0.0), [0.0, 3.0]) == [0.0, 0.0]
    assert slope(lambda x: x**3, [-2.0]) == [12.0]


def test_no_slope_is_nan_far_out() -> None:
    far = [-1000.0, 1000.0]
    for f, wanted in (
        (lambda x: x.silu(), [0.0, 1.0]),
        (lambda x: x.gelu(), [0.0, 1.0]),
        (lambda x: x.gelu_erf(), [0.0, 1.0]),
        (lambda x: x.tanh(), [0.0, 0.0]),
        (lambda x: x.erf(), [0.0, 0.0]),
        (lambda x: x.elu(), [0.0, 1.0]),
        (lambda x: x.relu(), [0.0, 1.0]),
    ):
        for dtype in ("f32", "f64", "f16", "bf16"):
            assert slope(f, far, dtype) == wanted


def test_steps_pass_no_gradient() -> None:
    x = Var([1.5, -0.5])
    for step in (x.floor(), x.ceil(), x.round(), x.sign(), x.round_to(1)):
        assert not step.track_op()
        assert (step + x).sum_all().backward()[x].tolist() == [1.0, 1.0]


# -- special values


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
def test_special_values(dtype: str) -> None:
    x = Tensor([math.inf, -math.inf, math.nan, 0.0, -0.0], dtype)
    nan = math.nan
    for name, wanted in {
        "exp": [math.inf, 0.0, nan, 1.0, 1.0],
        "log": [math.inf, nan, nan, -math.inf, -math.inf],
        "sqrt": [math.inf, nan, nan, 0.0, 0.0],
        "tanh": [1.0, -1.0, nan, 0.0, 0.0],
        "erf": [1.0, -1.0, nan, 0.0, 0.0],
        "relu": [math.inf, 0.0, nan, 0.0, 0.0],
        "abs": [math.inf, math.inf, nan, 0.0, 0.0],
        "recip": [0.0, 0.0, nan, math.inf, -math.inf],
        "sin": [nan, nan, nan, 0.0, 0.0],
        "floor": [math.inf, -math.inf, nan, 0.0, 0.0],
        "round": [math.inf, -math.inf, nan, 0.0, 0.0],
        "sign": [1.0, -1.0, nan, 0.0, 0.0],
        "elu": [math.inf, -1.0, nan, 0.0, 0.0],
    }.items():
        assert_close(getattr(x, name)(), wanted, 0.0, name)


def test_signed_zeros_survive() -> None:
    x = Tensor([0.0, -0.0])
    for name in ("tanh", "sin", "sqrt", "erf", "floor", "ceil", "round"):
        assert np.signbit(getattr(x, name)().numpy()).tolist() == [False, True], name
    assert np.signbit((-x).numpy()).tolist() == [True, False]
    assert np.signbit((Tensor([-1.0]) * 0.0).numpy()).tolist() == [False]  # one affine: −0 + 0 is 0, which prints as `0.`


def test_small_and_large_arguments() -> None:
    x = Tensor([88.7, -87.4, -103.9])
    for got, wanted in zip(x.exp().tolist(), [math.exp(v) for v in x.tolist()]):
        assert got == pytest.approx(wanted, rel=2e-7, abs=1e-45)
    assert Tensor([88.8, -104.1]).exp().tolist() == [math.inf, 0.0]
    assert Tensor([1e-40]).exp().tolist() == [1.0] and Tensor([1e-45]).tanh().tolist() == Tensor([1e-45]).tolist()
    assert_close(Tensor([1e-38]).log(), [math.log(1e-38)], 1e-7)


# -- integers


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize(
    "name", ["exp", "log", "sin", "cos", "tanh", "sqrt", "recip", "erf", "gelu", "gelu_erf", "silu", "elu", "powf", "round_to"]
)
def test_float_functions_refuse_integers(name: str, dtype: DType) -> None:
    call = getattr(Tensor([1, 2], dtype), name)
    with raises(UnsupportedDTypeForOp, f"unsupported dtype {dtype!r} for op {name}"):
        call(2) if name in ("powf", "round_to") else call()


@pytest.mark.parametrize("dtype", INTS)
def test_what_integers_can_do(dtype: DType) -> None:
    x = Tensor([0, 3, 7], dtype)

    assert x.sqr().tolist() == [0, 9, 49] and x.sign().tolist() == [0, 1, 1]
    for same in (x.abs(), x.relu(), x.floor(), x.ceil(), x.round()):
        assert same.tolist() == [0, 3, 7] and same.dtype is dtype


def test_negative_integers() -> None:
    x = Tensor([-3, 0, 4])

    assert (-x).tolist() == [3, 0, -4] and x.abs().tolist() == [3, 0, 4]
    assert x.relu().tolist() == [0, 0, 4] and x.sign().tolist() == [-1, 0, 1]
    for dtype in ("u8", "u32"):
        with raises(UnsupportedDTypeForOp, f"unsupported dtype {dtype.upper()} for op neg"):
            -Tensor([1], dtype)
    with raises(IntegerOverflow, "affine: -1 does not fit U8"):
        Tensor([1], "u8").affine(-1, 0)


# -- operators


def test_operators_of_one() -> None:
    x = Tensor([-1.5, 2.0])

    assert (-x).tolist() == [1.5, -2.0] and abs(x).tolist() == [1.5, 2.0] and (+x) is x


def test_empty_tensors_pass() -> None:
    x = Var(np.zeros((2, 0)))
    for name in (*FUNCTIONS, *POSITIVE):
        y = getattr(x, name)()
        assert y.dims() == [2, 0]
    assert x.exp().sum_all().backward()[x].dims() == [2, 0]
