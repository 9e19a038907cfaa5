"""cafe.memory and the number of threads, as users see them."""

from __future__ import annotations

import numpy as np
import pytest
from instances import needs_c

import cafe


@needs_c
def test_a_large_result_comes_back_to_the_pool() -> None:
    cafe.memory.empty_cache()
    before = cafe.memory.statistics()
    x = cafe.Tensor.rand(0.0, 1.0, (1024, 1024)) + 1.0
    assert cafe.memory.statistics().used >= before.used + x.numpy().nbytes
    del x
    kept = cafe.memory.statistics()
    assert kept.cached >= 4 * 2**20 and kept.peak >= kept.used
    cafe.memory.empty_cache()
    assert cafe.memory.statistics().cached == 0


@needs_c
def test_no_more_is_kept_than_the_limit() -> None:
    limit = cafe.memory.statistics().limit
    cafe.memory.set_limit(3 * 2**20)
    try:
        x = cafe.Tensor.rand(0.0, 1.0, (1024, 1024)) + 1.0
        del x
        assert cafe.memory.statistics().cached <= 3 * 2**20
    finally:
        cafe.memory.set_limit(limit)
    assert cafe.memory.statistics().limit == limit


def test_threads_are_set_and_told_and_make_no_difference() -> None:
    before = cafe.get_num_threads()
    x = cafe.Tensor(np.random.default_rng(0).standard_normal((500, 500), np.float32))
    results = []
    for n in (1, 2, 3):
        cafe.set_num_threads(n)
        assert cafe.get_num_threads() in (n, 1)  # 1 without the extension
        results.append(x.matmul(x).numpy().tobytes())
    cafe.set_num_threads(before)
    assert cafe.get_num_threads() == before and len(set(results)) == 1


def test_fewer_threads_than_one_are_refused() -> None:
    with pytest.raises(cafe.Error, match="set_num_threads: expected at least 1, got 0"):
        cafe.set_num_threads(0)
