"""Shapes, orders, parts, joins: values, what is a view, errors to the letter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import D, DType, Tensor, Var, kernels
from cafe.errors import (
    BroadcastIncompatibleShapes,
    DimOutOfRange,
    DTypeMismatchBinaryOp,
    DuplicateDimIndex,
    Error,
    NarrowInvalidArgs,
    OpRequiresAtLeastOneTensor,
    ShapeMismatchBinaryOp,
    ShapeMismatchCat,
    UnexpectedNumberOfDims,
)
from cafe.kernels import layout

T = Tensor.arange(0, 24).reshape((2, 3, 4))
ARRAY = np.arange(24).reshape(2, 3, 4)


def shares(view: Tensor, base: Tensor) -> bool:
    return bool(np.shares_memory(view.numpy(), base.numpy()))


# -- shapes


@pytest.mark.parametrize(
    "shape, dims",
    [
        ((6, 4), [6, 4]),
        (24, [24]),
        ([24], [24]),
        ((-1, 4), [6, 4]),
        ((2, (), 3), [2, 4, 3]),
        ((None, 8), [3, 8]),
        (-1, [24]),
        ((1, 24, 1), [1, 24, 1]),
    ],
)
def test_reshape(shape: Any, dims: list[int]) -> None:
    y = T.reshape(shape)

    assert y.dims() == dims and y.flatten_all().tolist() == list(range(24)) and shares(y, T)


def test_reshape_takes_sizes_one_by_one() -> None:
    assert T.reshape(4, 6).dims() == T.reshape(4, -1).dims() == [4, 6] and Tensor([5]).reshape(()).dims() == []
    assert Tensor(5).reshape(1).dims() == [1] and Tensor.zeros((2, 0)).reshape((0, 7)).dims() == [0, 7]


def test_reshape_of_a_transposed_tensor_copies_in_row_major_order() -> None:
    y = T.t().reshape((-1,))

    assert y.tolist() == ARRAY.transpose(0, 2, 1).reshape(-1).tolist() and not shares(y, T)


def test_a_large_reshape_is_a_view_where_numpys_is_one_and_else_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "_LARGE", 0)  # what small arrays are spared is asked of each
    whole = np.arange(2 * 3 * 4 * 5 * 2, dtype=np.float32).reshape(2, 3, 4, 10)
    sources = [whole, whole[..., ::2], whole[..., ::-1], whole[:, 1:], np.broadcast_to(whole[:, :1], whole.shape)]
    views = 0
    for source, order in itertools.product(sources, itertools.permutations(range(4))):
        x = source.transpose(order)
        n = x.size
        for shape in ((n,), (2, n // 2), (n // 10, 10), (n // 20, 4, 5), (1, n // 8, 1, 8), (n // 2, 2), (*x.shape[:2], -1)):
            shape = tuple(n // (x.shape[0] * x.shape[1]) if d == -1 else d for d in shape)
            y, wanted = kernels.reshape(x, shape), x.reshape(shape)
            assert np.array_equal(y, wanted) and np.shares_memory(y, x) == np.shares_memory(wanted, x)
            views += np.shares_memory(wanted, x)
    assert 20 < views < 800  # both sorts are among them


def test_reshape_refuses() -> None:
    with raises(ShapeMismatchBinaryOp, "shape mismatch in reshape, lhs: [2, 3, 4], rhs: [5, 5]"):
        T.reshape((5, 5))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in reshape, lhs: [2], rhs: [1, 3, 1, 1]"):
        Tensor([1.0, 2.0]).reshape((1, 3, 1, 1))
    with raises(Error, "cannot reshape tensor with 24 elements to ((), 7)"):
        T.reshape(((), 7))
    with raises(Error, "cannot reshape tensor of 0 elements to ((), 0)"):
        Tensor.zeros((2, 0)).reshape((-1, 0))
    with raises(Error, "cannot reshape tensor with 24 elements to (5, (), 1)"):
        T.reshape((5, -1, 1))


def test_flatten() -> None:
    assert T.flatten(0, 1).dims() == [6, 4] and T.flatten(1, D.Minus1).dims() == [2, 12] and T.flatten(1, 1) is T
    assert T.flatten_to(1).dims() == [6, 4] and T.flatten_from(1).dims() == [2, 12] and T.flatten_all().dims() == [24]
    assert Tensor(1.0).flatten_all().dims() == [1] and Tensor(1.0).flatten_from(0).dims() == [1]
    with raises(DimOutOfRange, "flatten: dimension index 3 out of range for shape [2, 3, 4]"):
        T.flatten(0, 3)


def test_squeeze_and_unsqueeze() -> None:
    x = Tensor.zeros((2, 1, 3))

    assert x.squeeze(1).dims() == x.squeeze(-2).dims() == [2, 3] and x.squeeze(0) is x
    assert x.unsqueeze(0).dims() == [1, 2, 1, 3] and x.unsqueeze(3).dims() == x.unsqueeze(D.Minus1).dims() == [2, 1, 3, 1]
    assert x.unsqueeze(D.Minus2).dims() == [2, 1, 1, 3] and Tensor(1.0).unsqueeze(0).dims() == [1]
    assert shares(x.unsqueeze(0), x) and shares(x.squeeze(1), x)
    with raises(DimOutOfRange, "squeeze: dimension index 3 out of range for shape [2, 1, 3]"):
        x.squeeze(3)
    with raises(DimOutOfRange, "unsqueeze: dimension index 4 out of range for shape [2, 1, 3]"):
        x.unsqueeze(4)


# -- orders


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_permute(order: tuple[int, ...]) -> None:
    y = T.permute(order)

    assert y.tolist() == ARRAY.transpose(order).tolist() and shares(y, T)
    assert T.permute(*order).tolist() == y.tolist() and y.contiguous().tolist() == y.tolist()


def test_permute_refuses() -> None:
    with raises(Error, "dimension mismatch in permute, tensor [2, 3, 4], dims: [0, 1]"):
        T.permute((0, 1))
    with raises(DuplicateDimIndex, "permute: duplicate dim index [0, 1, 1] for shape [2, 3, 4]"):
        T.permute((0, 1, 1))
    with raises(DimOutOfRange, "permute: dimension index 3 out of range for shape [2, 3, 4]"):
        T.permute((0, 1, 3))


def test_transpose() -> None:
    assert T.transpose(0, 2).tolist() == ARRAY.transpose(2, 1, 0).tolist() and T.transpose(1, 1) is T
    assert T.transpose(D.Minus1, D.Minus2).tolist() == T.t().tolist() == T.T.tolist() == ARRAY.transpose(0, 2, 1).tolist()
    assert T.t()[0, 1:3].tolist() == ARRAY[0].T[1:3].tolist()
    with raises(UnexpectedNumberOfDims, "unexpected rank, expected: 2, got: 1 ([3])"):
        Tensor([1, 2, 3]).t()
    with raises(DimOutOfRange, "transpose: dimension index -4 out of range for shape [2, 3, 4]"):
        T.transpose(0, -4)


def test_flip_and_roll() -> None:
    assert T.flip(0).tolist() == ARRAY[::-1].tolist() and T.flip([1, -1]).tolist() == ARRAY[:, ::-1, ::-1].tolist()
    assert T.flip(()).tolist() == T.tolist() and shares(T.flip(2), T)
    with raises(DuplicateDimIndex, "flip: duplicate dim index [2, 2] for shape [2, 3, 4]"):
        T.flip((2, -1))
    for shift in (-5, -1, 0, 1, 3, 4, 9):
        assert T.roll(shift, 2).tolist() == np.roll(ARRAY, shift, 2).tolist()
    assert Tensor.zeros((2, 0)).roll(1, 1).dims() == [2, 0]
    with raises(DimOutOfRange, "roll: dimension index 3 out of range for shape [2, 3, 4]"):
        T.roll(1, 3)


# -- parts


def test_narrow() -> None:
    y = T.narrow(1, 1, 2)

    assert y.tolist() == ARRAY[:, 1:3].tolist() and shares(y, T) and T.narrow(-1, 0, 4) is T
    assert T.narrow(2, 4, 0).dims() == [2, 3, 0] and T.narrow(0, 0, 0).elem_count() == 0


def test_narrow_refuses() -> None:
    for start, length, message in (
        (5, 0, "start > dim_len: [2, 3, 4], dim: 2, start: 5, len:0"),
        (3, 2, "start + len > dim_len: [2, 3, 4], dim: 2, start: 3, len:2"),
        (-1, 2, "start > dim_len: [2, 3, 4], dim: 2, start: -1, len:2"),
        (0, -1, "start + len > dim_len: [2, 3, 4], dim: 2, start: 0, len:-1"),
    ):
        with raises(NarrowInvalidArgs, f"narrow invalid args {message}"):
            T.narrow(2, start, length)
    with raises(DimOutOfRange, "narrow: dimension index 3 out of range for shape [2, 3, 4]"):
        T.narrow(3, 0, 1)


@pytest.mark.parametrize("size, parts, lengths", [(7, 3, [3, 2, 2]), (6, 3, [2, 2, 2]), (2, 3, [1, 1]), (5, 1, [5]), (0, 2, [])])
def test_chunk(size: int, parts: int, lengths: list[int]) -> None:
    t = Tensor.arange(0, size)
    chunks = t.chunk(parts, 0)

    assert [c.dims()[0] for c in chunks] == lengths and [v for c in chunks for v in c.tolist()] == t.tolist()


def test_chunk_refuses() -> None:
    with raises(Error, "chunk: chunks must be at least 1, got 0"):
        T.chunk(0, 0)
    with raises(DimOutOfRange, "chunk: dimension index 3 out of range for shape [2, 3, 4]"):
        T.chunk(2, 3)


def test_get() -> None:
    assert T.get(1).tolist() == ARRAY[1].tolist() and T.get_on_dim(2, 3).tolist() == ARRAY[:, :, 3].tolist()
    assert Tensor(3).get(0).tolist() == 3
    with raises(NarrowInvalidArgs, "narrow invalid args start + len > dim_len: [2, 3, 4], dim: 0, start: 2, len:1"):
        T.get(2)
    with raises(DimOutOfRange, "get_on_dim: dimension index 3 out of range for shape [2, 3, 4]"):
        T.get_on_dim(3, 0)


# -- repeats and pads


def test_broadcast_as() -> None:
    row = Tensor([1, 2, 3])

    assert row.broadcast_as((2, 3)).tolist() == row.expand((2, 3)).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert row.broadcast_left((2, 1)).dims() == [2, 1, 3] and row.broadcast_as((2, 3)).stride == (0, 1)
    assert Tensor(7).broadcast_as((2, 2)).tolist() == [[7, 7], [7, 7]] and Tensor([1]).broadcast_as((0,)).dims() == [0]
    with raises(BroadcastIncompatibleShapes, "cannot broadcast [3] to [2, 4]"):
        row.broadcast_as((2, 4))
    with raises(BroadcastIncompatibleShapes, "cannot broadcast [2, 3, 4] to [3, 4]"):
        T.broadcast_as((3, 4))


def test_repeat() -> None:
    x = Tensor([[1, 2], [3, 4]])

    assert x.repeat((2, 3)).tolist() == np.tile([[1, 2], [3, 4]], (2, 3)).tolist()
    assert x.repeat(2).tolist() == [[1, 2], [3, 4], [1, 2], [3, 4]]  # fewer counts go to the first dims
    assert x.repeat((2, 1, 1)).tolist() == [[[1, 2], [3, 4]]] * 2
    assert x.repeat((0, 2)).dims() == [0, 4] and x.repeat((2, 0)).dims() == [4, 0] and x.repeat((1, 1)).tolist() == x.tolist()
    assert x.repeat(()).tolist() == x.tolist()


def test_pads() -> None:
    assert T.pad_with_zeros(1, 1, 2).tolist() == np.pad(ARRAY, [(0, 0), (1, 2), (0, 0)]).tolist()
    assert T.pad_with_same(-1, 2, 1).tolist() == np.pad(ARRAY, [(0, 0), (0, 0), (2, 1)], mode="edge").tolist()
    assert T.pad_with_zeros(0, 0, 0).tolist() == T.tolist() and Tensor.zeros((2, 0)).pad_with_zeros(1, 1, 1).dims() == [2, 2]
    x = Var([1.0, 2.0, 3.0])
    weights = Tensor([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    assert (x.pad_with_zeros(0, 1, 2) * weights).sum_all().backward()[x].tolist() == [2.0, 4.0, 8.0]
    assert (x.pad_with_same(0, 1, 2) * weights).sum_all().backward()[x].tolist() == [3.0, 4.0, 56.0]


def test_pads_refuse() -> None:
    with raises(Error, "cannot use pad_with_same on an empty tensor"):
        Tensor.zeros((2, 0)).pad_with_same(1, 1, 0)
    for name in ("pad_with_zeros", "pad_with_same"):
        with raises(Error, f"{name}: left and right must be at least 0, got -1 and 0"):
            getattr(T, name)(0, -1, 0)
        with raises(DimOutOfRange, f"{name}: dimension index 3 out of range for shape [2, 3, 4]"):
            getattr(T, name)(3, 1, 1)


# -- joins


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_cat_of_mixed_layouts(dim: int) -> None:
    a = Tensor.arange(0.0, 8.0).reshape((2, 2, 2))
    parts = [a, a.t(), a[::-1], a.transpose(0, 2), a.narrow(dim, 0, 1), Tensor(5.0).broadcast_as((2, 2, 2)), a.narrow(dim, 0, 0)]

    assert Tensor.cat(parts, dim).tolist() == np.concatenate([p.numpy() for p in parts], dim).tolist()
    assert Tensor.cat(parts, dim - 3).tolist() == Tensor.cat(parts, dim).tolist()


def test_cat_of_many_and_of_one() -> None:
    many = [Tensor.full(float(i), (i % 3, 2)) for i in range(50)]

    assert Tensor.cat(many, 0).dims() == [sum(i % 3 for i in range(50)), 2]
    assert Tensor.cat([T], 1) is not T and Tensor.cat([T], 1).tolist() == T.tolist()  # a copy, as of two
    assert Tensor.cat([Tensor([1], "u8"), Tensor([2], "u8")], 0).dtype is DType.U8


def test_cat_refuses() -> None:
    with raises(OpRequiresAtLeastOneTensor, "cat expects at least one tensor"):
        Tensor.cat([], 0)
    with raises(ShapeMismatchCat, "shape mismatch in cat for dim 1, shape for arg 1: [2, 3] shape for arg 3: [2, 4]"):
        Tensor.cat([Tensor.zeros((2, 3)), Tensor.zeros((1, 3)), Tensor.zeros((2, 4))], 0)
    with raises(UnexpectedNumberOfDims, "unexpected rank, expected: 1, got: 2 ([1, 1])"):
        Tensor.cat([Tensor([1.0]), Tensor([[1.0]])], 0)
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in cat, lhs: F32, rhs: F64"):
        Tensor.cat([Tensor([1.0]), Tensor([1.0], "f64")], 0)
    with raises(DimOutOfRange, "cat: dimension index 1 out of range for shape [1]"):
        Tensor.cat([Tensor([1.0]), Tensor([1.0])], 1)
    with raises(DimOutOfRange, "cat: dimension index 0 out of range for shape []"):
        Tensor.cat([Tensor(1.0), Tensor(2.0)], 0)


def test_cat_gives_each_its_part_of_the_gradient() -> None:
    constant, b, c = Tensor([1.0, 2.0]), Var([3.0, 4.0, 5.0]), Var([6.0])
    y = Tensor.cat([constant, b, c], 0) * Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    grads = y.sum_all().backward()

    assert grads[b].tolist() == [3.0, 4.0, 5.0] and grads[c].tolist() == [6.0]
    twice = Tensor.cat([b, b], 0) * Tensor([1.0, 2.0, 3.0, 10.0, 20.0, 30.0])
    assert twice.sum_all().backward()[b].tolist() == [11.0, 22.0, 33.0]


def test_stack() -> None:
    a, b = Tensor([[1, 2], [3, 4]]), Tensor([[5, 6], [7, 8]])
    for dim in (0, 1, 2, -1):
        assert Tensor.stack([a, b], dim).tolist() == np.stack([a.numpy(), b.numpy()], dim).tolist()
    assert Tensor.stack([Tensor(1.0), Tensor(2.0)], 0).tolist() == [1.0, 2.0] and Tensor.stack([a], D.Minus1).dims() == [2, 2, 1]
    with raises(OpRequiresAtLeastOneTensor, "stack expects at least one tensor"):
        Tensor.stack([], 0)
    with raises(ShapeMismatchCat, "shape mismatch in cat for dim 1, shape for arg 1: [1, 2] shape for arg 2: [1, 3]"):
        Tensor.stack([Tensor([1, 2]), Tensor([1, 2, 3])], 0)
    with raises(DimOutOfRange, "stack: dimension index 3 out of range for shape [2, 2]"):
        Tensor.stack([a, b], 3)


# -- copies


def test_contiguous_copies_only_what_must_be() -> None:
    assert T.contiguous() is T
    y = T.t().contiguous()
    assert y.is_contiguous() and y.tolist() == T.t().tolist() and not shares(y, T)
    assert not shares(T.force_contiguous(), T) and not shares(T.copy(), T) and T.copy().tolist() == T.tolist()
    repeated = Tensor([1.0]).broadcast_as((3,)).contiguous()
    assert repeated.stride == (1,) and repeated.tolist() == [1.0] * 3
    assert T[:, 1:, ::2].contiguous().tolist() == ARRAY[:, 1:, ::2].tolist()


def test_detach_shares_storage() -> None:
    v = Var([1.0, 2.0])
    d = v.detach()

    assert shares(d, v) and not d.track_op() and d.id != v.id and d.detach() is d


def test_normalize_axis() -> None:
    assert [T.normalize_axis(a) for a in (0, 2, -1, -3)] == [0, 2, 2, 0]
    with raises(Error, "axis 5 is too large, tensor rank 3"):
        T.normalize_axis(5)
    with raises(Error, "axis -4 is too small, tensor rank 3"):
        T.normalize_axis(-4)


# -- views and gradients


def test_views_move_gradients_back() -> None:
    x = Var(np.arange(6.0).reshape(2, 3))
    weights = Tensor(np.arange(1.0, 7.0))
    for view, order in (
        (x.reshape((6,)), [[1, 2, 3], [4, 5, 6]]),
        (x.t().reshape((6,)), [[1, 3, 5], [2, 4, 6]]),
        (x.flip(1).reshape((6,)), [[3, 2, 1], [6, 5, 4]]),
        (x.roll(1, 0).reshape((6,)), [[4, 5, 6], [1, 2, 3]]),
        (x.unsqueeze(1).permute((2, 1, 0)).flatten_all(), [[1, 3, 5], [2, 4, 6]]),
    ):
        assert (view * weights.to_dtype("f64")).sum_all().backward()[x].tolist() == order


def test_a_broadcast_sums_its_gradient() -> None:
    x = Var([[1.0], [2.0]])
    y = x.broadcast_as((3, 2, 4)) * Tensor.arange(0.0, 24.0).reshape((3, 2, 4))

    assert y.sum_all().backward()[x].tolist() == [[float(ARRAY.reshape(3, 2, 4)[:, 0].sum())], [float(ARRAY.reshape(3, 2, 4)[:, 1].sum())]]


def test_every_part_of_a_tensor_gets_its_gradient() -> None:
    x = Var(np.arange(5.0))
    first, second = x.chunk(2, 0)
    y = (first * 2.0).sum_all() + (second * 3.0).sum_all() + x[1] * 10.0

    assert y.backward()[x].tolist() == [2.0, 12.0, 2.0, 3.0, 3.0]
