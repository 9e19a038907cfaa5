"""Rotary positions and the caches of a decoder."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cafe import Error, Tensor, Var, nn
from cafe.testing import assert_close, assert_same_bits, gradcheck


def turned(x: np.ndarray, angles: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Each pair of the last dim turned by its angle, in plain loops: x (b, h, t, d), angles (t, d / 2)."""
    y = np.zeros_like(x)
    for b, h, t in np.ndindex(*x.shape[:3]):
        for k, (i, j) in enumerate(pairs):
            c, s = math.cos(angles[t, k]), math.sin(angles[t, k])
            y[b, h, t, i] = x[b, h, t, i] * c - x[b, h, t, j] * s
            y[b, h, t, j] = x[b, h, t, j] * c + x[b, h, t, i] * s
    return y


def tables(t: int, d: int) -> tuple[np.ndarray, Tensor, Tensor]:
    angles = np.arange(t)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)[None, :]
    return angles, *nn.rotary_angles(t, d, dtype="f64")


def test_rope_turns_halves_and_rope_i_neighbours() -> None:
    angles, cos, sin = tables(5, 6)
    x = Tensor.randn(0, 1, (2, 3, 5, 6), "f64")

    assert_close(nn.rope(x, cos, sin), turned(x.numpy(), angles, [(0, 3), (1, 4), (2, 5)]), 1e-14)
    assert_close(nn.rope_i(x, cos, sin), turned(x.numpy(), angles, [(0, 1), (2, 3), (4, 5)]), 1e-14)


def test_rope_thd_is_rope_with_time_before_heads() -> None:
    _, cos, sin = tables(5, 6)
    x = Tensor.randn(0, 1, (2, 5, 3, 6), "f64")

    assert_same_bits(nn.rope_thd(x, cos, sin), nn.rope(x.transpose(1, 2), cos, sin).transpose(1, 2))


@pytest.mark.parametrize("f", [nn.rope, nn.rope_i, nn.rope_thd])
def test_rotary_positions_pass_gradients(f: object) -> None:
    _, cos, sin = tables(4, 2)

    gradcheck(f, Tensor.randn(0, 1, (1, 4, 4, 2), "f64"), cos, sin)  # type: ignore[arg-type]


def test_longer_tables_are_cut_and_others_refused() -> None:
    _, cos, sin = tables(9, 4)
    x = Tensor.randn(0, 1, (1, 2, 3, 4), "f64")

    assert_same_bits(nn.rope(x, cos, sin), nn.rope(x, cos.narrow(0, 0, 3), sin.narrow(0, 0, 3)))
    with pytest.raises(Error, match=r"inconsistent last dim size in rope \[1, 2, 3, 4\] \[2, 2\] \[9, 2\]"):
        nn.rope(x, cos.narrow(0, 0, 2), sin)
    with pytest.raises(Error, match="unsupported dtype for rope F32 F64 F64"):
        nn.rope(x.to_dtype("f32"), cos, sin)
    with pytest.raises(Error, match="an even width is wanted, got 3"):
        nn.rotary_angles(2, 3)


def test_a_cache_keeps_everything_and_grows() -> None:
    cache, parts = nn.KvCache(2, 4), []
    for n in (3, 1, 2, 5):
        parts.append(Tensor.randn(0, 1, (1, 2, n, 3)))
        k, v = cache.append(parts[-1], parts[-1] * 2.0)
        assert_same_bits(k, Tensor.cat(parts, 2))
        assert_same_bits(v, Tensor.cat(parts, 2) * 2.0)
    assert cache.current_seq_len == 11
    cache.reset()
    assert (cache.k(), cache.current_seq_len) == (None, 0)


def test_what_a_cache_gave_stays_as_it_was() -> None:
    cache = nn.Cache(0, 8)
    first = cache.append(Tensor([1.0, 2.0]))
    cache.append(Tensor([3.0]))

    assert first.tolist() == [1.0, 2.0]


def test_what_is_appended_leaves_the_graph() -> None:
    cache = nn.Cache(0, 8)

    assert not cache.append(Var([1.0]) * 2.0).track_op()


def test_unlike_parts_are_refused_and_nothing_is_added() -> None:
    cache = nn.KvCache(1, 4)
    cache.append(Tensor.zeros((2, 1, 3)), Tensor.zeros((2, 1, 3)))
    with pytest.raises(Error, match="as many keys as values"):
        cache.append(Tensor.zeros((2, 1, 3)), Tensor.zeros((2, 2, 3)))
    with pytest.raises(Error, match="this cache holds"):
        cache.append(Tensor.zeros((2, 1, 3)), Tensor.zeros((2, 1, 4)))

    assert (cache.current_seq_len, cache.v_cache.current_seq_len) == (1, 1)


@pytest.mark.parametrize("size", [1, 3, 6])
def test_a_rotating_cache_is_the_last_places_whatever_the_steps(size: int) -> None:
    cache, seen = nn.RotatingCache(0, size), 0
    for n in (1, 2, 1, 4, 1, 1, 3):
        positions, mask = cache.positions(n), cache.attn_mask(n)
        got = cache.append(Tensor(np.arange(seen, seen + n, dtype=np.float32)))
        # a position's number is the number that was put in there
        assert got.tolist() == [float(p) for p in positions]
        for i in range(n):
            for j, p in enumerate(positions):
                hidden = 0 if mask is None else mask.i((i, j)).item()
                assert hidden == int(p > seen + i or p + size < seen + i)
        seen += n


def test_a_full_ring_gives_copies() -> None:
    cache = nn.RotatingCache(0, 2)
    cache.append(Tensor([1.0]))
    full = cache.append(Tensor([2.0]))
    cache.append(Tensor([3.0]))

    assert full.tolist() == [1.0, 2.0]
