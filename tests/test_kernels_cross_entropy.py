"""Cross-entropy and binary cross-entropy in C: within their bounds of float64, the same bits on any number of threads, candle's ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expect import raises
from instances import FLOATS, LENGTHS, as_bytes, assert_within, each_isa, needs_c, rerun, same_on_threads

from cafe import kernels
from cafe.dtype import Array
from cafe.errors import EmptyTensor, InvalidIndex

pytestmark = needs_c
IDS = (np.uint8, np.uint32, np.int16, np.int32, np.int64)
each_float = pytest.mark.parametrize("dtype", FLOATS)
rng = np.random.default_rng(11)


def logits(rows: int, n: int, dtype: Any) -> tuple[Array, Array]:
    return (3.0 * rng.standard_normal((rows, n))).astype(dtype), rng.integers(0, n, rows)


def by_hand(x: Array, ids: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """The loss and its gradient in float64; −1 is a skip."""
    x = x.astype(np.float64)
    w = np.full(len(x), 1.0 / len(x)) if weights is None else weights.astype(np.float64)
    loss, slope = 0.0, np.zeros(x.shape)
    for i, row in enumerate(x):
        if ids[i] == -1 or w[i] == 0:
            continue
        e = np.exp(row - row.max())
        loss -= w[i] * (row[ids[i]] - row.max() - np.log(e.sum()))
        slope[i] = w[i] * e / e.sum()
        slope[i, ids[i]] -= w[i]
    return np.asarray(loss), slope


@each_float
@pytest.mark.parametrize("n", LENGTHS)
def test_cross_entropy_is_that_of_float64(dtype: Any, n: int) -> None:
    x, ids = logits(5, n, dtype)
    wanted, slope = by_hand(x, ids)

    loss, gx = kernels.cross_entropy_with_grad(x, ids, None)

    assert loss.dtype == gx.dtype == dtype
    assert_within(loss, wanted, 8.0)
    assert_within(gx, slope, 4.0)


@each_float
@pytest.mark.parametrize(("rows", "n"), [(1, 5000), (5000, 3), (300, 100)])
def test_cross_entropy_of_many_rows_and_of_long_ones(dtype: Any, rows: int, n: int) -> None:
    x, ids = logits(rows, n, dtype)
    loss, gx = kernels.cross_entropy_with_grad(x, ids, None)
    wanted, slope = by_hand(x, ids)

    assert_within(loss, wanted, 8.0)
    assert_within(gx * rows, slope * rows, 4.0)


@each_float
def test_the_value_is_the_same_with_and_without_the_gradient(dtype: Any) -> None:
    x, ids = logits(70, 101, dtype)
    loss, gx = kernels.cross_entropy_with_grad(x, ids, None)

    assert as_bytes(kernels.cross_entropy(x, ids, None)) == as_bytes(loss)
    one = np.ones((), dtype)
    assert as_bytes(kernels.cross_entropy_backward(one, x, ids, None, None)) == as_bytes(gx)
    assert kernels.cross_entropy_backward(one, x, ids, None, gx) is gx
    half = np.full((), 0.5, dtype)
    assert as_bytes(kernels.cross_entropy_backward(half, x, ids, None, gx)) == as_bytes(gx * half)


@each_float
@pytest.mark.parametrize("kind", IDS)
def test_weights_and_skips(dtype: Any, kind: Any) -> None:
    x, ids = logits(9, 21, dtype)
    weights = rng.uniform(0.1, 2.0, 9).astype(dtype)
    weights[3] = 0.0
    x[3] = np.nan  # adds nothing, whatever stands in it
    ids = ids.astype(kind)
    by_sign = ids.astype(np.int64)
    if kind in (np.uint8, np.uint32, np.int64):
        ids[5], by_sign[5] = np.iinfo(kind).max, -1

    for w in (weights, None):
        if w is None:
            x[3] = 0.0
        loss, gx = kernels.cross_entropy_with_grad(x, ids, w)
        wanted, slope = by_hand(x, by_sign, w)
        assert_within(loss, wanted, 16.0)
        assert_within(gx, slope, 8.0)
        assert_within(kernels.cross_entropy_backward(np.full((), -3.0, dtype), x, ids, w, None), -3.0 * slope, 16.0)


@each_float
def test_threads_do_not_show_in_cross_entropy(dtype: Any) -> None:
    x, ids = logits(4500, 37, dtype)
    weights = rng.uniform(0.1, 2.0, 4500).astype(dtype)

    same_on_threads(lambda: kernels.cross_entropy_with_grad(x, ids, None))
    same_on_threads(lambda: kernels.cross_entropy_with_grad(x, ids, weights))


@each_float
def test_a_row_alone_has_the_gradient_it_has_in_a_batch(dtype: Any) -> None:
    x, ids = logits(8, 67, dtype)
    ones = np.ones(8, dtype)
    whole = kernels.cross_entropy_with_grad(x, ids, ones)[1]

    for i in range(8):
        alone = kernels.cross_entropy_with_grad(x[i : i + 1], ids[i : i + 1], ones[:1])[1]
        assert as_bytes(alone) == as_bytes(whole[i : i + 1])


@each_float
def test_cross_entropy_of_nan_and_infinity(dtype: Any) -> None:
    x, ids = logits(4, 19, dtype)
    x[0, 3], x[1, 4], x[2] = np.nan, np.inf, -np.inf
    loss, gx = kernels.cross_entropy_with_grad(x, ids, None)

    assert np.isnan(loss)
    assert np.isnan(gx[:3]).all()
    assert np.isfinite(gx[3]).all()
    low = x[3:].copy()
    low[0, ids[3] - 1] = -np.inf  # a forbidden class
    wanted, slope = by_hand(low, ids[3:])
    value, gradient = kernels.cross_entropy_with_grad(low, ids[3:], None)
    assert_within(value, wanted, 8.0)
    assert_within(gradient, slope, 4.0)


def test_the_first_bad_id_is_shown() -> None:
    x, _ = logits(3, 5, np.float32)

    with raises(InvalidIndex, "gather invalid index 5 with dim size 5"):
        kernels.cross_entropy(x, np.array([0, 5, 7]), None)
    with raises(InvalidIndex, "gather invalid index -1 with dim size 5"):
        kernels.cross_entropy_with_grad(x, np.array([0, -1, 9]), None)


def test_nothing_to_lose() -> None:
    none = np.zeros((0, 4), np.float32)
    assert np.isnan(kernels.cross_entropy(none, np.zeros(0, np.int64), None))
    with pytest.raises(EmptyTensor):
        kernels.cross_entropy(np.zeros((2, 0), np.float32), np.zeros(2, np.int64), None)
    assert np.isnan(kernels.bce_with_logits(none, none))
    assert kernels.bce_with_logits_backward(np.ones((), np.float32), none, none).shape == (0, 4)


def pair(n: int, dtype: Any) -> tuple[Array, Array]:
    return (4.0 * rng.standard_normal(n)).astype(dtype), rng.uniform(0.0, 1.0, n).astype(dtype)


@each_float
@pytest.mark.parametrize("n", [*LENGTHS, 4095, 4097, 8193, 20000])
def test_bce_is_that_of_float64(dtype: Any, n: int) -> None:
    x, t = pair(n, dtype)
    a, b = x.astype(np.float64), t.astype(np.float64)
    g = np.full((), 1.5, dtype)

    assert_within(kernels.bce_with_logits(x, t), np.mean(b * np.log1p(np.exp(-a)) + (1.0 - b) * np.log1p(np.exp(a))), 8.0)
    assert_within(kernels.bce_with_logits_backward(g, x, t) * n, 1.5 * (1.0 / (1.0 + np.exp(-a)) - b), 4.0)


@each_float
def test_threads_do_not_show_in_bce(dtype: Any) -> None:
    x, t = pair(200_003, dtype)

    same_on_threads(lambda: kernels.bce_with_logits(x, t))
    same_on_threads(lambda: kernels.bce_with_logits_backward(np.ones((), dtype), x, t))


@each_float
def test_bce_far_out(dtype: Any) -> None:
    x = np.array([1000.0, -1000.0, 40.0, -40.0, np.nan], dtype)
    zero, one = np.zeros(1, dtype), np.ones(1, dtype)

    assert kernels.bce_with_logits(x[:1], zero) == 1000.0
    assert kernels.bce_with_logits(x[1:2], one) == 1000.0
    assert_within(kernels.bce_with_logits(x[2:3], one) * 1e18, np.exp(-40.0) * 1e18, 4.0)
    assert_within(kernels.bce_with_logits_backward(np.ones((), dtype), x[3:4], zero) * dtype(1e18), np.exp([-40.0]) * 1e18, 8.0)
    assert np.isnan(kernels.bce_with_logits(x, np.zeros(5, dtype)))


@each_float
def test_layouts_do_not_matter_and_inputs_stay(dtype: Any) -> None:
    x, t = pair(60, dtype)
    a, b = x.reshape(6, 10), t.reshape(6, 10)
    before = as_bytes((x, t))

    assert as_bytes(kernels.bce_with_logits(a.T, b.T)) == as_bytes(kernels.bce_with_logits(a.T.copy(), b.T.copy()))
    assert as_bytes(kernels.bce_with_logits(a[:, ::2], b[:, ::2])) == as_bytes(kernels.bce_with_logits(a[:, ::2].copy(), b[:, ::2].copy()))
    ids = np.arange(12)[::2]
    assert as_bytes(kernels.cross_entropy(a, ids % 10, None)) == as_bytes(kernels.cross_entropy(a.copy(), np.array(ids % 10), None))
    assert as_bytes((x, t)) == before


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
