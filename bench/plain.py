"""What operations mean, in float64 NumPy and sums of products alone: the references of the larger rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .row import Array

EPS = 1e-5  # of the norms


def as_bf16(x: Array) -> Array:
    """The nearest numbers of BF16, the even one of two, as float32: the upper half of their bits."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def conv(x: Array, w: Array, stride: int, padding: int) -> Array:
    """x (N, C, *S) with w (O, C, *k), or (C, 1, *k) a channel each: a product of matrices for each place of the kernel."""
    padded = _padded(x, padding)
    places = tuple((n - k) // stride + 1 for n, k in zip(padded.shape[2:], w.shape[2:], strict=True))
    y = np.zeros((len(x), len(w), *places))
    for at in np.ndindex(*w.shape[2:]):
        y += _product(_at(w, at), padded[_seen(at, places, stride)])
    return y


def conv_input_grad(g: Array, w: Array, size: tuple[int, ...], stride: int, padding: int) -> Array:
    """The gradient of Σ g conv(x, w) in an x of this size: also what a transposed convolution is."""
    depthwise = w.shape[1] == 1
    padded = np.zeros((len(g), len(w) if depthwise else w.shape[1], *(n + 2 * padding for n in size)))
    for at in np.ndindex(*w.shape[2:]):
        padded[_seen(at, g.shape[2:], stride)] += _product(_at(w, at) if depthwise else _at(w, at).T, g)
    inside: tuple[Any, ...] = (..., *(slice(padding, padding + n) for n in size))
    return np.asarray(padded[inside])


def conv_weight_grad(g: Array, x: Array, w: Array, stride: int, padding: int) -> Array:
    """The gradient of Σ g conv(x, w) in w."""
    padded, gw = _padded(x, padding), np.zeros_like(w)
    over = (0, *range(2, x.ndim))
    for at in np.ndindex(*w.shape[2:]):
        seen = padded[_seen(at, g.shape[2:], stride)]
        gw[(..., *at)] = (g * seen).sum(over)[:, None] if w.shape[1] == 1 else np.tensordot(g, seen, (over, over))
    return gw


def _padded(x: Array, padding: int) -> Array:
    return np.pad(x, ((0, 0), (0, 0), *[(padding, padding)] * (x.ndim - 2)))


def _at(w: Array, at: tuple[int, ...]) -> Array:
    """The matrix (O, C) at one place of the kernels."""
    place: tuple[Any, ...] = (..., *at)
    return np.asarray(w[place])


def _seen(at: tuple[int, ...], places: tuple[int, ...], stride: int) -> tuple[Any, ...]:
    """The part of a padded input that this place of the kernel meets."""
    return (..., *(slice(i, i + stride * (n - 1) + 1, stride) for i, n in zip(at, places, strict=True)))


def _product(w: Array, x: Array) -> Array:
    """w (O, C) with every place of x (N, C, *S); w (C, 1) scales the channels."""
    if w.shape[1] == 1:
        return w.reshape(-1, *[1] * (x.ndim - 2)) * x
    return np.asarray(np.matmul(w, x.reshape(*x.shape[:2], -1)).reshape(len(x), len(w), *x.shape[2:]))


def attention(q: Array, k: Array, v: Array, causal: bool) -> tuple[Array, Array]:
    """softmax(q kᵀ / √d) v, and the weights."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return p @ v, p


def attention_grads(g: Array, q: Array, k: Array, v: Array, causal: bool) -> tuple[Array, Array, Array]:
    """The gradients of Σ g attention(q, k, v) in q, k and v."""
    y, p = attention(q, k, v, causal)
    gs = p * (g @ v.swapaxes(-1, -2) - (g * y).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return gs @ k, gs.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g


def normalised(x: Array, over: tuple[int, ...]) -> tuple[Array, Array]:
    """(x − mean) / √(var + EPS) over these dims, and the factor."""
    centred = x - x.mean(over, keepdims=True)
    rstd = 1.0 / np.sqrt((centred * centred).mean(over, keepdims=True) + EPS)
    return np.asarray(centred * rstd), rstd


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^−x)."""
    return np.asarray(1.0 / (1.0 + np.exp(-x)))
