"""BERT, an encoder of text: each token's vector after a few layers of attention, under the names that Hugging Face's files use.

    model = Bert(BertConfig(**json.loads(…)), VarBuilder.from_mmaped_safetensors("model.safetensors"))
    model(ids, mask)                                   # (B, T) ids and (B, T) of 1 for what is text → (B, T, hidden)

Devlin and others, "BERT: Pre-training of Deep Bidirectional Transformers" (2019). sentences.py runs it on sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cafe import DType, Tensor
from cafe.nn import Activation, Linear, Module, MultiHeadAttention, VarBuilder, embedding, layer_norm, linear


@dataclass(frozen=True)
class BertConfig:
    """The sizes, named as in a `config.json`."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    hidden_act: str = "gelu"
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12

    @staticmethod
    def of(config: Mapping[str, Any]) -> BertConfig:
        """From a `config.json`, which says more than is needed."""
        return BertConfig(**{field.name: config[field.name] for field in fields(BertConfig) if field.name in config})


class Embeddings(Module):
    """The sum of a token's vector, its place's and its sentence's, normalised."""

    def __init__(self, cfg: BertConfig, vb: VarBuilder) -> None:
        self.words = embedding(cfg.vocab_size, cfg.hidden_size, vb.pp("word_embeddings"))
        self.places = embedding(cfg.max_position_embeddings, cfg.hidden_size, vb.pp("position_embeddings"))
        self.types = embedding(cfg.type_vocab_size, cfg.hidden_size, vb.pp("token_type_embeddings"))
        self.norm = layer_norm(cfg.hidden_size, cfg.layer_norm_eps, vb.pp("LayerNorm"))

    def forward(self, ids: Tensor) -> Tensor:
        places = self.places(Tensor.arange(0, ids.dim(1)))
        both = self.words(ids) + self.types(ids.zeros_like())
        return self.norm(both.broadcast_add(places))


def layer(in_dim: int, out_dim: int, vb: VarBuilder) -> Linear:
    """A linear layer that will see a few sentences at a time."""
    return linear(in_dim, out_dim, vb).for_few_rows()


class Layer:
    """Attention, then two linear layers; each added to its input and normalised: (B, T, hidden) → (B, T, hidden)."""

    def __init__(self, cfg: BertConfig, vb: VarBuilder) -> None:
        width, inner = cfg.hidden_size, cfg.intermediate_size
        attention, output = vb.pp("attention"), vb.pp("output")
        projections = [layer(width, width, attention.pp("self").pp(name)) for name in ("query", "key", "value")]
        joined = layer(width, width, attention.pp("output").pp("dense"))
        self.attention = MultiHeadAttention(*projections, joined, cfg.num_attention_heads)
        self.attended = layer_norm(width, cfg.layer_norm_eps, attention.pp("output").pp("LayerNorm"))
        self.widen, self.narrow = layer(width, inner, vb.pp("intermediate").pp("dense")), layer(inner, width, output.pp("dense"))
        self.activation = Activation.from_name(cfg.hidden_act)
        self.done = layer_norm(width, cfg.layer_norm_eps, output.pp("LayerNorm"))

    def __call__(self, xs: Tensor, mask: Tensor | None) -> Tensor:
        xs = self.attended.of_sum(xs, self.attention.forward(xs, mask=mask))
        return self.done.of_sum(xs, self.narrow(self.activation.of_linear(self.widen, xs)))


class Bert:
    """Ids (B, T), and a mask (B, T) with 0 for what only fills up → (B, T, hidden)."""

    def __init__(self, cfg: BertConfig, vb: VarBuilder) -> None:
        layers = vb.pp("encoder").pp("layer")
        self.embeddings = Embeddings(cfg, vb.pp("embeddings"))
        self.layers = [Layer(cfg, layers.pp(i)) for i in range(cfg.num_hidden_layers)]

    def __call__(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        xs = self.embeddings(ids)
        seen = None if mask is None else mask.to_dtype(DType.U8).unsqueeze(1).unsqueeze(1)
        for layer in self.layers:
            xs = layer(xs, seen)
        return xs
