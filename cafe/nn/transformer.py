"""Multi-head attention, and the encoder and decoder layers made of it (floor 6).

    cfg = TransformerConfig(dim=64, heads=4, hidden=256)
    encoder = encoder(6, cfg, vb.pp("encoder"))
    ys = encoder.forward_t(xs, train)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cafe.errors import bail
from cafe.shape import whole
from cafe.tensor.core import Tensor

from .activation import Activation
from .attention import scaled_dot_product_attention
from .building import builds
from .dropout import Dropout
from .habits import called
from .kv_cache import KvCache, RotatingKvCache
from .linear import Linear, linear_b
from .module import Module, ModuleT
from .norm import LayerNorm, layer_norm
from .rotary_emb import rotary_angles
from .var_builder import VarBuilder


class MultiHeadAttention(Module):
    """Attention in `heads` parts of the width, each with its own projections, put side by side and projected again.

    Shape: xs (b, s, dim), context (b, t, dim) → (b, s, dim). Without a context it is self-attention.
    Raises: Error for an input of another width; ShapeMismatchBinaryOp and its like from what it is made of.
    Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.2.

    >>> from cafe import Tensor, nn
    >>> attention = nn.multi_head_attention(8, 2, nn.VarBuilder.from_varmap(nn.VarMap()))
    >>> attention(Tensor.zeros((1, 4, 8))).dims()
    [1, 4, 8]
    """

    __slots__ = ("heads", "k_proj", "kv_heads", "o_proj", "q_proj", "v_proj")

    def __init__(self, q_proj: Linear, k_proj: Linear, v_proj: Linear, o_proj: Linear, heads: int, kv_heads: int | None = None) -> None:
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = q_proj, k_proj, v_proj, o_proj
        self.heads, self.kv_heads = heads, heads if kv_heads is None else kv_heads

    def forward(
        self,
        xs: Tensor,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: KvCache | RotatingKvCache | None = None,
    ) -> Tensor:
        """What each place of xs reads from the context (from xs if there is none); mask, causal: see `scaled_dot_product_attention`.

        With a cache the keys and values go in there, and those of earlier calls are read too.
        """
        dim = self.q_proj.weight.dim(1)
        if xs.dim(-1) != dim:
            bail(f"input dim {xs.dim(-1)} != model dim {dim}")
        source = xs if context is None else context
        q = _split(self.q_proj(xs), self.heads)
        k, v = _split(self.k_proj(source), self.kv_heads), _split(self.v_proj(source), self.kv_heads)
        if cache is not None:
            k, v = cache.append(k, v)
        y = scaled_dot_product_attention(q, k, v, mask, causal)
        return self.o_proj(_joined(y))

    def __repr__(self) -> str:
        return f"MultiHeadAttention({self.q_proj.weight.dim(1)}, {self.heads} heads)"


def _split(xs: Tensor, heads: int) -> Tensor:
    """(b, s, heads · d) → (b, heads, s, d), a view."""
    b, s, dim = xs.dims3()
    return xs.reshape((b, s, heads, dim // heads)).transpose(1, 2)


def _joined(xs: Tensor) -> Tensor:
    """(b, heads, s, d) → (b, s, heads · d)."""
    b, heads, s, d = xs.dims4()
    return xs.transpose(1, 2).reshape((b, s, heads * d))


@builds
def multi_head_attention(dim: int, heads: int, vb: VarBuilder, kv_heads: int | None = None, bias: bool = True) -> MultiHeadAttention:
    """With the layers `q_proj`, `k_proj`, `v_proj`, `o_proj`.

    Raises: Error unless heads divides dim and kv_heads divides heads.
    """
    groups = heads if kv_heads is None else kv_heads
    if dim < 1 or heads < 1 or dim % heads:
        bail(f"dim {dim} must be a positive multiple of heads {heads}")
    if groups < 1 or heads % groups:
        bail(f"heads {heads} must be a positive multiple of kv_heads {groups}")
    width = dim // heads * groups
    q, o = linear_b(dim, dim, bias, vb.pp("q_proj")), linear_b(dim, dim, bias, vb.pp("o_proj"))
    k, v = linear_b(dim, width, bias, vb.pp("k_proj")), linear_b(dim, width, bias, vb.pp("v_proj"))
    return MultiHeadAttention(q, k, v, o, heads, groups)


@called
@dataclass(frozen=True)
class TransformerConfig:
    """What the layers of an encoder or decoder are.

    hidden: the width between the two linear layers. norm_first: normalise what goes into a part (pre-LN), or what comes out (post-LN, as in
    the paper). dropout applies to what each part adds.
    """

    dim: int
    heads: int
    hidden: int
    dropout: float = 0.0
    activation: str = "gelu"
    norm_first: bool = True
    eps: float = 1e-5
    bias: bool = True
    kv_heads: int | None = None


class FeedForward(Module):
    """Two linear layers with an activation between, for each place alone: (…, dim) → (…, dim)."""

    __slots__ = ("activation", "fc1", "fc2")

    def __init__(self, fc1: Linear, fc2: Linear, activation: Activation) -> None:
        self.fc1, self.fc2, self.activation = fc1, fc2, activation

    def forward(self, xs: Tensor) -> Tensor:
        """fc2(activation(fc1(xs)))."""
        return self.fc2(self.activation.of_linear(self.fc1, xs))


@builds
def feed_forward(cfg: TransformerConfig, vb: VarBuilder) -> FeedForward:
    """With the layers `fc1` and `fc2`."""
    fc1, fc2 = linear_b(cfg.dim, cfg.hidden, cfg.bias, vb.pp("fc1")), linear_b(cfg.hidden, cfg.dim, cfg.bias, vb.pp("fc2"))
    return FeedForward(fc1, fc2, Activation.from_name(cfg.activation))


class _Residual:
    """x + dropout(part(norm(x))), or norm(x + dropout(part(x))) for post-LN."""

    __slots__ = ("dropout", "norm", "norm_first")

    def __init__(self, norm: LayerNorm, dropout: Dropout, norm_first: bool) -> None:
        self.norm, self.dropout, self.norm_first = norm, dropout, norm_first

    def enter(self, xs: Tensor) -> Tensor:
        """What the part gets."""
        return self.norm(xs) if self.norm_first else xs

    def leave(self, xs: Tensor, added: Tensor, train: bool) -> Tensor:
        """What comes out, once the part has given what to add."""
        added = self.dropout.forward_t(added, train)
        return xs.add(added) if self.norm_first else self.norm.of_sum(xs, added)


def _residual(name: str, cfg: TransformerConfig, vb: VarBuilder) -> _Residual:
    return _Residual(layer_norm(cfg.dim, cfg.eps, vb.pp(name)), Dropout(cfg.dropout), cfg.norm_first)


class EncoderLayer(ModuleT):
    """Self-attention and a feed-forward part, each added to its input: (b, s, dim) → (b, s, dim)."""

    __slots__ = ("attention", "feed_forward", "ln1", "ln2")

    def __init__(self, attention: MultiHeadAttention, feed_forward: FeedForward, ln1: _Residual, ln2: _Residual) -> None:
        self.attention, self.feed_forward, self.ln1, self.ln2 = attention, feed_forward, ln1, ln2

    def forward_t(self, xs: Tensor, train: bool, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """Both parts; `mask` and `causal` are the attention's."""
        xs = self.ln1.leave(xs, self.attention.forward(self.ln1.enter(xs), None, mask, causal), train)
        return self.ln2.leave(xs, self.feed_forward(self.ln2.enter(xs)), train)


class DecoderLayer(ModuleT):
    """Causal self-attention, attention to the encoder's output, and a feed-forward part: (b, s, dim), (b, t, dim) → (b, s, dim)."""

    __slots__ = ("attention", "cross", "feed_forward", "ln1", "ln2", "ln3")

    def __init__(
        self, attention: MultiHeadAttention, cross: MultiHeadAttention, feed_forward: FeedForward, norms: Sequence[_Residual]
    ) -> None:
        self.attention, self.cross, self.feed_forward = attention, cross, feed_forward
        self.ln1, self.ln2, self.ln3 = norms

    def forward_t(  # type: ignore[override]
        self, xs: Tensor, train: bool, context: Tensor, mask: Tensor | None = None, context_mask: Tensor | None = None
    ) -> Tensor:
        """All three parts; context is what the encoder made."""
        xs = self.ln1.leave(xs, self.attention.forward(self.ln1.enter(xs), None, mask, True), train)
        xs = self.ln2.leave(xs, self.cross.forward(self.ln2.enter(xs), context, context_mask), train)
        return self.ln3.leave(xs, self.feed_forward(self.ln3.enter(xs)), train)


class Encoder(ModuleT):
    """Encoder layers one after the other, and for pre-LN a last normalisation.

    >>> from cafe import Tensor, nn
    >>> cfg = nn.TransformerConfig(dim=8, heads=2, hidden=16)
    >>> layers = nn.encoder(2, cfg, nn.VarBuilder.from_varmap(nn.VarMap()))
    >>> layers.forward_t(Tensor.zeros((1, 4, 8)), False).dims()
    [1, 4, 8]
    """

    __slots__ = ("layers", "norm")

    def __init__(self, layers: Sequence[EncoderLayer], norm: LayerNorm | None) -> None:
        self.layers, self.norm = list(layers), norm

    def forward_t(self, xs: Tensor, train: bool, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """Every layer in turn."""
        for layer in self.layers:
            xs = layer.forward_t(xs, train, mask, causal)
        return xs if self.norm is None else self.norm(xs)


class Decoder(ModuleT):
    """Decoder layers one after the other, and for pre-LN a last normalisation."""

    __slots__ = ("layers", "norm")

    def __init__(self, layers: Sequence[DecoderLayer], norm: LayerNorm | None) -> None:
        self.layers, self.norm = list(layers), norm

    def forward_t(  # type: ignore[override]
        self, xs: Tensor, train: bool, context: Tensor, mask: Tensor | None = None, context_mask: Tensor | None = None
    ) -> Tensor:
        """Every layer in turn; context is what the encoder made."""
        for layer in self.layers:
            xs = layer.forward_t(xs, train, context, mask, context_mask)
        return xs if self.norm is None else self.norm(xs)


@builds
def encoder_layer(cfg: TransformerConfig, vb: VarBuilder) -> EncoderLayer:
    """With `attention`, `feed_forward`, `ln1`, `ln2`."""
    attention = multi_head_attention(cfg.dim, cfg.heads, vb.pp("attention"), cfg.kv_heads, cfg.bias)
    return EncoderLayer(attention, feed_forward(cfg, vb.pp("feed_forward")), _residual("ln1", cfg, vb), _residual("ln2", cfg, vb))


@builds
def decoder_layer(cfg: TransformerConfig, vb: VarBuilder) -> DecoderLayer:
    """With `attention`, `cross`, `feed_forward`, `ln1`, `ln2`, `ln3`."""
    attention = multi_head_attention(cfg.dim, cfg.heads, vb.pp("attention"), cfg.kv_heads, cfg.bias)
    cross = multi_head_attention(cfg.dim, cfg.heads, vb.pp("cross"), cfg.kv_heads, cfg.bias)
    norms = [_residual(name, cfg, vb) for name in ("ln1", "ln2", "ln3")]
    return DecoderLayer(attention, cross, feed_forward(cfg, vb.pp("feed_forward")), norms)


@builds
def encoder(layers: int, cfg: TransformerConfig, vb: VarBuilder) -> Encoder:
    """With `layers.0` … and, for pre-LN, `norm`."""
    norm = layer_norm(cfg.dim, cfg.eps, vb.pp("norm")) if cfg.norm_first else None
    return Encoder([encoder_layer(cfg, vb.pp("layers").pp(i)) for i in range(layers)], norm)


@builds
def decoder(layers: int, cfg: TransformerConfig, vb: VarBuilder) -> Decoder:
    """With `layers.0` … and, for pre-LN, `norm`."""
    norm = layer_norm(cfg.dim, cfg.eps, vb.pp("norm")) if cfg.norm_first else None
    return Decoder([decoder_layer(cfg, vb.pp("layers").pp(i)) for i in range(layers)], norm)


def sinusoidal_positions(length: int, dim: int) -> Tensor:
    """sin at even and cos at odd places of position / 10000^(2i / dim), computed in float64: (length, dim), F32.

    Source: Vaswani et al., 2017, section 3.5.

    >>> sinusoidal_positions(2, 4).i(0).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    if whole("sinusoidal_positions", "dim", dim) % 2 or dim < 0 or whole("sinusoidal_positions", "length", length) < 0:
        bail(f"sinusoidal positions want a length of at least 0 and an even width, got {length} and {dim}")
    cos, sin = rotary_angles(length, dim)
    return Tensor.stack([sin, cos], 2).reshape((length, dim))
