"""Products of F16 and BF16 in C: F32's result, rounded once, whatever the way, the layout and the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instances import each_isa, needs_c, rerun, same_on_threads
from test_matmul import LAYOUTS, SHAPES, Shape, values

from cafe import DType, Var, kernels, nn
from cafe.dtype import Array
from cafe.kernels import twins
from cafe.ops.matmul import LinearThen

pytestmark = needs_c
each_half = pytest.mark.parametrize("dtype", (DType.F16.numpy, DType.BF16.numpy), ids=str)
EMPTY = ((0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0), (3, 0, 1))
FEW_ROWS = ((3, 900, 1100), (4, 1100, 1025))  # of a B that does not stay in the second cache


def wide(x: Array) -> Array:
    return x.astype(np.float32)


def assert_rounded_once(got: Array, wanted: Array, dtype: Any) -> None:
    """Raises AssertionError unless got is what was wanted in F32, rounded."""
    assert got.dtype == dtype and got.shape == wanted.shape and got.flags.c_contiguous
    assert got.tobytes() == wanted.astype(dtype).tobytes()


@each_half
@pytest.mark.parametrize("shape", SHAPES + EMPTY + FEW_ROWS, ids=str)
def test_every_layout_gives_what_f32_gives_rounded(shape: Shape, dtype: Any) -> None:
    m, k, n = shape
    a, b = values((m, k), dtype), values((k, n), dtype)
    wanted, before = kernels.matmul(wide(a), wide(b)), (a.tobytes(), b.tobytes())

    for turn in LAYOUTS.values():
        assert_rounded_once(kernels.matmul(a, turn(b)), wanted, dtype)
        assert_rounded_once(kernels.matmul(turn(a), b), wanted, dtype)
    assert before == (a.tobytes(), b.tobytes())


@each_half
@pytest.mark.parametrize("shape", [(1, 1100, 1024), (4, 1024, 1100), (1100, 1024, 1), (60, 300, 300), (300, 300, 300)], ids=str)
def test_threads_do_not_show(shape: Shape, dtype: Any) -> None:
    m, k, n = shape
    a, b = values((m, k), dtype), values((k, n), dtype)

    same_on_threads(lambda: (kernels.matmul(a, b), kernels.matmul(a, np.asfortranarray(b)), kernels.matmul(np.asfortranarray(a), b)))


@each_half
def test_repeated_rows_and_columns(dtype: Any) -> None:
    a, b = np.broadcast_to(values((1, 70), dtype), (33, 70)), np.broadcast_to(values((70, 1), dtype), (70, 40))

    assert_rounded_once(kernels.matmul(a, b), kernels.matmul(wide(a), wide(b)), dtype)
    one = np.broadcast_to(values((1, 1), dtype), (70, 40))
    assert_rounded_once(kernels.matmul(a, one), kernels.matmul(wide(a), wide(one)), dtype)


@each_half
@pytest.mark.parametrize("batches", [((3,), (3,)), ((3, 1), (2,)), ((), (2,)), ((2, 0), (1,))], ids=str)
def test_batches(batches: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any) -> None:
    a, b = values((*batches[0], 17, 40), dtype), values((*batches[1], 40, 9), dtype)
    wanted = kernels.matmul(wide(a), wide(b))

    assert_rounded_once(kernels.matmul(a, b), wanted, dtype)
    assert_rounded_once(kernels.matmul(a, np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)), wanted, dtype)
    assert_rounded_once(kernels.matmul(np.asfortranarray(a), b), wanted, dtype)


@each_half
@pytest.mark.parametrize("shape", [(1, 300, 1), (5, 64, 1), (1, 200, 70), (33, 70, 17)], ids=str)
@pytest.mark.parametrize("then", ["", *LinearThen.KNOWN])
def test_linear_and_a_function(then: str, shape: Shape, dtype: Any) -> None:
    m, k, n = shape
    x, w, b = values((2, m, k), dtype), values((n, k), dtype), values((2 * n,), dtype)[::2]

    assert_rounded_once(kernels.linear(x, w, b, then), kernels.linear(wide(x), wide(w), wide(b), then), dtype)
    assert_rounded_once(kernels.linear(x, w, None, then), kernels.linear(wide(x), wide(w), None, then), dtype)


@each_half
def test_numbers_below_the_smallest_normal_count(dtype: Any) -> None:
    tiny = np.full((1, 64), 6e-8 if dtype == DType.F16.numpy else 1e-39, dtype)
    large = np.full((64, 40), 1e4 if dtype == DType.F16.numpy else 1e38, dtype)

    assert_rounded_once(kernels.matmul(tiny, large), twins.matmul(wide(tiny), wide(large)), dtype)
    assert np.all(wide(kernels.matmul(tiny, large)) > 0)


@each_half
def test_gradients_are_those_of_f32_rounded(dtype: Any) -> None:
    x, w = values((5, 40), dtype), values((9, 40), dtype)
    half, full = ((Var(x), Var(w)), (Var(wide(x)), Var(wide(w))))

    for layer in (lambda x, w: x.matmul(w.t()), lambda x, w: nn.Linear(w, None).forward(x)):
        got, wanted = (layer(*pair).sum_all().backward() for pair in (half, full))
        for h, f in zip(half, full):
            assert got[h].tolist() == wanted[f].to_dtype(h.dtype).tolist()


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
