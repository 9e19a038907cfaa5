"""LSTM and GRU over a whole sequence as one op each (floor 2). The states of every time come out, so any of them can be differentiated."""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, Result, only_needed


class Lstm(Op):
    """(x, w_ih, h0, c0, w_hh, the bias if there is one) → h and c of every time side by side.

    The input's part of the gates is no tensor of its own: it is computed where the gates will stand, and so is its gradient.
    """

    name, keep, spends = "lstm", "*", True

    def forward(self, xp: XP, x: Array, w_ih: Array, h0: Array, c0: Array, w_hh: Array, *bias: Array) -> Result:
        y, gates = self._run(xp, x, w_ih, h0, c0, w_hh, *bias)
        return Result(self._output(xp, y, h0), saved=(y, gates))

    def backward(self, xp: XP, g: Array, r: Record, x: Any, w_ih: Any, h0: Any, c0: Any, w_hh: Any, *bias: Any) -> Grads:
        y, gates = self._run(xp, x, w_ih, h0, c0, w_hh, *bias) if r.saved is None else r.saved
        gxw, gh0, gc0, gw_hh = xp.lstm_backward(g, h0, c0, w_hh, y, gates, gates)
        gx, gw_ih, *gb = xp.linear_backward(gxw, x, w_ih, (r.need[0], r.need[1], bool(bias) and r.need[5]))
        return only_needed(r, (gx, gw_ih, gh0, gc0, gw_hh, *gb))

    @staticmethod
    def _run(xp: XP, x: Any, w_ih: Any, h0: Any, c0: Any, w_hh: Any, bias: Any = None) -> tuple[Any, Any]:
        """The states of every time, and the gates."""
        xw = xp.linear(x, w_ih, bias)
        return xp.lstm(xw, h0, c0, w_hh, xw)  # type: ignore[return-value]

    @staticmethod
    def _output(xp: XP, y: Array, h0: Array) -> Array:
        return y


class LstmHidden(Lstm):
    """The same → h of every time alone, whose gradient need not be put among zeros for c."""

    @staticmethod
    def _output(xp: XP, y: Array, h0: Array) -> Array:
        return xp.slice(y, (slice(None), slice(None), slice(0, h0.shape[1])))


class Gru(Op):
    """(xw, h0, w, b) → h of every time."""

    name, keep = "gru", "0123y"

    def forward(self, xp: XP, xw: Array, h0: Array, w: Array, b: Array) -> Result:
        y, gates = xp.gru(xw, h0, w, b)
        return Result(y, saved=gates)

    def backward(self, xp: XP, g: Array, r: Record, *inputs: Any) -> Grads:
        return only_needed(r, tuple(xp.gru_backward(g, *inputs, r.y, r.saved)))
