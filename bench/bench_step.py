"""Whole training steps: forward, loss, backward, AdamW, and the loss as a Python number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np

from . import networks
from .bench_optim import BETA1, BETA2, DECAY, EPS, LR
from .networks import Network
from .row import Array, Call, Flops, Row


@dataclass(frozen=True, kw_only=True)
class Step(Row):
    """A network with a loss, trained on one batch. Parameters are named as cafe names them."""

    loss: Literal["mse", "cross_entropy"]
    checked_calls: int = 5
    tolerance: float = 1e-5
    network: ClassVar[type[Network]]

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters."""
        raise NotImplementedError

    def batch_of(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Inputs and targets."""
        raise NotImplementedError

    def in_cafe(self, cafe: Any, variables: dict[str, Any]) -> Callable[[Any], Any]:
        """The network's output on tensors."""
        raise NotImplementedError

    def in_torch(self, torch: Any) -> tuple[Any, list[tuple[str, ...]]]:
        """The network as a module, and for each of its parameters the names of those of ours that it holds, one below the other."""
        raise NotImplementedError

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return *self.batch_of(rng), *(self._initial(rng, name, shape) for name, shape in self.parameters.items())

    def _initial(self, rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> Array:
        """Weights that keep the size of what goes through; what a norm multiplies with starts at one."""
        if len(shape) > 1:
            return rng.standard_normal(shape, np.float32) / np.float32(prod(shape[1:]) ** 0.5)
        return (np.ones if name.startswith("ln") and name.endswith("weight") else np.zeros)(shape, np.float32)

    def _by_hand(self, dtype: type[np.floating], x: Array, target: Array, *params: Array) -> Call:
        wide = [a.astype(dtype) if a.dtype == np.float32 else a for a in (x, target)]
        net = self.network(getattr(networks, self.loss), dict(zip(self.parameters, params, strict=True)), dtype)
        return lambda: net.step(*wide)

    def reference(self, *arrays: Array) -> list[float]:
        step = self._by_hand(np.float64, *arrays)
        return [step() for _ in range(self.checked_calls)]

    def cafe(self, cafe: Any, x: Array, y: Array, *params: Array) -> Call:
        nn, inputs, target = cafe.nn, cafe.Tensor(x), cafe.Tensor(y)
        variables = {name: cafe.Var(p) for name, p in zip(self.parameters, params, strict=True)}
        model, loss_of = self.in_cafe(cafe, variables), getattr(nn.loss, self.loss)
        optimizer = nn.AdamW(variables, nn.ParamsAdamW(lr=LR, beta1=BETA1, beta2=BETA2, eps=EPS, weight_decay=DECAY))

        def step() -> Any:
            loss = loss_of(model(inputs), target)
            optimizer.backward_step(loss)
            return loss.to_scalar()

        return step

    def torch(self, torch: Any, x: Array, y: Array, *params: Array, **choice: bool) -> Call:
        model, order = self.in_torch(torch)
        ours = dict(zip(self.parameters, params, strict=True))
        with torch.no_grad():
            for parameter, names in zip(model.parameters(), order, strict=True):
                parameter.copy_(torch.from_numpy(np.concatenate([ours[name] for name in names])))
        inputs, target = torch.from_numpy(x), torch.from_numpy(y)
        loss_of = getattr(torch.nn.functional, {"mse": "mse_loss"}.get(self.loss, self.loss))
        optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(BETA1, BETA2), eps=EPS, weight_decay=DECAY, **choice)

        def step() -> Any:
            optimizer.zero_grad()
            loss = loss_of(model(inputs), target)
            loss.backward()
            optimizer.step()
            return loss.item()

        return step

    def torch_fused(self, torch: Any, *arrays: Array) -> Call:
        return self.torch(torch, *arrays, fused=True)


def with_biases(weights: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The shapes of `name.weight` and `name.bias`, by name."""
    return {key: s for name, shape in weights.items() for key, s in ((f"{name}.weight", shape), (f"{name}.bias", shape[:1]))}


@dataclass(frozen=True, kw_only=True)
class Mlp(Step):
    """Linear, ReLU, Linear."""

    sizes: tuple[int, int, int]
    batch: int
    network = networks.Mlp

    @property
    def limit(self) -> Flops:
        inner, hidden, outer = self.sizes
        return Flops(2.0 * self.batch * (2 * inner * hidden + 3 * hidden * outer))  # the input wants no gradient

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        inner, hidden, outer = self.sizes
        return with_biases({"fc1": (hidden, inner), "fc2": (outer, hidden)})

    def batch_of(self, rng: np.random.Generator) -> tuple[Array, Array]:
        inner, _, outer = self.sizes
        x = rng.standard_normal((self.batch, inner), np.float32)
        x[self.batch // 2 :] = x[: self.batch // 2]  # two targets each: never learnt by heart, so gradients never fade into subnormals
        return x, rng.standard_normal((self.batch, outer), np.float32) if self.loss == "mse" else rng.integers(0, outer, self.batch)

    def numpy(self, _: Any, *arrays: Array) -> Call:
        return self._by_hand(np.float32, *arrays)

    def in_cafe(self, cafe: Any, v: dict[str, Any]) -> Callable[[Any], Any]:
        first, second = (cafe.nn.Linear(v[f"{name}.weight"], v[f"{name}.bias"]) for name in ("fc1", "fc2"))
        return cafe.nn.seq(first, cafe.nn.Activation.Relu, second)  # type: ignore[no-any-return]

    def in_torch(self, torch: Any) -> tuple[Any, list[tuple[str, ...]]]:
        nn, (inner, hidden, outer) = torch.nn, self.sizes
        return nn.Sequential(nn.Linear(inner, hidden), nn.ReLU(), nn.Linear(hidden, outer)), [(name,) for name in self.parameters]


@dataclass(frozen=True, kw_only=True)
class Cnn(Step):
    """For images of 28 × 28: two convolutions of 3 × 3 with ReLU and max-pooling, two linear layers, ten classes."""

    batch: int
    loss: Literal["mse", "cross_entropy"] = "cross_entropy"
    network = networks.Cnn

    @property
    def limit(self) -> Flops:
        places, inner = 28 * 28, 14 * 14
        return Flops(2.0 * self.batch * (2 * places * 32 * 9 + 3 * inner * 64 * 32 * 9 + 3 * 3136 * 128 + 3 * 128 * 10))

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        return with_biases({"conv1": (32, 1, 3, 3), "conv2": (64, 32, 3, 3), "fc1": (128, 3136), "fc2": (10, 128)})

    def batch_of(self, rng: np.random.Generator) -> tuple[Array, Array]:
        x = rng.standard_normal((self.batch, 1, 28, 28), np.float32)
        x[self.batch // 2 :] = x[: self.batch // 2]
        return x, rng.integers(0, 10, self.batch)

    def in_cafe(self, cafe: Any, v: dict[str, Any]) -> Callable[[Any], Any]:
        nn = cafe.nn
        same = nn.Conv2dConfig(padding=1)
        conv1, conv2 = (nn.Conv2d(v[f"{name}.weight"], v[f"{name}.bias"], same) for name in ("conv1", "conv2"))
        fc1, fc2 = (nn.Linear(v[f"{name}.weight"], v[f"{name}.bias"]) for name in ("fc1", "fc2"))

        def model(x: Any) -> Any:
            x = conv1(x).relu().max_pool2d(2)
            x = conv2(x).relu().max_pool2d(2)
            return fc2(fc1(x.flatten_from(1)).relu())

        return model

    def in_torch(self, torch: Any) -> tuple[Any, list[tuple[str, ...]]]:
        nn = torch.nn
        features = nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        model = nn.Sequential(*features, nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))
        return model, [(name,) for name in self.parameters]


@dataclass(frozen=True, kw_only=True)
class TransformerBlock(Step):
    """Self-attention of eight heads and a feed-forward part four times as wide, normalised first."""

    batch: int
    length: int
    dim: int
    loss: Literal["mse", "cross_entropy"] = "mse"
    network = networks.TransformerBlock

    @property
    def limit(self) -> Flops:
        tokens, dim = self.batch * self.length, self.dim
        return Flops(3 * 2.0 * tokens * (12 * dim * dim + 2 * self.length * dim))

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        d = self.dim
        weights = {f"attention.{part}_proj": (d, d) for part in "qkvo"} | {"feed_forward.fc1": (4 * d, d), "feed_forward.fc2": (d, 4 * d)}
        return with_biases(weights) | {f"ln{i}.{part}": (d,) for i in (1, 2) for part in ("weight", "bias")}

    def batch_of(self, rng: np.random.Generator) -> tuple[Array, Array]:
        x, y = rng.standard_normal((2, self.batch, self.length, self.dim), np.float32)
        return x, y

    def in_cafe(self, cafe: Any, variables: dict[str, Any]) -> Callable[[Any], Any]:
        config = cafe.nn.TransformerConfig(self.dim, 8, 4 * self.dim)
        layer = cafe.nn.encoder_layer(config, cafe.nn.VarBuilder.from_tensors(variables))
        return lambda x: layer(x, True)

    def in_torch(self, torch: Any) -> tuple[Any, list[tuple[str, ...]]]:
        dim = self.dim
        model = torch.nn.TransformerEncoderLayer(dim, 8, 4 * dim, 0.0, "gelu", batch_first=True, norm_first=True)
        together = [tuple(f"attention.{part}_proj.{kind}" for part in "qkv") for kind in ("weight", "bias")]
        alone = ("attention.o_proj", "feed_forward.fc1", "feed_forward.fc2", "ln1", "ln2")
        names = [f"{layer}.{kind}" for layer in alone for kind in ("weight", "bias")]
        return model, [*together, *((name,) for name in names)]


ROWS = [
    Mlp(name="training step, MLP 8-16-4, batch 32", sizes=(8, 16, 4), batch=32, loss="mse", goal=0.12),
    Mlp(name="training step, MLP 784-256-10, batch 128", sizes=(784, 256, 10), batch=128, loss="cross_entropy", goal=0.60),
    Cnn(name="training step, CNN 28x28, batch 32", batch=32, goal=0.75, quick=False),
    TransformerBlock(name="training step, transformer block d256 h8 s128 b8", batch=8, length=128, dim=256, goal=0.85, quick=False),
]
