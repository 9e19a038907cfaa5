"""MSE, Huber's loss and the backward of a linear layer in C: values against float64, bits against threads and the kernels they join."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from instances import products_by

from cafe import kernels
from cafe.kernels import _ffi

SIZES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 1000, 4095, 4096, 4097, 8192, 100_003)
FLOATS = (np.float32, np.float64)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = _ffi.num_threads()
    yield _ffi.set_num_threads
    _ffi.set_num_threads(before)


def pair(n: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.standard_normal(n).astype(dtype), rng.standard_normal(n).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_mse_is_the_mean_of_squares(n: int, dtype: type) -> None:
    a, b = pair(n, dtype)
    exact = np.mean((a.astype(np.longdouble) - b.astype(np.longdouble)) ** 2)
    assert kernels.mse(a, b) == pytest.approx(float(exact), rel=8 * float(np.finfo(dtype).eps))
    assert kernels.twins.mse(a, b) == pytest.approx(float(exact), rel=8 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_mse_backward_is_its_slope(n: int, dtype: type) -> None:
    a, b = pair(n, dtype)
    g = np.array(1.5, dtype)
    exact = 2.0 * 1.5 * (a.astype(np.longdouble) - b.astype(np.longdouble)) / n
    for got in (kernels.mse_backward(g, a, b, None), kernels.twins.mse_backward(g, a, b, None)):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, exact.astype(np.float64), rtol=4 * float(np.finfo(dtype).eps), atol=0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_huber_and_its_slope(n: int, dtype: type, threads: Callable[[int], None]) -> None:
    a, b = pair(n, dtype)
    d, delta, one, two = a.astype(np.longdouble) - b, float(dtype(0.7)), np.ones((), dtype), np.array(2.0, dtype)
    exact = np.mean(np.where(np.abs(d) <= delta, d * d / 2, delta * (np.abs(d) - delta / 2)))
    slope = np.clip(d, -delta, delta) / n
    for xp in (kernels, kernels.twins):
        loss, ga = xp.huber_with_grad(a, b, 0.7)
        assert float(loss) == pytest.approx(float(exact), rel=8 * float(np.finfo(dtype).eps))
        np.testing.assert_allclose(ga, slope.astype(np.float64), rtol=4 * float(np.finfo(dtype).eps), atol=0)
        assert loss.tobytes() == xp.huber(a, b, 0.7).tobytes() and ga.tobytes() == xp.huber_backward(one, a, b, 0.7, None).tobytes()
        assert np.array_equal(xp.huber_backward(two, a, b, 0.7, ga), 2 * ga)
    bits = [kernels.huber_with_grad(a, b, 0.7)[i].tobytes() for i in (0, 1)]
    for count in (1, 2, 3, 8):
        threads(count)
        assert [kernels.huber_with_grad(a, b, 0.7)[i].tobytes() for i in (0, 1)] == bits


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
def test_mse_with_its_gradient_is_both_to_the_bit(n: int, dtype: type) -> None:
    a, b = pair(n, dtype)
    one, two = np.ones((), dtype), np.array(2.0, dtype)
    loss, ga = kernels.mse_with_grad(a, b)
    assert loss.tobytes() == kernels.mse(a, b).tobytes() and ga.tobytes() == kernels.mse_backward(one, a, b, None).tobytes()
    assert kernels.mse_backward(one, a, b, ga) is ga
    assert kernels.mse_backward(two, a, b, ga).tobytes() == kernels.mse_backward(two, a, b, None).tobytes()


def test_mse_sees_any_strides() -> None:
    a, b = pair(600, np.float32)
    a, b, one = a.reshape(20, 30).T[::2], b.reshape(30, 20)[::2], np.ones((), np.float32)
    assert kernels.mse(a, b) == kernels.mse(a.copy(), b.copy())
    assert np.array_equal(kernels.mse_backward(one, a, b, None), kernels.mse_backward(one, a.copy(), b.copy(), None))


def test_mse_of_nothing_is_nan() -> None:
    empty = np.zeros((0, 3), np.float32)
    assert np.isnan(kernels.mse(empty, empty))
    assert kernels.mse_backward(np.ones((), np.float32), empty, empty, None).shape == (0, 3)


def test_mse_passes_nan_on() -> None:
    a, b = pair(100, np.float32)
    a[37] = np.nan
    assert np.isnan(kernels.mse(a, b))


@pytest.mark.parametrize("dtype", FLOATS)
def test_mse_has_the_same_bits_on_any_number_of_threads(dtype: type, threads: Callable[[int], None]) -> None:
    a, b = pair(1_000_003, dtype)
    g, results = np.array(0.5, dtype), []
    for n in (1, 2, 3, 8):
        threads(n)
        results.append((kernels.mse(a, b).tobytes(), kernels.mse_backward(g, a, b, None).tobytes()))
    assert len(set(results)) == 1


SHAPES = [(1, 1, 1), (3, 5, 2), (32, 8, 16), (32, 16, 4), (17, 33, 9), (128, 784, 256), (300, 40, 70)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("m, k, n", SHAPES)
def test_linear_backward_has_the_bits_of_what_it_joins(m: int, k: int, n: int, dtype: type) -> None:
    rng = np.random.default_rng(m)
    g, x, w = (rng.standard_normal(shape).astype(dtype) for shape in ((m, n), (m, k), (n, k)))
    with products_by("fma"):  # as a layer's go, whatever `auto` chooses for other products; x is small enough for either
        wanted = kernels.matmul(g, w), kernels.matmul(g.T, x), kernels.sum(g, (0,), False)
    for need in itertools.product((False, True), repeat=3):
        for got, one, asked in zip(kernels.linear_backward(g, x, w, need), wanted, need):
            assert (got is not None) == asked
            assert got is None or np.array_equal(got, one)


def test_linear_backward_sees_any_strides_and_more_dims() -> None:
    rng = np.random.default_rng(0)
    g, x = (rng.standard_normal(shape).astype(np.float32).swapaxes(0, 1) for shape in ((5, 4, 3), (5, 4, 8)))
    w = rng.standard_normal((8, 3)).astype(np.float32).T
    need = (True, True, True)
    gx, gw, gb = kernels.linear_backward(g, x, w, need)
    assert gx.shape == x.shape
    for got, same in zip((gx, gw, gb), kernels.linear_backward(g.copy(), x.copy(), w.copy(), need)):
        assert np.array_equal(got, same)
    for got, twin in zip((gx, gw, gb), kernels.twins.linear_backward(g, x, w, need)):
        np.testing.assert_allclose(got, twin, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 4, 3), (5, 0, 3), (5, 4, 0)])
def test_linear_backward_of_nothing(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    g, x, w = np.ones((m, n), np.float32), np.ones((m, k), np.float32), np.ones((n, k), np.float32)
    need = (True, True, True)
    for got, twin in zip(kernels.linear_backward(g, x, w, need), kernels.twins.linear_backward(g, x, w, need)):
        assert np.array_equal(got, twin) and got.shape == twin.shape
