"""Products of F32 in pieces of bfloat16: within the bound of chains; an element's bits depend on its row and its column alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from instances import as_bytes, each_isa, needs_c, products_by, rerun, same_on_threads
from test_matmul import LAYOUTS, assert_bound, pair, values

import cafe
from cafe import kernels
from cafe.dtype import Array
from cafe.kernels import _ffi

pytestmark = needs_c
F32 = np.float32

# around tiles of 16, panels of 32, steps of 32 and 128 k, 512 columns and 1024 rows that are packed at a time
SHAPES = ((1, 64, 64), (5, 65, 64), (16, 127, 66), (17, 128, 95), (32, 160, 96), (33, 129, 65), (40, 300, 700), (1060, 70, 64))
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


@pytest.fixture(autouse=True)
def in_pieces() -> Iterator[None]:
    with products_by("split"):
        yield


def by_chains(a: Array, b: Array) -> Array:
    with products_by("fma"):
        return kernels.matmul(a, b)


def rms(got: Array, a: Array, b: Array) -> float:
    wanted = np.matmul(a.astype(np.float64), b.astype(np.float64))
    return float(np.sqrt(np.mean((got - wanted) ** 2) / np.mean(wanted**2)))


@each_shape
def test_it_is_that_of_float64_and_not_that_of_chains(shape: Any) -> None:
    a, b = pair(shape, F32)

    assert_bound(kernels.matmul(a, b), a, b)
    assert as_bytes(kernels.matmul(a, b)) != as_bytes(by_chains(a, b))


def test_the_error_is_no_larger_than_that_of_chains() -> None:
    for shape in ((64, 64, 64), (100, 1000, 100), (300, 384, 130)):
        a, b = pair(shape, F32)

        assert rms(kernels.matmul(a, b), a, b) <= rms(by_chains(a, b), a, b)


def test_what_is_left_out_of_a_product_is_small() -> None:
    factors, b = values((64,), F32), values((64, 800), F32)
    exact = factors[:, None].astype(np.float64) * b
    off = (kernels.matmul(np.diag(factors), b) - exact) / exact * 2.0**24  # each sum has one product; in half ulps of 1

    assert np.abs(off).max() <= 3  # one is rounding
    assert np.sqrt(np.mean(off**2)) <= 0.75


@each_shape
def test_every_layout_gives_the_same_bits(shape: Any) -> None:
    a, b = pair(shape, F32)
    wanted = as_bytes(kernels.matmul(a, b))

    for left, turn_a in LAYOUTS.items():
        for right, turn_b in LAYOUTS.items():
            assert as_bytes(kernels.matmul(turn_a(a), turn_b(b))) == wanted, f"{left} by {right}"


@pytest.mark.parametrize("shape", [(1, 700, 300), (17, 500, 700), (300, 300, 300), (1100, 65, 129)], ids=str)
def test_threads_do_not_show(shape: Any) -> None:
    a, b = pair(shape, F32)

    same_on_threads(lambda: (kernels.matmul(a, b), kernels.matmul(a, np.asfortranarray(b)), kernels.matmul(np.asfortranarray(a), b)))


@pytest.mark.parametrize("k", [64, 129, 300])
@pytest.mark.parametrize("turned", [False, True])
def test_a_row_alone_gets_what_it_gets_among_others(k: int, turned: bool) -> None:
    a, b = pair((130, k, 150), F32)
    b = np.asfortranarray(b) if turned else b
    whole = kernels.matmul(a, b)

    for rows in (1, 2, 3, 4, 8, 15, 16, 17, 31, 32, 33, 64, 97):
        assert as_bytes(kernels.matmul(a[7 : 7 + rows], b)) == as_bytes(whole[7 : 7 + rows]), f"{rows} rows"
    for columns in (64, 65, 97, 128):
        assert as_bytes(kernels.matmul(a, b[:, 9 : 9 + columns])) == as_bytes(whole[:, 9 : 9 + columns]), f"{columns} columns"


def test_a_batch_is_its_matrices_and_broadcasts() -> None:
    a, b = values((3, 2, 20, 70), F32), values((2, 70, 80), F32)
    got = kernels.matmul(a, b)

    for i in range(3):
        for j in range(2):
            assert as_bytes(got[i, j]) == as_bytes(kernels.matmul(a[i, j], b[j]))
    row, column = np.broadcast_to(values((1, 70), F32), (33, 70)), np.broadcast_to(values((70, 1), F32), (70, 80))
    assert as_bytes(kernels.matmul(row, column)) == as_bytes(kernels.matmul(row.copy(), column.copy()))


@pytest.mark.parametrize("strange", [np.inf, -np.inf, np.nan, 3.4e38, 1e30])
def test_what_is_not_finite_or_overflows_is_computed_by_chains(strange: float) -> None:
    a, b = pair((70, 100, 90), F32)
    a[33, 50] = strange
    b[20:60, 70] *= F32(1e10)
    with np.errstate(over="ignore", invalid="ignore"):
        got, wanted = kernels.matmul(a, b), by_chains(a, b)

    ends = ~np.isfinite(wanted)
    assert np.array_equal(got[ends], wanted[ends], equal_nan=True)
    assert np.isfinite(got[~ends]).all()
    assert as_bytes(kernels.matmul(a[33:34], b)) == as_bytes(got[33:34])
    others = np.delete(np.arange(70), 33)
    assert_bound(got[others], a[others], b)


def test_a_number_next_to_nothing_leaves_its_neighbours_as_they_are() -> None:
    a, b = pair((40, 300, 90), F32)
    a[33] *= F32(1e-5)
    a[33, 50] = 0
    clean = kernels.matmul(a, b)
    a[33, 50] = 1e-42

    assert as_bytes(kernels.matmul(a, b)) == as_bytes(clean)
    assert as_bytes(kernels.matmul(b.T, a.T)) == as_bytes(kernels.matmul(b.T, np.where(a == F32(1e-42), 0, a).T))


@pytest.mark.parametrize("strange", [np.inf, np.nan, 3.4e38, 1e-30, 1e-42])
def test_what_few_rows_cannot_do_is_what_many_cannot(strange: float) -> None:
    a, b = pair((40, 300, 90), F32)
    a[33] *= F32(1e-5)
    a[33, 50] = strange
    b[200:, 70] *= F32(1e10)
    with np.errstate(over="ignore", invalid="ignore"):
        b[:, 7] *= F32(strange)
        whole = kernels.matmul(a, b)
        for rows in (1, 2, 3, 7, 16):
            for first in (24, 31, 33):
                few = kernels.matmul(a[first : first + rows], b)
                assert as_bytes(few) == as_bytes(whole[first : first + rows]), f"{rows} rows from {first} on"


@pytest.mark.parametrize("scale", [1e-20, 1e-30, 1e-37, 1e-42])
def test_small_numbers_are_not_flushed(scale: float) -> None:
    a, b = pair((40, 70, 80), F32)
    small = (a * scale).astype(F32)

    for left, right in ((small, b), (a, (b * scale).astype(F32)), (small, (b * F32(1e-10)))):
        got, wanted = kernels.matmul(left, right), np.matmul(left.astype(np.float64), right.astype(np.float64))
        size = np.matmul(np.abs(left).astype(np.float64), np.abs(right).astype(np.float64))
        assert np.all(np.abs(got - wanted) <= 70 * 2.0**-23 * size + 70 * 2.0**-149)
    mixed = a.copy()
    mixed[5] = small[5]
    assert as_bytes(kernels.matmul(mixed, b)[5:6]) == as_bytes(kernels.matmul(small[5:6], b))


@pytest.mark.parametrize("strange", [np.nan, np.inf, 1e-30])
def test_a_column_is_not_changed_by_its_neighbours(strange: float) -> None:
    a, b = pair((40, 100, 90), F32)
    clean = kernels.matmul(a, b)
    b[:, 70] *= F32(strange)
    with np.errstate(invalid="ignore"):
        got = kernels.matmul(a, b)

    assert as_bytes(np.delete(got, 70, 1)) == as_bytes(np.delete(clean, 70, 1))
    assert np.array_equal(got[:, 70], by_chains(a, b)[:, 70], equal_nan=True)


def test_rows_and_columns_of_zeros() -> None:
    a, b = pair((40, 70, 80), F32)
    a[3] = b[:, 64:] = 0

    got = kernels.matmul(a, b)

    assert not got[3].any() and not got[:, 64:].any()
    assert_bound(got, a, b)


@pytest.mark.parametrize("then", ["", "relu", "gelu_erf"])
def test_a_layer_adds_its_bias_and_function_to_the_same_sums(then: str) -> None:
    x, w, bias = values((37, 100), F32), values((90, 100), F32), values((90,), F32)
    plain = kernels.matmul(x, w.T) + bias

    assert as_bytes(kernels.linear(x, w, bias, then)) == as_bytes(getattr(kernels, then)(plain) if then else plain)


@pytest.mark.parametrize("dtype", [cafe.DType.F16, cafe.DType.BF16])
@pytest.mark.parametrize("turned", [False, True])
def test_halves_are_widened(dtype: Any, turned: bool) -> None:
    x, w = values((37, 100), dtype.numpy), values((90, 100), dtype.numpy)
    w = np.asfortranarray(w) if turned else w

    assert as_bytes(kernels.linear(x, w, None)) == as_bytes(kernels.linear(x.astype(F32), w.astype(F32), None).astype(dtype.numpy))


def test_nothing_is_lost_where_there_is_nothing() -> None:
    for m, k, n in ((0, 70, 80), (5, 0, 80), (5, 70, 0)):
        got = kernels.matmul(np.ones((m, k), F32), np.ones((k, n), F32))
        assert got.shape == (m, n) and not got.any()


def test_auto_splits_large_products_where_there_are_tiles_but_no_layers() -> None:
    a, b = pair((3, 384, 512), F32)
    split, chains = as_bytes(kernels.matmul(a, b)), as_bytes(by_chains(a, b))
    w = np.ascontiguousarray(b.T)
    g = values((3, 512), F32)

    with products_by("auto"):
        assert as_bytes(kernels.matmul(a, b)) == (split if _ffi.isa() == "amx" else chains)
        assert as_bytes(kernels.matmul(a[:, :383], b[:383])) == as_bytes(by_chains(a[:, :383], b[:383]))
        assert as_bytes(kernels.linear(a, w, None)) == chains
        gx, _, _ = kernels.linear_backward(g, a, w, (True, True, False))
        assert as_bytes(gx) == as_bytes(by_chains(g, w))


@pytest.mark.parametrize("then", ["product", "layer"])
def test_auto_gives_a_row_alone_what_it_gets_among_others(then: str) -> None:
    a, b = pair((40, 384, 520), F32)
    compute = kernels.matmul if then == "product" else lambda x, y: kernels.linear(x, np.ascontiguousarray(y.T), None)

    with products_by("auto"):
        whole = compute(a, b)
        for rows in (1, 2, 16, 17, 33):
            assert as_bytes(compute(a[5 : 5 + rows], b)) == as_bytes(whole[5 : 5 + rows]), f"{rows} rows"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(cafe.Error, match="set_matmul_algorithm: unknown algorithm `tiles`"):
        cafe.set_matmul_algorithm("tiles")


@each_isa
def test_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
