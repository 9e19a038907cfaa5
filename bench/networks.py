"""Networks trained by hand in NumPy: the references of whole training steps, and for the small ones a peer.

A layer is a function that gives its output and a *pull*: what turns the gradient of the output into that of the input and leaves its
parameters' gradients in `grads`. A network is a chain of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from . import plain
from .bench_optim import adamw
from .row import Array

Pull: TypeAlias = Callable[[Array], Array]
Layer: TypeAlias = tuple[Array, Pull]
Loss: TypeAlias = Callable[[Array, Array], tuple[float, Array]]


class Network:
    """Parameters by name, their gradients and moments; subclasses say how the output comes about."""

    def __init__(self, loss: Loss, params: dict[str, Array], dtype: type[np.floating]) -> None:
        self.loss = loss
        self.params = {name: p.astype(dtype) for name, p in params.items()}
        self.grads: dict[str, Array] = {}
        self.moments = {name: (np.zeros_like(p), np.zeros_like(p)) for name, p in self.params.items()}
        self.count = 0

    def output(self, x: Array) -> Layer:
        """The network's output, and its pull."""
        raise NotImplementedError

    def step(self, x: Array, target: Array) -> float:
        """One training step; the loss before it."""
        y, pull = self.output(x)
        loss, g = self.loss(y, target)
        pull(g)
        self.count += 1
        for name, p in self.params.items():
            adamw(p, self.grads[name], *self.moments[name], self.count)
        return loss

    # -- layers

    def linear(self, name: str, x: Array) -> Layer:
        """x wᵀ + b over the last dim."""
        w, b = self.params[f"{name}.weight"], self.params[f"{name}.bias"]

        def pull(g: Array) -> Array:
            rows = g.reshape(-1, len(w))
            self.grads[f"{name}.weight"] = rows.T @ x.reshape(-1, w.shape[1])
            self.grads[f"{name}.bias"] = rows.sum(0)
            return np.asarray(g @ w)

        return x @ w.T + b, pull

    def conv(self, name: str, x: Array) -> Layer:
        """A convolution that keeps the size, and a bias."""
        w, b = self.params[f"{name}.weight"], self.params[f"{name}.bias"]
        around = w.shape[-1] // 2

        def pull(g: Array) -> Array:
            self.grads[f"{name}.weight"] = plain.conv_weight_grad(g, x, w, 1, around)
            self.grads[f"{name}.bias"] = g.sum((0, 2, 3))
            return plain.conv_input_grad(g, w, x.shape[2:], 1, around)

        return plain.conv(x, w, 1, around) + b[:, None, None], pull

    def layer_norm(self, name: str, x: Array) -> Layer:
        """Over the last dim."""
        w, b = self.params[f"{name}.weight"], self.params[f"{name}.bias"]
        h, rstd = plain.normalised(x, (-1,))

        def pull(g: Array) -> Array:
            over = tuple(range(x.ndim - 1))
            self.grads[f"{name}.weight"], self.grads[f"{name}.bias"] = (g * h).sum(over), g.sum(over)
            gh = g * w
            return np.asarray(rstd * (gh - gh.mean(-1, keepdims=True) - h * (gh * h).mean(-1, keepdims=True)))

        return h * w + b, pull

    def attention(self, heads: int, q: Array, k: Array, v: Array) -> tuple[Array, Callable[[Array], tuple[Array, ...]]]:
        """Scaled dot products in parts of the width; its pull gives three gradients."""

        def parts(x: Array) -> Array:
            return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

        def whole(x: Array) -> Array:
            return np.ascontiguousarray(x.swapaxes(1, 2)).reshape(q.shape)

        given = parts(q), parts(k), parts(v)
        y, _ = plain.attention(*given, False)
        return whole(y), lambda g: tuple(map(whole, plain.attention_grads(parts(g), *given, False)))


def relu(x: Array) -> Layer:
    """max(x, 0)."""
    y = np.maximum(x, 0)
    return y, lambda g: g * (y > 0)


def gelu(x: Array) -> Layer:
    """½ x (1 + erf(x/√2))."""
    phi = 0.5 * (1.0 + special.erf(x / np.sqrt(2.0)))
    return x * phi, lambda g: g * (phi + x * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi))


def max_pool(x: Array) -> Layer:
    """The largest of each window of 2 × 2; the gradient goes to the first of equals."""
    n, c, h, w = x.shape
    windows = x.reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4).reshape(n, c, h // 2, w // 2, 4)
    first = windows.argmax(-1)[..., None]

    def pull(g: Array) -> Array:
        spread = np.zeros_like(windows)
        np.put_along_axis(spread, first, g[..., None], -1)
        return spread.reshape(n, c, h // 2, w // 2, 2, 2).swapaxes(3, 4).reshape(x.shape)

    return np.take_along_axis(windows, first, -1)[..., 0], pull


def mse(y: Array, target: Array) -> tuple[float, Array]:
    """The mean of the squared differences, and its gradient."""
    difference = y - target
    return float((difference * difference).mean()), difference * y.dtype.type(2.0 / y.size)


def cross_entropy(y: Array, target: Array) -> tuple[float, Array]:
    """The mean of −ln softmax(y) at the targets, and its gradient."""
    e = np.exp(y - y.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    rows = np.arange(len(p))
    loss = -float(np.log(p[rows, target]).mean())
    p[rows, target] -= 1
    return loss, p / y.dtype.type(len(p))


def chain(*pulls: Pull) -> Pull:
    """The pulls of layers one after the other, in the layers' order."""

    def pull(g: Array) -> Array:
        for each in reversed(pulls):
            g = each(g)
        return g

    return pull


class Mlp(Network):
    """Linear, ReLU, linear."""

    def output(self, x: Array) -> Layer:
        a, first = self.linear("fc1", x)
        h, active = relu(a)
        y, second = self.linear("fc2", h)
        return y, chain(first, active, second)


class Cnn(Network):
    """Two convolutions, each with ReLU and max-pooling, and two linear layers."""

    def output(self, x: Array) -> Layer:
        pulls: list[Pull] = []
        for name in ("conv1", "conv2"):
            for layer in (lambda x, name=name: self.conv(name, x), relu, max_pool):
                x, pull = layer(x)
                pulls.append(pull)
        shape = x.shape
        a, first = self.linear("fc1", x.reshape(len(x), -1))
        h, active = relu(a)
        y, second = self.linear("fc2", h)
        return y, chain(*pulls, lambda g: g.reshape(shape), first, active, second)


class TransformerBlock(Network):
    """x + attention(norm(x)), then x + feed-forward(norm(x)), of eight heads."""

    def output(self, x: Array) -> Layer:
        middle, attended = self._attended(x)
        y, fed = self._fed(middle)
        return y, chain(attended, fed)

    def _attended(self, x: Array) -> Layer:
        h, norm = self.layer_norm("ln1", x)
        (q, pull_q), (k, pull_k), (v, pull_v) = (self.linear(f"attention.{part}_proj", h) for part in "qkv")
        a, attend = self.attention(8, q, k, v)
        o, project = self.linear("attention.o_proj", a)

        def pull(g: Array) -> Array:
            gq, gk, gv = attend(project(g))
            return g + norm(pull_q(gq) + pull_k(gk) + pull_v(gv))

        return x + o, pull

    def _fed(self, x: Array) -> Layer:
        h, norm = self.layer_norm("ln2", x)
        a, first = self.linear("feed_forward.fc1", h)
        u, active = gelu(a)
        o, second = self.linear("feed_forward.fc2", u)
        back = chain(norm, first, active, second)
        return x + o, lambda g: g + back(g)
