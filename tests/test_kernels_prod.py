"""Products along a dim in C and their gradients: beside exact ones, with zeros, over any axis, on any number of threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from instances import FLOATS, each_isa, needs_c, rerun, same_on_threads

from cafe import kernels
from cafe.dtype import Array
from cafe.kernels import twins

pytestmark = needs_c
LENGTHS = (1, 2, 7, 8, 31, 32, 33, 64, 65, 100, 4095, 4096, 4097, 10000)
REAL = np.longdouble


def near_one(shape: Any, dtype: Any, seed: int = 0) -> Array:
    """Numbers whose products stay numbers, of both signs."""
    rng = np.random.default_rng(seed)
    return (np.exp(rng.standard_normal(shape) * 0.1) * rng.choice([-1.0, 1.0], shape)).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", LENGTHS)
def test_products_are_exact_but_for_rounding(dtype: Any, n: int) -> None:
    x = near_one((3, n), dtype)
    wanted = np.prod(x.astype(REAL), axis=1)
    got = kernels.prod(x, 1, False)
    bound = 1e-7 if dtype == np.float32 else n * 2.0**-52
    assert got.dtype == dtype and np.all(np.abs(got - wanted) <= bound * np.abs(wanted))
    assert kernels.prod(x, 1, True).shape == (3, 1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", LENGTHS)
def test_the_axis_does_not_show(dtype: Any, n: int) -> None:
    x = near_one((n, 5), dtype)
    g = near_one((1, 5), dtype, 1)
    rows = np.ascontiguousarray(x.T)
    assert kernels.prod(x, 0, False).tobytes() == kernels.prod(rows, 1, False).tobytes() == kernels.prod(rows.T, 0, False).tobytes()
    alone = kernels.prod(x[:, 3].copy(), 0, False)
    assert kernels.prod(np.stack([x, x]), 1, False)[1, 3] == alone
    assert kernels.prod_backward(g, x, 0).tobytes() == np.ascontiguousarray(kernels.prod_backward(g.T, rows, 1).T).tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("n", LENGTHS)
def test_each_gets_the_product_of_the_others(dtype: Any, zeros: int, n: int) -> None:
    x, g = near_one((2, n), dtype), near_one((2, 1), dtype, 1)
    x[:, (np.arange(zeros) * 37 + n // 2) % n] = 0.0
    before = x.tobytes(), g.tobytes()
    got = kernels.prod_backward(g, x, 1)
    full = x.astype(REAL)
    ahead, behind = np.ones_like(full), np.ones_like(full)
    ahead[:, 1:] = np.cumprod(full, 1)[:, :-1]
    behind[:, :-1] = np.cumprod(full[:, ::-1], 1)[:, ::-1][:, 1:]
    wanted = ahead * behind * g
    bound = 2e-7 if dtype == np.float32 else 2 * n * 2.0**-52
    assert got.flags.c_contiguous and np.all(np.abs(got - wanted) <= bound * np.abs(wanted))
    assert (x.tobytes(), g.tobytes()) == before
    if n <= 100:
        assert np.allclose(got, twins.prod_backward(g, x, 1), rtol=1e-4 if dtype == np.float32 else 1e-12, atol=0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_edges(dtype: Any) -> None:
    assert kernels.prod(np.ones((2, 0), dtype), 1, False).tolist() == [1.0, 1.0] and kernels.prod(
        np.ones((0, 3), dtype), 1, True
    ).shape == (0, 1)
    assert kernels.prod_backward(np.ones((2, 1), dtype), np.ones((2, 0), dtype), 1).shape == (2, 0)
    x = np.array([[2.0, math.inf, 3.0], [0.0, math.inf, 1.0], [math.nan, 1.0, 1.0], [-0.0, 2.0, 5.0]], dtype)
    assert np.array_equal(kernels.prod(x, 1, False), [math.inf, math.nan, math.nan, 0.0], equal_nan=True)
    assert np.signbit(kernels.prod(x, 1, False)[3])
    assert np.array_equal(
        kernels.prod_backward(np.ones((4, 1), dtype), x, 1), twins.prod_backward(np.ones((4, 1), dtype), x, 1), equal_nan=True
    )
    assert kernels.prod(np.array([1e30, 1e30, 1e-30, 1e-30], dtype), 0, False) == pytest.approx(1.0)  # in F64 on the way


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int16, np.int32, np.int64])
def test_integers_wrap_nowhere_that_shows(dtype: Any) -> None:
    x = np.ones((3, 80), dtype)
    x[0, :5], x[1, 40:46], x[2] = 2, 3, 7
    x[1, 45], x[2, 79] = 0, 0  # the last row passes 2^63 on its way to 0
    assert kernels.prod(x, 1, False).tolist() == [32, 0, 0]


def test_the_number_of_threads_makes_no_difference() -> None:
    x, long = near_one((300, 1000), np.float32), near_one((1, 200001), np.float32)
    same_on_threads(lambda: (kernels.prod(x, 0, False), kernels.prod(x, 1, False), kernels.prod(long, 1, False)))
    same_on_threads(
        lambda: (kernels.prod_backward(x[:1], x, 0), kernels.prod_backward(x[:, :1], x, 1), kernels.prod_backward(long[:, :1], long, 1))
    )


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
