"""Normalisation: numbers to the digit, large means, one value per channel, candle's errors, running statistics, derivatives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cafe import D, DType, Tensor, Var, kernels
from cafe.errors import DTypeMismatchBinaryOp, Error, ShapeMismatchBinaryOp, VersionMismatch
from cafe.nn import (
    SGD,
    BatchNorm,
    BatchNormConfig,
    GroupNorm,
    InstanceNorm,
    InstanceNormConfig,
    LayerNorm,
    LayerNormConfig,
    Linear,
    RmsNorm,
    VarBuilder,
    VarMap,
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    layer_norm_no_bias,
    ops,
    rms_norm,
    standardize,
)
from cafe.testing import assert_close, assert_same_bits, gradcheck

F32_EPS = 2.0**-23


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def fresh() -> tuple[VarMap, VarBuilder]:
    varmap = VarMap()
    return varmap, VarBuilder.from_varmap(varmap)


def exact_norm(x: np.ndarray, eps: float, axis: Any = -1) -> np.ndarray:
    """In float64, on the numbers as they are."""
    x = x.astype(np.float64)
    centred = x - x.mean(axis, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis, keepdims=True) + eps)


# -- large means, constant rows, one value


def around(mean: float) -> np.ndarray:
    """Sixteen numbers a thousandth apart, as float32 has them."""
    return (mean + np.arange(16) * 1e-3).astype(np.float32)


@pytest.mark.parametrize("mean, first", [(0.0, -1.34164), (100.0, -1.34153), (1000.0, -1.34151), (10000.0, -1.3313)])
def test_a_large_mean_leaves_the_digits_of_the_spread(mean: float, first: float) -> None:
    x = around(mean)
    ones, zeros = np.ones(16, np.float32), np.zeros(16, np.float32)
    wanted = exact_norm(x, 1e-5)

    assert wanted[0] == pytest.approx(first, abs=6e-5)
    layers = {
        "layer": ops.layer_norm(Tensor(x[None]), Tensor(ones), Tensor(zeros), 1e-5),
        "group": GroupNorm(Tensor(ones[:1]), Tensor(zeros[:1]), 1, 1, 1e-5)(Tensor(x[None, None])),
        "instance": InstanceNorm(1, eps=1e-5)(Tensor(x[None, None])),
        "batch": BatchNorm(1, Tensor([0.0]), Tensor([1.0])).forward_train(Tensor(x[:, None])),
        "batch of planes": BatchNorm(1, Tensor([0.0]), Tensor([1.0])).forward_train(Tensor(x.reshape(2, 1, 8))),
        "weights": standardize(Tensor(x[None])),
    }
    for name, y in layers.items():
        assert_close(y.flatten_all(), wanted, 4e-6, name)  # the variance is small beside eps: what is left of float32's seven digits


def test_neighbours_at_forty_thousand() -> None:
    x = Tensor([[40000.0, 40001.0, 40002.0, 40003.0]])
    y = ops.layer_norm(x, Tensor.ones(4), Tensor.zeros(4), 1e-5)

    assert_close(y, [[-1.34163542, -0.447211807, 0.447211807, 1.34163542]], 2e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [16, 768, 5000])
def test_the_variance_of_a_row_of_neighbours(n: int, dtype: type, rng: np.random.Generator) -> None:
    """All elements are one number but the fourth, which is the next: the mean's rounding is as large as their spread."""
    x = np.repeat(rng.uniform(1, 1000, (64, 1)).astype(dtype), n, 1)
    x[:, 3] = np.nextafter(x[:, 3], dtype(2000))
    wanted = np.full((64, n), -1 / np.sqrt(n - 1))
    wanted[:, 3] = np.sqrt(n - 1)

    ones, zeros = Tensor(np.ones(n, dtype)), Tensor(np.zeros(n, dtype))
    bound = 16 * np.finfo(dtype).eps * np.sqrt(n)
    assert_close(ops.layer_norm(Tensor(x), ones, zeros, 1e-60), wanted, bound)
    assert_close(GroupNorm(ones.narrow(0, 0, 1), zeros.narrow(0, 0, 1), 1, 1, 1e-60)(Tensor(x[:, None])).squeeze(1), wanted, bound)


@pytest.mark.parametrize("value", [1234.0, 1234.567, 1e8, -3e-8, 0.1])
@pytest.mark.parametrize("n", [1, 3, 7, 256, 1000])
def test_a_constant_row_is_zero_exactly(value: float, n: int) -> None:
    x = np.full((2, n), value, np.float32)

    assert_same_bits(ops.layer_norm(Tensor(x), Tensor.ones(n), Tensor.zeros(n), 1e-5), np.zeros((2, n), np.float32))
    y = BatchNorm(2, Tensor.zeros(2), Tensor.ones(2)).forward_train(Tensor(x[:, :, None].reshape(1, 2, n)))
    assert_same_bits(y, np.zeros((1, 2, n), np.float32))


def test_the_gradient_of_a_constant_row_is_finite() -> None:
    x = Var([[4.0, 4.0, 4.0, 4.0]], DType.F64)
    y = LayerNorm(Tensor.ones(4, DType.F64), Tensor.zeros(4, DType.F64))(x)
    g = (y * Tensor([[1.0, 2.0, 3.0, 4.0]], DType.F64)).sum_all().backward()[x]

    assert_close(g, [[-474.34, -158.11, 158.11, 474.34]], 1e-5)


def test_the_root_mean_square_takes_large_numbers() -> None:
    x = Tensor([[3e18, 4e18]])

    assert_close(ops.rms_norm(x, Tensor.ones(2), 1e-5), [[3.0 / 12.5**0.5, 4.0 / 12.5**0.5]], 2 * F32_EPS)


# -- the guide's batch norm, to the digit


def two_channels() -> Var:
    return Var([[[[1.0, 2.0], [3.0, 4.0]], [[10.0, 10.0], [10.0, 30.0]]]])


def test_the_guides_batch_norm() -> None:
    varmap, vb = fresh()
    bn = batch_norm(2, BatchNormConfig(), vb.pp("bn"))
    x = two_channels()
    y = bn.forward_train(x)

    assert sorted(varmap.data()) == ["bn.bias", "bn.running_mean", "bn.running_var", "bn.weight"]
    assert_same_bits(y[0, 0].flatten_all(), np.array([-1.3416355, -0.44721183, 0.44721183, 1.3416355], np.float32))
    assert_close(y[0, 1].flatten_all(), [-0.57735, -0.57735, -0.57735, 1.7320506], 1e-6)
    assert_same_bits(bn.running_mean, np.array([0.25, 1.5], np.float32))
    assert_same_bits(bn.running_var, np.array([1.0666666, 10.900001], np.float32))
    evaluated = bn.forward_t(x, False)[0, 0].flatten_all()
    assert_same_bits(evaluated, np.array([0.72618103, 1.6944224, 2.6626637, 3.6309052], np.float32))


def test_the_gradient_of_the_guides_batch_norm() -> None:
    x = two_channels()
    y = batch_norm(2, 1e-5, fresh()[1]).forward_train(x)
    g = (y * Tensor(np.arange(1, 9, dtype=np.float32).reshape(y.shape))).sum_all().backward()[x].flatten_all().tolist()

    assert_close(np.array(g[:4]), [-1.0796e-5, -3.5985e-6, 3.5985e-6, 1.0796e-5], 1e-6)  # nearly nothing: a wrong formula shows at 1e-3
    assert_close(np.array(g[4:]), [-0.1154701, 0.0, 0.1154700, 0.0], 1e-6)


# -- candle's own tests


def test_running_statistics_are_the_maps_variables() -> None:
    varmap, vb = fresh()
    bn = batch_norm(1, 1e-5, vb.pp("bn"))
    before = varmap.data()["bn.running_mean"].tolist()
    y = bn.forward_train(Tensor([[1.0]]))

    assert bn.running_mean is varmap.data()["bn.running_mean"] and bn.running_var is varmap.data()["bn.running_var"]
    assert before == [0.0] and bn.running_mean.tolist() == pytest.approx([0.1])
    assert y.tolist() == [[0.0]]


def test_one_value_per_channel_keeps_the_running_variance_finite() -> None:
    bn = batch_norm(2, 1e-5, fresh()[1])
    y = bn.forward_train(Tensor([[1.0, 2.0]]))

    assert y.tolist() == [[0.0, 0.0]]
    assert_close(bn.running_var, [0.9, 0.9], 1e-7)
    evaluated = BatchNorm(2, Tensor.zeros(2), Tensor.ones(2)).forward_t(Tensor([[1.0, 2.0]]), False)
    assert_close(evaluated, [[0.999995, 1.99999]], 1e-6)


def test_an_empty_batch_changes_no_statistics() -> None:
    bn = batch_norm(2, 1e-5, fresh()[1])

    assert bn.forward_train(Tensor.zeros((0, 2, 3))).shape == (0, 2, 3)
    assert bn.running_mean.tolist() == [0.0, 0.0] and bn.running_var.tolist() == [1.0, 1.0]


def test_weight_and_bias_come_after(rng: np.random.Generator) -> None:
    x = Tensor(rng.normal(size=(2, 5, 3, 4)).astype(np.float32))
    plain = BatchNorm(5, Tensor.zeros(5), Tensor.ones(5))
    scaled = BatchNorm(5, Tensor.zeros(5), Tensor.ones(5), Tensor.full(0.5, 5), Tensor.full(-1.5, 5))

    for train in (True, False):
        assert_close(scaled.forward_t(x, train), plain.forward_t(x, train) * 0.5 - 1.5, 2e-7)
    assert plain.weight_and_bias() is None and plain.weight is None
    assert scaled.weight_and_bias() == (scaled.weight, scaled.bias)


def test_momentum_is_the_batchs_share() -> None:
    x = Tensor([[1.0], [3.0]])
    for momentum in (0.0, 0.25, 1.0):
        bn = BatchNorm(1, Tensor([4.0]), Tensor([8.0]), momentum=momentum)
        bn.forward_train(x)
        assert bn.running_mean.tolist() == [4.0 * (1 - momentum) + 2.0 * momentum]
        assert bn.running_var.tolist() == [8.0 * (1 - momentum) + 2.0 * momentum]  # unbiased: ((−1)² + 1²) / 1


def test_without_the_mean_nothing_is_subtracted() -> None:
    bn = batch_norm(1, BatchNormConfig(eps=0.0, remove_mean=False), fresh()[1])
    x = Var([[3.0], [4.0]])
    y = bn.forward_train(x)

    assert_close(y, [[3.0 / 12.5**0.5], [4.0 / 12.5**0.5]], 1e-7)
    assert bn.running_mean.tolist() == [0.0]
    assert_close(bn.running_var, [0.9 + 0.1 * 25.0], 1e-6)
    gradcheck(
        lambda t: BatchNorm(1, Tensor.zeros(1, "f64"), Tensor.ones(1, "f64"), remove_mean=False).forward_train(t), [[1.0], [3.0], [2.0]]
    )


def test_statistics_move_only_in_training(rng: np.random.Generator) -> None:
    bn = batch_norm(3, 1e-5, fresh()[1])
    x = Tensor(rng.normal(size=(4, 3, 2)).astype(np.float32))
    bn.forward_t(x, False)
    assert bn.running_mean.tolist() == [0.0] * 3
    bn(x, True)
    assert bn.running_mean.tolist() != [0.0] * 3


def test_the_gradient_in_use_takes_the_statistics_for_constants(rng: np.random.Generator) -> None:
    varmap, vb = fresh()
    bn = batch_norm(3, 1e-5, vb)
    grads = bn.forward_t(Tensor(rng.normal(size=(4, 3)).astype(np.float32)), False).sum_all().backward()

    assert grads.get(varmap.data()["running_mean"]) is None and grads.get(varmap.data()["running_var"]) is None
    assert grads[varmap.data()["bias"]].tolist() == [4.0] * 3


def test_a_backward_in_use_notices_that_the_statistics_moved() -> None:
    bn = batch_norm(1, 1e-5, fresh()[1])
    x = Var([[1.0], [3.0]])
    loss = bn.forward_t(x, False).sum_all()
    bn.forward_train(x)

    with pytest.raises(VersionMismatch):
        loss.backward()


def test_training_moves_weight_and_bias_and_leaves_the_statistics_to_the_layer() -> None:
    varmap, vb = fresh()
    bn = batch_norm(2, 1e-5, vb)
    opt = SGD(varmap.all_vars(), 0.1)
    opt.backward_step(bn.forward_train(two_channels()).sqr().mean_all())

    assert varmap.data()["running_mean"].tolist() == [0.25, 1.5]
    assert varmap.data()["weight"].tolist() != [1.0, 1.0]


def test_there_is_no_plain_forward() -> None:
    bn = batch_norm(1, 1e-5, fresh()[1])

    with pytest.raises(AttributeError, match=r"call `forward_t\(xs, train\)`"):
        bn.forward(Tensor([[1.0]]))
    with pytest.raises(TypeError, match="forward_t"):
        bn(Tensor([[1.0]]))


def test_a_trained_norm_is_saved_and_loaded(tmp_path: Path, rng: np.random.Generator) -> None:
    varmap, vb = fresh()
    bn = batch_norm(3, 1e-5, vb.pp("bn"))
    x = Tensor(rng.normal(size=(4, 3, 5)).astype(np.float32))
    bn.forward_train(x)
    varmap.save(tmp_path / "bn.safetensors")
    loaded = batch_norm(3, 1e-5, VarBuilder.from_mmaped_safetensors(tmp_path / "bn.safetensors").pp("bn"))

    assert_same_bits(loaded.forward_t(x, False), bn.forward_t(x, False))


def test_layer_norm_of_one_two_and_three() -> None:
    """candle's test: weight 3, bias ½."""
    norm = {n: LayerNorm(Tensor.full(3.0, n), Tensor.full(0.5, n), 1e-8) for n in (1, 2, 3)}

    assert norm[1](Tensor([[4.0], [-10.0]])).tolist() == [[0.5], [0.5]]
    assert_close(norm[2](Tensor([[1.0, 2.0], [4.0, 0.0]])), [[-2.5, 3.5], [3.5, -2.5]], 1e-6)
    assert_close(norm[3](Tensor([[1.0, 2.0, 3.0]])), [[0.5 - 3 * 1.5**0.5, 0.5, 0.5 + 3 * 1.5**0.5]], 1e-6)
    assert norm[1].eps == 1e-8 and norm[1].remove_mean and not LayerNorm.rms_norm(Tensor.ones(1), 1e-5).remove_mean


@pytest.mark.parametrize("shape", [(3, 7), (2, 5, 24), (1, 1)])
def test_fused_norms_are_the_slow_ones(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = Var(rng.normal(size=shape).astype(np.float32) * 3.0 + 1.0)
    alpha, beta = (Var(rng.normal(size=shape[-1]).astype(np.float32)) for _ in range(2))
    c = Tensor(rng.normal(size=shape).astype(np.float32))
    for fused, slow in (
        (ops.layer_norm(x, alpha, beta, 1e-3), ops.layer_norm_slow(x, alpha, beta, 1e-3)),
        (ops.rms_norm(x, alpha, 1e-3), ops.rms_norm_slow(x, alpha, 1e-3)),
        (RmsNorm(alpha, 1e-3).forward_diff(x), ops.rms_norm_slow(x, alpha, 1e-3)),
        (LayerNorm.rms_norm(alpha, 1e-3)(x), ops.rms_norm_slow(x, alpha, 1e-3)),
        (LayerNorm.new_no_bias(alpha, 1e-3)(x), ops.layer_norm_slow(x, alpha, None, 1e-3)),
    ):
        assert_close(fused, slow, 8 * F32_EPS)
        one, other = ((y * c).sum_all().backward() for y in (fused, slow))
        for v in (x, alpha):
            assert_close(one[v], other[v], 32 * F32_EPS)


def test_rms_norm_of_large_numbers_is_the_slow_one() -> None:
    x = Tensor.randn(0.0, 1e4, (4, 1000))

    assert_close(ops.rms_norm(x, Tensor.ones(1000), 1e-5), ops.rms_norm_slow(x, Tensor.ones(1000), 1e-5), 4 * F32_EPS)


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_halves_are_computed_in_f32_and_rounded_once(dtype: DType, rng: np.random.Generator) -> None:
    x = Tensor(rng.normal(size=(3, 4, 5)).astype(np.float32)).to_dtype(dtype)
    w, b = (Tensor(rng.normal(size=4).astype(np.float32)).to_dtype(dtype) for _ in range(2))
    wide, wide_w, wide_b = (t.to_dtype(DType.F32) for t in (x, w, b))

    half = BatchNorm(4, Tensor.zeros(4, dtype), Tensor.ones(4, dtype), w, b)
    full = BatchNorm(4, Tensor.zeros(4), Tensor.ones(4), wide_w, wide_b)
    assert_same_bits(half.forward_train(x), full.forward_train(wide).to_dtype(dtype))
    assert half.running_mean.dtype is dtype
    assert_close(half.running_mean, full.running_mean.to_dtype(dtype).to_dtype(DType.F32), 2.0**-7)
    assert_same_bits(GroupNorm(w, b, 4, 2, 1e-5)(x), GroupNorm(wide_w, wide_b, 4, 2, 1e-5)(wide).to_dtype(dtype))


# -- derivatives


def given(n: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(3)
    return Tensor(rng.normal(size=n)), Tensor(rng.normal(size=n))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "layer, shape",
    [
        (lambda x, w, b: LayerNorm(w, b)(x), (3, 4)),
        (lambda x, w, b: RmsNorm(w, 1e-5)(x), (3, 4)),
        (lambda x, w, b: GroupNorm(w, b, 4, 2, 1e-5)(x), (2, 4, 3)),
        (lambda x, w, b: InstanceNorm(4, w, b)(x), (2, 4, 3)),
        (lambda x, w, b: BatchNorm(4, Tensor.zeros(4, "f64"), Tensor.ones(4, "f64"), w, b).forward_train(x), (3, 4, 2)),
        (lambda x, w, b: BatchNorm(4, *given(4)[:1], Tensor.ones(4, "f64"), w, b).forward_t(x, False), (3, 4, 2)),
        (lambda x, w, b: standardize(x) + w.sum_all().broadcast_as(x.shape) * b.sum_all().broadcast_as(x.shape), (4, 3, 2)),
    ],
)
def test_differentiable_twice(layer: Callable[..., Tensor], shape: tuple[int, ...], order: int, rng: np.random.Generator) -> None:
    gradcheck(lambda *t: layer(*t).sqr() * layer(*t), rng.normal(size=shape), *given(4), order=order, bound=1e-6)


def test_what_is_not_wanted_is_not_computed(rng: np.random.Generator) -> None:
    x, w, g = (rng.normal(size=s).astype(np.float32) for s in ((3, 4), (4,), (3, 4)))
    _, *moments = kernels.layer_norm(x, w, None, 1e-5)

    for xp in (kernels, kernels.twins):
        grads = xp.layer_norm_backward(g, x, w, *moments, (False, True, False))
        assert grads[0] is None and grads[1] is not None and grads[2] is None


# -- errors, to the letter


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: batch_norm(2, -1.0, fresh()[1]), "batch-norm eps cannot be negative -1"),
        (lambda: batch_norm(2, BatchNormConfig(eps=-1e-5), fresh()[1]), "batch-norm eps cannot be negative -0.00001"),
        (lambda: batch_norm(2, BatchNormConfig(momentum=1.5), fresh()[1]), "batch-norm momentum must be between 0 and 1, is 1.5"),
        (
            lambda: BatchNorm(2, Tensor.zeros(3), Tensor.ones(2)),
            "batch-norm running mean has unexpected shape [3] should have shape [2]",
        ),
        (
            lambda: BatchNorm(2, Tensor.zeros(2), Tensor.ones((2, 1))),
            "batch-norm running variance has unexpected shape [2, 1] should have shape [2]",
        ),
        (
            lambda: BatchNorm(2, Tensor.zeros(2), Tensor.ones(2), Tensor.ones(1), Tensor.ones(2)),
            "batch-norm weight has unexpected shape [1] should have shape [2]",
        ),
        (
            lambda: BatchNorm(2, Tensor.zeros(2), Tensor.ones(2), Tensor.ones(2), Tensor.ones(1)),
            "batch-norm weight has unexpected shape [1] should have shape [2]",
        ),
        (
            lambda: batch_norm(2, 1e-5, fresh()[1]).forward_train(Tensor.zeros(2)),
            "batch-norm input tensor must have at least two dimensions ([2])",
        ),
        (
            lambda: batch_norm(2, 1e-5, fresh()[1]).forward_train(Tensor.zeros((1, 3, 2, 2))),
            "batch-norm input doesn't have the expected number of features ([1, 3, 2, 2] <> 2)",
        ),
        (
            lambda: batch_norm(2, 1e-5, fresh()[1]).forward_t(Tensor.zeros((1, 3, 2, 2)), False),
            "shape mismatch in reshape, lhs: [2], rhs: [1, 3, 1, 1]",
        ),
        (lambda: group_norm(3, 4, 1e-5, fresh()[1]), "GroupNorm: num_groups (3) must divide num_channels (4)"),
        (lambda: group_norm(0, 4, 1e-5, fresh()[1]), "GroupNorm: num_groups (0) must divide num_channels (4)"),
        (lambda: group_norm(2, 4, 1e-5, fresh()[1])(Tensor.zeros((2, 4))), "input rank for GroupNorm should be at least 3"),
        (lambda: group_norm(2, 4, 1e-5, fresh()[1])(Tensor.zeros((2, 6, 1))), "unexpected num-channels in GroupNorm (6 <> 4"),
        (lambda: instance_norm(4, 1e-5, fresh()[1])(Tensor.zeros((2, 4))), "input rank for InstanceNorm should be at least 3"),
        (lambda: instance_norm(4, 1e-5, fresh()[1])(Tensor.zeros((2, 6, 1))), "unexpected num-channels in InstanceNorm (6 <> 4)"),
        (
            lambda: layer_norm(4, 1e-5, fresh()[1])(Tensor.zeros((2, 3))),
            "shape mismatch in layer-norm src: [2, 3] alpha: [4] beta: [4]",
        ),
        (lambda: layer_norm_no_bias(4, 1e-5, fresh()[1])(Tensor.zeros((2, 3))), "shape mismatch in broadcast_mul, lhs: [2, 3], rhs: [4]"),
        (lambda: rms_norm(4, 1e-5, fresh()[1])(Tensor.zeros((2, 3))), "shape mismatch in rms-norm [2, 3] [4]"),
        (lambda: rms_norm(2, 1e-5, fresh()[1])(Tensor([[1, 2]])), "unsupported dtype for rmsnorm I64"),
        (lambda: layer_norm(2, 1e-5, fresh()[1])(Tensor.zeros((1, 2), "f64")), "unsupported dtype for rmsnorm F64"),
        (
            lambda: ops.layer_norm(Tensor.zeros((1, 2)), Tensor.ones((1, 2)), Tensor.ones(2), 1e-5),
            "unexpected rank, expected: 1, got: 2 ([1, 2])",
        ),
        (
            lambda: Linear(Tensor.ones((2, 2))).absorb_bn(BatchNorm(2, Tensor.zeros(2), Tensor.ones(2))),
            "batch norm does not have weight_and_bias",
        ),
    ],
)
def test_errors(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(Error) as caught:
        call()
    assert str(caught.value) == text


def test_unlike_dtypes_are_refused() -> None:
    bn = batch_norm(2, 1e-5, fresh()[1])

    with pytest.raises(DTypeMismatchBinaryOp, match="dtype mismatch in broadcast_mul, lhs: F16, rhs: F32"):
        bn.forward_train(Tensor.zeros((1, 2, 2), "f16"))
    with pytest.raises(DTypeMismatchBinaryOp, match="dtype mismatch in broadcast_sub, lhs: F64, rhs: F32"):
        bn.forward_t(Tensor.zeros((1, 2, 2), "f64"), False)
    with pytest.raises(DTypeMismatchBinaryOp, match="dtype mismatch in broadcast_mul, lhs: F64, rhs: F32"):
        group_norm(2, 4, 1e-5, fresh()[1])(Tensor.zeros((2, 4, 1), "f64"))
    with pytest.raises(ShapeMismatchBinaryOp, match=r"shape mismatch in reshape, lhs: \[2\], rhs: \[1, 4, 1\]"):
        GroupNorm(Tensor.ones(2), Tensor.zeros(2), 4, 2, 1e-5)(Tensor.zeros((2, 4, 1)))
    with pytest.raises(TypeError, match="expected BatchNormConfig, found LayerNormConfig"):
        batch_norm(2, LayerNormConfig(), fresh()[1])  # type: ignore[arg-type]


def test_configurations_are_candles() -> None:
    assert BatchNormConfig() == BatchNormConfig(eps=1e-5, remove_mean=True, affine=True, momentum=0.1)
    assert LayerNormConfig() == LayerNormConfig(eps=1e-5, remove_mean=True, affine=True)
    varmap, vb = fresh()
    assert batch_norm(3, BatchNormConfig(affine=False), vb.pp("bn")).weight is None
    assert layer_norm(3, LayerNormConfig(affine=False), vb.pp("ln")).bias is None
    assert instance_norm(3, InstanceNormConfig(affine=True), vb.pp("in")).weight is not None
    assert list(varmap.data()) == ["bn.running_mean", "bn.running_var", "ln.weight", "in.weight", "in.bias"]


# -- other dims


def test_a_norm_over_another_dim_is_a_transpose_away(rng: np.random.Generator) -> None:
    x = Tensor(rng.normal(size=(2, 3, 4)))
    norm = LayerNorm(Tensor.ones(3, "f64"), Tensor.zeros(3, "f64"))
    y = norm(x.transpose(1, D.Minus1)).transpose(1, 2)

    assert_close(y, exact_norm(x.numpy(), 1e-5, 1), 1e-14)
