"""Windows, and one tensor put into a part of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import Tensor, Var
from cafe.errors import DimOutOfRange, DTypeMismatchBinaryOp, Error, NarrowInvalidArgs, ShapeMismatchBinaryOp

# -- windows


@pytest.mark.parametrize("size, step", [(1, 1), (2, 1), (2, 2), (3, 2), (2, 3), (5, 1)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_windows_are_views(size: int, step: int, dim: int) -> None:
    x = Tensor.arange(0, 5 * 6 * 7).reshape((5, 6, 7))
    y = x.unfold(dim, size, step)
    wanted = np.lib.stride_tricks.sliding_window_view(x.numpy(), size, dim)
    wanted = wanted[(slice(None),) * (dim % 3) + (slice(None, None, step),)]

    assert y.tolist() == wanted.tolist() and np.shares_memory(y.numpy(), x.numpy())


def test_windows_side_by_side_and_their_gradient() -> None:
    x = Var([[1.0, 2.0], [3.0, 4.0]])
    y = x.unfold(0, 2, 2)

    assert y.tolist() == [[[1.0, 3.0], [2.0, 4.0]]]
    assert (y * Tensor([[[1.0, 2.0], [3.0, 4.0]]])).sum_all().backward()[x].tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_overlapping_windows_add_up() -> None:
    x = Var([1.0, 2.0, 3.0, 4.0, 5.0])
    y = x.unfold(0, 3, 1)
    weights = Tensor([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0], [3.0, 30.0, 300.0]])

    assert y.tolist() == [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [3.0, 4.0, 5.0]]
    assert (y * weights).sum_all().backward()[x].tolist() == [1.0, 12.0, 123.0, 230.0, 300.0]
    assert x.unfold(0, 2, 3).sum_all().backward()[x].tolist() == [1.0, 1.0, 0.0, 1.0, 1.0]


def test_windows_of_a_variable_follow_it() -> None:
    v = Var([1.0, 2.0, 3.0])
    y = v.unfold(0, 2, 1)
    v.set(Tensor([4.0, 5.0, 6.0]))

    assert y.tolist() == [[4.0, 5.0], [5.0, 6.0]]


def test_windows_refuse() -> None:
    x = Tensor.zeros((2, 3))
    with raises(Error, "unfold: maximum size for tensor at dimension 1 is 3 but size is 4"):
        x.unfold(1, 4, 1)
    with raises(Error, "unfold: size and step must be at least 1, got 2 and 0"):
        x.unfold(0, 2, 0)
    with raises(DimOutOfRange, "unfold: dimension index 2 out of range for shape [2, 3]"):
        x.unfold(2, 1, 1)


# -- slice_scatter


def test_slice_scatter() -> None:
    x = Tensor.arange(0, 12).reshape((4, 3))
    assert x.slice_scatter(Tensor([[20, 21, 22], [23, 24, 25]]), 0, 1).tolist() == [[0, 1, 2], [20, 21, 22], [23, 24, 25], [9, 10, 11]]
    columns = Tensor([[1, 2, 3, 4]]).t()
    assert x.slice_scatter(columns, 1, 2).tolist() == [[0, 1, 1], [3, 4, 2], [6, 7, 3], [9, 10, 4]]
    assert x.slice_scatter0(x.narrow(0, 3, 1), 0).tolist() == [[9, 10, 11], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert x.t().slice_scatter(Tensor([[7, 7, 7, 7]]), -2, 0).tolist()[0] == [7, 7, 7, 7] and x[0].tolist() == [0, 1, 2]
    assert x.slice_scatter(x.narrow(0, 0, 0), 0, 4).tolist() == x.tolist()


def test_slice_scatter_gradients() -> None:
    base, source = Var([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Var([[10.0, 20.0]])
    y = base.slice_scatter0(source, 1) * Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    grads = y.sum_all().backward()

    assert grads[base].tolist() == [[1.0, 2.0], [0.0, 0.0], [5.0, 6.0]] and grads[source].tolist() == [[3.0, 4.0]]


def test_slice_scatter_refuses() -> None:
    x = Tensor.zeros((4, 3))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in slice-scatter (self, src), lhs: [4, 3], rhs: [2, 2]"):
        x.slice_scatter(Tensor.zeros((2, 2)), 0, 0)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in slice-scatter (self, src), lhs: [4, 3], rhs: [3]"):
        x.slice_scatter0(Tensor.zeros((3,)), 0)
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in slice-scatter, lhs: F32, rhs: F64"):
        x.slice_scatter0(Tensor.zeros((1, 3), "f64"), 0)
    with raises(NarrowInvalidArgs, "narrow invalid args start + len > dim_len: [4, 3], dim: 0, start: 3, len:2"):
        x.slice_scatter0(Tensor.zeros((2, 3)), 3)
    with raises(DimOutOfRange, "slice-scatter: dimension index 2 out of range for shape [4, 3]"):
        x.slice_scatter(Tensor.zeros((1, 3)), 2, 0)


# -- slice_assign


@pytest.mark.parametrize(
    "ranges, block",
    [
        ([slice(1, 3), slice(3, 5)], (slice(1, 3), slice(3, 5))),
        ([slice(None), slice(2, None)], (slice(None), slice(2, None))),
        ([..., slice(None, 1)], (slice(None), slice(0, 1))),
        ([slice(-1, None), slice(0, -2)], (slice(3, 4), slice(0, 3))),
    ],
)
def test_slice_assign(ranges: list[Any], block: tuple[slice, slice]) -> None:
    x = Tensor.zeros((4, 5))
    wanted = np.zeros((4, 5))
    source = np.arange(1.0, 1.0 + wanted[block].size).reshape(wanted[block].shape)
    wanted[block] = source

    assert x.slice_assign(ranges, Tensor(source, "f32")).tolist() == wanted.tolist() and x.sum_all().to_scalar() == 0.0


def test_slice_assign_gradients() -> None:
    base, source = Var(np.ones((2, 2))), Var(np.ones((1, 1)))
    y = base.slice_assign([slice(0, 1), slice(1, 2)], source) * Tensor([[1.0, 2.0], [3.0, 4.0]], "f64")
    grads = y.sum_all().backward()

    assert grads[base].tolist() == [[1.0, 0.0], [3.0, 4.0]] and grads[source].tolist() == [[2.0]]


def test_slice_assign_refuses() -> None:
    x, one = Tensor.zeros((4, 5)), Tensor.zeros((1, 1))
    with raises(Error, "slice-assign requires input with the same rank 2 <> 1"):
        x.slice_assign([slice(0, 1), slice(0, 1)], Tensor.zeros((1,)))
    with raises(Error, "slice-assign requires input with the same rank as there are ranges 2 <> 1"):
        x.slice_assign([slice(0, 1)], one)
    with raises(Error, "slice-assign: empty range for dim 1, 3 3"):
        x.slice_assign([slice(0, 1), slice(3, 3)], one)
    with raises(Error, "slice-assign: upper bound is out of range for dim 0, 6 4"):
        x.slice_assign([slice(5, 6), slice(0, 1)], one)
    with raises(Error, "slice-assign: the range for dim 1 (0..2) does not match the size of src 1"):
        x.slice_assign([slice(0, 1), slice(0, 2)], one)
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in slice-assign, lhs: F32, rhs: F64"):
        x.slice_assign([slice(0, 1), slice(0, 1)], Tensor.zeros((1, 1), "f64"))
    with raises(TypeError, "slice_assign: dim 0 takes a slice without a step, found slice(0, 4, 2)"):
        x.slice_assign([slice(0, 4, 2), slice(0, 1)], one)
