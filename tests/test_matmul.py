"""Matrix products in C: within their bound of float64, and an element's bits depend on its row, its column and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from instances import FLOATS, as_bytes, each_isa, needs_c, products_by, rerun, same_on_threads

from cafe import kernels
from cafe.dtype import Array
from cafe.kernels import twins
from cafe.ops.matmul import LinearThen

pytestmark = needs_c
each_float = pytest.mark.parametrize("dtype", FLOATS)
rng = np.random.default_rng(16)
Shape = tuple[int, int, int]

# m k n: around tiles of 6 and 14 rows and of one and two vectors, around blocks of K; rows enough to be packed, columns enough for groups
# that are not all as wide, rows and columns that lie a page apart
SMALL = ((1, 1, 1), (2, 3, 5), (6, 7, 8), (7, 16, 17), (14, 15, 33), (15, 8, 31), (29, 64, 65), (64, 64, 64), (65, 33, 63), (96, 96, 96))
ROWS = ((1, 300, 257), (2, 193, 100), (3, 65, 64), (5, 192, 130), (16, 385, 67), (17, 200, 200))
VECTORS = ((67, 300, 1), (1, 385, 1), (257, 193, 2), (1, 1, 300), (300, 1, 1))
LARGE = ((100, 500, 300), (350, 193, 90), (90, 400, 1100), (33, 1024, 40), (1024, 20, 70), (160, 70, 784))
SHAPES = SMALL + ROWS + VECTORS + LARGE
FEW_ROWS = [(1, 1100, 1024), (2, 1100, 1024), (8, 1024, 1100), (16, 577, 1001), (3, 193, 4000), (1, 20000, 50)]  # blocks of k on threads
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def values(shape: tuple[int, ...], dtype: Any) -> Array:
    return rng.standard_normal(shape).astype(dtype)


def pair(shape: Shape, dtype: Any) -> tuple[Array, Array]:
    m, k, n = shape
    return values((m, k), dtype), values((k, n), dtype)


def among_nan(x: Array, step: int) -> Array:
    """The same values, every `step`-th element of an array of NaN along both axes."""
    wide = np.full((x.shape[0] * step, x.shape[1] * step + 3), np.nan, x.dtype)
    view = wide[::step, : x.shape[1] * step : step]
    view[...] = x
    return view


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "rows with a gap": lambda x: among_nan(x, 1),
    "columns with a gap": lambda x: among_nan(x.T, 1).T,
    "every other": lambda x: among_nan(x, 2),
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
}


def exact(a: Array, b: Array) -> Array:
    """The product in a wider type."""
    wide = np.float64 if a.dtype == np.float32 else np.longdouble
    y: Array = np.matmul(a.astype(wide), b.astype(wide))
    return y


def assert_bound(got: Array, a: Array, b: Array) -> None:
    """Raises AssertionError unless got is within k eps |a| |b| of the product, elementwise."""
    bound = a.shape[-1] * float(np.finfo(a.dtype).eps) * np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    assert got.dtype == a.dtype
    assert got.flags.c_contiguous
    assert np.all(np.abs(got - exact(a, b)) <= bound)


@each_float
@each_shape
def test_it_is_that_of_float64(shape: Shape, dtype: Any) -> None:
    a, b = pair(shape, dtype)

    assert_bound(kernels.matmul(a, b), a, b)
    assert_bound(twins.matmul(a, b), a, b)


@each_float
@each_shape
def test_every_layout_gives_the_same_bits(shape: Shape, dtype: Any) -> None:
    a, b = pair(shape, dtype)
    wanted = as_bytes(kernels.matmul(a, b))

    for left, turn_a in LAYOUTS.items():
        for right, turn_b in LAYOUTS.items():
            assert as_bytes(kernels.matmul(turn_a(a), turn_b(b))) == wanted, f"{left} by {right}"


@each_float
def test_rows_and_columns_that_are_repeated(dtype: Any) -> None:
    row, column = values((1, 70), dtype), values((70, 1), dtype)
    a, b = np.broadcast_to(row, (33, 70)), np.broadcast_to(column, (70, 40))

    assert as_bytes(kernels.matmul(a, b)) == as_bytes(kernels.matmul(a.copy(), b.copy()))
    one = np.broadcast_to(values((1, 1), dtype), (33, 70))
    assert as_bytes(kernels.matmul(one, b)) == as_bytes(kernels.matmul(one.copy(), b.copy()))


@each_float
@each_shape
def test_threads_do_not_show(shape: Shape, dtype: Any) -> None:
    a, b = pair(shape, dtype)

    same_on_threads(lambda: (kernels.matmul(a, b), kernels.matmul(np.asfortranarray(a), np.asfortranarray(b))))


@each_float
@pytest.mark.parametrize("shape", [*FEW_ROWS, (1100, 1024, 1), (300, 300, 300)], ids=str)
def test_threads_do_not_show_where_there_are_several(shape: Shape, dtype: Any) -> None:
    a, b = pair(shape, dtype)

    same_on_threads(lambda: (kernels.matmul(a, b), kernels.matmul(a, np.asfortranarray(b)), kernels.matmul(np.asfortranarray(a), b)))


@each_float
@pytest.mark.parametrize("k", [5, 64, 193, 700])
@pytest.mark.parametrize("turned", [False, True])
def test_a_row_and_a_column_alone_get_what_they_get_among_others(k: int, turned: bool, dtype: Any) -> None:
    a, b = pair((130, k, 150), dtype)
    b = np.asfortranarray(b) if turned else b
    whole = kernels.matmul(a, b)

    for rows in (1, 2, 3, 4, 6, 8, 14, 15, 16, 17, 40, 64, 97):
        assert as_bytes(kernels.matmul(a[7 : 7 + rows], b)) == as_bytes(whole[7 : 7 + rows]), f"{rows} rows"
    for columns in (1, 2, 3, 8, 16, 17, 32, 33, 64, 97):
        assert as_bytes(kernels.matmul(a, b[:, 9 : 9 + columns])) == as_bytes(whole[:, 9 : 9 + columns]), f"{columns} columns"
        assert as_bytes(kernels.matmul(a[5:6], b[:, 9 : 9 + columns])) == as_bytes(whole[5:6, 9 : 9 + columns]), f"a row by {columns}"


@each_float
@pytest.mark.parametrize("k", [192, 193, 384, 1000, 2000])
@pytest.mark.parametrize("rows", [1, 3, 20, 70])
def test_blocks_of_k_are_even_and_their_sums_are_added_in_order(rows: int, k: int, dtype: Any) -> None:
    a, b = pair((rows, k, 70), dtype)
    blocks = -(-k // 192)
    cuts = [k * i // blocks for i in range(blocks + 1)]
    wanted = kernels.matmul(a[:, : cuts[1]], b[: cuts[1]])
    for start, stop in pairwise(cuts[1:]):
        wanted = wanted + kernels.matmul(a[:, start:stop], b[start:stop])

    assert as_bytes(kernels.matmul(a, b)) == as_bytes(wanted)


@each_float
@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 70), (70, 1), (5, 40), (40, 5), (70, 70)])
def test_a_block_is_summed_by_rising_k(m: int, n: int, dtype: Any) -> None:
    k, large = 100, 2.0 ** np.finfo(dtype).nmant * 2  # from here on 1 more is rounded away
    first, last = np.ones((m, k), dtype), np.ones((m, k), dtype)
    first[:, 0] = last[:, -1] = large
    b = np.ones((k, n), dtype)

    for turn in (np.ascontiguousarray, np.asfortranarray):
        assert np.all(kernels.matmul(turn(first), turn(b)) == large)
        assert np.all(kernels.matmul(turn(last), turn(b)) == large + k)


BATCHES = (((3,), (3,)), ((3,), ()), ((), (3,)), ((3, 1), (4,)), ((1,), (5,)), ((2, 3, 1), (3, 4)), ((2, 1, 2), (3, 1)))


@each_float
@pytest.mark.parametrize("batches", BATCHES, ids=str)
@pytest.mark.parametrize("shape", [(1, 5, 9), (7, 200, 17), (33, 8, 1)], ids=str)
def test_a_matrix_of_a_batch_gets_what_it_gets_alone(shape: Shape, batches: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any) -> None:
    m, k, n = shape
    a, b = values((*batches[0], m, k), dtype), values((*batches[1], k, n), dtype)
    outer = np.broadcast_shapes(*batches)
    every_a, every_b = np.broadcast_to(a, (*outer, m, k)), np.broadcast_to(b, (*outer, k, n))
    y = kernels.matmul(a, b)

    assert y.shape == (*outer, m, n)
    for at in np.ndindex(*outer):
        assert as_bytes(y[at]) == as_bytes(kernels.matmul(every_a[at], every_b[at]))
    left, right = a[..., ::-1, :].copy()[..., ::-1, :], np.swapaxes(np.swapaxes(b, -1, -2).copy(), -1, -2)
    assert as_bytes(kernels.matmul(left, right)) == as_bytes(y)


@each_float
def test_large_batches_on_threads(dtype: Any) -> None:
    a, b = values((40, 17, 65), dtype), values((40, 65, 70), dtype)

    same_on_threads(lambda: (kernels.matmul(a, b), kernels.matmul(a, b[0]), kernels.matmul(a[:, :1], b)))


@each_float
@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0), (1, 0, 1), (300, 0, 300)], ids=str)
@pytest.mark.parametrize("batch", [(), (2,), (0,)])
def test_empty_dims_give_zeros(shape: Shape, batch: tuple[int, ...], dtype: Any) -> None:
    m, k, n = shape
    y = kernels.matmul(np.ones((*batch, m, k), dtype), np.ones((*batch, k, n), dtype))

    assert y.shape == (*batch, m, n)
    assert y.dtype == dtype
    assert not y.any()


@each_float
@pytest.mark.parametrize("shape", [(5, 20, 19), (1, 300, 40), (40, 300, 1), (70, 200, 70)], ids=str)
def test_nan_and_infinity_stay_in_their_row_and_column(shape: Shape, dtype: Any) -> None:
    m, k, n = shape
    a, b = pair(shape, dtype)
    clean = kernels.matmul(a, b)
    for value in (np.nan, np.inf):
        for turn in (np.ascontiguousarray, np.asfortranarray):
            left, right = a.copy(), b.copy()
            left[m // 2, k - 1] = right[k // 2, n - 1] = value
            down, across = kernels.matmul(turn(left), turn(b)), kernels.matmul(turn(a), turn(right))
            assert not np.isfinite(down[m // 2]).any()
            assert not np.isfinite(across[:, n - 1]).any()
            assert as_bytes(np.delete(down, m // 2, 0)) == as_bytes(np.delete(clean, m // 2, 0))
            assert as_bytes(np.delete(across, n - 1, 1)) == as_bytes(np.delete(clean, n - 1, 1))
    assert np.isnan(kernels.matmul(np.array([[np.inf]], dtype), np.zeros((1, 1), dtype))).all()


@each_float
@each_shape
def test_operands_are_left_alone(shape: Shape, dtype: Any) -> None:
    a, b = pair(shape, dtype)
    before = as_bytes((a, b))
    kernels.matmul(a, b)
    kernels.linear(a, np.ascontiguousarray(b.T), None)

    assert as_bytes((a, b)) == before


@each_float
@each_shape
def test_linear_is_the_product_and_then_the_sum(shape: Shape, dtype: Any) -> None:
    x, w = pair(shape, dtype)
    bias = values(shape[2:], dtype)
    with products_by("fma"):  # `auto` may choose differently for a product and for a layer
        y = kernels.matmul(x, w)

    for turn in (np.ascontiguousarray, np.asfortranarray):
        assert as_bytes(kernels.linear(turn(x), turn(w.T), None)) == as_bytes(y)
        assert as_bytes(kernels.linear(turn(x), turn(w.T), bias)) == as_bytes(y + bias)
        assert as_bytes(kernels.linear(turn(x), turn(w.T), np.repeat(bias, 2)[::2])) == as_bytes(y + bias)


@each_float
@each_shape
def test_a_function_after_linear_has_the_bits_of_the_two_apart(shape: Shape, dtype: Any) -> None:
    m, k, n = shape
    x, w, bias = values((m, k), dtype), values((n, k), dtype), values((n,), dtype)
    x[-1, -1], bias[n // 2] = np.nan, np.inf
    w[0] = bias[0] = -0.0  # so that -0.0 goes in

    for f in LinearThen.KNOWN:
        for turn in (np.ascontiguousarray, np.asfortranarray):
            for b in (bias, None):
                apart = as_bytes(getattr(kernels, f)(kernels.linear(turn(x), turn(w), b)))
                assert as_bytes(kernels.linear(turn(x), turn(w), b, f)) == apart, f
        same_on_threads(lambda f=f: (kernels.linear(x, w, bias, f), kernels.linear(x, np.asfortranarray(w), bias, f)))  # type: ignore[misc]


@each_float
@pytest.mark.parametrize("rows", [1, 2, 14, 60, 400])
def test_a_function_after_linear_on_threads_and_over_leading_dims(rows: int, dtype: Any) -> None:
    x, w, bias = values((2, rows // 2, 700) if rows % 2 == 0 else (rows, 700), dtype), values((1500, 700), dtype), values((1500,), dtype)
    y = kernels.linear(x, w, bias)

    for f in ("relu", "gelu_erf"):
        apart = as_bytes(getattr(kernels, f)(y))
        assert as_bytes(kernels.linear(x, w, bias, f)) == apart
        assert as_bytes(kernels.linear(x, np.asfortranarray(w), bias, f)) == apart
        same_on_threads(lambda f=f: (kernels.linear(x, w, bias, f), kernels.linear(x, np.asfortranarray(w), bias, f)))  # type: ignore[misc]


@each_float
@pytest.mark.parametrize("shape", [(1, 3, 2), (33, 70, 17), (200, 193, 40)], ids=str)
def test_the_gradients_of_linear_are_products(shape: Shape, dtype: Any) -> None:
    x, w = pair(shape, dtype)
    w = np.ascontiguousarray(w.T)
    g = values((shape[0], shape[2]), dtype)
    wanted = kernels.matmul(g, w), kernels.matmul(g.T, x), kernels.sum(g, (0,), False)

    assert as_bytes(kernels.linear_backward(g, x, w, (True, True, True))) == as_bytes(wanted)
    assert as_bytes(kernels.linear_backward(*map(np.asfortranarray, (g, x, w)), (True, True, True))) == as_bytes(wanted)
    for at in range(3):
        alone = kernels.linear_backward(g, x, w, tuple(i == at for i in range(3)))
        assert [i for i in range(3) if alone[i] is not None] == [at]
        assert as_bytes(alone[at]) == as_bytes(wanted[at])


@each_float
@pytest.mark.parametrize("k", [64, 784, 1024, 4096])
@pytest.mark.parametrize("m", [1, 50])
def test_errors_are_no_more_than_one_and_a_half_times_pytorchs(m: int, k: int, dtype: Any) -> None:
    torch = pytest.importorskip("torch")
    a, b = pair((m, k, 300), dtype)
    wanted = exact(a, b)

    def rms(y: Array) -> float:
        return float(np.sqrt(np.mean((y - wanted) ** 2)))

    assert rms(kernels.matmul(a, b)) <= 1.5 * rms(torch.matmul(torch.from_numpy(a), torch.from_numpy(b)).numpy())


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
