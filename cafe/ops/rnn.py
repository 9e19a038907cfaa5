"""LSTM and GRU over a whole sequence as one op each (floor 2). The states of every time come out, so any of them can be differentiated."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, Result, only_needed


class Lstm(Op):
    """(xw, h0, c0, w) → h and c of every time side by side."""

    name, keep = "lstm", "0123y"

    def forward(self, xp: XP, xw: Array, h0: Array, c0: Array, w: Array) -> Result:
        y, gates = xp.lstm(xw, h0, c0, w)
        return Result(y, saved=gates)

    def backward(self, xp: XP, g: Array, r: Record, *inputs: Any) -> Grads:
        return only_needed(r, tuple(xp.lstm_backward(g, *inputs, r.y, r.saved)))


class Gru(Op):
    """(xw, h0, w, b) → h of every time."""

    name, keep = "gru", "0123y"

    def forward(self, xp: XP, xw: Array, h0: Array, w: Array, b: Array) -> Result:
        y, gates = xp.gru(xw, h0, w, b)
        return Result(y, saved=gates)

    def backward(self, xp: XP, g: Array, r: Record, *inputs: Any) -> Grads:
        return only_needed(r, tuple(xp.gru_backward(g, *inputs, r.y, r.saved)))
