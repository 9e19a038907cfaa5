"""Partial self-attention, the block of YOLOv10 in which the small planes at a network's end look at themselves as a whole.

    python examples/models/psa.py

    (1, 256, 20, 20) -> (1, 256, 20, 20), of which 128 channels attend
    2 heads over 400 places: queries and keys 32 wide, values 64
    249,728 parameters = 2 x 66,048 to split and join + 51,328 for attention + 66,304 for the places one by one
    scores cost 10,240,000 multiply-adds: twice that with keys as wide as values, twice that with all 256 channels
    with its batch norms folded: 248,320 parameters, the same output

A 1 × 1 convolution splits the channels in halves; one half goes through N blocks of attention and two 1 × 1 convolutions, each added to its
input; both halves side by side are joined by another 1 × 1 convolution. Queries and keys are half as wide as the values, and batch norms,
which fold into the convolutions before them, stand where others have layer norms. Wang and others, "YOLOv10" (2024), section 3.2;
variables are named as in the published weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import cafe
from cafe import Tensor, Var
from cafe.nn import Conv2dConfig, ModuleT, VarBuilder, VarMap, batch_norm, conv2d_no_bias, scaled_dot_product_attention

EPS = 1e-3  # the published batch norms'


class NormedConv(ModuleT):
    """A convolution that keeps the plane's size, and a batch norm: (B, in, H, W) → (B, out, H, W)."""

    def __init__(self, inputs: int, outputs: int, kernel: int, vb: VarBuilder, groups: int = 1) -> None:
        self.conv = conv2d_no_bias(inputs, outputs, kernel, Conv2dConfig(padding=kernel // 2, groups=groups), vb.pp("conv"))
        self.norm = batch_norm(outputs, EPS, vb.pp("bn"))
        self.folded = False

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        return self.conv(xs) if self.folded else self.norm.forward_t(self.conv(xs), train)

    def fold(self) -> None:
        """The batch norm, as it is in use, goes into the convolution."""
        self.conv, self.folded = self.conv.absorb_bn(self.norm), True


class PlaneAttention(ModuleT):
    """Each place reads from all places: (B, C, H, W) → the same.

    Attention does not know where a place lies; a 3 × 3 convolution of each channel of the values alone, added to what was read, does.
    2 C² weights for queries, keys and values (C/2 + C/2 + C channels), C² for the result, 9 C for the places, and 8 C of batch norms.
    """

    def __init__(self, channels: int, heads: int, vb: VarBuilder) -> None:
        if heads < 1 or channels % (2 * heads):
            cafe.bail(f"channels {channels} must be a multiple of 2 x {heads} heads")
        self.heads, self.width = heads, channels // heads
        self.qkv = NormedConv(channels, 2 * channels, 1, vb.pp("qkv"))
        self.proj = NormedConv(channels, channels, 1, vb.pp("proj"))
        self.pe = NormedConv(channels, channels, 3, vb.pp("pe"), groups=channels)

    def parts(self, xs: Tensor, train: bool) -> list[Tensor]:
        """Queries, keys (B, heads, H · W, C / 2 heads) and values (B, heads, H · W, C / heads)."""
        each = self.qkv.forward_t(xs, train).reshape((xs.dim(0), self.heads, 2 * self.width, -1)).transpose(2, 3)
        half = self.width // 2
        return [each.narrow(3, 0, half), each.narrow(3, half, half), each.narrow(3, self.width, self.width)]

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        q, k, v = self.parts(xs, train)
        read = scaled_dot_product_attention(q, k, v).transpose(2, 3).reshape(xs.shape)
        return self.proj.forward_t(read + self.pe.forward_t(v.transpose(2, 3).reshape(xs.shape), train), train)


class PlaneBlock(ModuleT):
    """Attention, and two 1 × 1 convolutions with SiLU between, each added to its input: (B, C, H, W) → the same. 4 C² + 6 C besides."""

    def __init__(self, channels: int, heads: int, vb: VarBuilder) -> None:
        self.attention = PlaneAttention(channels, heads, vb.pp("attn"))
        self.wide = NormedConv(channels, 2 * channels, 1, vb.pp("ffn.0"))
        self.narrow = NormedConv(2 * channels, channels, 1, vb.pp("ffn.1"))

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        xs = xs + self.attention.forward_t(xs, train)
        return xs + self.narrow.forward_t(self.wide.forward_t(xs, train).silu(), train)


class PartialSelfAttention(ModuleT):
    """Half of the channels goes through the blocks, and both halves are joined: (B, C, H, W) → the same.

    2 C² + 4 C parameters to split and join, and a block's 7 c² + 23 c with c = C / 2 for each block.
    """

    def __init__(self, channels: int, heads: int, vb: VarBuilder, blocks: int = 1) -> None:
        if channels % 2:
            cafe.bail(f"channels {channels} must be even")
        self.split = NormedConv(channels, channels, 1, vb.pp("cv1"))
        self.join = NormedConv(channels, channels, 1, vb.pp("cv2"))
        places = [vb] if blocks == 1 else [vb.pp("m").pp(i) for i in range(blocks)]
        self.blocks = [PlaneBlock(channels // 2, heads, place) for place in places]

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        aside, ys = self.split.forward_t(xs, train).silu().chunk(2, 1)
        for block in self.blocks:
            ys = block.forward_t(ys, train)
        return self.join.forward_t(Tensor.cat([aside, ys], 1), train).silu()

    def convolutions(self) -> list[NormedConv]:
        """All of them."""
        inner = [(b.attention.qkv, b.attention.proj, b.attention.pe, b.wide, b.narrow) for b in self.blocks]
        return [self.split, *(conv for block in inner for conv in block), self.join]

    def fold(self) -> None:
        """Puts every batch norm into its convolution: for use, after training."""
        for conv in self.convolutions():
            conv.fold()


def learnt(variables: Mapping[str, Var], start: str = "") -> int:
    """How many numbers are learnt in variables whose names begin so: the running statistics are not."""
    return sum(v.elem_count() for name, v in variables.items() if name.startswith(start) and ".running_" not in name)


def main() -> None:
    """The block as it stands in the smallest YOLOv10."""
    cafe.manual_seed(42)
    channels, heads, side = 256, 2, 20
    varmap = VarMap()
    block = PartialSelfAttention(channels, heads, VarBuilder.from_varmap(varmap))
    xs = Tensor.randn(0.0, 1.0, (1, channels, side, side))
    block.forward_t(xs, True)  # so that the batch norms have seen something
    ys = block.forward_t(xs, False)
    print(f"{xs.shape} -> {ys.shape}, of which {channels // 2} channels attend")

    q, k, v = block.blocks[0].attention.parts(xs.narrow(1, 0, channels // 2), False)
    assert q.shape == k.shape
    print(f"{heads} heads over {q.dim(2)} places: queries and keys {q.dim(3)} wide, values {v.dim(3)}")

    all_of_them, ends, attention, rest = (learnt(varmap.data(), start) for start in ("", "cv1", "attn", "ffn"))
    print(f"{all_of_them:,} parameters = 2 x {ends:,} to split and join + {attention:,} for attention + {rest:,} for the places one by one")
    cost = side**4 * heads * q.dim(3)
    print(f"scores cost {cost:,} multiply-adds: twice that with keys as wide as values, twice that with all {channels} channels")

    block.fold()
    kept = sum(t.elem_count() for layer in block.convolutions() for t in (layer.conv.weight, layer.conv.bias) if t is not None)
    distance = ((block.forward_t(xs, False) - ys).abs().max_all() / ys.abs().max_all()).item()
    print(f"with its batch norms folded: {kept:,} parameters, {'the same' if distance < 1e-5 else 'another'} output")


if __name__ == "__main__":
    main()
