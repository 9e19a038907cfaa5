"""Sorting, scattering and filling: order of equals, NaN, repeated writes, gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from expect import raises

from cafe import DType, Tensor, Var
from cafe.errors import (
    BroadcastIncompatibleShapes,
    DTypeMismatchBinaryOp,
    Error,
    InvalidIndex,
    ShapeMismatchBinaryOp,
    UnsupportedDTypeForOp,
)

# -- sort


@pytest.mark.parametrize("dtype", list(DType))
def test_rows_in_order(dtype: DType) -> None:
    t = Tensor([[3, 1, 4, 1, 5], [2, 1, 7, 8, 2]], dtype)

    assert t.arg_sort_last_dim(True).tolist() == [[1, 3, 0, 2, 4], [1, 0, 4, 2, 3]]
    assert t.arg_sort_last_dim(False).tolist() == [[4, 2, 0, 1, 3], [3, 2, 0, 4, 1]]
    rising, places = t.sort_last_dim(True)
    assert rising.tolist() == [[1, 1, 3, 4, 5], [1, 2, 2, 7, 8]] and rising.dtype is dtype and places.dtype is DType.U32
    assert t.sort_last_dim(False)[0].tolist() == [[5, 4, 3, 1, 1], [8, 7, 2, 2, 1]]


def test_views_are_sorted_as_their_copies() -> None:
    t = Tensor([[9.0, 3.0, 1.0, 4.0], [9.0, 2.0, 8.0, 5.0]])

    assert t.narrow(1, 1, 3).arg_sort_last_dim(True).tolist() == [[1, 0, 2], [0, 2, 1]]
    assert t[1].arg_sort_last_dim(True).tolist() == [1, 3, 2, 0] and t.t().sort_last_dim(True)[0].tolist()[2] == [1.0, 8.0]
    assert t.flip(1).sort_last_dim(False)[0].tolist() == t.sort_last_dim(False)[0].tolist()


def test_long_rows() -> None:
    x = np.random.default_rng(0).permutation(2000).astype(np.float32)

    for asc in (True, False):
        y, places = Tensor(x).sort_last_dim(asc)
        assert y.tolist() == sorted(x.tolist(), reverse=not asc) and x[places.tolist()].tolist() == y.tolist()


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_nan_comes_last_either_way(dtype: str) -> None:
    t = Tensor([math.nan, 1.0, -math.inf, math.nan, math.inf, -1.0] * 5, dtype)

    for asc in (True, False):
        values = t.sort_last_dim(asc)[0].tolist()
        assert values[:20] == sorted([1.0, -math.inf, math.inf, -1.0] * 5, reverse=not asc) and all(map(math.isnan, values[20:]))


def test_the_ends_of_integers_have_their_places() -> None:
    for dtype in (DType.U8, DType.U32, DType.I16, DType.I32, DType.I64):
        low, high = (int(v) for v in (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max))
        t = Tensor(np.array([1, low, high, 0], dtype.numpy))
        assert t.sort_last_dim(False)[0].tolist() == sorted([1, low, high, 0], reverse=True)


def test_a_sorts_gradient_goes_back() -> None:
    x = Var([[3.0, 1.0, 1.0], [0.0, 5.0, 2.0]])
    y, places = x.sort_last_dim(False)

    assert not places.track_op()
    assert (y * Tensor([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])).backward()[x].tolist() == [[1.0, 10.0, 100.0], [200.0, 2.0, 20.0]]


def test_sorting_nothing() -> None:
    assert Tensor.zeros((2, 0)).sort_last_dim(True)[0].dims() == [2, 0] and Tensor.zeros((0, 3)).arg_sort_last_dim(True).dims() == [0, 3]
    with raises(Error, "empty last-dim in arg-sort"):
        Tensor(1.0).arg_sort_last_dim(True)


# -- scatter


def test_scatter() -> None:
    x = Tensor.zeros((4, 2), "i64")
    ids, source = Tensor([[2, 0], [1, 3]]), Tensor([[1, 2], [3, 4]])

    assert x.scatter(ids, source, 0).tolist() == [[0, 2], [3, 0], [1, 0], [0, 4]]
    assert x.t().scatter(ids.t(), source.t(), 1).tolist() == [[0, 3, 1, 0], [2, 0, 0, 4]]
    assert x.tolist() == [[0, 0]] * 4
    assert Tensor([1.0, 2.0]).scatter(Tensor([], "i64"), Tensor([]), 0).tolist() == [1.0, 2.0]


def test_the_last_write_stays() -> None:
    x, source = Var([1.0, 2.0, 3.0]), Var([10.0, 20.0, 30.0, 40.0])
    y = x.scatter(Tensor([0, 2, 0, 0]), source, 0)
    grads = (y * Tensor([1.0, 2.0, 4.0])).sum_all().backward()

    assert y.tolist() == [40.0, 2.0, 20.0]
    assert grads[x].tolist() == [0.0, 2.0, 0.0] and grads[source].tolist() == [0.0, 4.0, 0.0, 1.0]


@pytest.mark.parametrize("dtype, skip", [("u8", 255), ("u32", 2**32 - 1), ("i64", 2**63 - 1)])
def test_a_skip_writes_nothing(dtype: str, skip: int) -> None:
    x, source = Var([1.0, 2.0]), Var([10.0, 20.0])
    y = x.scatter(Tensor(np.array([1, skip], DType.from_str(dtype).numpy)), source, 0)
    grads = y.sum_all().backward()

    assert y.tolist() == [1.0, 10.0] and grads[x].tolist() == [1.0, 0.0] and grads[source].tolist() == [1.0, 0.0]


def test_scatter_refuses() -> None:
    x, ids = Tensor.zeros((2, 3)), Tensor.zeros((2, 1), "i64")
    with raises(InvalidIndex, "gather invalid index -1 with dim size 3"):
        x.scatter(ids.affine(1, -1), Tensor.zeros((2, 1)), 1)
    with raises(InvalidIndex, "gather invalid index 3 with dim size 3"):
        x.scatter(ids.affine(1, 3), Tensor.zeros((2, 1)), 1)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in scatter (self, src), lhs: [2, 3], rhs: [1, 1]"):
        x.scatter(ids, Tensor.zeros((1, 1)), 1)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in scatter (indexes, src), lhs: [2, 1], rhs: [2, 2]"):
        x.scatter(ids, Tensor.zeros((2, 2)), 1)
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in scatter, lhs: F32, rhs: F64"):
        x.scatter(ids, Tensor.zeros((2, 1), "f64"), 1)
    with raises(UnsupportedDTypeForOp, "unsupported dtype F32 for op scatter"):
        x.scatter(Tensor.zeros((2, 1)), Tensor.zeros((2, 1)), 1)


# -- masked_fill


def test_masked_fill() -> None:
    x = Var([[1.0, 2.0], [3.0, 4.0]])
    y = x.masked_fill(Tensor([1, 0], "u8"), -math.inf)

    assert y.tolist() == [[-math.inf, 2.0], [-math.inf, 4.0]] and y.sum_all().backward()[x].tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert Tensor([1, 2, 3]).masked_fill(Tensor([0, 5, 0]), 9).tolist() == [1, 9, 3]
    for dtype in ("f16", "bf16", "f64"):
        assert str(Tensor([1.0], dtype).masked_fill(Tensor([1], "u8"), 2.0).dtype) == dtype


def test_masked_fill_refuses() -> None:
    x = Tensor([1, 2])
    with raises(UnsupportedDTypeForOp, "unsupported dtype F32 for op masked-fill"):
        x.masked_fill(Tensor([1.0, 0.0]), 0)
    with raises(BroadcastIncompatibleShapes, "cannot broadcast [2, 2] to [2]"):
        x.masked_fill(Tensor([[1, 0], [0, 1]]), 0)
    with raises(Error, "masked_fill: a I64 tensor takes integers, got 0.5"):
        x.masked_fill(Tensor([1, 0]), 0.5)


def test_an_order_may_be_numpys() -> None:
    x = Tensor([3.0, 1.0, 2.0])
    assert x.sort_last_dim(np.bool_(False))[0].tolist() == [3.0, 2.0, 1.0]  # type: ignore[arg-type]
