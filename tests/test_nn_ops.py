"""Functions of nn.ops: values, gradients at kinks and at ±1000, and candle's errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expect import raises

import cafe
from cafe import D, DType, Error, Tensor, Var, errors
from cafe.nn import ops
from cafe.testing import assert_close, gradcheck

Function = Callable[[Tensor], Tensor]


def slope(f: Function, x: float, dtype: DType = DType.F32) -> float:
    v = Var([x], dtype=dtype)
    return float(f(v).sum_all().backward()[v].item())


# -- softmax


def test_softmax_to_the_guides_last_digit() -> None:
    big = Tensor([[1000.0, 1005.0, 1002.0]])
    wanted = np.array([[0.006377461, 0.94649917, 0.047123417]], np.float32).tolist()
    assert ops.softmax(big, D.Minus1).tolist() == ops.softmax_last_dim(big).tolist() == ops.softmax(big, 1).tolist() == wanted
    masked = ops.softmax(Tensor([[1.0, -math.inf, 2.0], [-math.inf] * 3]), D.Minus1).tolist()
    assert masked[0] == np.array([0.26894143, 0.0, 0.7310586], np.float32).tolist()
    assert all(math.isnan(v) for v in masked[1])


def test_softmax_is_taken_row_by_row_with_the_rows_own_maximum() -> None:
    rows = ops.softmax(Tensor([[0.0, 1.0], [1000.0, 1001.0]]), 1).tolist()
    assert rows[0] == rows[1] == np.array([0.26894143, 0.7310586], np.float32).tolist()


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_along_each_dim(name: str, dim: int) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4)) * 3
    p = np.exp(x) / np.exp(x).sum(dim, keepdims=True)
    f = getattr(ops, name)
    assert_close(f(Tensor(x), dim), p if name == "softmax" else np.log(p), 1e-14)
    gradcheck(lambda t: f(t, dim), x, order=2)


def test_one_minus_infinity_in_a_row_leaves_the_gradient_finite() -> None:
    x = Var([[1.0, -math.inf, 2.0]])
    g = (ops.softmax(x, 1) * Tensor([[1.0, 2.0, 3.0]])).sum_all().backward()[x]
    assert_close(g, np.array([[-0.3932239, 0.0, 0.3932239]]), 1e-6)
    log_g = ops.log_softmax(x, 1).narrow(1, 0, 1).sum_all().backward()[x]
    assert_close(log_g, np.array([[1 - 0.26894143, 0.0, -0.7310586]]), 1e-6)


def test_softmax_last_dim_has_a_gradient_and_takes_views() -> None:
    x = np.random.default_rng(1).normal(size=(3, 4))
    gradcheck(lambda t: ops.softmax_last_dim(t.t()), x)


def test_softmax_of_large_logits_stays_finite_in_log() -> None:
    assert ops.log_softmax(Tensor([1e9, 0.0]), 0).tolist() == [0.0, -1e9]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: ops.softmax(Tensor([1.0]), 1), errors.DimOutOfRange, "softmax: dimension index 1 out of range for shape [1]"),
        (
            lambda: ops.log_softmax(Tensor([1.0]), D.Minus2),
            errors.DimOutOfRange,
            "log-softmax: dimension index -2 out of range for shape [1]",
        ),
        (lambda: ops.softmax(Tensor([1]), 0), errors.UnsupportedDTypeForOp, "unsupported dtype I64 for op softmax"),
        (lambda: ops.softmax_last_dim(Tensor([1])), Error, "unsupported dtype for softmax I64"),
        (lambda: ops.sigmoid(Tensor([1])), errors.UnsupportedDTypeForOp, "unsupported dtype I64 for op sigmoid"),
        (lambda: ops.mish(Tensor([1])), errors.UnsupportedDTypeForOp, "unsupported dtype I64 for op mish"),
        (lambda: ops.dropout(Tensor([1]), 0.5), errors.UnsupportedDTypeForOp, "unsupported dtype I64 for op dropout"),
        (lambda: ops.dropout(Tensor([1.0]), 1.0), Error, "dropout probability has to be in [0, 1), got 1"),
        (lambda: ops.dropout(Tensor([1.0]), -0.5), Error, "dropout probability has to be in [0, 1), got -0.5"),
        (lambda: ops.dropout(Tensor([1.0]), math.nan), Error, "dropout probability has to be in [0, 1), got NaN"),
        (lambda: ops.swiglu(Tensor([1.0])), Error, "swiglu: the last dim has two halves, got shape [1]"),
        (lambda: ops.swiglu(Tensor([1.0, 2.0, 3.0])), errors.ShapeMismatchBinaryOp, "shape mismatch in mul, lhs: [2], rhs: [1]"),
        (lambda: ops.replication_pad2d(Tensor([[1.0]]), -1), Error, "replication-pad with a size of -1 is not supported"),
        (lambda: ops.pixel_shuffle(Tensor([1.0]), 2), errors.UnexpectedNumberOfDims, "unexpected rank, expected: 4, got: 1 ([1])"),
    ],
)
def test_candles_errors(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    with raises(kind, text):
        call()


@pytest.mark.parametrize("name", ["sigmoid", "softmax", "log_softmax", "softmax_last_dim", "leaky_relu", "selu", "mish", "hard_sigmoid"])
def test_a_tensor_names_the_function(name: str) -> None:
    with raises(AttributeError, f"a Tensor has no method `{name}`: it is the function `cafe.nn.ops.{name}`"):
        getattr(Tensor([1.0]), name)
    assert callable(getattr(ops, name))


# -- activations


@pytest.mark.parametrize(
    ("f", "low", "high", "low_slope", "high_slope"),
    [
        (ops.sigmoid, 0.0, 1.0, 0.0, 0.0),
        (ops.silu, 0.0, 1000.0, 0.0, 1.0),
        (ops.softplus, 0.0, 1000.0, 0.0, 1.0),
        (ops.log_sigmoid, -1000.0, 0.0, 1.0, 0.0),
        (ops.mish, 0.0, 1000.0, 0.0, 1.0),
        (ops.hard_sigmoid, 0.0, 1.0, 0.0, 0.0),
        (ops.selu, -ops.SELU_GAMMA * ops.SELU_ALPHA, ops.SELU_GAMMA * 1000.0, 0.0, ops.SELU_GAMMA),
        (lambda x: ops.leaky_relu(x, 0.25), -250.0, 1000.0, 0.25, 1.0),
    ],
    ids=["sigmoid", "silu", "softplus", "log_sigmoid", "mish", "hard_sigmoid", "selu", "leaky_relu"],
)
@pytest.mark.parametrize("dtype", [DType.F32, DType.F64])
def test_far_out_values_and_slopes_are_exact(
    f: Function, low: float, high: float, low_slope: float, high_slope: float, dtype: DType
) -> None:
    assert_close(f(Tensor([-1000.0, 1000.0], dtype=dtype)), np.array([low, high]), 2e-7)
    assert_close(np.array([slope(f, -1000.0, dtype), slope(f, 1000.0, dtype)]), np.array([low_slope, high_slope]), 2e-7)


def test_slopes_at_zero() -> None:
    assert slope(ops.silu, 0.0) == 0.5
    assert slope(ops.sigmoid, 0.0) == 0.25
    assert slope(ops.softplus, 0.0) == 0.5
    assert slope(ops.mish, 0.0) == pytest.approx(0.6, rel=1e-6)
    assert slope(lambda x: ops.leaky_relu(x, 0.125), 0.0) == 0.125
    assert slope(ops.selu, 0.0) == pytest.approx(ops.SELU_ALPHA * ops.SELU_GAMMA, rel=1e-6)
    assert slope(ops.hard_sigmoid, 3.0) == slope(ops.hard_sigmoid, -3.0) == slope(ops.hard_sigmoid, 0.0) == np.float32(1 / 6)


def test_a_mish_of_one_hundred_has_slope_one_where_candles_is_nan() -> None:
    assert [slope(ops.mish, x) for x in (20.0, 88.0, 100.0, 3e38)] == [1.0] * 4


@pytest.mark.parametrize(
    ("f", "reference"),
    [
        (ops.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
        (ops.silu, lambda x: x / (1 + np.exp(-x))),
        (ops.softplus, lambda x: np.log1p(np.exp(x))),
        (ops.log_sigmoid, lambda x: -np.log1p(np.exp(-x))),
        (ops.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
        (ops.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
        (lambda x: ops.selu(x, 2.0, 3.0), lambda x: 3.0 * np.where(x > 0, x, 2.0 * np.expm1(x))),
        (ops.hard_sigmoid, lambda x: np.clip((x + 3) / 6, 0, 1)),
        (lambda x: ops.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
    ],
    ids=["sigmoid", "silu", "softplus", "log_sigmoid", "mish", "selu", "selu with numbers", "hard_sigmoid", "leaky_relu"],
)
def test_activations(f: Function, reference: Callable[[np.ndarray], np.ndarray]) -> None:
    x = np.linspace(-4.87, 4.93, 37)  # away from −3, 0 and 3
    assert_close(f(Tensor(x)), reference(x), 1e-14)
    assert_close(f(Tensor(x, dtype="f32")), reference(x), 1e-6)
    gradcheck(f, x, order=2)


def test_swiglu_is_silu_of_one_half_times_the_other() -> None:
    x = np.random.default_rng(0).normal(size=(2, 6))
    a, b = x[:, :3], x[:, 3:]
    assert_close(ops.swiglu(Tensor(x)), a / (1 + np.exp(-a)) * b, 1e-14)
    gradcheck(ops.swiglu, x, order=2)


# -- dropout


def test_dropout_scales_what_it_keeps() -> None:
    x = Tensor.ones(10_000)
    values = set(ops.dropout(x, 0.25).tolist())
    assert values == {0.0, float(np.float32(1 / 0.75))}
    assert ops.dropout(x, 0.0) is x


def test_dropout_is_the_choice_and_then_the_scale() -> None:
    """The same numbers to the last bit; a −0 may be a 0."""
    x = Var(np.random.default_rng(0).normal(size=(33, 7)).astype(np.float32))
    cafe.manual_seed(5)
    y = ops.dropout(x, 0.3)
    cafe.manual_seed(5)
    kept = ops.dropout(x.ones_like(), 0.3).gt(0.0).to_dtype(DType.F32)
    apart = (x * kept) * (1.0 / (1.0 - 0.3))
    assert y.tolist() == apart.tolist() and 0.0 in y.tolist()[0]
    assert y.sum_all().backward()[x].tolist() == apart.sum_all().backward()[x].tolist()


def test_the_same_seed_drops_the_same_numbers_in_every_dtype() -> None:
    masks = []
    for dtype in (DType.F64, DType.F32, DType.F16, DType.BF16):
        cafe.manual_seed(3)
        y = ops.dropout(Tensor.ones((8, 16), dtype), 0.5)
        assert y.dtype is dtype
        masks.append(y.tolist())
    assert masks.count(masks[0]) == 4
    assert ops.dropout(Tensor.ones((8, 16)), 0.5).tolist() != masks[0]


# -- pixels


def test_pixels_are_shuffled_and_back() -> None:
    x = Tensor.arange(0.0, 2 * 8 * 3 * 5).reshape((2, 8, 3, 5))
    y = ops.pixel_shuffle(x, 2)
    assert y.shape == (2, 2, 6, 10)
    assert y[1, 1, 3, 7].item() == x[1, 4 + 2 + 1, 1, 3].item()  # channel c r² + (h % r) r + w % r
    assert ops.pixel_unshuffle(y, 2).tolist() == x.tolist()


def test_a_border_is_repeated() -> None:
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4))
    assert ops.replication_pad2d(Tensor(x), 2).tolist() == np.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)], mode="edge").tolist()
    gradcheck(lambda t: ops.replication_pad2d(t, 1), x)


@pytest.mark.parametrize(("dtype", "half_a_step"), [("f16", 2.0**-11), ("bf16", 2.0**-8)])
@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (Tensor.tanh, lambda x: 1.0 / np.cosh(x) ** 2),
        (ops.sigmoid, lambda x: 1.0 / ((1.0 + np.exp(-x)) * (1.0 + np.exp(x)))),
    ],
)
def test_slopes_of_halves_have_their_digits_where_values_have_none(function: Any, slope: Any, dtype: str, half_a_step: float) -> None:
    x = Var(np.linspace(-5.0, 5.0, 201).astype(np.float32), dtype)  # tanh 5 is 1 in either of them
    got = function(x).sum_all().backward()[x].to_dtype("f64").numpy()
    true = slope(x.to_dtype("f64").numpy())

    assert float(np.max(np.abs(got - true) / true)) <= 1.01 * half_a_step
