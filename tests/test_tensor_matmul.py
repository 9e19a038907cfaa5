"""Matrix products: strides, batches, empty dims, errors in candle's order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from expect import raises

from cafe import DType, Tensor, Var
from cafe.errors import DTypeMismatchBinaryOp, Error, ShapeMismatchBinaryOp, UnsupportedDTypeForOp
from cafe.testing import INTS, assert_close


def test_small_products() -> None:
    a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    assert a.matmul(b).tolist() == (a @ b).tolist() == [[9.0, 12.0, 15.0], [19.0, 26.0, 33.0]]
    assert b.t().matmul(a).tolist() == [[13.0, 18.0], [17.0, 24.0], [21.0, 30.0]]
    assert a.t().matmul(a.t()).tolist() == a.matmul(a).t().tolist()


def test_batches() -> None:
    a = Tensor.arange(0.0, 12.0).reshape((2, 2, 3))
    b = Tensor.arange(2.0, 14.0).reshape((2, 3, 2))

    assert a.matmul(b).tolist() == [[[16.0, 19.0], [52.0, 64.0]], [[214.0, 235.0], [304.0, 334.0]]]
    four = Tensor.arange(0.0, 24.0).reshape((2, 2, 2, 3))
    assert four.matmul(four.t()).tolist() == np.matmul(four.numpy(), four.t().numpy()).tolist()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_operands_of_any_strides(order: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    base = Tensor(rng.uniform(-1.0, 1.0, (4, 4, 4)))
    a = base.permute(order)
    repeated = [a[1:2].broadcast_as((4, 4, 4)), a[:, :1].broadcast_as((4, 4, 4))]
    for view in (a, a.flip(1), a[:, ::2], a.narrow(2, 1, 3), a[:, :, ::-1], *repeated):
        for other in (view.t(), view.t().contiguous(), view.t().copy().transpose(0, 0)):
            assert_close(view.matmul(other), np.matmul(view.numpy(), other.numpy()), 1e-14)


def test_a_batch_of_stride_0() -> None:
    a = Tensor([[1.0, 2.0], [3.0, 4.0]]).broadcast_as((3, 2, 2))
    b = Tensor.arange(1.0, 13.0).reshape((3, 2, 2))

    assert a.matmul(b).tolist() == [[[7.0, 10.0], [15.0, 22.0]], [[19.0, 22.0], [43.0, 50.0]], [[31.0, 34.0], [71.0, 78.0]]]


def test_a_squeezed_operand() -> None:
    a = Tensor.arange(0.0, 8.0).reshape((1, 8, 1))
    b = Tensor.arange(0.0, 3.0).reshape((1, 3))

    assert a.squeeze(0).matmul(b).tolist() == [[float(i * j) for j in range(3)] for i in range(8)]


def test_broadcast_matmul() -> None:
    rng = np.random.default_rng(1)
    a, b = Tensor(rng.uniform(-1.0, 1.0, (3, 1, 4, 5))), Tensor(rng.uniform(-1.0, 1.0, (6, 5, 2)))
    y = a.broadcast_matmul(b)

    assert y.dims() == [3, 6, 4, 2]
    for i in range(3):
        for j in range(6):
            assert_close(y[i, j], a[i, 0].matmul(b[j]), 1e-15)
    matrix = Tensor(rng.uniform(-1.0, 1.0, (5, 2)))
    for left in (a, a.transpose(0, 2), a.squeeze(1).t().contiguous().t()):
        assert_close(left.broadcast_matmul(matrix), np.matmul(left.numpy(), matrix.numpy()), 1e-15)
        assert_close(matrix.t().broadcast_matmul(left.t()), np.matmul(matrix.t().numpy(), left.t().numpy()), 1e-15)


@pytest.mark.parametrize("m, k, n", [(0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0), (0, 0, 2)])
def test_empty_dims_and_their_gradients(m: int, k: int, n: int) -> None:
    for batch in ((), (2,), (0,)):
        a, b = Var(np.zeros((*batch, m, k))), Var(np.zeros((*batch, k, n)))
        y = a.matmul(b)
        grads = y.sum_all().backward()
        assert y.tolist() == np.zeros((*batch, m, n)).tolist() and y.shape == (*batch, m, n)
        assert grads[a].tolist() == np.zeros(a.shape).tolist() and grads[b].shape == b.shape
    assert Tensor.zeros((3, 2)).t().matmul(Tensor.zeros((0, 3)).t()).dims() == [2, 0]


def test_zeros_where_nothing_is_added_whatever_the_memory_held() -> None:
    for _ in range(5):
        np.full((64, 64), np.nan)
        assert Tensor.zeros((64, 0)).matmul(Tensor.zeros((0, 64))).tolist() == [[0.0] * 64] * 64


def test_gradients() -> None:
    a = Var(np.arange(12.0).reshape(2, 2, 3))
    b = Var(np.arange(12.0).reshape(2, 3, 2))
    weights = Tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]], "f64")
    grads = (a.matmul(b) * weights).sum_all().backward()

    assert grads[a].tolist() == np.matmul(weights.numpy(), b.numpy().swapaxes(1, 2)).tolist()
    assert grads[b].tolist() == np.matmul(a.numpy().swapaxes(1, 2), weights.numpy()).tolist()
    v = Var(np.arange(6.0).reshape(3, 2))
    assert v.matmul(v.t()).sum_all().backward()[v].tolist() == [[12.0, 18.0]] * 3


def test_broadcast_gradients_are_summed() -> None:
    a, b = Var(np.ones((3, 1, 2, 2))), Var(np.ones((4, 2, 2)))
    grads = a.broadcast_matmul(b).sum_all().backward()

    assert grads[a].tolist() == np.full((3, 1, 2, 2), 8.0).tolist() and grads[b].tolist() == np.full((4, 2, 2), 6.0).tolist()


def test_matmul_refuses() -> None:
    a = Tensor.zeros((2, 3))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [2, 3], rhs: [2, 3]"):
        a.matmul(a)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [2, 3], rhs: [3]"):
        a.matmul(Tensor([1.0, 2.0, 3.0]))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [3], rhs: [3, 1]"):
        Tensor([1.0, 2.0, 3.0]).matmul(Tensor.zeros((3, 1)))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [2, 1, 3], rhs: [3, 3, 2]", "`broadcast_matmul`"):
        Tensor.zeros((2, 1, 3)).matmul(Tensor.zeros((3, 3, 2)))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [2, 3, 1, 1], rhs: [3, 2, 1, 1]"):
        Tensor.zeros((2, 3, 1, 1)).matmul(Tensor.zeros((3, 2, 1, 1)))
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in matmul, lhs: F32, rhs: F64"):
        a.matmul(Tensor.zeros((3, 2), "f64"))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [2, 3], rhs: [2, 2]"):  # the shape is looked at first
        a.matmul(Tensor.zeros((2, 2), "f64"))


def test_empty_operands_are_checked_too() -> None:
    empty = Tensor.zeros((0, 3))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [0, 3], rhs: [2, 0]"):
        empty.matmul(Tensor.zeros((2, 0)))
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in matmul, lhs: F32, rhs: F64"):
        empty.matmul(Tensor.zeros((3, 0), "f64"))


def test_broadcast_matmul_refuses() -> None:
    a = Tensor.zeros((2, 3))
    with raises(Error, "only 2d matrixes are supported [3] [3, 2]"):
        Tensor.zeros((3,)).broadcast_matmul(Tensor.zeros((3, 2)))
    with raises(Error, "different inner dimensions in broadcast matmul [2, 3] [4, 2, 2]"):
        a.broadcast_matmul(Tensor.zeros((4, 2, 2)))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in broadcast_matmul, lhs: [2, 1, 3], rhs: [3, 3, 1]"):
        Tensor.zeros((2, 1, 3)).broadcast_matmul(Tensor.zeros((3, 3, 1)))
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in matmul, lhs: F32, rhs: F64"):
        a.broadcast_matmul(Tensor.zeros((3, 2), "f64"))


@pytest.mark.parametrize("dtype", INTS)
def test_integers_have_no_matmul(dtype: DType) -> None:
    t = Tensor.ones((2, 2), dtype)
    for call in (t.matmul, t.broadcast_matmul, t.__matmul__):
        with raises(UnsupportedDTypeForOp, f"unsupported dtype {dtype!r} for op matmul"):
            call(t)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_halves_are_multiplied_in_f32(dtype: str) -> None:
    a, b = Tensor.ones((1, 4096), dtype), Tensor.ones((4096, 1), dtype)
    y = a.matmul(b)

    assert y.tolist() == [[4096.0]] and str(y.dtype) == dtype
    assert Tensor.full(100.0, (1, 1000), "f16").matmul(Tensor.full(0.5, (1000, 1), "f16")).tolist() == [[float(np.float16(50000.0))]]


def test_a_matrix_and_a_vector() -> None:
    m, v = Var([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Var([10.0, 1.0])
    y = m.mv(v)
    grads = (y * Tensor([1.0, 2.0, 3.0])).sum_all().backward()

    assert y.tolist() == [12.0, 34.0, 56.0]
    assert grads[m].tolist() == [[10.0, 1.0], [20.0, 2.0], [30.0, 3.0]] and grads[v].tolist() == [22.0, 28.0]
    for lhs, rhs in (((2, 3), (2,)), ((2, 3), (3, 1)), ((3,), (3,))):
        with raises(ShapeMismatchBinaryOp, f"shape mismatch in mv, lhs: {list(lhs)}, rhs: {list(rhs)}"):
            Tensor.zeros(lhs).mv(Tensor.zeros(rhs))


def test_special_values_come_through() -> None:
    a = Tensor([[1.0, np.inf], [np.nan, 0.0]])
    y = a.matmul(Tensor([[1.0, 0.0], [1.0, 1.0]]))

    assert_close(y, [[np.inf, np.inf], [np.nan, np.nan]], 0.0)
    assert_close(Tensor([[np.inf]]).matmul(Tensor([[0.0]])), [[np.nan]], 0.0)


@pytest.mark.parametrize("k", [1, 7, 64, 191, 192, 193, 384, 1000])
def test_long_rows_keep_their_digits(k: int) -> None:
    rng = np.random.default_rng(k)
    a, b = rng.uniform(-1.0, 1.0, (5, k)).astype(np.float32), rng.uniform(-1.0, 1.0, (k, 7)).astype(np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64)

    assert_close(Tensor(a).matmul(Tensor(b)), wanted, 1e-6)
    assert_close(Tensor(a.astype(np.float64)).matmul(Tensor(b.astype(np.float64))), wanted, 4e-15)
