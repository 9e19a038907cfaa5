"""Elementwise functions of one tensor: a table of derivatives, then the ones with parameters (floor 2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cafe.dtype import Array
from cafe.kernels.base import XP, halves

from .base import Grads, Op, Record

Slope = Callable[[Any, Any, Any], Array]


class Unary(Op):
    """A row of the table: the verb `name` and the gradient (xp, g, kept), a new array, with kept the input ("0") or the output ("y")."""

    fresh = True

    def __init__(self, name: str, keep: str, slope: Slope | None, wide: bool = False) -> None:
        self.name, self._slope = name, slope
        self.wide = wide  # type: ignore[misc]
        self.halves = name in halves  # type: ignore[misc]
        self.keep = keep  # type: ignore[misc]
        self.differentiable = slope is not None  # type: ignore[misc]

    def forward(self, xp: XP, x: Array) -> Array:
        y: Array = getattr(xp, self.name)(x)
        return y

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        assert self._slope is not None
        return (self._slope(xp, g, r.y if self.keep == "y" else x),)


TABLE: tuple[Unary, ...] = (
    # polynomials and roots
    Unary("neg", "", lambda xp, g, _: xp.neg(g)),
    Unary("sqr", "0", lambda xp, g, x: xp.mul(xp.affine(g, 2.0, 0.0), x)),
    Unary("sqrt", "y", lambda xp, g, y: xp.div(xp.affine(g, 0.5, 0.0), y)),
    Unary("recip", "y", lambda xp, g, y: xp.neg(xp.mul(g, xp.sqr(y)))),
    # exponentials
    Unary("exp", "y", lambda xp, g, y: xp.mul(g, y)),
    Unary("log", "0", lambda xp, g, x: xp.div(g, x)),
    Unary("sin", "0", lambda xp, g, x: xp.mul(g, xp.cos(x))),
    Unary("cos", "0", lambda xp, g, x: xp.neg(xp.mul(g, xp.sin(x)))),
    Unary("tanh", "y", lambda xp, g, y: xp.tanh_backward(g, y), wide=True),
    Unary("erf", "0", lambda xp, g, x: xp.mul(g, xp.affine(xp.exp(xp.neg(xp.sqr(x))), 2.0 / math.sqrt(math.pi), 0.0))),
    # activations
    Unary("relu", "y", lambda xp, g, y: xp.relu_backward(g, y)),
    Unary("sigmoid", "y", lambda xp, g, y: xp.sigmoid_backward(g, y), wide=True),
    Unary("softplus", "0", lambda xp, g, x: xp.mul(g, xp.sigmoid(x))),
    Unary("silu", "0", lambda xp, g, x: xp.silu_backward(g, x)),
    Unary("gelu", "0", lambda xp, g, x: xp.gelu_backward(g, x)),
    Unary("gelu_erf", "0", lambda xp, g, x: xp.gelu_erf_backward(g, x)),
    # kinked: the slope at 0 is 0, at −3 and 3 that of the middle
    Unary("hard_sigmoid", "0", lambda xp, g, x: xp.hard_sigmoid_backward(g, x)),
    Unary("hardswish", "0", lambda xp, g, x: xp.hardswish_backward(g, x)),
    Unary("abs", "0", lambda xp, g, x: xp.mul(g, xp.sign(x))),
    # steps: no gradient
    Unary("sign", "", None),
    Unary("floor", "", None),
    Unary("ceil", "", None),
    Unary("round", "", None),
)

BY_NAME: dict[str, Unary] = {op.name: op for op in TABLE}


class Affine(Op):
    """x · mul + add."""

    name, halves, fresh = "affine", True, True

    def __init__(self, mul: float, add: float) -> None:
        self.mul, self.add = mul, add

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.affine(x, self.mul, self.add)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.affine(g, self.mul, 0.0),)


class Powf(Op):
    """x^e. The slope of e = 0 is 0 everywhere, at x = 0 too."""

    name, keep, halves = "powf", "0", True

    def __init__(self, e: float) -> None:
        self.e = e

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.powf(x, self.e)

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        if self.e == 0.0:
            return (xp.full_like(x, 0.0),)
        power = x if self.e == 2.0 else xp.powf(x, self.e - 1.0)
        return (xp.mul(g, xp.affine(power, self.e, 0.0)),)


class Elu(Op):
    """x where x > 0, alpha (eˣ − 1) elsewhere; the slope at 0 is alpha."""

    name, keep, halves, fresh = "elu", "0", True, True

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.elu(x, self.alpha)

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        return (xp.elu_backward(g, x, self.alpha),)


class Clamp(Op):
    """x held between low and high; the gradient passes inside and at the bounds."""

    name, keep, halves, fresh = "clamp", "0", True, True

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.clamp(x, self.low, self.high)

    def backward(self, xp: XP, g: Array, r: Record, x: Array) -> Grads:
        return (xp.clamp_backward(g, x, self.low, self.high),)


class Cast(Op):
    """x under another float dtype; to or from integers there is no gradient."""

    name, moves = "to_dtype", True

    def __init__(self, dtype: Any, differentiable: bool) -> None:
        self.dtype = dtype
        self.differentiable = differentiable  # type: ignore[misc]

    def forward(self, xp: XP, x: Array) -> Array:
        return xp.cast(x, self.dtype)

    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        return (xp.cast(g, x.dtype),)
