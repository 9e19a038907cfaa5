"""LSTM and GRU over a sequence, against plain loops (above the tensor floor)."""

from __future__ import annotations

import numpy as np

from cafe.dtype import Array
from cafe.errors import Error
from cafe.ops import rnn as ops

from ..arrays import Real
from ..case import Case, Shapes


def _lstm_shapes(b: int, t: int, h: int) -> Shapes:
    return (b, t, 2), (4 * h, 2), (b, h), (b, h), (4 * h, h), (4 * h,)


def _gru_shapes(b: int, t: int, h: int) -> Shapes:
    return (b, t, 3 * h), (b, h), (3 * h, h), (3 * h,)


def _sigmoid(x: Array) -> Array:
    y: Array = 1.0 / (1.0 + np.exp(-x))
    return y


def _lstm(x: Array, w_ih: Array, h: Array, c: Array, w_hh: Array, bias: Array | float = 0.0) -> Array:
    size = h.shape[1]
    out = np.zeros((x.shape[0], x.shape[1], 2 * size))
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ w_ih.T + bias + h @ w_hh.T, 4, axis=1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        out[:, t] = np.concatenate([h, c], axis=1)
    return out


def _lstm_hidden(*inputs: Array) -> Array:
    return _lstm(*inputs)[..., : inputs[2].shape[1]]


def _gru(xw: Array, h: Array, w: Array, b: Array) -> Array:
    out = np.zeros((xw.shape[0], xw.shape[1], h.shape[1]))
    for t in range(xw.shape[1]):
        xr, xz, xn = np.split(xw[:, t], 3, axis=1)
        hr, hz, hn = np.split(h @ w.T + b, 3, axis=1)
        r, z = _sigmoid(xr + hr), _sigmoid(xz + hz)
        h = (1.0 - z) * np.tanh(xn + r * hn) + z * h
        out[:, t] = h
    return out


_SIZES = [(1, 1, 1), (2, 3, 5), (3, 4, 17)]
_NOTHING = [(0, 3, 2), (2, 0, 3)]
_LSTM_INPUTS = [Real(), Real(-0.5, 0.5), Real(), Real(), Real(-0.5, 0.5), Real()]


def _empty(shapes: list[Shapes]) -> list[tuple[Shapes, type[Error] | None]]:
    return [(s, None) for s in shapes]


CASES = [
    Case(
        "lstm",
        ops.Lstm(),
        [_lstm_shapes(*s) for s in _SIZES],
        _lstm,
        _empty([_lstm_shapes(*s) for s in _NOTHING]),
        _LSTM_INPUTS,
        ulps=32.0,
    ),
    Case(
        "lstm, h alone, without bias",
        ops.LstmHidden(),
        [_lstm_shapes(*s)[:5] for s in _SIZES],
        _lstm_hidden,
        _empty([_lstm_shapes(*s)[:5] for s in _NOTHING]),
        _LSTM_INPUTS[:5],
        ulps=32.0,
    ),
    Case(
        "gru",
        ops.Gru(),
        [_gru_shapes(*s) for s in _SIZES],
        _gru,
        _empty([_gru_shapes(*s) for s in _NOTHING]),
        [Real(), Real(), Real(-0.5, 0.5), Real()],
        ulps=32.0,
    ),
]
