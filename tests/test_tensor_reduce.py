"""Sums, means, extremes, norms: values over any dims and strides, ties, integers, nothing to reduce."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import D, DType, Tensor, Var
from cafe.errors import (
    DimOutOfRange,
    DuplicateDimIndex,
    EmptyTensor,
    Error,
    IntegerOverflow,
    ShapeMismatchBinaryOp,
    UnexpectedNumberOfDims,
    UnsupportedDTypeForOp,
)
from cafe.testing import INTS, assert_close

T = Tensor([[[3.0, 1.0, 4.0], [1.0, 5.0, 9.0]], [[2.0, 6.0, 5.0], [3.0, 5.0, 8.0]]])

# -- sums and means


@pytest.mark.parametrize("dims", [dims for n in range(4) for dims in itertools.permutations(range(3), n)])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_sums_over_any_dims_of_any_order(dims: tuple[int, ...], order: tuple[int, ...]) -> None:
    t = Tensor.arange(0.0, 60.0).reshape((3, 4, 5)).permute(order)
    array = t.numpy().astype(np.float64)

    assert t.sum(dims).tolist() == np.sum(array, axis=dims).tolist()
    assert t.sum_keepdim(dims).tolist() == np.sum(array, axis=dims, keepdims=True).tolist()
    assert_close(t.mean(dims), np.mean(array, axis=dims), 1e-7)
    assert_close(t.mean_keepdim(dims), np.mean(array, axis=dims, keepdims=True), 1e-7)


def test_dims_by_any_name() -> None:
    assert T.sum(2).tolist() == T.sum(-1).tolist() == T.sum(D.Minus1).tolist() == T.sum([2]).tolist() == [[8.0, 15.0], [13.0, 16.0]]
    assert T.sum((0, D.Minus1)).tolist() == T.sum([-3, 2]).tolist() == [21.0, 31.0]
    assert T.sum(()).tolist() == T.tolist() and T.sum_all().to_scalar() == 52.0 and T.mean_all().to_scalar() == pytest.approx(52 / 12)
    assert Tensor(3.0).sum_all().to_scalar() == Tensor(3.0).sum(()).to_scalar() == 3.0


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
def test_a_reduction_without_a_dim_names_its_cure(name: str) -> None:
    row = f"`{name}(dim)`; `{name}_keepdim(dim)` keeps the dim at size 1, `{name}_all()` reduces everything to a scalar"
    with raises(TypeError, f"{name}: {row}"):
        getattr(T, name)()


def test_dims_that_are_not_there() -> None:
    for call, op in (
        (T.sum, "sum"), (T.sum_keepdim, "sum"), (T.mean, "mean"), (T.mean_keepdim, "mean-keepdim"), (T.max, "max"), (T.min, "min"),
        (T.argmax, "argmax"), (T.argmin, "argmin"), (T.var, "var"), (T.cumsum, "cumsum"), (T.log_sum_exp, "log-sum-exp"),
    ):  # fmt: skip
        with raises(DimOutOfRange, f"{op}: dimension index 3 out of range for shape [2, 2, 3]"):
            call(3)
        with raises(DimOutOfRange, f"{op}: dimension index -4 out of range for shape [2, 2, 3]"):
            call(D.Minus(4))
    for call, op in ((T.sum, "sum"), (T.mean, "mean"), (T.log_sum_exp, "log-sum-exp")):
        with raises(DuplicateDimIndex, f"{op}: duplicate dim index [1, 1] for shape [2, 2, 3]"):
            call((1, -2))


def test_sums_of_nothing() -> None:
    nothing = Tensor.zeros((2, 0))

    assert nothing.sum(1).tolist() == [0.0, 0.0] and nothing.sum_all().to_scalar() == 0.0 and nothing.sum(0).dims() == [0]
    assert Tensor.zeros((2, 2, 0, 3)).sum_keepdim(2).tolist() == [[[[0.0] * 3]] * 2] * 2
    assert all(map(math.isnan, nothing.mean(1).tolist())) and math.isnan(nothing.mean_all().to_scalar())


def test_up_to_eight_summands_are_added_by_hand() -> None:
    """From left to right in float32: what a reader adds on paper, digit for digit."""
    x = np.random.default_rng(0).uniform(0.0, 1.0, (50, 8)).astype(np.float32)
    for n in range(1, 9):
        by_hand = x[:, 0]
        for i in range(1, n):
            by_hand = by_hand + x[:, i]
        assert Tensor(x[:, :n]).sum(1).tolist() == by_hand.tolist()
        assert Tensor(np.ascontiguousarray(x[:, :n].T)).sum(0).tolist() == by_hand.tolist()


def test_long_sums_keep_their_digits() -> None:
    ones = Tensor.ones((2**24 + 16,))
    assert ones.sum_all().to_scalar() == 2**24 + 16
    tenths = Tensor.full(0.1, (1_000_000,))
    assert tenths.sum_all().to_scalar() == pytest.approx(float(np.float32(0.1)) * 1e6, rel=1e-7)
    assert tenths.mean_all().to_scalar() == np.float32(0.1)


def test_halves_are_added_in_f32() -> None:
    hundreds = Tensor.full(100.0, (1000,), "f16")
    assert hundreds.mean_all().to_scalar() == 100.0 and hundreds.sum_all().to_scalar() == math.inf
    assert Tensor.ones((4096,), "f16").sum_all().to_scalar() == 4096.0
    assert Tensor.ones((1000,), "bf16").sum_all().to_scalar() == 1000.0


@pytest.mark.parametrize("dtype", INTS)
def test_integer_sums_keep_their_dtype_and_must_fit(dtype: DType) -> None:
    top = int(np.iinfo(dtype.numpy).max)
    t = Tensor([[1, 2], [3, top - 3]], dtype)

    assert t.sum(0).tolist() == [4, top - 1] and t.sum(1).dtype is dtype and t.sum(1).tolist() == [3, top]
    with raises(IntegerOverflow, f"sum of {dtype!r} does not fit {dtype!r}", "`to_dtype`"):
        t.sum_all()
    assert t.cumsum(1).tolist() == [[1, 3], [3, top]]
    with raises(IntegerOverflow, f"cumsum of {dtype!r} does not fit {dtype!r}"):
        t.cumsum(0).cumsum(1).cumsum(1)


def test_three_hundred_ones() -> None:
    ones = Tensor.ones((300,), "u8")
    for reduce in (ones.sum_all, lambda: ones.sum(0), lambda: ones.cumsum(0)):
        with pytest.raises(IntegerOverflow):
            reduce()
    assert ones.to_dtype("u32").sum_all().to_scalar() == 300


def test_integer_sums_use_64_bits() -> None:
    assert Tensor([2**31 - 1] * 3 + [-(2**31)] * 3, "i32").sum_all().to_scalar() == -3
    assert Tensor([2**62, 2**62, -(2**62), -5]).sum_all().to_scalar() == 2**62 - 5
    with pytest.raises(IntegerOverflow):
        Tensor([2**62, 2**62]).sum_all()


def test_integers_have_no_mean() -> None:
    for mean in (lambda t: t.mean(0), lambda t: t.mean_keepdim(0), lambda t: t.mean_all()):
        with raises(UnsupportedDTypeForOp, "unsupported dtype I64 for op mean", "`to_dtype(DType.F32)`"):
            mean(Tensor([1, 2]))


def test_float_reductions_refuse_integers() -> None:
    t = Tensor([[1, 2]])
    for call, op in ((lambda: t.var(1), "var"), (lambda: t.var_keepdim(1), "var"), (lambda: t.log_sum_exp(1), "log_sum_exp")):
        with raises(UnsupportedDTypeForOp, f"unsupported dtype I64 for op {op}"):
            call()
    with raises(Error, "norm not supported for integer dtypes"):
        t.norm()


# -- variance


def test_variance_is_unbiased_and_in_two_passes() -> None:
    t = Tensor([[1.0, 2.0, 4.0], [0.0, 0.0, 3.0]])

    assert_close(t.var(1), [7.0 / 3.0, 3.0], 1e-7)
    assert_close(t.var_keepdim(0), [[0.5, 2.0, 0.5]], 1e-7)
    assert_close(Tensor([1e8, 1e8 + 1, 1e8 + 2], "f64").var(0), 1.0, 0.0)
    assert_close(Tensor([40000.0, 40001.0, 40002.0, 40003.0]).var(0), 5.0 / 3.0, 1e-7)


def test_variance_of_one_value_is_nan() -> None:
    assert math.isnan(Tensor([5.0]).var(0).to_scalar())
    assert Tensor.zeros((0, 3)).var(1).dims() == [0]


# -- extremes


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_extremes_along_a_dim(name: str, dim: int) -> None:
    for t in (T, T.t(), T.transpose(0, 2), T.narrow(2, 1, 2), T[:, ::-1]):
        wanted = getattr(np, name)(t.numpy(), axis=dim)
        got = getattr(t, name)(dim)
        kept = getattr(t, f"{name}_keepdim")(dim)
        assert got.tolist() == wanted.tolist() and kept.tolist() == np.expand_dims(wanted, dim).tolist()
        assert got.dtype is (DType.U32 if name.startswith("arg") else DType.F32)


def test_extremes_of_long_rows() -> None:
    x = np.random.default_rng(1).standard_normal((3, 1001)).astype(np.float32)
    t = Tensor(x)

    assert t.max(1).tolist() == x.max(1).tolist() and t.argmin(1).tolist() == x.argmin(1).tolist()
    assert t.max_all().to_scalar() == x.max() and t.min_all().to_scalar() == x.min()


@pytest.mark.parametrize("dtype", INTS)
def test_extremes_of_integers(dtype: DType) -> None:
    t = Tensor([[3, 1, 2], [7, 9, 9]], dtype)

    assert t.max(1).tolist() == [3, 9] and t.min(0).tolist() == [3, 1, 2] and t.max(1).dtype is dtype
    assert t.argmax(1).tolist() == [0, 1] and t.max_all().to_scalar() == 9


def test_the_first_of_equals_and_the_first_nan() -> None:
    assert Tensor([1.0, 3.0, 3.0]).argmax(0).to_scalar() == 1 and Tensor([1.0, 0.0, 0.0]).argmin(0).to_scalar() == 1
    with_nan = Tensor([1.0, math.nan, 9.0, math.nan])
    assert with_nan.argmax(0).to_scalar() == with_nan.argmin(0).to_scalar() == 1
    assert math.isnan(with_nan.max(0).to_scalar()) and math.isnan(with_nan.min_all().to_scalar())
    assert Tensor([-math.inf, -math.inf]).max(0).to_scalar() == -math.inf


def test_equals_share_the_gradient_evenly() -> None:
    x = Var([[1.0, 2.0, 2.0, 2.0], [4.0, 1.0, 0.0, 1.0]], "f64")

    assert_close(x.max(1).sum_all().backward()[x], [[0.0, 1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0, 0.0]], 1e-15)
    assert_close(x.min(1).sum_all().backward()[x], [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]], 0.0)
    same = Var(np.full((2, 2), 7.0))
    assert same.max_all().backward()[same].tolist() == [[0.25, 0.25], [0.25, 0.25]]
    assert same.min_keepdim(0).sum_all().backward()[same].tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_nothing_has_no_extreme() -> None:
    nothing = Tensor.zeros((2, 0))
    for name in ("max", "min", "argmax", "argmin"):
        with raises(EmptyTensor, "empty tensor for reduce"):
            getattr(nothing, name)(1)
        assert getattr(nothing, name)(0).dims() == [0]
    for name in ("max_all", "min_all"):
        with raises(EmptyTensor, "empty tensor for reduce"):
            getattr(nothing, name)()


# -- running sums


def test_running_sums() -> None:
    assert Tensor([3.0, 1.0, 4.0, 1.0, 5.0]).cumsum(0).tolist() == [3.0, 4.0, 8.0, 9.0, 14.0]
    assert T.cumsum(1).tolist() == np.cumsum(T.numpy(), 1).tolist() and T.t().cumsum(0).tolist() == np.cumsum(T.t().numpy(), 0).tolist()
    assert Tensor([1, 2, 3]).cumsum(0).tolist() == [1, 3, 6]
    x = Var([1.0, 2.0, 3.0])
    assert (x.cumsum(0) * Tensor([1.0, 10.0, 100.0])).sum_all().backward()[x].tolist() == [111.0, 110.0, 100.0]


# -- log-sum-exp and norms


def test_log_sum_exp() -> None:
    t = Tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[-1000.0, -999.0, -1001.0], [1000.0, 1000.0, 1000.0]]], "f64")
    last = math.log(1.0 + math.exp(-1.0) + math.exp(-2.0))

    assert_close(t.log_sum_exp(D.Minus1), [[3.0 + last, 6.0 + last], [-999.0 + last, 1000.0 + math.log(3.0)]], 1e-15)
    assert_close(t.log_sum_exp((0, 1)), np.log(np.exp(t.numpy()[0]).sum(0)) * 0.0 + 1000.0, 1e-15)
    assert_close(t.log_sum_exp(()), t, 1e-15)
    assert_close(t.narrow(0, 0, 1).log_sum_exp((0, 2)), [3.0 + last, 6.0 + last], 1e-15)


def test_log_sum_exp_of_infinities() -> None:
    inf = math.inf
    t = Tensor([[-inf, -inf], [-inf, 1.0], [inf, 1.0]])

    assert t.log_sum_exp(1).tolist() == [-inf, 1.0, inf]
    x = Var([-inf, 1.0, 1.0])
    assert x.log_sum_exp(0).backward()[x].tolist() == [0.0, 0.5, 0.5]


def test_norm() -> None:
    assert Tensor([3.0, 4.0]).norm().to_scalar() == 5.0 and Tensor([[1.0, 2.0], [2.0, 4.0]]).norm().to_scalar() == 5.0
    x = Var([3.0, 4.0], "f64")
    assert_close(x.norm().backward()[x], [0.6, 0.8], 1e-15)


def test_the_norms_gradient_at_zero_is_zero() -> None:
    for shape in ((2,), (2, 2)):
        x = Var(np.zeros(shape))
        assert x.norm().backward()[x].tolist() == np.zeros(shape).tolist()
        assert x.sqr().sum_all().backward()[x].tolist() == np.zeros(shape).tolist()


def test_dot() -> None:
    a, b = Var([1.0, 2.0, 3.0]), Var([4.0, 5.0, 6.0])
    y = a.dot(b)
    grads = y.backward()

    assert y.to_scalar() == 32.0 and grads[a].tolist() == [4.0, 5.0, 6.0] and grads[b].tolist() == [1.0, 2.0, 3.0]
    with raises(ShapeMismatchBinaryOp, "shape mismatch in dot, lhs: [3], rhs: [2]"):
        a.dot(Tensor([1.0, 2.0]))
    with raises(UnexpectedNumberOfDims, "unexpected rank, expected: 1, got: 2 ([1, 3])"):
        a.unsqueeze(0).dot(b)


# -- gradients


@pytest.mark.parametrize("reduce, wanted", [("sum", 1.0), ("mean", 0.5)])
def test_a_reductions_gradient_is_spread(reduce: str, wanted: float) -> None:
    x = Var([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    weights = Tensor([1.0, 10.0, 100.0])
    for y in (getattr(x, reduce)(1), getattr(x, f"{reduce}_keepdim")(1).squeeze(1), getattr(x, reduce)((1,))):
        got: Any = (y * weights).sum_all().backward()[x].tolist()
        assert got == [[wanted * w] * 2 for w in (1.0, 10.0, 100.0)]


# -- products


def test_products() -> None:
    t = Tensor([[2.0, 3.0, 4.0], [0.0, 5.0, -6.0]])

    assert t.prod(1).tolist() == [24.0, 0.0] and t.prod(0).tolist() == [0.0, 15.0, -24.0] and t.prod_all().to_scalar() == 0.0
    assert t.prod_keepdim(-1).tolist() == [[24.0], [0.0]] and t.t().prod(0).tolist() == [24.0, 0.0]
    assert Tensor([2, 3, 7]).prod(0).tolist() == 42 and Tensor([16, 15], "u8").prod(0).to_scalar() == 240
    assert Tensor.zeros((2, 0)).prod(1).tolist() == [1.0, 1.0] and Tensor.zeros((0,), "i64").prod(0).to_scalar() == 1
    assert Tensor.full(0.5, (100,), "f16").prod(0).to_scalar() == 0.0 and Tensor.full(2.0, (120,)).prod(0).to_scalar() == 2.0**120


def test_products_refuse() -> None:
    with raises(TypeError, "prod: `prod(dim)`; `prod_keepdim(dim)` keeps the dim at size 1, `prod_all()` reduces everything to a scalar"):
        T.prod()
    with raises(DimOutOfRange, "prod: dimension index 3 out of range for shape [2, 2, 3]"):
        T.prod(3)
    with raises(IntegerOverflow, "prod of U8 does not fit U8", "`to_dtype`"):
        Tensor([16, 16], "u8").prod(0)
    with raises(IntegerOverflow, "prod of I64 does not fit I64"):
        Tensor([2**32, 2**31]).prod(0)


@pytest.mark.parametrize("n", range(1, 10))
def test_a_products_gradient_is_right_at_zeros(n: int) -> None:
    rng = np.random.default_rng(n)
    for zeros in range(3):
        x = Var(rng.integers(1, 4, n).astype(np.float64))
        values = np.array(x.tolist())
        values[rng.permutation(n)[:zeros]] = 0.0
        x.set(Tensor(values))
        wanted = [float(np.prod(np.delete(values, i))) for i in range(n)]
        assert x.prod(0).backward()[x].tolist() == wanted
        assert x.prod_all().backward(create_graph=True)[x].tolist() == wanted
