"""Llama, a decoder of text, from a GGUF file: each layer attends to what came before, and the last one says how likely each next token is.

    model = Llama(LlamaConfig.of(file.metadata), VarBuilder.from_gguf(path))
    logits = model(ids, 0)                             # (B, T) ids from place 0 on → (B, vocabulary), of what follows the last
    logits = model(next_id, T)                         # a token more; what came before is in the caches

Touvron and others, "LLaMA" (2023); rotary positions, root-mean-square norms, gated linear units, fewer heads for keys than for queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cafe import Tensor
from cafe.nn import KvCache, Linear, VarBuilder, linear_no_bias, ops, rms_norm, rotary_angles, scaled_dot_product_attention
from cafe.nn import rope_i as turned


@dataclass(frozen=True)
class LlamaConfig:
    """The sizes."""

    layers: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    vocabulary: int
    context: int
    eps: float
    base: float

    @staticmethod
    def of(metadata: Mapping[str, Any]) -> LlamaConfig:
        """From the metadata of a GGUF file."""
        names = ("block_count", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv")
        sizes = [metadata[f"llama.{name}"] for name in (*names, "vocab_size", "context_length")]
        return LlamaConfig(*sizes, metadata["llama.attention.layer_norm_rms_epsilon"], metadata["llama.rope.freq_base"])


def layer(in_dim: int, out_dim: int, vb: VarBuilder) -> Linear:
    """A linear layer that will see a token at a time."""
    return linear_no_bias(in_dim, out_dim, vb).for_few_rows()


class Block:
    """Attention to what came before, then a gated layer; each normalises its input and is added to it: (B, T, width) → (B, T, width)."""

    def __init__(self, cfg: LlamaConfig, vb: VarBuilder) -> None:
        self.cfg, self.size = cfg, cfg.width // cfg.heads
        kv = cfg.kv_heads * self.size
        self.norm1, self.norm2 = rms_norm(cfg.width, cfg.eps, vb.pp("attn_norm")), rms_norm(cfg.width, cfg.eps, vb.pp("ffn_norm"))
        self.q, self.k, self.v = (layer(cfg.width, n, vb.pp(f"attn_{c}")) for c, n in (("q", cfg.width), ("k", kv), ("v", kv)))
        self.out = layer(cfg.width, cfg.width, vb.pp("attn_output"))
        self.gate, self.up = (layer(cfg.width, cfg.hidden, vb.pp(f"ffn_{name}")) for name in ("gate", "up"))
        self.down = layer(cfg.hidden, cfg.width, vb.pp("ffn_down"))
        self.cache = KvCache(2, 256)

    def __call__(self, xs: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        xs = xs + self.attention(self.norm1(xs), cos, sin)
        ys = self.norm2(xs)
        return xs + self.down(ops.silu(self.gate(ys)) * self.up(ys))

    def attention(self, xs: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """All heads, over what the cache holds and what is new."""
        b, t, width = xs.dims3()
        q, k = turned(self.split(self.q(xs), self.cfg.heads), cos, sin), turned(self.split(self.k(xs), self.cfg.kv_heads), cos, sin)
        keys, values = self.cache.append(k, self.split(self.v(xs), self.cfg.kv_heads))
        ys = scaled_dot_product_attention(q, keys, values, causal=t > 1)
        return self.out(ys.transpose(1, 2).reshape((b, t, width)))

    def split(self, xs: Tensor, heads: int) -> Tensor:
        """(B, T, heads · size) → (B, heads, T, size)."""
        b, t, _ = xs.dims3()
        return xs.reshape((b, t, heads, self.size)).transpose(1, 2)


class Llama:
    """Ids (B, T) that stand at `place` and after → how likely each token is to follow the last one, as logits (B, vocabulary)."""

    def __init__(self, cfg: LlamaConfig, vb: VarBuilder) -> None:
        self.cfg = cfg
        self.tokens = vb.get((cfg.vocabulary, cfg.width), "token_embd.weight")
        self.blocks = [Block(cfg, vb.pp("blk").pp(i)) for i in range(cfg.layers)]
        self.norm = rms_norm(cfg.width, cfg.eps, vb.pp("output_norm"))
        tied = not vb.contains_tensor("output.weight")
        self.head = Linear(self.tokens).for_few_rows() if tied else layer(cfg.width, cfg.vocabulary, vb.pp("output"))
        self.cos, self.sin = rotary_angles(cfg.context, cfg.width // cfg.heads, cfg.base)

    def __call__(self, ids: Tensor, place: int) -> Tensor:
        b, t = ids.dims2()
        xs = self.tokens.index_select(ids.flatten_all(), 0).reshape((b, t, self.cfg.width))
        cos, sin = self.cos.narrow(0, place, t), self.sin.narrow(0, place, t)
        for block in self.blocks:
            xs = block(xs, cos, sin)
        return self.head(self.norm(xs.narrow(1, t - 1, 1)).squeeze(1))

    def reset(self) -> None:
        """Forgets what came before."""
        for block in self.blocks:
            block.cache.reset()
