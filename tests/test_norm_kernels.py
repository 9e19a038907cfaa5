"""Norms beside PyTorch's, as layers of a state dict and with their gradients; kernels give the same bits for any batch and threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from cafe import Tensor, Var, kernels
from cafe.errors import ShapeMismatchBinaryOp
from cafe.io import safetensors
from cafe.kernels import _ffi
from cafe.nn import (
    BatchNorm,
    Conv1d,
    Conv1dConfig,
    Conv2d,
    Conv2dConfig,
    ConvTranspose2d,
    ConvTranspose2dConfig,
    Embedding,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    Linear,
    RmsNorm,
    VarBuilder,
    batch_norm,
    group_norm,
    layer_norm,
    rms_norm,
)
from cafe.testing import assert_close, assert_same_bits, versions

GOLDEN = Path(__file__).parent / "golden" / "layers.safetensors"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# -- PyTorch


def test_layers_of_a_state_dict() -> None:
    state = {name: Tensor(value) for name, value in load_file(GOLDEN).items()}
    vb = VarBuilder.from_tensors({name: t for name, t in state.items() if not t.dtype.is_int})
    bn = batch_norm(2, 1e-5, vb.pp("bn"))
    layers: dict[str, Callable[[Tensor], Tensor]] = {
        "lin": Linear(state["lin.weight"], state["lin.bias"]),
        "emb": Embedding(state["emb.weight"], 4),
        "ln": layer_norm(4, 1e-5, vb.pp("ln")),
        "rms": rms_norm(4, 1e-5, vb.pp("rms")),
        "gn": group_norm(2, 4, 1e-5, vb.pp("gn")),
        "c1": Conv1d(state["c1.weight"], state["c1.bias"], Conv1dConfig(padding=1)),
        "c2": Conv2d(state["c2.weight"], state["c2.bias"], Conv2dConfig(padding=1)),
        "ct": ConvTranspose2d(state["ct.weight"], state["ct.bias"], ConvTranspose2dConfig(stride=2, padding=1, output_padding=1)),
        "bn": bn.forward_train,
    }
    for name, layer in layers.items():
        wanted = state[f"out.{name}"].numpy()
        off = np.abs(layer(state[f"in.{name}"]).numpy().astype(np.float64) - wanted).max()
        assert off <= 3e-7 * np.abs(wanted).max(), f"{name}: {off / np.abs(wanted).max():.3g}"
    for name in ("running_mean", "running_var"):
        assert_close(getattr(bn, name), state[f"after.bn.{name}"], 3e-7, name)
    wanted = state["out_eval.bn"].numpy()
    assert np.abs(bn.forward_t(state["in.bn"], False).numpy() - wanted).max() <= 3e-7 * np.abs(wanted).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4, 6), (3, 6, 5), (2, 6, 7, 9), (1, 6, 1, 2), (5, 6, 33)])
def test_norms_and_gradients_are_pytorchs(shape: tuple[int, ...], dtype: Any, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    data = (rng.normal(size=shape) + 0.5).astype(dtype)
    weight, bias = (rng.normal(size=6).astype(dtype) for _ in range(2))
    last_weight, last_bias = (rng.normal(size=shape[-1]).astype(dtype) for _ in range(2))
    f = torch.nn.functional

    def batch(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        zeros, ones = Tensor(np.zeros(6, dtype)), Tensor(np.ones(6, dtype))
        return BatchNorm(6, zeros, ones, w, b, 1e-2).forward_train(x)

    pairs: list[tuple[Any, Any, Any, Any]] = [
        (lambda x, w, b: LayerNorm(w, b, 1e-2)(x), lambda x, w, b: f.layer_norm(x, shape[-1:], w, b, 1e-2), last_weight, last_bias),
        (lambda x, w, b: RmsNorm(w, 1e-2)(x), lambda x, w, b: f.rms_norm(x, shape[-1:], w, 1e-2), last_weight, last_bias),
    ]
    if len(shape) > 2:
        pairs.append((lambda x, w, b: GroupNorm(w, b, 6, 3, 1e-2)(x), lambda x, w, b: f.group_norm(x, 3, w, b, 1e-2), weight, bias))
        pairs.append((lambda x, w, b: InstanceNorm(6, w, b, 1e-2)(x), lambda x, w, b: f.group_norm(x, 6, w, b, 1e-2), weight, bias))
    if np.prod(shape) > 6:
        pairs.append((batch, lambda x, w, b: f.batch_norm(x, None, None, w, b, True, 0.1, 1e-2), weight, bias))
    for mine, theirs, w, b in pairs:
        ours = [Var(a) for a in (data, w, b)]
        peers = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (data, w, b)]
        y, wanted = mine(*ours), theirs(*peers)
        c = rng.normal(size=shape)
        grads = (y * Tensor(c.astype(dtype))).sum_all().backward()
        (wanted * torch.tensor(c.astype(dtype).astype(np.float64))).sum().backward()
        eps = np.finfo(dtype).eps
        assert_close(y, wanted.detach().numpy(), 8 * eps)
        for v, peer in zip(ours, peers):
            if peer.grad is not None:
                assert_close(grads[v], peer.grad.numpy(), 64 * eps)


# -- the kernels: same bits whatever the batch and the threads


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 33, 100, 768, 5000])
def test_a_row_alone_has_the_bits_of_a_row_in_a_batch(n: int, dtype: Any, rng: np.random.Generator) -> None:
    x, g = (rng.normal(size=(37, n)).astype(dtype) for _ in range(2))
    w, b = (rng.normal(size=n).astype(dtype) for _ in range(2))
    y, *moments = kernels.layer_norm(x, w, b, 1e-5)
    gx, _, _ = kernels.layer_norm_backward(g, x, w, *moments, (True, True, True))
    r, _ = kernels.rms_norm(x, w, None, 1e-5)
    for i in (0, 17, 36):
        alone, *moments_alone = kernels.layer_norm(x[i : i + 1], w, b, 1e-5)
        assert_same_bits(alone[0], y[i])
        assert_same_bits(kernels.layer_norm_backward(g[i : i + 1], x[i : i + 1], w, *moments_alone, (True, False, False))[0][0], gx[i])
        assert_same_bits(kernels.rms_norm(x[i : i + 1], w, None, 1e-5)[0][0], r[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 33, 100, 768, 5000])
def test_the_norm_of_a_sum_has_the_bits_of_the_sums_norm(n: int, dtype: Any, rng: np.random.Generator) -> None:
    x, r, g = (rng.normal(size=(37, n)).astype(dtype) for _ in range(3))
    w, b = (rng.normal(size=n).astype(dtype) for _ in range(2))
    s = kernels.add(x, r)
    _, *moments = both = kernels.layer_norm(s, w, b, 1e-5)
    for fused, apart in zip(kernels.residual_norm(x, r, w, b, 1e-5), both):
        assert_same_bits(fused, apart)
    for need in ((True, True, True), (True, False, True), (True, False, False)):
        apart = kernels.layer_norm_backward(g, s, w, *moments, need)
        for one, other in zip(kernels.residual_norm_backward(g, x, r, w, *moments, need), apart):
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                assert_same_bits(one, other)
    alone = kernels.residual_norm(x[17:18], r[17:18], w, b, 1e-5)[0]
    assert_same_bits(alone[0], both[0][17])


def test_the_layer_of_a_sum_is_the_sum_then_the_layer(rng: np.random.Generator) -> None:
    """Gradients too; and where the one op does not serve (no bias, no mean removed, a weight that is broadcast) the two are taken."""
    x, r = (Var(rng.normal(size=(2, 5, 6)).astype(np.float32)) for _ in range(2))
    w, b = Var(rng.normal(size=6).astype(np.float32)), Var(rng.normal(size=6).astype(np.float32))
    for layer in (LayerNorm(w, b), LayerNorm(w), LayerNorm(w, b, remove_mean=False), LayerNorm(Var([2.0]))):
        fused, apart = layer.of_sum(x, r), layer(x + r)
        assert_same_bits(fused, apart)
        ours, theirs = fused.sqr().sum_all().backward(), apart.sqr().sum_all().backward()
        for v in (x, r, layer.weight, layer.bias):
            if v is not None and v in theirs:
                assert_same_bits(ours[v], theirs[v])
    with pytest.raises(ShapeMismatchBinaryOp, match="add"):
        LayerNorm(w, b).of_sum(x, r.narrow(0, 0, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(dtype: Any, rng: np.random.Generator) -> None:
    x, g = (rng.normal(size=(6, 24, 31, 33)).astype(dtype) for _ in range(2))
    w, b = (rng.normal(size=24).astype(dtype) for _ in range(2))
    last = rng.normal(size=33).astype(dtype)
    every = (True, True, True)

    def everything() -> list[Any]:
        y, *m = kernels.layer_norm(x, last, last, 1e-5)
        z, *k = kernels.group_norm(x, w, b, 4, 1e-5)
        t, *s = kernels.batch_norm(x, w, b, 1e-5)
        r, rstd = kernels.rms_norm(x, last, last, 1e-5)
        u, *v = kernels.residual_norm(x, g, last, last, 1e-5)
        return [
            u, *v, *kernels.residual_norm_backward(g, x, g, last, *v, every),
            y, *m, *kernels.layer_norm_backward(g, x, last, *m, every), z, *k, *kernels.group_norm_backward(g, x, w, 4, *k, every),
            t, *s, *kernels.batch_norm_backward(g, x, w, *s, 1e-5, every), r, rstd, *kernels.rms_norm_backward(g, x, last, rstd, every),
        ]  # fmt: skip

    before = _ffi.num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 8):
            _ffi.set_num_threads(threads)
            results.append(everything())
    finally:
        _ffi.set_num_threads(before)
    for other in results[1:]:
        for a, c in zip(results[0], other):
            assert_same_bits(a, c)


def test_kernels_take_any_strides(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4, 5, 6)).astype(np.float32)
    w, last = rng.normal(size=4).astype(np.float32), rng.normal(size=6).astype(np.float32)
    for kind, view, copy in versions(x):
        for name, args in (("layer_norm", (last, last, 1e-5)), ("group_norm", (w, w, 2, 1e-5)), ("batch_norm", (w, w, 1e-5))):
            assert_same_bits(getattr(kernels, name)(view, *args)[0], getattr(kernels, name)(copy, *args)[0], f"{name}, {kind}")


def test_names_in_the_golden_file_are_read_by_cafe_too() -> None:
    assert set(safetensors.load(GOLDEN)) == set(load_file(GOLDEN))
