"""The linear layer: values, gradients, candle's errors to the letter, its builders."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from expect import raises

from cafe import DType, Tensor, Var, errors, no_grad
from cafe.kernels import _ffi
from cafe.nn import Activation, Linear, VarBuilder, VarMap, linear, linear_b, linear_no_bias, seq
from cafe.testing import assert_close, assert_same_bits, gradcheck

W, B = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Tensor([0.5, 0.0, -1.0])


def test_the_guides_numbers() -> None:
    layer = Linear(W, B)
    assert layer(Tensor([[10.0, 100.0]])).to_vec2() == [[210.5, 430.0, 649.0]]
    assert layer(Tensor([[[10.0, 100.0], [1.0, 1.0]]])).to_vec3() == [[[210.5, 430.0, 649.0], [3.5, 7.0, 10.0]]]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lead", [(4,), (2, 3), (2, 3, 2), (2, 1, 3, 2), (0,), (2, 0)])
def test_any_leading_dims_are_rows(lead: tuple[int, ...], bias: bool) -> None:
    x, w, b = Tensor.randn(0, 1, (*lead, 5), "f64"), Tensor.randn(0, 1, (3, 5), "f64"), Tensor.randn(0, 1, 3, "f64")
    y = Linear(w, b if bias else None)(x)
    wanted = x.numpy() @ w.numpy().T + (b.numpy() if bias else 0.0)
    assert y.shape == (*lead, 3)
    assert_close(y, wanted, 1e-14)


def test_an_input_of_any_strides() -> None:
    x = Tensor.randn(0, 1, (5, 4, 3), "f64")
    layer = Linear(Tensor.randn(0, 1, (2, 5), "f64"), Tensor.randn(0, 1, 2, "f64"))
    moved = x.permute(2, 1, 0)
    assert not moved.is_contiguous()
    assert_close(layer(moved), layer(moved.contiguous()), 1e-15)


def test_derivatives() -> None:
    rng = np.random.default_rng(0)
    gradcheck(lambda x, w, b: Linear(w, b)(x), rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4)), rng.normal(size=2), order=2)


@pytest.mark.parametrize("shape", [(), (1,), (1, 3), (2, 1, 3)], ids=str)
def test_a_bias_of_another_shape_is_broadcast_as_in_candle(shape: tuple[int, ...]) -> None:
    x, b = Tensor.randn(0, 1, (2, 4, 2)), Var.randn(0, 1, shape)
    y = Linear(W, b)(x)
    assert_close(y, x.numpy() @ W.numpy().T + b.numpy(), 1e-6)
    assert y.sum_all().backward()[b].shape == shape


@pytest.mark.parametrize(
    ("layer", "x", "kind", "text"),
    [
        (Linear(Tensor.ones((3, 2)), B), (1, 3), errors.ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [1, 3], rhs: [2, 3]"),
        (Linear(Tensor.ones((3, 2))), (4, 3), errors.ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [4, 3], rhs: [2, 3]"),
        (Linear(W, B), (2,), errors.ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [2], rhs: [2, 3]"),
        (Linear(W, B), (), errors.ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [], rhs: [2, 3]"),
        (Linear(W, B), (5, 4, 3), errors.ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [20, 3], rhs: [2, 3]"),
        (Linear(W, B), (2, 5, 4, 3), errors.ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [40, 3], rhs: [2, 3]"),
        (Linear(W, Tensor([1.0, 2.0])), (1, 2), errors.ShapeMismatchBinaryOp, "shape mismatch in broadcast_add, lhs: [1, 3], rhs: [2]"),
    ],
)
def test_candles_errors(layer: Linear, x: tuple[int, ...], kind: type[errors.Error], text: str) -> None:
    with raises(kind, text):
        layer(Tensor.ones(x))


def test_an_input_that_does_not_fold_is_named_with_its_batch() -> None:
    x = Tensor.ones((3, 4, 5)).transpose(0, 2)  # (5, 4, 3), column-major
    with raises(errors.ShapeMismatchBinaryOp, "shape mismatch in matmul, lhs: [5, 4, 3], rhs: [5, 2, 3]"):
        Linear(W, B)(x)


def test_dtypes_are_not_mixed() -> None:
    with raises(errors.DTypeMismatchBinaryOp, "dtype mismatch in matmul, lhs: F64, rhs: F32"):
        Linear(W, B)(Tensor.ones((1, 2), "f64"))
    with raises(errors.DTypeMismatchBinaryOp, "dtype mismatch in broadcast_add, lhs: F32, rhs: F64"):
        Linear(W, B.to_dtype("f64"))(Tensor.ones((1, 2)))
    with raises(errors.UnsupportedDTypeForOp, "unsupported dtype U32 for op matmul"):
        Linear(Tensor.ones((3, 2), "u32"))(Tensor.ones((1, 2), "u32"))


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_halves_compute_through_f32(dtype: DType) -> None:
    x, w, b = (Tensor.randn(0, 1, shape).to_dtype(dtype) for shape in ((4, 16), (3, 16), (3,)))
    wide = Linear(w.to_dtype("f32"), b.to_dtype("f32"))(x.to_dtype("f32"))
    assert Linear(w, b)(x).tolist() == wide.to_dtype(dtype).tolist()


def test_a_variable_set_from_outside_is_used_by_the_layer() -> None:
    varmap = VarMap()
    layer = linear(2, 1, VarBuilder.from_varmap(varmap))
    varmap.set([("weight", Tensor([[1.0, 1.0]])), ("bias", Tensor([10.0]))])
    assert layer(Tensor([[1.0, 2.0]])).tolist() == [[13.0]]


# -- builders


def test_linear_names_shapes_and_order() -> None:
    varmap = VarMap()
    layer = linear(4, 3, VarBuilder.from_varmap(varmap).pp("fc"))
    assert [(name, v.dims()) for name, v in varmap.data().items()] == [("fc.weight", [3, 4]), ("fc.bias", [3])]
    assert layer.weight is varmap.data()["fc.weight"] and layer.bias is varmap.data()["fc.bias"]
    assert repr(layer) == "Linear(4, 3)"


@pytest.mark.parametrize("make", [linear_no_bias, lambda i, o, vb: linear_b(i, o, False, vb)])
def test_without_bias(make: Callable[[int, int, VarBuilder], Linear]) -> None:
    varmap = VarMap()
    layer = make(4, 3, VarBuilder.from_varmap(varmap))
    assert list(varmap.data()) == ["weight"]
    assert layer.bias is None
    assert repr(layer) == "Linear(4, 3, no bias)"


def test_linear_b_with_bias() -> None:
    varmap = VarMap()
    linear_b(4, 3, True, VarBuilder.from_varmap(varmap))
    assert list(varmap.data()) == ["weight", "bias"]


def test_initial_values_are_candles() -> None:
    layer = linear(100, 400, VarBuilder.from_varmap(VarMap(), DType.F64))
    assert layer.bias is not None
    weight, bias = layer.weight.numpy(), layer.bias.numpy()
    assert weight.std() == pytest.approx(math.sqrt(2 / 100), rel=0.02)
    assert weight.max() > 3 * math.sqrt(2 / 100)  # normal, not uniform
    assert 0.097 < bias.max() <= 0.1 and -0.1 <= bias.min() < -0.097
    assert bias.std() == pytest.approx(0.1 / math.sqrt(3), rel=0.1)


def test_a_layer_without_inputs_gives_its_bias() -> None:
    layer = linear(0, 3, VarBuilder.from_varmap(VarMap()))
    assert layer(Tensor.zeros((2, 0))).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("rows", [1, 2, 16, 70])
def test_a_layer_for_few_rows_gives_the_same(rows: int) -> None:
    layer = Linear(Var(Tensor.randn(0, 1, (40, 300))), Tensor.randn(0, 1, 40))
    copy, x = layer.for_few_rows(), Tensor.randn(0, 1, (rows, 300))
    assert copy.weight.stride == (1, 40) and not copy(x).track_op()
    if _ffi.BACKEND == "c":
        assert_same_bits(copy(x), layer(x).detach())
    assert_close(copy(x), layer(x).detach(), 5e-5)
    assert Linear(W).for_few_rows().bias is None


EACH_ACTIVATION = pytest.mark.parametrize("name", ["relu", "tanh", "sigmoid", "silu", "gelu", "gelu_new", "mish"])


@EACH_ACTIVATION
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("shape", [(1, 5), (7, 5), (90, 5), (2, 3, 5)], ids=str)
def test_an_activation_of_a_layer_has_the_bits_of_the_two_apart(shape: tuple[int, ...], dtype: str, name: str) -> None:
    activation, x = Activation.from_name(name), Var(Tensor.randn(0, 1, shape).to_dtype(dtype))
    w, b = (Var(Tensor.randn(0, 1, size).to_dtype(dtype)) for size in ((40, 5), (40,)))
    for layer in (Linear(w, b), Linear(w)):
        apart, together, in_a_row = activation(layer(x)), activation.of_linear(layer, x), seq(layer, activation)
        assert_same_bits(together, apart)
        assert_same_bits(in_a_row(x), apart)
        assert_same_bits(in_a_row.forward_t(x, True), apart)
        assert_same_bits(in_a_row.forward_all(x)[0], layer(x))
        grads, wanted = ((y * y).sum_all().backward() for y in (together, apart))
        for v in (x, w, b) if layer.bias is not None else (x, w):
            assert_same_bits(grads[v], wanted[v])
        with no_grad():
            assert_same_bits(activation.of_linear(layer, x), apart)


@EACH_ACTIVATION
def test_derivatives_of_an_activation_of_a_layer(name: str) -> None:
    rng, activation = np.random.default_rng(0), Activation.from_name(name)
    arrays = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4)), rng.normal(size=2)
    gradcheck(lambda x, w, b: activation.of_linear(Linear(w, b), x), *arrays, order=2)


def test_where_the_slope_needs_what_goes_in_a_graph_takes_two_ops() -> None:
    x, layer = Var(Tensor.randn(0, 1, (4, 2))), Linear(W, B)
    assert Activation.Gelu.of_linear(layer, x).track_op()
    assert not Activation.Gelu.of_linear(layer, x.detach()).track_op()
    assert Activation.Relu.of_linear(layer, x).backward().get(x) is not None


def test_a_layer_that_does_more_is_asked_first() -> None:
    class Doubled(Linear):
        def forward(self, xs: Tensor) -> Tensor:
            return super().forward(xs) * 2.0

    x = Tensor.randn(0, 1, (4, 2))
    layer = Doubled(W, B)
    assert_same_bits(Activation.Relu.of_linear(layer, x), layer(x).relu())
    assert_same_bits(seq(layer, Activation.Relu)(x), layer(x).relu())


@pytest.mark.parametrize(("shape", "dtype"), [((1, 3), "f32"), ((2,), "f32"), ((1, 2), "f64"), ((1, 2), "i64")])
def test_an_activation_of_a_layer_refuses_what_the_layer_does(shape: tuple[int, ...], dtype: str) -> None:
    layer, x = Linear(W, B), Tensor.zeros(shape, dtype)
    with pytest.raises(errors.Error) as wanted:
        layer(x)
    with raises(type(wanted.value), str(wanted.value)):
        Activation.Relu.of_linear(layer, x)
    with raises(TypeError, "Linear: expected Tensor, found int"):
        seq(layer, Activation.Relu)(3)  # type: ignore[arg-type]
