"""Methods and operators of two tensors, or of a tensor and a number."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import DType, Tensor, Var
from cafe.errors import DTypeMismatchBinaryOp, Error, IntegerOverflow, ShapeMismatchBinaryOp, UnsupportedDTypeForOp
from cafe.testing import assert_close

A, B = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Tensor([[2.0, 2.0, 2.0], [0.5, -1.0, 4.0]])
ROW, COLUMN = Tensor([10.0, 20.0, 30.0]), Tensor([[100.0], [200.0]])

# -- one shape


def test_the_four_operations() -> None:
    assert (A + B).tolist() == A.add(B).tolist() == [[3.0, 4.0, 5.0], [4.5, 4.0, 10.0]]
    assert (A - B).tolist() == A.sub(B).tolist() == [[-1.0, 0.0, 1.0], [3.5, 6.0, 2.0]]
    assert (A * B).tolist() == A.mul(B).tolist() == [[2.0, 4.0, 6.0], [2.0, -5.0, 24.0]]
    assert (A / B).tolist() == A.div(B).tolist() == [[0.5, 1.0, 1.5], [8.0, -5.0, 1.5]]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum"])
def test_nothing_is_broadcast_silently(name: str) -> None:
    with raises(ShapeMismatchBinaryOp, f"shape mismatch in {name}, lhs: [2, 3], rhs: [3]", f"`broadcast_{name}` broadcasts"):
        getattr(A, name)(ROW)
    with raises(ShapeMismatchBinaryOp, f"shape mismatch in {name}, lhs: [3], rhs: [3, 1]"):
        getattr(ROW, name)(ROW.unsqueeze(1))


@pytest.mark.parametrize("symbol, name", [(operator.add, "add"), (operator.sub, "sub"), (operator.mul, "mul"), (operator.truediv, "div")])
def test_operators_are_as_strict(symbol: Callable[..., Any], name: str) -> None:
    with raises(ShapeMismatchBinaryOp, f"shape mismatch in {name}, lhs: [2, 3], rhs: [3]"):
        symbol(A, ROW)
    with raises(DTypeMismatchBinaryOp, f"dtype mismatch in {name}, lhs: F32, rhs: F64", "nothing is promoted"):
        symbol(A, A.to_dtype("f64"))


def test_the_shape_is_looked_at_first() -> None:
    with raises(ShapeMismatchBinaryOp, "shape mismatch in add, lhs: [2], rhs: [3]"):
        Tensor([1.0, 2.0]) + Tensor([1, 2, 3])


def test_views_meet_whatever_their_strides() -> None:
    t = Tensor.arange(0.0, 12.0).reshape((3, 4))

    assert (t.t() + t.t()).tolist() == [[2.0 * v for v in row] for row in t.t().tolist()]
    assert (t.narrow(1, 1, 2) * t.narrow(1, 2, 2)).tolist() == [[2.0, 6.0], [30.0, 42.0], [90.0, 110.0]]
    assert (t[::-1] - t).tolist() == [[8.0] * 4, [0.0] * 4, [-8.0] * 4]


# -- broadcasting


def test_broadcasting() -> None:
    assert A.broadcast_add(ROW).tolist() == [[11.0, 22.0, 33.0], [14.0, 25.0, 36.0]]
    assert ROW.broadcast_sub(A).tolist() == [[9.0, 18.0, 27.0], [6.0, 15.0, 24.0]]
    assert A.broadcast_mul(COLUMN).tolist() == [[100.0, 200.0, 300.0], [800.0, 1000.0, 1200.0]]
    assert COLUMN.broadcast_div(ROW).tolist()[1] == [20.0, 10.0, float(np.float32(200.0) / np.float32(30.0))]
    assert ROW.broadcast_add(COLUMN).dims() == [2, 3] and A.broadcast_add(Tensor(1.0)).dims() == [2, 3]
    assert A.broadcast_maximum(Tensor([2.0, 2.0, 9.0])).tolist() == [[2.0, 2.0, 9.0], [4.0, 5.0, 9.0]]
    assert A.broadcast_minimum(Tensor(3.0)).tolist() == [[1.0, 2.0, 3.0], [3.0, 3.0, 3.0]]
    assert Tensor([[2.0], [3.0]]).broadcast_pow(Tensor([1.0, 2.0])).tolist() == [[2.0, 4.0], [3.0, 9.0]]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "pow"])
def test_what_does_not_broadcast_is_named_by_its_method(name: str) -> None:
    with raises(ShapeMismatchBinaryOp, f"shape mismatch in broadcast_{name}, lhs: [2, 3], rhs: [2]"):
        getattr(A, f"broadcast_{name}")(Tensor([1.0, 2.0]))
    with raises(DTypeMismatchBinaryOp, f"dtype mismatch in broadcast_{name}, lhs: F32, rhs: F64"):
        getattr(A, f"broadcast_{name}")(ROW.to_dtype("f64"))


def test_broadcasting_sums_gradients_back() -> None:
    a, row, column, one = Var(A), Var(ROW), Var(COLUMN), Var(2.0)
    y = a.broadcast_mul(row).broadcast_add(column).broadcast_mul(one)
    grads = y.sum_all().backward()

    assert grads[a].tolist() == [[20.0, 40.0, 60.0]] * 2 and grads[row].tolist() == [10.0, 14.0, 18.0]
    assert grads[column].tolist() == [[6.0], [6.0]] and grads[one].to_scalar() == y.sum_all().to_scalar() / 2.0


# -- numbers


def test_numbers_on_either_side() -> None:
    x = Tensor([1.0, 2.0, 4.0])

    assert (x + 1.0).tolist() == (1.0 + x).tolist() == [2.0, 3.0, 5.0]
    assert (x - 1).tolist() == [0.0, 1.0, 3.0] and (1 - x).tolist() == [0.0, -1.0, -3.0]
    assert (x * 3).tolist() == (3 * x).tolist() == [3.0, 6.0, 12.0]
    assert (x / 2).tolist() == [0.5, 1.0, 2.0] and (2 / x).tolist() == [2.0, 1.0, 0.5]
    assert (x**2).tolist() == [1.0, 4.0, 16.0] and (2**x).tolist() == [2.0, 4.0, 16.0]


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_numbers_keep_the_dtype(dtype: str) -> None:
    x = Tensor([1.0, 2.0], dtype)
    for y in (x + 1.0, 1.0 - x, x * 0.1, 2.0 / x, x / 3.0, x**2, np.float64(2.0) * x, x + np.int64(1), x * True):
        assert str(y.dtype) == dtype


def test_a_division_divides() -> None:
    """candle multiplies by the reciprocal, which is an ulp off at 7/3."""
    assert (Tensor(7.0) / 3.0).to_scalar() == float(np.float32(7.0) / np.float32(3.0)) == 2.3333332538604736
    assert Tensor([1.0, 0.0, -1.0]).div(Tensor([0.0, 0.0, 0.0])).tolist()[::2] == [math.inf, -math.inf]


def test_gradients_with_numbers() -> None:
    x = Var([1.0, 2.0], "f64")
    y = (3.0 - x) * (x - 1.0) / 2.0 + 6.0 / x + x**3 + 2.0**x
    g = y.sum_all().backward()[x]

    assert_close(g, [(4 - 2 * v) / 2 - 6 / v**2 + 3 * v**2 + 2**v * math.log(2) for v in (1.0, 2.0)], 1e-14)


def test_what_is_no_number_is_a_type_error() -> None:
    for symbol in (operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, operator.pow, operator.lt):
        for other in ("1", None, [1.0, 2.0], 1j):
            with pytest.raises(TypeError):
                symbol(Tensor([1.0, 2.0]), other)
            with pytest.raises(TypeError):
                symbol(other, Tensor([1.0, 2.0]))


def test_arrays_meet_tensors_as_tensors() -> None:
    x, array = Tensor([1.0, 2.0]), np.array([10.0, 20.0], np.float32)

    for y, values in ((x + array, [11.0, 22.0]), (array + x, [11.0, 22.0]), (array - x, [9.0, 18.0]), (array / x, [10.0, 10.0])):
        assert isinstance(y, Tensor) and y.tolist() == values
    assert (array > x).tolist() == [1, 1] and (array == x).tolist() == [0, 0]
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in add, lhs: F64, rhs: F32"):
        array.astype(np.float64) + x
    assert (np.float32(2.0) * x).tolist() == [2.0, 4.0]


# -- integers


def test_integers_with_integers() -> None:
    x = Tensor([7, -7, 6])

    assert (x + 1).tolist() == [8, -6, 7] and (x * 2.0).tolist() == [14, -14, 12] and (10 - x).tolist() == [3, 17, 4]
    assert (x / 2).tolist() == [3, -3, 3] and (100 / x).tolist() == [14, -14, 16]
    assert (x / Tensor([-2, 2, -4])).tolist() == [-3, -3, -1]
    assert (Tensor([5], "u32") - 1).tolist() == [4] and (Tensor([5], "u32") - 1.0).tolist() == [4]
    for y in (x + 1, x / 2, 3 * x):
        assert y.dtype is DType.I64


@pytest.mark.parametrize("number", [0.5, math.nan, math.inf])
def test_an_integer_tensor_refuses_other_numbers(number: float) -> None:
    for symbol, name in ((operator.add, "add"), (operator.sub, "sub"), (operator.mul, "mul"), (operator.truediv, "div")):
        with raises(Error, f"{name}: a U32 tensor takes integers, got {number}", "`to_dtype`"):
            symbol(Tensor([1, 2], "u32"), number)
        with raises(Error, f"{name}: a U32 tensor takes integers, got {number}"):
            symbol(number, Tensor([1, 2], "u32"))


def test_integer_numbers_must_fit() -> None:
    with raises(IntegerOverflow, "add: 300 does not fit U8"):
        Tensor([1], "u8") + 300
    with raises(IntegerOverflow, "sub: -1 does not fit U32"):
        Tensor([1], "u32") - (-1)


def test_integer_division_by_zero_is_refused() -> None:
    for divide in (lambda: Tensor([1, 2]) / Tensor([1, 0]), lambda: Tensor([1]) / 0, lambda: 1 / Tensor([0], "u8")):
        with raises(Error, "integer division by zero in div"):
            divide()


def test_integers_wrap() -> None:
    """As in candle's release build and in NumPy; a sum over a dim raises instead."""
    assert (Tensor([200], "u8") + Tensor([100], "u8")).tolist() == [44]
    assert (Tensor([0], "u8") - Tensor([1], "u8")).tolist() == [255]
    assert (Tensor([2**62]) * Tensor([4])).tolist() == [0]


@pytest.mark.parametrize("dtype", ["u8", "u32", "i16", "i32", "i64"])
def test_integer_division_is_that_of_pythons_ints(dtype: str) -> None:
    numbers = [0, 1, 2, 7, 100] if dtype.startswith("u") else [-100, -7, -1, 0, 1, 7, 100]
    pairs = [(a, b) for a in numbers for b in numbers if b]
    got = (Tensor([a for a, _ in pairs], dtype) / Tensor([b for _, b in pairs], dtype)).tolist()

    assert got == [math.trunc(a / b) for a, b in pairs]


def test_powers_are_of_floats() -> None:
    with raises(UnsupportedDTypeForOp, "unsupported dtype I64 for op powf"):
        Tensor([2, 3]) ** 2
    with raises(UnsupportedDTypeForOp, "unsupported dtype I64 for op pow"):
        Tensor([2, 3]).pow(Tensor([2, 3]))
    with raises(UnsupportedDTypeForOp, "unsupported dtype I64 for op pow"):
        2.0 ** Tensor([2, 3])


# -- powers and their gradients


@pytest.mark.parametrize(
    "base, exponent, value, d_base, d_exponent",
    [
        (0.0, 2.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 1.0, 0.0),
        (0.0, 0.5, 0.0, math.inf, 0.0),
        (0.0, 0.0, 1.0, 0.0, 0.0),
        (-2.0, 2.0, 4.0, -4.0, math.nan),
        (-2.0, 3.0, -8.0, 12.0, math.nan),
        (2.0, -1.0, 0.5, -0.25, 0.5 * math.log(2.0)),
        (3.0, 0.0, 1.0, 0.0, math.log(3.0)),
    ],
)
def test_powers(base: float, exponent: float, value: float, d_base: float, d_exponent: float) -> None:
    a, b = Var(base, "f64"), Var(exponent, "f64")
    y = a.pow(b)
    grads = y.backward()

    assert_close([y.to_scalar(), grads[a].to_scalar(), grads[b].to_scalar()], [value, d_base, d_exponent], 1e-15)
    assert (a**b).to_scalar() == value


# -- extremes


def test_maximum_and_minimum() -> None:
    a, b = Tensor([1.0, 5.0, 2.0]), Tensor([3.0, 2.0, 2.0])

    assert a.maximum(b).tolist() == [3.0, 5.0, 2.0] and a.minimum(b).tolist() == [1.0, 2.0, 2.0]
    assert a.maximum(2.0).tolist() == [2.0, 5.0, 2.0] and a.minimum(2).tolist() == [1.0, 2.0, 2.0]
    assert Tensor([1, 5]).maximum(2).tolist() == [2, 5] and Tensor([1, 5], "u8").minimum(Tensor([2, 2], "u8")).tolist() == [1, 2]


def test_nan_comes_through_on_either_side() -> None:
    for pair in ([1.0, math.nan], [math.nan, 1.0]):
        a, b = Tensor([pair[0]]), Tensor([pair[1]])
        assert math.isnan(a.maximum(b).item()) and math.isnan(a.minimum(b).item())


def test_a_tie_is_shared_half_and_half() -> None:
    a, b = Var([2.0, 1.0, 5.0]), Var([2.0, 3.0, 4.0])
    grads = a.maximum(b).sum_all().backward()
    assert grads[a].tolist() == [0.5, 0.0, 1.0] and grads[b].tolist() == [0.5, 1.0, 0.0]
    grads = a.minimum(b).sum_all().backward()
    assert grads[a].tolist() == [0.5, 1.0, 0.0] and grads[b].tolist() == [0.5, 0.0, 1.0]
    assert a.minimum(a).sum_all().backward()[a].tolist() == [1.0, 1.0, 1.0]
    assert a.maximum(2.0).sum_all().backward()[a].tolist() == [0.5, 0.0, 1.0]


def test_a_leaky_slope_through_maximum() -> None:
    x = Var([3.0, 1.0, -4.0, -1.0])
    y = x.maximum(x * 0.1)

    assert_close(y, [3.0, 1.0, -0.4, -0.1], 1e-7)
    assert_close(y.sum_all().backward()[x], [1.0, 1.0, 0.1, 0.1], 1e-7)


# -- comparison


def test_comparisons_give_u8() -> None:
    a, b = Tensor([1.0, 2.0, math.nan]), Tensor([2.0, 2.0, math.nan])
    wanted = {"eq": [0, 1, 0], "ne": [1, 0, 1], "lt": [1, 0, 0], "le": [1, 1, 0], "gt": [0, 0, 0], "ge": [0, 1, 0]}

    for name, values in wanted.items():
        y = getattr(a, name)(b)
        assert y.dtype is DType.U8 and y.tolist() == values and getattr(operator, name)(a, b).tolist() == values
        assert getattr(a, f"broadcast_{name}")(b).tolist() == values


def test_comparisons_with_numbers() -> None:
    x = Tensor([1, 2, 3])

    assert (x > 1).tolist() == [0, 1, 1] and (x < 2).tolist() == [1, 0, 0] and (x == 2.0).tolist() == [0, 1, 0]
    assert (Tensor([0.1]) == 0.1).tolist() == [1]  # the number is rounded to float32, too
    assert Tensor([1.5]).ge(1.5).tolist() == [1]
    with raises(Error, "cmp: a I64 tensor takes integers, got 1.5"):
        x.lt(1.5)
    with raises(Error, "cmp: -1 does not fit U8"):
        operator.gt(Tensor([1], "u8"), -1)


def test_comparisons_want_one_shape_and_dtype() -> None:
    with raises(ShapeMismatchBinaryOp, "shape mismatch in cmp, lhs: [2, 3], rhs: [3]", "`broadcast_eq` and its like"):
        A.eq(ROW)
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in cmp, lhs: F32, rhs: F64"):
        A.eq(A.to_dtype("f64"))
    with raises(ShapeMismatchBinaryOp, "shape mismatch in broadcast_lt, lhs: [2, 3], rhs: [2]"):
        A.broadcast_lt(Tensor([1.0, 2.0]))


def test_equality_with_anything_else_is_false() -> None:
    t = Tensor([1.0])

    assert (t == "text") is False and (t != None) is True  # noqa: E711


def test_hash_is_by_id() -> None:
    a, b = Tensor([1.0]), Tensor([1.0])
    names = {a: "a", b: "b"}

    assert hash(a) == hash(a.id) and names[a] == "a" and names[b] == "b"
    v = Var([1.0])
    assert len({v, Var.from_tensor(v)}) == 1


# -- where


def test_where_takes_a_mask_of_any_integer_dtype() -> None:
    for dtype in ("u8", "u32", "i64"):
        mask = Tensor([1, 0, 2], dtype)
        assert mask.where_cond(Tensor([1.0, 2.0, 3.0]), Tensor([-1.0, -2.0, -3.0])).tolist() == [1.0, -2.0, 3.0]
    assert Tensor([1, 0], "u8").where_cond(Tensor([1, 2]), Tensor([3, 4])).tolist() == [1, 4]


def test_where_takes_views() -> None:
    t = Tensor.arange(0.0, 6.0).reshape((2, 3))
    mask = Tensor([[1, 0], [0, 1], [1, 1]], "u8")

    assert mask.where_cond(t.t(), -t.t()).tolist() == [[0.0, -3.0], [-1.0, 4.0], [2.0, 5.0]]
    assert mask.t().where_cond(t, Tensor(9.0).broadcast_as((2, 3))).tolist() == [[0.0, 9.0, 2.0], [9.0, 4.0, 5.0]]
    row = Tensor([7.0, 8.0, 9.0]).broadcast_as((2, 3))
    assert mask.t().where_cond(row, t).tolist() == [[7.0, 1.0, 9.0], [3.0, 8.0, 9.0]]
    assert mask.narrow(0, 1, 2).where_cond(t.narrow(1, 0, 2), -t.narrow(1, 1, 2)).tolist() == [[-1.0, 1.0], [3.0, 4.0]]


def test_where_refuses() -> None:
    x = Tensor([1.0, 2.0])
    with raises(UnsupportedDTypeForOp, "unsupported dtype F32 for op where-cond"):
        x.where_cond(x, x)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in where_cond, lhs: [2], rhs: [1]"):
        Tensor([1, 0], "u8").where_cond(x, Tensor([1.0]))
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in where, lhs: F32, rhs: F64"):
        Tensor([1, 0], "u8").where_cond(x, x.to_dtype("f64"))


def test_where_is_ieee_and_the_guard_goes_inside() -> None:
    x = Var([0.0, 4.0])
    inside = x.gt(0.0)
    ones = x.ones_like()

    naive = inside.where_cond(x.sqrt(), x.zeros_like()).sum_all().backward()[x].tolist()
    assert math.isnan(naive[0]) and naive[1] == 0.25
    guarded = inside.where_cond(inside.where_cond(x, ones).sqrt(), x.zeros_like()).sum_all().backward()[x].tolist()
    assert guarded == [0.0, 0.25]
