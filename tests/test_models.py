"""The example models: shapes, parameter counts by the papers' arithmetic, what they compute, gradients for every variable, refusals."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cafe import Error, Tensor
from cafe.nn import SGD, VarBuilder, VarMap, loss
from cafe.testing import assert_close, gradcheck

MODELS = Path(__file__).parent.parent / "examples" / "models"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", MODELS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


attention, unet, resnet, psa = example("attention"), example("unet"), example("resnet"), example("psa")


def fresh() -> tuple[VarMap, VarBuilder]:
    varmap = VarMap()
    return varmap, VarBuilder.from_varmap(varmap)


def parameters(varmap: VarMap) -> int:
    """What is learnt: the running statistics are not."""
    return sum(v.elem_count() for name, v in varmap.data().items() if ".running_" not in name)


def everything_learns(varmap: VarMap, y: Tensor) -> None:
    grads = y.sqr().mean_all().backward()
    for name, var in varmap.data().items():
        if ".running_" not in name:
            g = grads.get(var)
            assert g is not None and bool(np.isfinite(g.numpy()).all()), name
            assert np.abs(g.numpy()).max() > 0.0, name


# -- channels and places


@pytest.mark.parametrize(
    "make, count",
    [
        (lambda vb: attention.SqueezeExcitation(64, 16, vb), 2 * 64 * 64 // 16 + 4 + 64),
        (lambda vb: attention.SqueezeExcitation(512, 16, vb), 2 * 512 * 512 // 16 + 32 + 512),
        (lambda vb: attention.EfficientChannelAttention(64, vb), 3),
        (lambda vb: attention.EfficientChannelAttention(256, vb), 5),
        (lambda vb: attention.EfficientChannelAttention(512, vb), 5),
        (lambda vb: attention.Cbam(64, 16, vb), 2 * 64 * 64 // 16 + 2 * 7 * 7),
    ],
)
def test_blocks_count_as_their_papers_do(make: Callable[[VarBuilder], Any], count: int) -> None:
    varmap, vb = fresh()
    make(vb)

    assert parameters(varmap) == count


@pytest.mark.parametrize(
    "make",
    [
        lambda vb: attention.SqueezeExcitation(8, 2, vb),
        lambda vb: attention.EfficientChannelAttention(8, vb),
        lambda vb: attention.Cbam(8, 2, vb),
    ],
)
def test_blocks_scale_by_numbers_between_zero_and_one(make: Callable[[VarBuilder], Any]) -> None:
    varmap, vb = fresh()
    block = make(vb)
    x = Tensor.randn(0.0, 1.0, (2, 8, 5, 6))
    ratio = (block(x) / x).numpy()

    assert ratio.shape == x.shape and (ratio > 0.0).all() and (ratio < 1.0).all()
    if hasattr(block, "gate"):
        np.testing.assert_allclose(ratio, np.broadcast_to(block.gate(x).numpy()[..., None, None], x.shape), rtol=1e-5)
    everything_learns(varmap, block(x))


def test_eca_looks_at_neighbouring_channels() -> None:
    block = attention.EfficientChannelAttention(64, VarBuilder.from_tensors({"conv.weight": Tensor([[[1.0, 0.0, -1.0]]])}))
    x = Tensor(np.arange(64, dtype=np.float32).reshape(1, 64, 1, 1))
    gate = block.gate(x).flatten_all().tolist()

    assert gate[1:-1] == pytest.approx([1 / (1 + np.exp(2.0))] * 62)
    assert (gate[0], gate[-1]) == pytest.approx((1 / (1 + np.exp(1.0)), 1 / (1 + np.exp(-62.0))))


def test_blocks_refuse_other_channels() -> None:
    _, vb = fresh()
    with pytest.raises(Error, match="channels 64 must be divisible by reduction 12"):
        attention.SqueezeExcitation(64, 12, vb.pp("a"))
    with pytest.raises(Error, match="expected 64 channels, got 32"):
        attention.SqueezeExcitation(64, 16, vb.pp("b"))(Tensor.zeros((1, 32, 4, 4)))


# -- partial self-attention


@pytest.mark.parametrize("channels, heads, blocks", [(256, 2, 1), (512, 4, 1), (64, 2, 3)])
def test_partial_self_attention_counts_as_published(channels: int, heads: int, blocks: int) -> None:
    varmap, vb = fresh()
    psa.PartialSelfAttention(channels, heads, vb, blocks)
    half = channels // 2

    assert parameters(varmap) == 2 * channels**2 + 4 * channels + blocks * (7 * half**2 + 23 * half)
    if channels == 256:
        assert parameters(varmap) == 249_728  # of YOLOv10-N
        assert varmap.data()["attn.pe.conv.weight"].dims() == [128, 1, 3, 3]


def moved(varmap: VarMap) -> VarMap:
    """With batch norms that are not the identity."""
    for name, var in varmap.data().items():
        if ".bn." in name:
            var.set(Tensor.rand(0.5, 1.5, var.shape, var.dtype))
    return varmap


def normed_by_hand(x: Any, layer: Any) -> Any:
    """A 1 × 1 convolution and its batch norm in use, (N, places) → (M, places)."""
    w, norm = layer.conv.weight.numpy()[:, :, 0, 0], layer.norm
    mean, var, gain, bias = (t.numpy()[:, None] for t in (norm.running_mean, norm.running_var, norm.weight, norm.bias))
    return (w @ x - mean) / np.sqrt(var + 1e-3) * gain + bias


def test_plane_attention_by_hand_has_keys_half_as_wide() -> None:
    varmap, vb = fresh()
    block = psa.PlaneAttention(8, 2, vb)
    moved(varmap)
    x = Tensor.randn(0.0, 1.0, (1, 8, 3, 5))
    heads = normed_by_hand(x.numpy().reshape(8, 15), block.qkv).reshape(2, 8, 15)
    read = []
    for q, k, v in ((h[:2], h[2:4], h[4:]) for h in heads):
        e = np.exp(q.T @ k / np.sqrt(2.0))
        read.append(v @ (e / e.sum(1, keepdims=True)).T)
    values = Tensor(heads[:, 4:].reshape(1, 8, 3, 5).astype(np.float32))
    summed = np.concatenate(read) + block.pe.forward_t(values, False).numpy().reshape(8, 15)

    assert_close(block.forward_t(x, False).reshape((8, 15)), normed_by_hand(summed, block.proj), 1e-5)


def test_partial_self_attention_is_partial_and_looks_everywhere() -> None:
    varmap, vb = fresh()
    block = psa.PartialSelfAttention(8, 1, vb)
    x = Tensor.randn(0.0, 1.0, (2, 8, 4, 6))
    ys = block.forward_t(x, False)
    everything_learns(varmap, block.forward_t(x, True))

    corner = np.zeros(x.shape, np.float32)
    corner[:, :, 0, 0] = 1.0
    difference = np.abs((block.forward_t(x + Tensor(corner), False) - ys).numpy())
    assert ys.shape == x.shape and (difference.max(1) > 0.0).all()
    weight = varmap.data()["cv2.conv.weight"]
    weight.set(weight * Tensor([1.0] * 4 + [0.0] * 4).reshape((1, 8, 1, 1)).broadcast_as(weight.shape))  # only the half that was put aside
    difference = np.abs((block.forward_t(x + Tensor(corner), False) - block.forward_t(x, False)).numpy())
    assert difference[:, :, 0, 0].max() > 0.0 and difference.reshape(2, 8, -1)[:, :, 1:].max() == 0.0


@pytest.mark.parametrize("train", [False, True])
def test_partial_self_attention_has_the_right_gradients(train: bool) -> None:
    varmap = VarMap()
    block = psa.PartialSelfAttention(8, 2, VarBuilder.from_varmap(varmap, "f64"))
    moved(varmap)

    gradcheck(lambda x: block.forward_t(x, train), Tensor.randn(0.0, 1.0, (2, 8, 2, 3), "f64"))


def test_partial_self_attention_folds_its_batch_norms() -> None:
    varmap, vb = fresh()
    block = psa.PartialSelfAttention(16, 2, vb, blocks=2)
    moved(varmap)
    x = Tensor.randn(0.0, 1.0, (2, 16, 4, 4))
    ys = block.forward_t(x, False)
    block.fold()

    assert "m.1.ffn.0.bn.running_var" in varmap.data()
    assert_close(block.forward_t(x, False), ys, 1e-4)


def test_partial_self_attention_refuses_widths_that_do_not_split() -> None:
    _, vb = fresh()
    with pytest.raises(Error, match="channels 7 must be even"):
        psa.PartialSelfAttention(7, 1, vb.pp("a"))
    with pytest.raises(Error, match="channels 6 must be a multiple of 2 x 2 heads"):
        psa.PartialSelfAttention(12, 2, vb.pp("b"))


def test_the_program_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    psa.main()
    printed = capsys.readouterr().out.splitlines()

    assert printed == [line.strip() for line in psa.__doc__.split("\n\n")[2].splitlines()]


# -- U-Net


def test_the_unet_of_the_paper() -> None:
    varmap, vb = fresh()
    unet.UNet(1, 2, vb)

    assert parameters(varmap) == 31_030_658


def test_a_small_unet_gives_a_plane_and_hands_its_skips_across() -> None:
    varmap, vb = fresh()
    net = unet.UNet(3, 2, vb, channels=4, depth=2)
    x = Tensor.randn(0.0, 1.0, (2, 3, 8, 12))
    y = net(x)

    assert y.shape == (2, 2, 8, 12)
    everything_learns(varmap, y)
    for name in ("up_0.up.weight", "up_0.up.bias"):  # what comes from below is silenced: the top skip alone still reaches the output
        varmap.data()[name].set(varmap.data()[name].zeros_like())
    assert np.abs((net(x + 1.0) - net(x)).numpy()).max() > 1e-3


def test_a_unet_refuses_what_it_cannot_halve() -> None:
    net = unet.UNet(1, 1, fresh()[1], channels=2, depth=2)
    with pytest.raises(Error, match="height 8 and width 10 must be divisible by 4"):
        net(Tensor.zeros((1, 1, 8, 10)))


# -- ResNet


@pytest.mark.parametrize("layers, count", [(20, 269_722), (32, 464_154), (44, 658_586), (56, 853_018), (110, 1_727_962)])
def test_the_residual_networks_of_the_paper(layers: int, count: int) -> None:
    varmap, vb = fresh()
    resnet.resnet(layers, vb)

    assert parameters(varmap) == count


def test_a_residual_network_learns_a_batch() -> None:
    varmap, vb = fresh()
    net = resnet.resnet(8, vb, classes=3, inputs=1)
    x = Tensor.randn(0.0, 1.0, (6, 1, 8, 8))
    y = Tensor([0, 1, 2, 0, 1, 2], dtype="u32")
    everything_learns(varmap, net.forward_t(x, True))
    opt = SGD(varmap.all_vars(), 0.05, momentum=0.9)
    errors = []
    for _ in range(12):
        error = loss.cross_entropy(net.forward_t(x, True), y)
        opt.step(error.backward())
        errors.append(error.item())

    assert errors[-1] < 0.3 * errors[0]
    assert net.forward_t(x, False).shape == (6, 3)


def test_the_identity_has_no_weights() -> None:
    block = resnet.Residual(2, 4, 2, fresh()[1])
    x = Tensor(np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4))
    wanted = np.zeros((1, 4, 2, 2), np.float32)
    wanted[:, 1:3] = x.numpy()[:, :, ::2, ::2]

    assert_close(block.identity(x), wanted, 0.0)


def test_other_depths_are_refused() -> None:
    with pytest.raises(Error, match=r"layers 18 must be 6 n \+ 2"):
        resnet.resnet(18, fresh()[1])
