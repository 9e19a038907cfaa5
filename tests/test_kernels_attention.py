"""Attention in C: within its bound of float64, the same bits on any number of threads and alone, memory linear in the sequence."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from instances import FLOATS, as_bytes, each_isa, needs_c, rerun, same_on_threads, threads

from cafe import kernels
from cafe.dtype import Array

pytestmark = needs_c
each_float = pytest.mark.parametrize("dtype", FLOATS)
EMPTY = ((0, 2, 1, 3, 4, 5, 6), (1, 2, 2, 0, 4, 5, 6), (1, 2, 1, 3, 0, 5, 6), (1, 2, 1, 3, 4, 0, 6), (1, 2, 1, 3, 4, 5, 0))
rng = np.random.default_rng(13)
# B H G S T D E: one of each; odd ones; more than a block of queries and of keys; groups; few queries, few keys; long rows
SHAPES = (
    (1, 1, 1, 1, 1, 1, 1),
    (1, 2, 1, 3, 5, 4, 7),
    (2, 4, 2, 60, 130, 16, 16),
    (1, 2, 2, 57, 129, 33, 31),
    (1, 6, 3, 70, 300, 8, 40),
    (1, 1, 1, 5, 400, 8, 8),
    (1, 1, 1, 300, 5, 8, 8),
    (1, 2, 1, 20, 40, 200, 130),
)


def inputs(shape: tuple[int, ...], dtype: Any) -> tuple[Array, Array, Array, Array]:
    """q, k, v and a gradient."""
    b, h, groups, s, t, d, e = shape
    sizes = (b, h, s, d), (b, groups, t, d), (b, groups, t, e), (b, h, s, e)
    return tuple(rng.standard_normal(size).astype(dtype) for size in sizes)  # type: ignore[return-value]


def holes(shape: tuple[int, ...], dtype: Any) -> Array:
    """A mask that adds something here and forbids something there."""
    mask = rng.standard_normal(shape)
    mask[rng.random(shape) < 0.2] = -np.inf
    return mask.astype(dtype)


def by_hand(
    q: Array, k: Array, v: Array, g: Array, mask: Array | None, scale: float, causal: bool
) -> tuple[float, tuple[Array, Array], tuple[Array, Array, Array]]:
    """The largest score, the result and the logsumexp, and the gradients, in float64."""
    q, k, v, g = (x.astype(np.float64) for x in (q, k, v, g))
    b, groups, t, _ = k.shape
    ratio, s = q.shape[1] // groups, q.shape[2]
    wide_k, wide_v = np.repeat(k, ratio, 1), np.repeat(v, ratio, 1)
    scores = scale * q @ wide_k.swapaxes(2, 3) + (0.0 if mask is None else mask.astype(np.float64))
    if causal:
        scores = np.where(np.arange(t) <= np.arange(s)[:, None] + (t - s), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0.0, top))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        logsumexp = (top + np.log(np.where(total == 0.0, 1.0, total)))[..., 0]
    weights /= np.where(total == 0.0, 1.0, total)
    y = weights @ wide_v
    slopes = scale * weights * (g @ wide_v.swapaxes(2, 3) - (g * y).sum(-1, keepdims=True))
    gk = (slopes.swapaxes(2, 3) @ q).reshape(b, groups, ratio, t, -1).sum(2)
    gv = (weights.swapaxes(2, 3) @ g).reshape(b, groups, ratio, t, -1).sum(2)
    largest = float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0))
    return largest, (y, logsumexp), (slopes @ wide_k, gk, gv)


def check(shape: tuple[int, ...], dtype: Any, mask: Array | None, causal: bool, arrays: Sequence[Array] = ()) -> None:
    q, k, v, g = arrays or inputs(shape, dtype)
    scale = shape[5] ** -0.5
    y, logsumexp = kernels.attention(q, k, v, mask, scale, causal)
    grads = kernels.attention_backward(g, q, k, v, y, mask, scale, causal, logsumexp)
    score, forward, backward = by_hand(q, k, v, g, mask, scale, causal)
    bound = (8.0 + 4.0 * score) * np.finfo(dtype).eps  # what rounds a score is its weight's relative error
    assert y.dtype == logsumexp.dtype == dtype
    for got, wanted in zip((y, logsumexp, *grads), (*forward, *backward)):
        assert got.shape == wanted.shape
        seen = np.isfinite(wanted)
        assert np.array_equal(got[~seen], wanted[~seen])
        if seen.any():
            largest = max(1.0, float(np.abs(wanted[seen]).max()))
            assert np.abs(got[seen] - wanted[seen]).max() <= bound * largest


@each_float
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_attention_is_that_of_float64(shape: tuple[int, ...], causal: bool, dtype: Any) -> None:
    check(shape, dtype, None, causal)


@each_float
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_masks_broadcast_by_strides(shape: tuple[int, ...], causal: bool, dtype: Any) -> None:
    b, h, _, s, t, _, _ = shape
    for size in ((1, 1, s, t), (b, h, 1, t), (b, 1, s, 1), (t,), ()):
        check(shape, dtype, holes(size, dtype), causal)
    check(shape, dtype, holes((t, s), dtype).T, causal)
    check(shape, dtype, np.full((b, h, s, t), -np.inf, dtype), causal)


@each_float
def test_heads_may_lie_side_by_side(dtype: Any) -> None:
    """(B, S, H, D) with heads and positions exchanged, as a projection leaves them; and rows a power of two apart."""
    for shape in ((2, 4, 2, 60, 130, 16, 24), (1, 16, 16, 70, 70, 64, 64)):
        turned = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for x in inputs(shape, dtype)]
        check(shape, dtype, None, True, turned)
        straight = [x.copy() for x in turned]
        assert as_bytes(kernels.attention(*turned[:3], None, 0.3, False)) == as_bytes(kernels.attention(*straight[:3], None, 0.3, False))
    wide = rng.standard_normal((1, 2, 9, 40)).astype(dtype)
    halves = wide[..., ::2], wide[..., ::-1][..., ::2], np.broadcast_to(wide[:, :, :1, :20], (1, 2, 9, 20)), wide[..., 20:]
    check((1, 2, 2, 9, 9, 20, 20), dtype, None, False, halves)


@each_float
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1, 300, 400, 16, 16), (1, 3, 1, 150, 260, 8, 24), (2, 5, 5, 70, 140, 16, 16)])
def test_threads_do_not_show(shape: tuple[int, ...], causal: bool, dtype: Any) -> None:
    """Whole heads for each thread, or heads cut into runs of queries and of keys, as the number of threads asks for."""
    q, k, v, g = inputs(shape, dtype)
    mask = holes((1, 1, *shape[3:5]), dtype)
    y, logsumexp = kernels.attention(q, k, v, mask, 0.25, causal)

    same_on_threads(lambda: kernels.attention(q, k, v, mask, 0.25, causal))
    same_on_threads(lambda: kernels.attention_backward(g, q, k, v, y, mask, 0.25, causal, logsumexp))


@each_float
def test_a_query_alone_gets_what_it_gets_among_others(dtype: Any) -> None:
    q, k, v, _ = inputs((2, 2, 1, 150, 300, 20, 20), dtype)
    whole = kernels.attention(q, k, v, None, 0.2, False)
    causal = kernels.attention(q, k[:, :, :150], v[:, :, :150], None, 0.2, True)

    for i in (0, 13, 14, 77, 149):
        alone = kernels.attention(q[1:, 1:, i : i + 1], k[1:], v[1:], None, 0.2, False)
        assert as_bytes(alone) == as_bytes(tuple(x[1:, 1:, i : i + 1] for x in whole))
        step = kernels.attention(q[:, :, i : i + 1], k[:, :, : i + 1], v[:, :, : i + 1], None, 0.2, True)  # as a cache of keys grows
        assert as_bytes(step) == as_bytes(tuple(x[:, :, i : i + 1] for x in causal))


@each_float
def test_large_scores_do_not_overflow(dtype: Any) -> None:
    q, k, v, g = inputs((1, 1, 1, 20, 300, 4, 4), dtype)
    check((1, 1, 1, 20, 300, 4, 4), dtype, None, False, (q, dtype(20.0) * np.sort(k, axis=2), v, g))  # the top moves in every block
    y, logsumexp = kernels.attention(q * dtype(1e15), k * dtype(1e15), v, None, 1.0, False)
    assert np.isfinite(y).all()
    assert np.isfinite(logsumexp).all()


@each_float
def test_nan_and_infinity_stay_in_their_rows(dtype: Any) -> None:
    q, k, v, _ = inputs((1, 1, 1, 40, 150, 8, 8), dtype)
    clean = kernels.attention(q, k, v, None, 0.3, False)
    q[0, 0, 3, 2], q[0, 0, 17] = np.nan, np.inf
    y, logsumexp = kernels.attention(q, k, v, None, 0.3, False)

    bad = np.isin(np.arange(40), (3, 17))
    assert np.isnan(y[0, 0, bad]).all()
    assert np.isnan(logsumexp[0, 0, bad]).all()
    assert as_bytes(y[0, 0, ~bad]) == as_bytes(clean[0][0, 0, ~bad])
    mask = np.zeros((40, 150), dtype)
    mask[5, 140] = np.nan
    assert np.isnan(kernels.attention(np.nan_to_num(q, posinf=0.0), k, v, mask, 0.3, False)[0][0, 0, 5]).all()


@each_float
def test_a_query_that_sees_nothing_gets_zeros_and_passes_nothing_on(dtype: Any) -> None:
    q, k, v, g = inputs((1, 2, 1, 70, 40, 8, 8), dtype)
    y, logsumexp = kernels.attention(q, k, v, None, 0.3, True)  # thirty more queries than keys
    gq, _, _ = kernels.attention_backward(g, q, k, v, y, None, 0.3, True, logsumexp)

    for hidden in (y[:, :, :30], gq[:, :, :30]):
        assert not hidden.any()
    assert (logsumexp[:, :, :30] == -np.inf).all()
    assert np.isfinite(logsumexp[:, :, 30:]).all()


@each_float
@pytest.mark.parametrize("shape", EMPTY)
def test_nothing_to_attend_to(shape: tuple[int, ...], dtype: Any) -> None:
    q, k, v, g = inputs(shape, dtype)
    y, logsumexp = kernels.attention(q, k, v, None, 0.5, True)
    grads = kernels.attention_backward(g, q, k, v, y, None, 0.5, True, logsumexp)
    twin = kernels.twins.attention(q, k, v, None, 0.5, True)

    for got, wanted in zip((y, logsumexp), twin):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
    for got, wanted in zip(grads, kernels.twins.attention_backward(g, q, k, v, twin[0], None, 0.5, True, twin[1])):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@each_float
def test_inputs_stay(dtype: Any) -> None:
    q, k, v, g = inputs((1, 2, 1, 60, 140, 8, 8), dtype)
    mask = holes((60, 140), dtype)
    y, logsumexp = kernels.attention(q, k, v, mask, 0.3, True)
    before = as_bytes((q, k, v, g, mask, y, logsumexp))
    kernels.attention_backward(g, q, k, v, y, mask, 0.3, True, logsumexp)

    assert as_bytes((q, k, v, g, mask, y, logsumexp)) == before


def test_memory_grows_with_the_sequence_and_not_with_its_square() -> None:
    """The scores of 12,000 tokens would be 576 MB."""
    q, k, v, g = inputs((1, 1, 1, 12_000, 12_000, 2, 2), np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with threads(2):
        y, logsumexp = kernels.attention(q, k, v, None, 0.5, True)
        kernels.attention_backward(g, q, k, v, y, None, 0.5, True, logsumexp)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
