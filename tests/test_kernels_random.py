"""Random numbers in C are NumPy's Philox to the bit; normal ones but for last places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instances import FLOATS, as_bytes, needs_c, same_on_threads

from cafe import kernels
from cafe.device import GeneratorState
from cafe.kernels.random import keep_mask_ref, normal_ref, uniform_ref

pytestmark = needs_c
COUNTS = (1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 70001)
STATES = ((0, 0), (299792458, 7), (2**64 - 1, 2**40 + 3), (2**63, 2**32 - 2))


def state(at: tuple[int, int]) -> GeneratorState:
    made = GeneratorState()
    made.set(*at)
    return made


@pytest.mark.parametrize("at", STATES)
@pytest.mark.parametrize("count", COUNTS)
def test_uniform_is_numpys(count: int, at: tuple[int, int]) -> None:
    for low, high in ((0.0, 1.0), (-3.0, 0.1), (2.0, 2.0), (1.0, np.nextafter(1.0, 2.0))):
        ours, theirs = state(at), state(at)
        assert as_bytes(kernels.uniform((count,), low, high, ours)) == as_bytes(uniform_ref((count,), low, high, theirs))
        assert ours.counter == theirs.counter == at[1] + -(-count // 4)


@pytest.mark.parametrize("at", STATES)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_mask_is_numpys(dtype: Any, count: int, at: tuple[int, int]) -> None:
    for p in (0.0, 0.1, 0.5, 1.0 / 3.0, 0.999, np.nextafter(1.0, 0.0)):
        ours, theirs = state(at), state(at)
        mask = kernels.keep_mask((count,), p, np.dtype(dtype), ours)
        assert mask.dtype == dtype
        assert as_bytes(mask) == as_bytes(keep_mask_ref((count,), p, np.dtype(dtype), theirs))
        assert ours.counter == theirs.counter


@pytest.mark.parametrize("at", STATES)
@pytest.mark.parametrize("count", COUNTS)
def test_normal_numbers_are_the_twins_but_for_last_places(count: int, at: tuple[int, int]) -> None:
    for mean, std in ((0.0, 1.0), (-3.0, 0.1)):
        ours, theirs = state(at), state(at)
        got, wanted = kernels.normal((count,), mean, std, ours), normal_ref((count,), mean, std, theirs)
        assert got.shape == wanted.shape and ours.counter == theirs.counter
        assert np.abs(got - wanted).max() <= 4 * 2.0**-52 * max(1.0, float(np.abs(wanted).max()))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3, 4)])
def test_shapes(shape: tuple[int, ...]) -> None:
    assert kernels.uniform(shape, 0.0, 1.0, GeneratorState(1)).shape == shape
    assert kernels.normal(shape, 0.0, 1.0, GeneratorState(1)).shape == shape
    assert kernels.keep_mask(shape, 0.5, np.dtype(np.float32), GeneratorState(1)).shape == shape


def test_threads_do_not_show() -> None:
    same_on_threads(lambda: kernels.uniform((100_003,), -1.0, 1.0, GeneratorState(5)))
    same_on_threads(lambda: kernels.normal((100_003,), -1.0, 2.0, GeneratorState(5)))
    same_on_threads(lambda: kernels.keep_mask((100_003,), 0.3, np.dtype(np.float32), GeneratorState(5)))


def test_a_counter_beyond_64_bits_goes_on_in_numpy() -> None:
    ours, theirs = state((3, 2**63)), state((3, 2**63))
    assert as_bytes(kernels.uniform((9,), 0.0, 1.0, ours)) == as_bytes(uniform_ref((9,), 0.0, 1.0, theirs))
    assert as_bytes(kernels.normal((9,), 0.0, 1.0, ours)) == as_bytes(normal_ref((9,), 0.0, 1.0, theirs))


def test_draws_go_on_where_the_last_ended() -> None:
    whole, parts = GeneratorState(8), GeneratorState(8)
    together = kernels.uniform((8,), 0.0, 1.0, whole)
    assert np.array_equal(together, np.concatenate([kernels.uniform((4,), 0.0, 1.0, parts) for _ in range(2)]))
