"""Rounded once: numbers beside F16 and BF16 keep their range and digits until the end, and BF16 is made of wider numbers in one step."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cafe import DType, Tensor, Var, kernels
from cafe.dtype import Array, rounded
from cafe.nn import ops

BF16 = DType.BF16.numpy
HALVES = ("f16", "bf16")
NUMBERS = (1e6, 0.1, 1e-9, 3.0, -7e4)


def nearest(value: Fraction) -> Fraction:
    """The BF16 next to a positive number of usual size, ties to even, in whole fractions."""
    exponent = 0
    while value >= 2 ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - 7)
    return Fraction(round(value / unit)) * unit


@pytest.mark.parametrize("kind", [np.float64, np.int64, np.uint32])
def test_bf16_of_wider_numbers_is_the_nearest(kind: Any) -> None:
    rng = np.random.default_rng(3)
    near_ties = (2 * rng.integers(128, 256, 300) + 1) * 2 ** rng.integers(8, 22, 300)
    x = np.concatenate([near_ties + d for d in (-1, 0, 1)]).astype(kind)
    if kind is np.float64:
        x = np.concatenate([x, 1 + 2.0**-8 + np.array([0, 2.0**-30, -(2.0**-30), 2.0**-45])])
    for y in (rounded(x, BF16), kernels.cast(x, BF16), kernels.twins.cast(x, BF16), Tensor(x).to_dtype("bf16").numpy()):
        assert [Fraction(float(v)) for v in y] == [nearest(Fraction(v.item())) for v in x]


def test_bf16_of_what_is_not_finite_or_past_the_end() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 3.4e38, 0.0, -0.0, 1e-300, -1e-300])
    y = rounded(x, BF16).astype(np.float64)
    assert np.array_equal(y, [np.inf, -np.inf, np.nan, np.inf, -np.inf, np.inf, 0, 0, 0, 0], equal_nan=True)
    assert np.signbit(y).tolist() == [False, True, np.signbit(y[2]), False, True, False, False, True, False, True]


def test_numbers_become_bf16_in_one_step() -> None:
    value = 1 + 2**-8 + 2**-30
    made = (Tensor([value], dtype="bf16"), Tensor.full(value, 1, "bf16"), Tensor.zeros(1, "bf16").full_like(value))
    assert [t.to_dtype("f32").tolist() for t in made] == [[1.0078125]] * 3


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_beside_a_half_is_not_rounded_before(dtype: str, number: float) -> None:
    x = np.array([853.5, 0.0, -3.0, 1e-3, 0.25], np.float32)
    each: list[Callable[[Any], Any]] = [lambda t: t / number, lambda t: number / t, lambda t: abs(number) ** t]
    for f in each:
        t = Tensor(x).to_dtype(dtype)
        wide = f(t.to_dtype("f32"))
        assert same(f(t).numpy(), wide.to_dtype(dtype).numpy())
        v = Var.from_tensor(t)
        slope = f(v).sum_all().backward()[v]
        w = Var.from_tensor(t.to_dtype("f32"))
        assert slope.dtype is t.dtype
        assert same(slope.numpy(), f(w).sum_all().backward()[w].to_dtype(dtype).numpy())


def same(a: Array, b: Array) -> bool:
    """Whether two arrays of halves have the same bits, NaN taken for NaN."""
    nan = np.isnan(a)
    assert a.dtype == b.dtype
    assert a.dtype.itemsize == 2
    return np.array_equal(nan, np.isnan(b)) and np.array_equal(a[~nan].view(np.uint16), b[~nan].view(np.uint16))


@pytest.mark.parametrize("dtype", HALVES)
def test_selu_of_halves_is_rounded_once(dtype: str) -> None:
    x = Tensor(np.linspace(-6, 3, 1001, dtype=np.float32)).to_dtype(dtype)
    assert same(ops.selu(x).numpy(), ops.selu(x.to_dtype("f32")).to_dtype(dtype).numpy())


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_relu_and_clamp_leave_a_zero_its_sign(dtype: str) -> None:
    for n in (1, 40, 5000):
        x = Tensor(np.full(n, -0.0)).to_dtype(dtype)
        for y in (x.relu(), x.clamp(0.0, 6.0), x.clamp(-6.0, 0.0)):
            assert np.signbit(y.numpy()).all()
    assert np.isnan(Tensor([np.nan]).clamp(0.0, 1.0).item())
