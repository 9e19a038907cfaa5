"""Multi-head attention, encoder and decoder layers: PyTorch's numbers with the same weights, caches, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cafe import Error, Tensor, Var, nn
from cafe.testing import assert_close


def mha_weights(theirs: Any, prefix: str) -> dict[str, Tensor]:
    """PyTorch's packed projections under our names."""
    w, b = theirs.in_proj_weight.detach().numpy(), theirs.in_proj_bias.detach().numpy()
    out: dict[str, Tensor] = {}
    for name, wi, bi in zip("qkv", np.split(w, 3), np.split(b, 3)):
        out |= {f"{prefix}.{name}_proj.weight": Tensor(wi), f"{prefix}.{name}_proj.bias": Tensor(bi)}
    out[f"{prefix}.o_proj.weight"] = Tensor(theirs.out_proj.weight.detach().numpy())
    out[f"{prefix}.o_proj.bias"] = Tensor(theirs.out_proj.bias.detach().numpy())
    return out


def layer_weights(theirs: Any, attentions: dict[str, str], norms: int) -> dict[str, Tensor]:
    out: dict[str, Tensor] = {}
    for ours, name in attentions.items():
        out |= mha_weights(getattr(theirs, name), ours)
    pairs = {"feed_forward.fc1": "linear1", "feed_forward.fc2": "linear2", **{f"ln{i}": f"norm{i}" for i in range(1, norms + 1)}}
    for ours, name in pairs.items():
        for part in ("weight", "bias"):
            out[f"{ours}.{part}"] = Tensor(getattr(getattr(theirs, name), part).detach().numpy())
    return out


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_encoder_layer_is_pytorchs(norm_first: bool) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=norm_first)
    cfg = nn.TransformerConfig(8, 2, 16, norm_first=norm_first)
    ours = nn.encoder_layer(cfg, nn.VarBuilder.from_tensors(layer_weights(theirs, {"attention": "self_attn"}, 2), "f32"))
    x = torch.randn(2, 5, 8)
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)

    assert_close(ours.forward_t(Tensor(x.numpy()), True), theirs(x).detach().numpy(), 2e-6)
    assert_close(ours.forward_t(Tensor(x.numpy()), True, causal=True), theirs(x, causal).detach().numpy(), 2e-6)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_decoder_layer_is_pytorchs(norm_first: bool) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(4)
    theirs = torch.nn.TransformerDecoderLayer(8, 2, 16, 0.0, "relu", batch_first=True, norm_first=norm_first)
    cfg = nn.TransformerConfig(8, 2, 16, norm_first=norm_first, activation="relu")
    names = {"attention": "self_attn", "cross": "multihead_attn"}
    ours = nn.decoder_layer(cfg, nn.VarBuilder.from_tensors(layer_weights(theirs, names, 3), "f32"))
    x, context = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)

    got = ours.forward_t(Tensor(x.numpy()), False, Tensor(context.numpy()))
    assert_close(got, theirs(x, context, causal).detach().numpy(), 2e-6)


def test_stacks_of_layers_train() -> None:
    varmap = nn.VarMap()
    vb = nn.VarBuilder.from_varmap(varmap)
    cfg = nn.TransformerConfig(8, 2, 16, dropout=0.1, kv_heads=1)
    encoder, decoder = nn.encoder(2, cfg, vb.pp("encoder")), nn.decoder(2, cfg, vb.pp("decoder"))
    y = decoder.forward_t(Tensor.randn(0, 1, (2, 3, 8)), True, encoder.forward_t(Tensor.randn(0, 1, (2, 5, 8)), True))
    grads = y.sqr().mean_all().backward()

    assert all(var in grads for var in varmap.all_vars())
    assert "encoder.layers.1.attention.k_proj.weight" in varmap.data()
    assert varmap.data()["decoder.layers.0.cross.v_proj.weight"].dims() == [4, 8]


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_word_by_word_with_a_cache_is_the_causal_whole(kv_heads: int) -> None:
    attention = nn.multi_head_attention(16, 4, nn.VarBuilder.from_varmap(nn.VarMap()), kv_heads)
    x, cache = Tensor.randn(0, 1, (1, 6, 16)), nn.KvCache(2, 4)
    steps = [attention.forward(x.narrow(1, t, 1), cache=cache) for t in range(6)]

    assert_close(Tensor.cat(steps, 1), attention.forward(x, causal=True), 1e-6)


def test_widths_and_heads_that_do_not_fit_are_refused() -> None:
    vb = nn.VarBuilder.from_varmap(nn.VarMap())
    with pytest.raises(Error, match="dim 10 must be a positive multiple of heads 4"):
        nn.multi_head_attention(10, 4, vb)
    with pytest.raises(Error, match="heads 4 must be a positive multiple of kv_heads 3"):
        nn.multi_head_attention(8, 4, vb, 3)
    with pytest.raises(Error, match="input dim 6 != model dim 8"):
        nn.multi_head_attention(8, 2, vb)(Tensor.zeros((1, 4, 6)))


def test_sinusoidal_positions_are_the_papers() -> None:
    table = nn.sinusoidal_positions(5, 8).numpy()
    for pos, i in np.ndindex(5, 4):
        angle = pos / 10000.0 ** (2 * i / 8)
        assert table[pos, 2 * i] == np.float32(np.sin(angle))
        assert table[pos, 2 * i + 1] == np.float32(np.cos(angle))


def test_attention_differentiates_into_every_projection() -> None:
    varmap = nn.VarMap()
    attention = nn.multi_head_attention(8, 2, nn.VarBuilder.from_varmap(varmap))
    x = Var.randn(0, 1, (1, 3, 8))
    grads = attention(x).sqr().sum_all().backward()

    assert all(var in grads for var in [x, *varmap.all_vars()])
