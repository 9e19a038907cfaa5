"""Convolution layers: configurations, names, initial values, the methods' values; and a network trained to PyTorch's digits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import cafe
from cafe import DType, Error, Tensor, Var, nn, no_grad
from cafe.errors import ShapeMismatchBinaryOp
from cafe.testing import assert_close, assert_same_bits, gradcheck

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def builder() -> tuple[nn.VarMap, nn.VarBuilder]:
    varmap = nn.VarMap()
    return varmap, nn.VarBuilder.from_varmap(varmap, DType.F64)


# -- training


@pytest.mark.parametrize("dtype, bound", [(np.float32, 1e-6), (np.float64, 5e-15)])
def test_a_network_of_one_axis_trained_for_a_hundred_steps_is_pytorchs(dtype: Any, bound: float) -> None:
    """candle's own conv1d trains this one wrong: its kernel's gradient mixes up the samples."""
    golden = load_file(GOLDEN / "cnn1d.safetensors")
    names = ("conv.weight", "conv.bias", "fc.weight", "fc.bias")
    p = [Var(golden[name].astype(dtype)) for name in names]
    conv, fc = nn.Conv1d(p[0], p[1], nn.Conv1dConfig()), nn.Linear(p[2], p[3])
    optimizer = nn.AdamW(p, nn.ParamsAdamW(lr=0.01, weight_decay=0.0))
    tag = "f32" if dtype is np.float32 else "f64"
    worst = 0.0
    for step in range(100):
        x, y = Tensor(golden["xs"][step % 6].astype(dtype)), Tensor(golden["ys"][step % 6])
        loss = nn.loss.cross_entropy(fc(conv(x).relu().flatten_from(1)), y)
        optimizer.backward_step(loss)
        flat = np.concatenate([v.numpy().reshape(-1) for v in p])
        worst = max(worst, float(np.abs(flat - golden[f"adam.{tag}.params"][step]).max()))

    assert worst <= bound


# -- layers


@pytest.mark.parametrize("axes", [1, 2])
def test_a_layer_is_its_method_and_a_bias(axes: int, rng: np.random.Generator) -> None:
    x, w, b = (Tensor(rng.standard_normal(s)) for s in ((2, 4, *(7,) * axes), (6, 2, *(3,) * axes), (6,)))
    layer = getattr(nn, f"Conv{axes}d")(w, b, getattr(nn, f"Conv{axes}dConfig")(1, 2, 1, 2))
    plain = getattr(x, f"conv{axes}d")(w, 1, 2, 1, 2)

    assert_close(layer(x), plain.broadcast_add(b.reshape((1, 6, *(1,) * axes))), 0.0)
    assert_close(getattr(nn, f"Conv{axes}d")(w, None, layer.config)(x), plain, 0.0)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_transposed_layer_is_its_method_and_a_bias(axes: int, rng: np.random.Generator) -> None:
    x, w, b = (Tensor(rng.standard_normal(s)) for s in ((2, 4, *(5,) * axes), (4, 3, *(3,) * axes), (6,)))
    layer = getattr(nn, f"ConvTranspose{axes}d")(w, b, getattr(nn, f"ConvTranspose{axes}dConfig")(1, 1, 2, 1, 2))
    plain = getattr(x, f"conv_transpose{axes}d")(w, 1, 1, 2, 1, 2)

    assert_close(layer(x), plain.broadcast_add(b.reshape((1, 6, *(1,) * axes))), 0.0)


def test_configurations_print_candles_fields() -> None:
    """What cafe adds has a default and stays out of sight."""
    assert repr(nn.Conv2dConfig()) == "Conv2dConfig(padding=0, stride=1, dilation=1, groups=1, cudnn_fwd_algo=None)"
    assert repr(nn.ConvTranspose1dConfig()) == "ConvTranspose1dConfig(padding=0, output_padding=0, stride=1, dilation=1, groups=1)"
    assert repr(nn.ConvTranspose2dConfig()) == "ConvTranspose2dConfig(padding=0, output_padding=0, stride=1, dilation=1)"
    assert nn.Conv1dConfig(padding_mode="reflect") != nn.Conv1dConfig()


def test_a_layer_pads_as_its_configuration_says(rng: np.random.Generator) -> None:
    x, w = Tensor(rng.standard_normal((1, 1, 6))), Tensor(rng.standard_normal((1, 1, 4)))
    layer = nn.Conv1d(w, None, nn.Conv1dConfig(padding="same", padding_mode="circular"))

    assert_close(layer(x), x.pad([(1, 2)], "circular").conv1d(w), 0.0)


@pytest.mark.parametrize(
    "name, config, shapes, deviation",
    [
        ("conv1d", nn.Conv1dConfig(groups=2), ((96, 32, 5), (96,)), (math.sqrt(2 / 160), 1 / math.sqrt(64) / math.sqrt(3))),
        ("conv2d", nn.Conv2dConfig(), ((96, 64, 3, 3), (96,)), (math.sqrt(2 / 576), 1 / math.sqrt(64) / math.sqrt(3))),
        ("conv_transpose1d", nn.ConvTranspose1dConfig(groups=2), ((64, 48, 5), (96,)), (1 / math.sqrt(96 * 5 * 3),) * 2),
        ("conv_transpose2d", nn.ConvTranspose2dConfig(), ((64, 96, 3, 3), (96,)), (1 / math.sqrt(96 * 9 * 3),) * 2),
    ],
)
def test_names_shapes_and_initial_values(name: str, config: Any, shapes: Any, deviation: Any) -> None:
    cafe.manual_seed(1)
    varmap, vb = builder()
    layer = getattr(nn, name)(64, 96, 5 if "1d" in name else 3, config, vb.pp("c"))
    variables = varmap.data()

    assert list(variables) == ["c.weight", "c.bias"]
    assert (layer.weight.shape, layer.bias.shape) == shapes
    for v, wanted, tolerance in zip(variables.values(), deviation, (0.03, 0.25)):
        assert abs(float(v.numpy().std()) / wanted - 1.0) < tolerance
        assert abs(float(v.numpy().mean())) < 3.0 * wanted / math.sqrt(v.elem_count())
    bound = math.sqrt(3.0) * deviation[1]
    assert float(np.abs(layer.bias.numpy()).max()) <= bound  # uniform, and none beyond


@pytest.mark.parametrize("name", ["conv1d_no_bias", "conv2d_no_bias", "conv_transpose1d_no_bias", "conv_transpose2d_no_bias"])
def test_layers_without_a_bias(name: str) -> None:
    varmap, vb = builder()
    kind = "ConvTranspose" if "transpose" in name else "Conv"
    axes = 1 if "1d" in name else 2
    layer = getattr(nn, name)(4, 6, 3, getattr(nn, f"{kind}{axes}dConfig")(), vb)

    assert layer.bias is None and list(varmap.data()) == ["weight"]
    assert layer(Tensor.ones((1, 4, *(5,) * axes), DType.F64)).shape == (1, 6, *((7,) * axes if "transpose" in name else (3,) * axes))


def test_a_kernel_that_is_not_square() -> None:
    _, vb = builder()
    assert nn.conv2d(2, 4, (3, 1), nn.Conv2dConfig(padding=(1, 0)), vb)(Tensor.ones((1, 2, 5, 5), DType.F64)).shape == (1, 4, 5, 5)


@pytest.mark.parametrize("channels", [(3, 4), (4, 3)])
def test_groups_divide_the_channels(channels: tuple[int, int]) -> None:
    _, vb = builder()
    with pytest.raises(Error, match=f"conv2d: groups 2 must divide the channels, in {channels[0]} and out {channels[1]}"):
        nn.conv2d(*channels, 3, nn.Conv2dConfig(groups=2), vb)


# -- weight normalisation


def test_weight_norm_is_a_length_times_a_direction(rng: np.random.Generator) -> None:
    g, v = rng.standard_normal((4, 1, 1)), rng.standard_normal((4, 3, 5))
    w = nn.weight_norm(Tensor(g), Tensor(v)).numpy()

    assert_close(np.sqrt((w**2).sum((1, 2))), np.abs(g).reshape(4), 1e-14)
    assert_close(w / np.sqrt((w**2).sum((1, 2), keepdims=True)) * np.sign(g), v / np.sqrt((v**2).sum((1, 2), keepdims=True)), 1e-14)
    for order in (1, 2):
        gradcheck(nn.weight_norm, g, v, order=order)


@pytest.mark.parametrize("axes", [1, 2])
def test_a_weight_normalised_layer_trains_both_parts(axes: int) -> None:
    cafe.manual_seed(1)
    varmap, vb = builder()
    build, config = getattr(nn, f"conv{axes}d_weight_norm"), getattr(nn, f"Conv{axes}dConfig")(padding=1)
    layer = build(2, 3, 3, config, vb)
    x = Tensor.ones((1, 2, *(4,) * axes), DType.F64)
    before = layer(x)
    start = {n: v.copy() for n, v in varmap.data().items()}
    nn.SGD(varmap.all_vars(), 0.001).backward_step(before.sqr().sum_all())

    assert {n: v.shape for n, v in varmap.data().items()} == {
        "weight_g": (3, *(1,) * (axes + 1)), "weight_v": (3, 2, *(3,) * axes), "bias": (3,)
    }  # fmt: skip
    assert all((v.numpy() != start[n].numpy()).any() for n, v in varmap.data().items())
    assert layer(x).sqr().sum_all().item() < before.sqr().sum_all().item()
    assert_close(layer.plain()(x), layer(x), 1e-14)
    assert not layer.plain().weight.track_op()


def test_a_plain_weight_makes_a_plain_layer() -> None:
    tensors = {"weight": Tensor.ones((3, 2, 3)), "bias": Tensor.zeros(3)}
    layer = nn.conv1d_weight_norm(2, 3, 3, nn.Conv1dConfig(), nn.VarBuilder.from_tensors(tensors, DType.F32))

    assert isinstance(layer, nn.Conv1d)
    assert layer(Tensor.ones((1, 2, 3))).tolist() == [[[6.0], [6.0], [6.0]]]


# -- snake


def test_snake(rng: np.random.Generator) -> None:
    x, alpha = rng.standard_normal((2, 3, 5)), rng.uniform(0.5, 2.0, (1, 3, 1))

    assert_close(nn.Snake1d(Tensor(alpha))(Tensor(x)), x + np.sin(alpha * x) ** 2 / (alpha + 1e-9), 1e-14)
    assert nn.Snake1d(Tensor(alpha))(Tensor(x).reshape((2, 3, 5, 1))).shape == (2, 3, 5, 1)
    for order in (1, 2):
        gradcheck(lambda t, a: nn.Snake1d(a)(t), x, alpha, order=order)


# -- with the batch norm that follows


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("activation", [None, nn.Activation.Relu, nn.Activation.Silu])
def test_a_norm_in_use_is_computed_with_the_convolution_before_it(activation: Any, dtype: str) -> None:
    x, w, b = (Tensor.randn(0, 1, shape).to_dtype(dtype) for shape in ((2, 3, 9, 8), (5, 3, 3, 3), (5,)))
    mean, scale, shift = (Tensor.randn(0, 1, 5).to_dtype(dtype) for _ in range(3))
    for weight, bias, both in ((w, b, (scale, shift)), (w, None, (None, None)), (Var(w), b, (scale, shift))):
        layer, bn = nn.Conv2d(weight, bias, nn.Conv2dConfig(padding=1)), nn.BatchNorm(5, mean, mean.sqr(), *both)
        apart = bn.forward_t(layer(x), False)
        apart = apart if activation is None else activation(apart)
        net = nn.seq(layer, bn) if activation is None else nn.seq(layer, bn, activation)
        for together in (layer.normed(x, bn, activation), net.forward_t(x, False)):
            assert_same_bits(together, apart)
            assert together.track_op() == apart.track_op()
        with no_grad():
            assert_same_bits(net.forward_t(x, False), apart)
        assert_same_bits(net.forward_all(x, False)[0], layer(x))


def test_a_norm_in_training_is_told_so_behind_a_convolution() -> None:
    x, layer = Tensor.randn(0, 1, (4, 3, 9)), nn.Conv1d(Tensor.randn(0, 1, (5, 3, 3)))
    bn, other = (nn.BatchNorm(5, Tensor.zeros(5), Tensor.ones(5)) for _ in range(2))

    assert_same_bits(nn.seq(layer, bn, nn.Activation.Relu).forward_t(x, True), other.forward_train(layer(x)).relu())
    assert_same_bits(bn.running_mean, other.running_mean)


def test_a_norm_of_other_channels_is_refused_as_on_its_own() -> None:
    x, layer, bn = Tensor.randn(0, 1, (4, 3, 9)), nn.Conv1d(Tensor.randn(0, 1, (5, 3, 3))), nn.BatchNorm(4, Tensor.zeros(4), Tensor.ones(4))
    with pytest.raises(ShapeMismatchBinaryOp):
        layer.normed(x, bn)
