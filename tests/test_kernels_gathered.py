"""Sums and extremes of what lies apart, and of F16 and BF16, softmax and norms of these: the bits of a row-major copy in F32 or F64."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pytest
from instances import each_isa, needs_c, rerun, same_on_threads

from cafe import DType, Tensor, kernels
from cafe.dtype import Array

pytestmark = needs_c
F32 = DType.F32.numpy
HALVES = (DType.F16.numpy, DType.BF16.numpy)
FLOATS = (F32, DType.F64.numpy, *HALVES)
SHAPES = ((7,), (5000,), (40, 33), (3, 9000), (9000, 3), (5000, 65), (4, 130, 50), (2, 3, 4, 40), (1, 5, 64), (3, 0, 4))


def some(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    return np.asarray(3 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def wide(x: Array) -> Array:
    """In the dtype that C computes in."""
    return x.astype(F32) if x.dtype in HALVES else x


def rows(x: Array, dims: tuple[int, ...]) -> Array:
    """A row-major copy in which what is reduced together stands in one row."""
    kept = [d for d in range(x.ndim) if d not in dims]
    return np.ascontiguousarray(wide(x).transpose(*kept, *dims)).reshape(prod(x.shape[d] for d in kept), -1 if x.size else 0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_have_the_bits_of_rows(shape: tuple[int, ...], dtype: Any) -> None:
    x = some(shape, dtype)
    before = x.tobytes()
    for seen in (x, x.T, x[..., ::2], x[..., :-1]):
        for dims in (dims for count in range(1, seen.ndim + 1) for dims in combinations(range(seen.ndim), count)):
            got = kernels.sum(seen, dims, True)
            assert got.shape == tuple(1 if d in dims else n for d, n in enumerate(seen.shape)) and got.dtype == wide(x).dtype
            assert np.array_equal(got.reshape(-1), kernels.sum(rows(seen, dims), (1,), False) if seen.size else np.zeros(got.size))
    assert x.tobytes() == before


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if 0 not in shape])
def test_extremes(shape: tuple[int, ...], dtype: Any) -> None:
    x = some(shape, dtype)
    x.reshape(-1)[x.size // 2] = np.nan
    for seen in (x, x.T, x[..., :-1]):
        for d in range(seen.ndim):
            assert np.array_equal(kernels.max(seen, d, False), wide(seen).max(d), equal_nan=True)
            assert np.array_equal(kernels.min(seen, d, True), wide(seen).min(d, keepdims=True), equal_nan=True)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_tensor_of_halves_is_rounded_once(dtype: Any) -> None:
    x = Tensor(some((300, 70), dtype))
    whole = x.to_dtype("f32")
    for f in (lambda t: t.sum(0), lambda t: t.mean(1), lambda t: t.mean_all(), lambda t: t.max(0), lambda t: t.min_all()):
        assert np.array_equal(f(x).numpy(), f(whole).to_dtype(x.dtype).numpy()) and f(x).dtype is x.dtype


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (300, 1000), (3, 5000), (40, 3, 70), (2, 900, 65)])
def test_softmax_and_norms_are_those_of_f32_rounded_once(shape: tuple[int, ...], dtype: Any) -> None:
    x, r, w, b = some(shape, dtype), some(shape, dtype, 1), some(shape[-1:], dtype, 2), some(shape[-1:], dtype, 3)
    for d in range(x.ndim):
        assert_rounded(kernels.softmax(x, d), kernels.softmax(wide(x), d))
        assert_rounded(kernels.log_softmax(x, d), kernels.log_softmax(wide(x), d))
    for weight, bias in ((None, None), (w, None), (w, b)):
        wb = [None if p is None else wide(p) for p in (weight, bias)]
        pairs = [
            (kernels.layer_norm(x, weight, bias, 1e-5), kernels.layer_norm(wide(x), *wb, 1e-5)),
            (kernels.residual_norm(x, r, weight, bias, 1e-5), kernels.residual_norm(wide(x), wide(r), *wb, 1e-5)),
            (kernels.rms_norm(x, weight, bias, 1e-5), kernels.rms_norm(wide(x), *wb, 1e-5)),
        ]
        for got, wanted in pairs:
            assert_rounded(got[0], wanted[0])
            assert [m.tobytes() for m in got[1:]] == [m.tobytes() for m in wanted[1:]]


def assert_rounded(got: Array, wanted: Array) -> None:
    assert got.tobytes() == kernels.cast(wanted, got.dtype).tobytes() and got.dtype in HALVES


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_threads_do_not_show(dtype: Any) -> None:
    x, long = some((70, 40, 50), dtype), some((5000, 70), dtype)
    same_on_threads(lambda: (kernels.sum(x, (0, 2), False), kernels.sum(x, (1,), False), kernels.sum(long[:, :65], (0, 1), False)))
    same_on_threads(lambda: (kernels.sum(long, (0,), False), kernels.max(long, 0, False), kernels.min(long, 1, False)))
    same_on_threads(lambda: (kernels.softmax(x, 1), kernels.softmax(x, 2), kernels.layer_norm(x, None, None, 1e-5)))


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
