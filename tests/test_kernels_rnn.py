"""LSTM and GRU in C: within their bound of float64, the same bits on any number of threads and for a sequence alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from instances import FLOATS, as_bytes, each_isa, needs_c, rerun, same_on_threads

from cafe import kernels
from cafe.dtype import Array
from cafe.kernels import twins

pytestmark = needs_c
each_float = pytest.mark.parametrize("dtype", FLOATS)
# B T H: one; odd ones; more sequences than a body takes at a time; a product in several blocks; one step
SHAPES = ((1, 1, 1), (2, 3, 5), (9, 4, 17), (70, 3, 16), (3, 5, 67), (3, 4, 200), (5, 1, 33))
EMPTY = ((0, 3, 4), (2, 0, 4), (2, 3, 0))
rng = np.random.default_rng(14)
Arrays = tuple[Array, ...]
Kernel = Callable[..., Any]


def lstm(shape: tuple[int, int, int], dtype: Any) -> Arrays:
    b, t, h = shape
    sizes = (b, t, 4 * h), (b, h), (b, h), (4 * h, h)
    xw, h0, c0, w = (rng.standard_normal(size).astype(dtype) for size in sizes)
    return xw, h0, c0, (w * dtype(max(h, 1) ** -0.5)).astype(dtype)


def gru(shape: tuple[int, int, int], dtype: Any) -> Arrays:
    b, t, h = shape
    sizes = (b, t, 3 * h), (b, h), (3 * h, h), (3 * h,)
    xw, h0, w, bias = (rng.standard_normal(size).astype(dtype) for size in sizes)
    return xw, h0, (w * dtype(max(h, 1) ** -0.5)).astype(dtype), bias


LAYERS = ((lstm, "lstm"), (gru, "gru"))
each_layer = pytest.mark.parametrize(("make", "name"), LAYERS, ids=["lstm", "gru"])


def both_ways(verbs: Any, name: str, given: Arrays, grad: Array) -> Arrays:
    """The states and gates, and the gradients."""
    y, gates = getattr(verbs, name)(*given)
    return y, gates, *getattr(verbs, f"{name}_backward")(grad, *(given[1:] if name == "lstm" else given), y, gates)


def gradient(name: str, shape: tuple[int, int, int], dtype: Any) -> Array:
    b, t, h = shape
    return rng.standard_normal((b, t, 2 * h if name == "lstm" else h)).astype(dtype)


@each_float
@each_layer
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_that_of_float64(shape: tuple[int, int, int], make: Kernel, name: str, dtype: Any) -> None:
    given, grad = make(shape, dtype), gradient(name, shape, dtype)
    wanted = both_ways(twins, name, tuple(a.astype(np.longdouble if dtype is np.float64 else np.float64) for a in given), grad)

    for got, exact in zip(both_ways(kernels, name, given, grad), wanted):
        assert got.dtype == dtype
        assert got.shape == exact.shape
        assert np.abs(got - exact).max() <= 20.0 * np.finfo(dtype).eps * max(1.0, float(np.abs(exact).max()))


@each_float
@each_layer
@pytest.mark.parametrize("shape", [(9, 20, 40), (70, 3, 64), (3, 6, 200)])
def test_threads_do_not_show(shape: tuple[int, int, int], make: Kernel, name: str, dtype: Any) -> None:
    given, grad = make(shape, dtype), gradient(name, shape, dtype)

    same_on_threads(lambda: both_ways(kernels, name, given, grad))


@each_float
@each_layer
def test_a_sequence_alone_gets_what_it_gets_in_a_batch(make: Kernel, name: str, dtype: Any) -> None:
    shape = (67, 3, 30)
    given, grad = make(shape, dtype), gradient(name, shape, dtype)
    whole = both_ways(kernels, name, given, grad)
    by_batch = (0, 1, 2, 3, 4) if name == "lstm" else (0, 1, 2, 3)  # states, gates, the gradients of what has a batch

    for i in (0, 13, 64, 66):
        alone = both_ways(kernels, name, tuple(a[i : i + 1] if a.shape[0] == 67 else a for a in given), grad[i : i + 1])
        for part in by_batch:
            assert as_bytes(alone[part]) == as_bytes(whole[part][i : i + 1])


@each_float
@each_layer
def test_a_sequence_in_two_pieces_is_one(make: Kernel, name: str, dtype: Any) -> None:
    given = make((3, 7, 20), dtype)
    whole, _ = getattr(kernels, name)(*given)
    first, _ = getattr(kernels, name)(given[0][:, :4], *given[1:])
    state = (first[:, -1, :20], first[:, -1, 20:]) if name == "lstm" else (first[:, -1],)
    rest, _ = getattr(kernels, name)(given[0][:, 4:], *state, *given[1 + len(state) :])

    assert np.array_equal(np.concatenate([first, rest], 1), whole)


@each_float
@pytest.mark.parametrize("shape", SHAPES)
def test_an_lstm_may_write_its_gates_over_its_inputs_and_their_gradient_over_the_gates(shape: tuple[int, int, int], dtype: Any) -> None:
    (xw, *rest), grad = lstm(shape, dtype), gradient("lstm", shape, dtype)
    y, gates, *grads = both_ways(kernels, "lstm", (xw, *rest), grad)
    here = xw.copy()
    y_here, gates_here = kernels.lstm(here, *rest, here)
    grads_here = kernels.lstm_backward(grad, *rest, y_here, gates_here, gates_here)

    assert gates_here is here is grads_here[0]
    assert as_bytes((y_here, *grads_here)) == as_bytes((y, *grads))
    assert as_bytes(kernels.lstm(xw, *rest, xw.T.copy().T)) == as_bytes((y, gates))


@each_float
@pytest.mark.parametrize("shape", [*SHAPES, *EMPTY])
def test_a_gradient_of_h_alone_is_one_with_zeros_for_c(shape: tuple[int, int, int], dtype: Any) -> None:
    given, grad = lstm(shape, dtype), gradient("lstm", shape, dtype)
    size = shape[2]
    grad[..., size:] = 0.0
    state = given[1:], kernels.lstm(*given)

    for verbs in (kernels, twins):
        alone = verbs.lstm_backward(grad[..., :size], *state[0], *state[1])  # type: ignore[attr-defined]
        for got, wanted in zip(alone, verbs.lstm_backward(grad, *state[0], *state[1])):  # type: ignore[attr-defined]
            assert np.array_equal(got, wanted)


@each_float
@each_layer
@pytest.mark.parametrize("shape", EMPTY)
def test_nothing_to_remember(shape: tuple[int, int, int], make: Kernel, name: str, dtype: Any) -> None:
    given, grad = make(shape, dtype), gradient(name, shape, dtype)

    for got, wanted in zip(both_ways(kernels, name, given, grad), both_ways(twins, name, given, grad)):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, atol=1e-6)


@each_float
@each_layer
def test_nan_stays_in_its_sequence_and_infinity_saturates(make: Kernel, name: str, dtype: Any) -> None:
    given = make((4, 5, 9), dtype)
    clean = getattr(kernels, name)(*given)[0]
    given[0][1, 2, 0], given[0][2, 3] = np.nan, np.inf
    y = getattr(kernels, name)(*given)[0]

    assert np.isnan(y[1, 3:]).any()
    assert as_bytes(y[1, :2]) == as_bytes(clean[1, :2])
    assert np.isfinite(y[2]).all()
    assert as_bytes(y[[0, 3]]) == as_bytes(clean[[0, 3]])


@each_float
@each_layer
def test_layouts_do_not_matter_and_inputs_stay(make: Kernel, name: str, dtype: Any) -> None:
    given, grad = make((4, 5, 9), dtype), gradient(name, (4, 5, 9), dtype)
    turned = tuple(np.ascontiguousarray(a.T).T for a in given)
    before = as_bytes((given, grad))

    assert as_bytes(both_ways(kernels, name, turned, np.ascontiguousarray(grad.T).T)) == as_bytes(both_ways(kernels, name, given, grad))
    assert as_bytes((given, grad)) == before


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
