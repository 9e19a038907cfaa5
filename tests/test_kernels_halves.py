"""F16 and BF16 in C: every elementwise kernel gives F32's result, rounded once, however the arrays lie."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from instances import LENGTHS, each_isa, needs_c, rerun, same_on_threads

from cafe import DType, Tensor, Var, kernels
from cafe.dtype import Array
from cafe.nn import ops

pytestmark = needs_c
HALVES = (DType.F16.numpy, DType.BF16.numpy)
F32 = DType.F32.numpy
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 6e-8, -3e-5, 65504.0, -65504.0, 1.0, -1.0, 0.5]
ONE = ("neg", "abs", "sign", "sqr", "sqrt", "recip", "exp", "log", "sin", "tanh", "relu", "silu", "gelu", "gelu_erf", "round")
TWO = ("add", "sub", "mul", "div", "maximum", "minimum", "relu_backward", "gelu_erf_backward")


def some(shape: int | tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    x = np.asarray(2 * np.random.default_rng(seed).standard_normal(shape), F32)
    x.reshape(-1)[: len(SPECIAL)] = SPECIAL[: x.size]
    return np.asarray(x.astype(dtype))


def assert_rounded_once(f: Callable[..., Array], *xs: Array) -> None:
    """Raises AssertionError unless f gives what it gives for F32, rounded; NaN may be any NaN. The inputs stay as they are."""
    before = [x.tobytes() for x in xs]
    got = f(*xs)
    with np.errstate(over="ignore"):
        wanted = f(*(x.astype(F32) for x in xs)).astype(xs[0].dtype)
    assert got.dtype == xs[0].dtype and got.shape == wanted.shape
    nan = np.isnan(wanted)
    assert np.array_equal(np.isnan(got), nan)
    assert np.array_equal(got.view(np.uint16)[~nan], wanted.view(np.uint16)[~nan])
    assert before == [x.tobytes() for x in xs]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_array(name: str, dtype: Any) -> None:
    for x in (some(5000, dtype), some((70, 33), dtype).T, some(9000, dtype)[::2], some((), dtype), some((0, 3), dtype)):
        assert_rounded_once(getattr(kernels, name), x)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arrays(name: str, dtype: Any) -> None:
    f = getattr(kernels, name)
    flat: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((5000,), (5000,)), ((5000,), (1,)), ((), (5000,)), ((0, 3), (3,))]
    for one, other in [*flat, ((70, 64), (64,)), ((70, 1), (1, 33)), ((3, 1, 600), (3, 7, 600))]:
        assert_rounded_once(f, some(one, dtype), some(other, dtype, 1))
    assert_rounded_once(f, some((70, 33), dtype).T, some((33, 70), dtype, 1))
    assert_rounded_once(f, some((200, 300), dtype).T, some((300, 200), dtype, 1))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_functions_with_numbers(dtype: Any) -> None:
    x = some(5000, dtype)
    assert_rounded_once(lambda v: kernels.affine(v, 0.3, -1.7), x)
    assert_rounded_once(lambda v: kernels.clamp(v, -0.3, 1.7), x)
    assert_rounded_once(lambda v: kernels.leaky_relu(v, 0.3), x)
    assert_rounded_once(lambda v: kernels.elu(v, 0.3), x)
    for e in (-2.0, -1.0, -0.5, 0.5, 1.7, 2.0, 3.0):
        assert_rounded_once(lambda v: kernels.powf(v, e), x)  # noqa: B023  (called at once)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_tails_have_the_bits_of_the_middle(n: int, dtype: Any) -> None:
    x, y = some(99, dtype)[12:], some(99, dtype, 1)[12:]
    assert np.array_equal(kernels.gelu(x)[:n], kernels.gelu(x[:n].copy()))
    assert np.array_equal(kernels.mul(x, y)[:n], kernels.mul(x[:n].copy(), y[:n].copy()))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_threads_do_not_show(dtype: Any) -> None:
    x, y = some((700, 300), dtype), some((700, 300), dtype, 1)
    same_on_threads(lambda: (kernels.exp(x), kernels.add(x, y), kernels.mul(x, y[0]), kernels.div(x.T, y.T), kernels.sub(x, y[:1, :1])))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("f", [Tensor.tanh, ops.sigmoid, Tensor.relu, Tensor.silu])
def test_gradients_are_those_of_f32(f: Callable[[Tensor], Tensor], dtype: str) -> None:
    """tanh and sigmoid among them, whose backward wants the output as it was before it was rounded."""
    values = Tensor([3.9, -0.7, 0.1, 7.5], dtype=dtype)
    half, wide = Var(values), Var(values.to_dtype("f32"))
    got, wanted = (f(x).sum_all().backward()[x] for x in (half, wide))
    assert got.tolist() == wanted.to_dtype(dtype).tolist()


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
