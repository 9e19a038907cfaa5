"""`t[…]` and `t.i(…)`, and picking and placing by id tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import DType, Tensor, Var
from cafe.errors import (
    DTypeMismatchBinaryOp,
    Error,
    InvalidIndex,
    NarrowInvalidArgs,
    ShapeMismatchBinaryOp,
    UnexpectedNumberOfDims,
    UnsupportedDTypeForOp,
)

T = Tensor.arange(0, 24).reshape((2, 3, 4))
ARRAY = np.arange(24).reshape(2, 3, 4)
ALL = slice(None)

# -- by position


@pytest.mark.parametrize(
    "key",
    [
        0, -1, (1, 2), (1, -1, 0), (ALL, 1), (ALL, ALL, -4), (slice(1, None),), (slice(None, 1), slice(1, 3)), (ALL, slice(2, 0)),
        (ALL, slice(None, None, 2)), (ALL, slice(None, None, -1)), (ALL, ALL, slice(8, 0, -2)), (slice(-1, None), slice(-2, None)),
        slice(5, 9), None, (None, 0), (0, None), (ALL, None, 1), (0, None, ALL, None, 2), ..., (..., 0), (0, ...), (0, ..., 1),
        (..., None), (ALL, ..., ALL), (slice(0, 0),), (1, slice(0, 0), 2), (slice(-100, 100), slice(-2, -1)), (),
    ],
)  # fmt: skip
def test_parts_are_those_of_numpy_and_views(key: Any) -> None:
    y = T[key]

    assert y.shape == ARRAY[key].shape and y.tolist() == ARRAY[key].tolist()
    assert y.elem_count() == 0 or np.shares_memory(y.numpy(), T.numpy())
    assert T.i(key).tolist() == y.tolist()


def test_i_takes_keys_one_by_one() -> None:
    assert T.i(1, 2).tolist() == T.i((1, 2)).tolist() == ARRAY[1, 2].tolist()
    assert T.i(ALL, 1).tolist() == ARRAY[:, 1].tolist() and T.i(..., 0).tolist() == ARRAY[..., 0].tolist()


def test_places_that_are_not_there() -> None:
    t = Tensor([[1, 2, 3], [4, 5, 6]])
    with raises(NarrowInvalidArgs, "narrow invalid args start + len > dim_len: [2, 3], dim: 0, start: 2, len:1"):
        t[2]
    with raises(NarrowInvalidArgs, "narrow invalid args start > dim_len: [2, 3], dim: 0, start: 5, len:1"):
        t[5]
    with raises(NarrowInvalidArgs, "narrow invalid args start + len > dim_len: [2, 3], dim: 1, start: 3, len:1"):
        t[0, 3]
    with raises(InvalidIndex, "narrow invalid index -3 with dim size 2"):
        t[-3]
    with raises(Error, "narrow: dimension index 2 out of range for shape [2, 3]"):
        t[0, 0, 0]
    with raises(Error, "narrow: dimension index 0 out of range for shape []"):
        Tensor(1)[0]
    with raises(Error, "an index has at most one `...`"):
        t[..., ...]
    with pytest.raises(IndexError):  # an int out of range is an IndexError for those who iterate by hand
        t[2]


def test_what_is_no_index() -> None:
    with raises(Error, "indexing error: str is no index"):
        T["a"]
    with raises(Error, "indexing error: float is no index"):
        T[1.0]
    with raises(Error, "indexing error: True is no index", "a mask is a U8 tensor"):
        T[True]
    with raises(UnsupportedDTypeForOp, "unsupported dtype F32 for op index-select"):
        T[Tensor([1.0])]
    with raises(Error, "multi-dimensional tensor indexing is not supported"):
        T[Tensor([[0, 1]])]
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        T[::0]


def test_a_place_of_a_variable_follows_it() -> None:
    v = Var([[1.0, 2.0], [3.0, 4.0]])
    place, row, step = v[1, 0], v[0], v[:, ::-1]
    v.set(Tensor([[5.0, 6.0], [7.0, 8.0]]))

    assert place.to_scalar() == 7.0 and row.tolist() == [5.0, 6.0] and step.tolist() == [[6.0, 5.0], [8.0, 7.0]]


# -- by ids and masks


@pytest.mark.parametrize(
    "key",
    [
        ([0, 1, 0],), (ALL, [2, 0]), ([1], 2), (ALL, ALL, [3, 3, -1]), (..., [0, -4]), (None, [1, 0]), ([],),
        (slice(None, None, -1), [2, 1]),
    ],
)  # fmt: skip
def test_picks_in_one_dim_are_those_of_numpy(key: Any) -> None:
    array_key = tuple(np.array(k, np.int64) if isinstance(k, list) else k for k in key)
    wanted = ARRAY[array_key]

    for pick in (list, lambda k: Tensor(k or np.zeros(0, np.int64)), lambda k: np.array(k, np.int64)):
        y = T[tuple(pick(k) if isinstance(k, list) else k for k in key)]
        assert y.shape == wanted.shape and y.tolist() == wanted.tolist()


def test_picks_in_several_dims_are_a_grid() -> None:
    """Each id list picks along its own dim, as candle's `i` does (NumPy would pair them)."""
    assert T[[0, 1], [2, 0], [3]].tolist() == ARRAY[np.ix_([0, 1], [2, 0], [3])].tolist()
    assert T[[1, 1], :, [0, 2]].tolist() == ARRAY[np.ix_([1, 1], [0, 1, 2], [0, 2])].tolist()


def test_a_tensor_of_rank_0_is_an_int() -> None:
    assert T[Tensor(1)].tolist() == ARRAY[1].tolist() and T[Tensor(-1, "i32"), Tensor(2, "u32")].tolist() == ARRAY[-1, 2].tolist()


def test_picks_refuse_what_is_not_there() -> None:
    with raises(InvalidIndex, "index-select invalid index 2 with dim size 2"):
        T[[0, 2]]
    with raises(InvalidIndex, "index-select invalid index -3 with dim size 2"):
        T[[-3]]


def test_masks() -> None:
    mask = Tensor([[1, 0, 1], [0, 1, 0]], "u8")

    assert T[mask].tolist() == ARRAY[mask.numpy() == 1].tolist()
    assert T[mask, 0].tolist() == ARRAY[mask.numpy() == 1][:, 0].tolist() and T[mask.numpy() == 1].tolist() == T[mask].tolist()
    assert T[T.gt(20)].tolist() == [21, 22, 23] and T[T.gt(99)].dims() == [0]
    assert T[Tensor([0, 1], "u8")].tolist() == ARRAY[[False, True]].tolist() and T[[False, True]].tolist() == ARRAY[[False, True]].tolist()
    assert T[:, Tensor([1, 0, 1], "u8"), 1].tolist() == ARRAY[:, [True, False, True], 1].tolist()
    assert T[..., Tensor([1, 0, 1, 0], "u8")].tolist() == ARRAY[..., [True, False, True, False]].tolist()
    with raises(ShapeMismatchBinaryOp, "shape mismatch in mask, lhs: [2, 3, 4], rhs: [3]"):
        T[Tensor([1, 0, 1], "u8")]


def test_gradients_of_parts() -> None:
    x = Var(np.arange(6.0).reshape(2, 3))

    assert x[0, 1].backward()[x].tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert (x[:, ::-2] * Tensor([[1.0, 2.0], [3.0, 4.0]], "f64")).backward()[x].tolist() == [[2.0, 0.0, 1.0], [4.0, 0.0, 3.0]]
    assert x[[1, 1, 0], 2].backward()[x].tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]
    assert x[x.gt(2.5)].sum_all().backward()[x].tolist() == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert x[:, None, [0, 0]].sum_all().backward()[x].tolist() == [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]]


# -- index_select and embedding


@pytest.mark.parametrize("dtype", ["u8", "u32", "i64", "i16", "i32"])
def test_index_select(dtype: str) -> None:
    ids = Tensor([2, 0, 2, 1], dtype)

    assert T.index_select(ids, 1).tolist() == ARRAY[:, [2, 0, 2, 1]].tolist()
    assert T.t().index_select(ids, -1).tolist() == ARRAY.transpose(0, 2, 1)[:, :, [2, 0, 2, 1]].tolist()
    assert T.index_select(Tensor([0, 1, 2, 0], dtype)[::3], 0).tolist() == ARRAY[[0, 0]].tolist()
    assert T.index_select(ids.narrow(0, 0, 0), 0).dims() == [0, 3, 4]


SKIPS = {"u8": 255, "u32": 2**32 - 1, "i64": 2**63 - 1}


@pytest.mark.parametrize("dtype", SKIPS)
def test_the_largest_id_means_skip(dtype: str) -> None:
    skip = SKIPS[dtype]
    x = Var([[1.0, 2.0], [3.0, 4.0]])
    ids = Tensor(np.array([1, skip, 0], DType.from_str(dtype).numpy))

    picked = x.index_select(ids, 0)
    assert picked.tolist() == [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]
    assert picked.sum_all().backward()[x].tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert x.embedding(ids).tolist() == picked.tolist()
    pair = Tensor(np.array([[0, skip], [skip, 1]], DType.from_str(dtype).numpy))
    assert x.gather(pair, 1).tolist() == [[1.0, 0.0], [0.0, 4.0]]
    assert x.gather(pair, 1).sum_all().backward()[x].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    source = Tensor([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]])
    assert x.index_add(ids, source, 0).tolist() == [[51.0, 62.0], [13.0, 24.0]]
    assert x.scatter_add(pair, Tensor([[10.0, 20.0], [30.0, 40.0]]), 1).tolist() == [[11.0, 2.0], [3.0, 44.0]]


def test_no_skip_in_dtypes_that_candle_does_not_index_with() -> None:
    with raises(InvalidIndex, "index-select invalid index 32767 with dim size 2"):
        T.index_select(Tensor([32767], "i16"), 0)


@pytest.mark.parametrize("bad", [-1, 2, 5, -(2**63)])
def test_bad_ids_are_errors_that_show_them(bad: int) -> None:
    x, row = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 1.0]])
    flat, square = Tensor([0, bad]), Tensor([[0, bad], [0, 0]])
    for call, op in (
        (lambda: x.index_select(flat, 0), "index-select"),
        (lambda: x.embedding(flat), "index-select"),
        (lambda: x.gather(square, 1), "gather"),
        (lambda: x.index_add(flat, x, 0), "index-add"),
        (lambda: x.scatter_add(square, x, 1), "gather"),
    ):
        with raises(InvalidIndex, f"{op} invalid index {bad} with dim size 2"):
            call()
    assert row.tolist() == [[1.0, 1.0]]


def test_float_ids_are_refused() -> None:
    x, ids = Tensor([[1.0, 2.0]]), Tensor([[0.0]])
    for call, op in (
        (lambda: x.index_select(ids.squeeze(0), 0), "index-select"),
        (lambda: x.gather(ids, 0), "gather"),
        (lambda: x.index_add(ids.squeeze(0), x, 0), "index-add"),
        (lambda: x.scatter_add(ids, ids, 0), "scatter-add"),
    ):
        with raises(UnsupportedDTypeForOp, f"unsupported dtype F32 for op {op}"):
            call()


def test_index_select_and_embedding_refuse_other_ranks() -> None:
    with raises(UnexpectedNumberOfDims, "unexpected rank, expected: 1, got: 2 ([1, 1])"):
        T.index_select(Tensor([[0]]), 0)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in embedding, lhs: [2, 3, 4], rhs: [1]"):
        T.embedding(Tensor([0]))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in embedding, lhs: [3, 4], rhs: [1, 1]"):
        T[0].embedding(Tensor([[0]]))


# -- gather, scatter_add, index_add


def test_gather() -> None:
    x = Tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0], [9.0, 10.0, 11.0]])

    assert x.gather(Tensor([[0], [2], [1], [0]]), 1).tolist() == [[0.0], [5.0], [7.0], [9.0]]
    assert x.gather(Tensor([[1, 0], [2, 2]]), 1).tolist() == [[1.0, 0.0], [5.0, 5.0]]  # fewer rows of ids than of x
    assert x.gather(Tensor([[0, 2, 3]]), 0).tolist() == [[0.0, 7.0, 11.0]] and x.gather(Tensor([[3, 1]]), -2).tolist() == [[9.0, 4.0]]
    assert x.t().gather(Tensor([[3, 0]]), 1).tolist() == [[9.0, 0.0]]


def test_gather_with_ids_smaller_in_an_inner_dim() -> None:
    x = Tensor.arange(0.0, 24.0).reshape((2, 3, 4))
    assert x.gather(Tensor.zeros((2, 2, 1), "u32"), 2).tolist() == [[[0.0], [4.0]], [[12.0], [16.0]]]
    y = Tensor.arange(0.0, 18.0).reshape((3, 2, 3))
    assert y.gather(Tensor.zeros((1, 2, 2), "u32"), 0).tolist() == [[[0.0, 1.0], [3.0, 4.0]]]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_of_random_ids(dim: int) -> None:
    rng = np.random.default_rng(dim)
    ids = rng.integers(0, ARRAY.shape[dim], (2, 3, 4))

    assert T.gather(Tensor(ids), dim).tolist() == np.take_along_axis(ARRAY, ids, dim).tolist()


def test_gather_gradients() -> None:
    x = Var(np.zeros((3, 2)))
    assert x.gather(Tensor.zeros((2, 1), "u32"), 1).sum_all().backward()[x].tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    y = Var([0.1])
    picked = y.gather(Tensor([0, 0]), 0) * Tensor([0.2, 0.3])
    assert picked.sum_all().backward()[y].tolist() == pytest.approx([0.5])


def test_embedding_gradients_add_up() -> None:
    table = Var(np.zeros((4, 2)))
    y = table.embedding(Tensor([1, 3, 1, 1])) * Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], "f64")

    assert y.sum_all().backward()[table].tolist() == [[0.0, 0.0], [13.0, 16.0], [0.0, 0.0], [3.0, 4.0]]


def test_index_add() -> None:
    x = Tensor.zeros((3,), "i64")
    assert x.index_add(Tensor([2, 2, 1]), Tensor([1, 2, 3]), 0).tolist() == [0, 3, 3]
    base, source = Tensor.ones((2, 3)), Tensor([[1.0, 2.0, 4.0, 8.0], [16.0, 32.0, 64.0, 128.0]])
    assert base.index_add(Tensor([0, 2, 0, 0], "u32"), source, 1).tolist() == [[14.0, 1.0, 3.0], [209.0, 1.0, 33.0]]
    a, b = Var([1.0, 2.0, 3.0]), Var([10.0, 20.0])
    grads = (a.index_add(Tensor([2, 2]), b, 0) * Tensor([1.0, 2.0, 4.0])).sum_all().backward()
    assert grads[a].tolist() == [1.0, 2.0, 4.0] and grads[b].tolist() == [4.0, 4.0]


def test_scatter_add() -> None:
    x = Tensor.zeros((4,))
    assert x.scatter_add(Tensor([0, 0, 2, 0]), Tensor([1.0, 2.0, 3.0, 4.0]), 0).tolist() == [7.0, 0.0, 3.0, 0.0]
    init, source = Var([1.0, 2.0, 3.0]), Var([10.0])
    y = init.scatter_add(Tensor([0]), source, 0)
    grads = y.sum_all().backward()
    assert y.tolist() == [11.0, 2.0, 3.0] and grads[init].tolist() == [1.0, 1.0, 1.0] and grads[source].tolist() == [1.0]


def test_gather_and_adding_refuse_shapes() -> None:
    x, one = Tensor.zeros((2, 3)), Tensor.zeros((2, 1), "i64")
    with raises(ShapeMismatchBinaryOp, "shape mismatch in gather, lhs: [2, 3], rhs: [3, 1]"):
        x.gather(Tensor.zeros((3, 1), "i64"), 1)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in gather, lhs: [2, 3], rhs: [2]"):
        x.gather(Tensor([0, 1]), 1)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in scatter (self, src), lhs: [2, 3], rhs: [1, 1]"):
        x.scatter_add(one, Tensor.zeros((1, 1)), 1)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in scatter (indexes, src), lhs: [2, 1], rhs: [2, 2]"):
        x.scatter_add(one, Tensor.zeros((2, 2)), 1)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in index-add (self, source), lhs: [2, 3], rhs: [3, 1]"):
        x.index_add(Tensor([0]), Tensor.zeros((3, 1)), 1)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in index-add (ids, source)), lhs: [2], rhs: [2, 1]"):
        x.index_add(Tensor([0, 1]), Tensor.zeros((2, 1)), 1)
    for call, op in ((x.index_add, "index-add"), (x.scatter_add, "scatter-add")):
        ids = Tensor([0]) if op == "index-add" else one
        with raises(DTypeMismatchBinaryOp, f"dtype mismatch in {op}, lhs: F32, rhs: F64"):
            call(ids, Tensor.zeros((2, 1), "f64"), 1)
