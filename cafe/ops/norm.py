"""Normalisation (floor 2). A weight and a bias follow x where there are any: both, or the weight alone.

The moments that a forward hands on are differentiable: where a graph is made of the backward they are computed again, with a graph of
their own.
"""

from __future__ import annotations

from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP

from .base import Grads, Op, Record, Result


class LayerNorm(Op):
    """(x − mean) / √(var + eps) over the last dim, times w (n), plus b (n)."""

    name, keep, halves = "layer-norm", "01", True

    def __init__(self, eps: float) -> None:
        self.eps = eps

    def forward(self, xp: XP, x: Array, *wb: Array) -> Result:
        y, *moments = xp.layer_norm(x, *_both(wb), self.eps)
        return Result(y, saved=tuple(moments))

    def backward(self, xp: XP, g: Array, r: Record, x: Array, *wb: Any) -> Grads:
        moments = xp.layer_norm(x, None, None, self.eps)[1:] if r.saved is None else r.saved
        return _given(wb, xp.layer_norm_backward(g, x, _both(wb)[0], *moments, _three(*r.need)))


class ResidualNorm(Op):
    """LayerNorm of x + r, what follows a residual connection, in one pass: x and r of one shape, then w (n) and b (n)."""

    name, keep, halves = "residual layer-norm", "012", True

    def __init__(self, eps: float) -> None:
        self.eps = eps

    def forward(self, xp: XP, x: Array, r: Array, *wb: Array) -> Result:
        y, *moments = xp.residual_norm(x, r, *_both(wb), self.eps)
        return Result(y, saved=tuple(moments))

    def backward(self, xp: XP, g: Array, r: Record, x: Array, residue: Array, *wb: Any) -> Grads:
        moments = xp.residual_norm(x, residue, None, None, self.eps)[1:] if r.saved is None else r.saved
        gx, *gwb = _given(wb, xp.residual_norm_backward(g, x, residue, _both(wb)[0], *moments, _three(True, *r.need[2:])))
        return gx if r.need[0] else None, gx if r.need[1] else None, *gwb


class RmsNorm(Op):
    """x / √(mean of x² + eps) over the last dim, times w (n), plus b (n)."""

    name, keep, halves = "rms-norm", "01", True

    def __init__(self, eps: float) -> None:
        self.eps = eps

    def forward(self, xp: XP, x: Array, *wb: Array) -> Result:
        y, rstd = xp.rms_norm(x, *_both(wb), self.eps)
        return Result(y, saved=(rstd,))

    def backward(self, xp: XP, g: Array, r: Record, x: Array, *wb: Any) -> Grads:
        (rstd,) = xp.rms_norm(x, None, None, self.eps)[1:] if r.saved is None else r.saved
        return _given(wb, xp.rms_norm_backward(g, x, _both(wb)[0], rstd, _three(*r.need)))


class GroupNorm(Op):
    """(x − mean) / √(var + eps) over each image's groups of channels: x (N, C, *S), times w (C), plus b (C)."""

    name, keep = "group-norm", "01"

    def __init__(self, groups: int, eps: float) -> None:
        self.groups, self.eps = groups, eps

    def forward(self, xp: XP, x: Array, *wb: Array) -> Result:
        y, *moments = xp.group_norm(x, *_both(wb), self.groups, self.eps)
        return Result(y, saved=tuple(moments))

    def backward(self, xp: XP, g: Array, r: Record, x: Array, *wb: Any) -> Grads:
        moments = xp.group_norm(x, None, None, self.groups, self.eps)[1:] if r.saved is None else r.saved
        return _given(wb, xp.group_norm_backward(g, x, _both(wb)[0], self.groups, *moments, _three(*r.need)))


class BatchNorm(Op):
    """(x − mean) / √(var + eps) over the batch and all places: x (N, C, *S), times w (C), plus b (C).

    Its moments are handed on once more, as constants, for who keeps running ones.
    """

    name, keep = "batch-norm", "01"

    def __init__(self, eps: float) -> None:
        self.eps = eps

    def forward(self, xp: XP, x: Array, *wb: Array) -> Result:
        y, *moments = xp.batch_norm(x, *_both(wb), self.eps)
        return Result(y, saved=tuple(moments), const=tuple(moments))

    def backward(self, xp: XP, g: Array, r: Record, x: Array, *wb: Any) -> Grads:
        moments = xp.batch_norm(x, None, None, self.eps)[1:] if r.saved is None else r.saved
        return _given(wb, xp.batch_norm_backward(g, x, _both(wb)[0], *moments, self.eps, _three(*r.need)))


class ChannelNorm(Op):
    """Batch norm in evaluation: x (N, C, *S), then the mean and the variance to go by, (C) each and constants, then w (C) and b (C)."""

    name, keep = "batch-norm-eval", "0123"

    def __init__(self, eps: float) -> None:
        self.eps = eps

    def forward(self, xp: XP, x: Array, mean: Array, var: Array, *wb: Array) -> Array:
        return xp.channel_norm(x, mean, var, *_both(wb), self.eps)

    def backward(self, xp: XP, g: Array, r: Record, x: Array, mean: Array, var: Array, *wb: Any) -> Grads:
        need = _three(r.need[0], *r.need[3:])
        gx, *gwb = _given(wb, xp.channel_norm_backward(g, x, mean, var, _both(wb)[0], self.eps, need))
        return gx, None, None, *gwb


def _both(wb: tuple[Any, ...]) -> tuple[Any, Any]:
    """The weight and the bias, None where absent."""
    w, b, *_ = (*wb, None, None)
    return w, b


def _three(*need: bool) -> tuple[bool, bool, bool]:
    """Whether the gradients of x, the weight and the bias are wanted."""
    x, w, b, *_ = (*need, False, False)
    return x, w, b


def _given(wb: tuple[Any, ...], grads: Any) -> Grads:
    """The gradients of x and of what there is of weight and bias."""
    return tuple(grads[: 1 + len(wb)])
