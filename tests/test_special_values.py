"""Zeros with their signs, NaN and the infinities: what functions and slopes make of them, on either backend and in each float dtype."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from instances import FLOATS

from cafe import Tensor, Var, kernels
from cafe.nn import ops

INF, NAN = math.inf, math.nan
KEEPS_THE_SIGN_OF_ZERO: dict[str, Callable[[Tensor], Tensor]] = {
    "floor": Tensor.floor,
    "ceil": Tensor.ceil,
    "round": Tensor.round,
    "round_to": lambda x: x.round_to(2),
    "round_to tens": lambda x: x.round_to(-1),
    "sqrt": Tensor.sqrt,
    "sin": Tensor.sin,
    "tanh": Tensor.tanh,
    "erf": Tensor.erf,
    "gelu": Tensor.gelu,
    "gelu_erf": Tensor.gelu_erf,
    "silu": ops.silu,
    "mish": ops.mish,
    "leaky_relu": lambda x: ops.leaky_relu(x, 0.1),
    "elu": lambda x: x.elu(0.5),
    "selu": ops.selu,
    "powf(3)": lambda x: x.powf(3.0),
}


def same(got: object, wanted: object) -> bool:
    """Whether two arrays hold the same numbers, a zero's sign and NaN included."""
    a, b = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    return bool(np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)])))


def slope(f: Callable[[Tensor], Tensor], x: list[float], above: list[float] | None = None, dtype: str = "f64") -> list[float]:
    v = Var(x, dtype=dtype)
    y = f(v)
    y = y if above is None else y * Tensor(above, dtype=dtype)
    return y.sum_all().backward()[v].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("name", KEEPS_THE_SIGN_OF_ZERO)
def test_a_zero_keeps_its_sign(name: str, dtype: str) -> None:
    zeros = [0.0, -0.0] * 40  # whole vectors and a tail
    assert same(KEEPS_THE_SIGN_OF_ZERO[name](Tensor(zeros, dtype=dtype)).tolist(), zeros)


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
def test_running_sums_begin_at_zero(dtype: str) -> None:
    x = Tensor([[-0.0] * 3] * 5, dtype=dtype)
    assert same(x.cumsum(0).tolist(), np.zeros((5, 3))) and same(x.cumsum(1).tolist(), np.zeros((5, 3)))


def test_the_gradient_of_running_sums_is_added_up_from_the_end() -> None:
    """Not the total less what came before, where 2 = 1e8 + 2 − 1e8 would be lost in F32 and infinity less itself is NaN."""
    assert slope(lambda x: x.cumsum(0), [0.0, 0.0, 0.0], [1e8, 1.0, 1.0], "f32") == [1e8, 2.0, 1.0]
    assert slope(lambda x: x.cumsum(0), [0.0, 0.0, 0.0], [1.0, INF, 1.0]) == [INF, INF, 1.0]


@pytest.mark.parametrize("shape", [(4,), (4, 1), (1, 4), (2, 2)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_power_one_half_is_cs_pow_and_no_square_root(dtype: type, shape: tuple[int, ...]) -> None:
    x, wanted = np.array([-0.0, -INF, 4.0, -1.0], dtype).reshape(shape), np.array([0.0, INF, 2.0, NAN]).reshape(shape)
    assert same(kernels.powf(x, 0.5), wanted)
    assert same(kernels.pow(x, np.full_like(x, 0.5)), wanted) and same(kernels.pow(x, np.full(1, 0.5, dtype)), wanted)
    for value, root in zip(x.reshape(-1), wanted.reshape(-1)):
        alone = np.full((), value, dtype)
        assert same(kernels.powf(alone, 0.5), root) and same(kernels.pow(alone, np.full((), 0.5, dtype)), root)


@pytest.mark.parametrize("f", [Tensor.gelu, Tensor.gelu_erf, ops.silu])
def test_the_slope_far_out_is_one_or_zero(f: Callable[[Tensor], Tensor]) -> None:
    far = [1e30, 1e300, -1e30, -1e300]
    assert slope(f, far) == [1.0, 1.0, 0.0, 0.0]
    if f is not ops.silu:
        assert slope(f, [INF, -INF]) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (Tensor.relu, 0.0),
        (lambda x: x.clamp(-1.0, 1.0), 0.0),
        (ops.hard_sigmoid, 0.0),
        (lambda x: ops.leaky_relu(x, 0.25), 0.25),
        (Tensor.abs, NAN),
        (lambda x: x.elu(1.0), NAN),
        (ops.selu, NAN),
        (Tensor.gelu, NAN),
        (ops.silu, NAN),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_nan_goes_through_and_its_slope_is_that_of_a_false_comparison(f: Callable[[Tensor], Tensor], wanted: float, dtype: str) -> None:
    assert np.isnan(f(Tensor([NAN], dtype=dtype)).tolist()).all()
    assert same(slope(f, [NAN], dtype=dtype), [wanted])


@pytest.mark.parametrize("above", [NAN, INF])
@pytest.mark.parametrize(
    ("f", "x", "reached"),
    [
        (lambda x: x.maximum(1.5), [1.0, 2.0, 0.0], [False, True, False]),
        (lambda x: x.minimum(1.5), [1.0, 2.0, 0.0], [True, False, True]),
        (lambda x: Tensor([1.5] * 3, dtype="f64").maximum(x), [1.0, 2.0, 1.5], [False, True, True]),
        (Tensor.relu, [-1.0, 2.0, 0.0], [False, True, False]),
        (lambda x: x.clamp(0.0, 1.0), [-1.0, 0.5, 2.0], [False, True, False]),
        (ops.hard_sigmoid, [-4.0, 0.0, 4.0], [False, True, False]),
        (lambda x: x.masked_fill(Tensor([1, 0, 1], dtype="u8"), 0.0), [1.0, 2.0, 3.0], [False, True, False]),
        (lambda x: Tensor([1, 0, 1], dtype="u8").where_cond(x, x.zeros_like()), [1.0, 2.0, 3.0], [True, False, True]),
    ],
)
def test_what_comes_from_above_reaches_only_what_was_chosen(
    f: Callable[[Tensor], Tensor], x: list[float], reached: list[bool], above: float
) -> None:
    got = slope(f, x, [above] * 3)
    assert [math.isfinite(g) for g in got] == [not r for r in reached]
    assert all(g == 0.0 for g, r in zip(got, reached) if not r)


def test_gradients_that_add_up_to_nan_warn_of_nothing() -> None:
    x = Var([1.0, 2.0])
    g = (x * Tensor([INF, 1.0])).add(x * Tensor([-INF, 1.0])).sum_all().backward()[x]
    assert math.isnan(g.tolist()[0]) and g.tolist()[1] == 2.0
