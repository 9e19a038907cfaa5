"""Elementwise functions of one tensor: the rows of the table and the ones with parameters (above the tensor floor)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cafe.dtype import Array, DType
from cafe.ops import unary as ops

from ..arrays import Real
from ..case import EVERY, FLOATS, SIGNED, Case
from .base import ELEMENTWISE, EMPTY

_AROUND_0 = Real()
_erf = np.vectorize(math.erf, otypes=[np.float64])
_round = np.vectorize(lambda v: math.floor(abs(v) + 0.5) * math.copysign(1.0, v), otypes=[np.float64])


def _row(name: str, reference: Callable[..., Any], draw: Real = _AROUND_0, **more: Any) -> Case:
    """A row of the unary table."""
    return Case(name, ops.BY_NAME[name], ELEMENTWISE, reference, EMPTY, [draw], **more)


def _case(name: str, op: Any, reference: Callable[..., Any], draw: Real = _AROUND_0, **more: Any) -> Case:
    return Case(name, op, ELEMENTWISE, reference, EMPTY, [draw], **more)


def _sigmoid(x: Array) -> Array:
    y: Array = 1.0 / (1.0 + np.exp(-x))
    return y


def _gelu(x: Array) -> Array:
    y: Array = 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    return y


_POSITIVE = Real(0.3, 3.0)
_WIDE = Real(-6.0, 6.0)
_HARD = Real(-6.0, 6.0, kinks=(-3.0, 0.0, 3.0))
_STEPS = Real(-3.0, 3.0, kinks=(-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0))

CASES = [
    _row("neg", np.negative, dtypes=(*FLOATS, *SIGNED)),
    _row("sqr", lambda x: x * x, dtypes=EVERY),
    _row("sqrt", np.sqrt, _POSITIVE),
    _row("recip", lambda x: 1.0 / x, _POSITIVE),
    _row("exp", np.exp),
    _row("log", np.log, _POSITIVE),
    _row("sin", np.sin, _WIDE),
    _row("cos", np.cos, _WIDE),
    _row("tanh", np.tanh, _WIDE),
    _row("erf", _erf, _WIDE),
    _row("relu", lambda x: np.maximum(x, 0), dtypes=EVERY),
    _row("hard_sigmoid", lambda x: np.clip((x + 3.0) / 6.0, 0.0, 1.0), _HARD),
    _row("hardswish", lambda x: x * np.clip((x + 3.0) / 6.0, 0.0, 1.0), _HARD),
    _row("sigmoid", _sigmoid, _WIDE),
    _row("softplus", lambda x: np.log1p(np.exp(x)), _WIDE),
    _row("silu", lambda x: x * _sigmoid(x), _WIDE),
    _row("gelu", _gelu, _WIDE),
    _row("gelu_erf", lambda x: 0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))), _WIDE),
    _row("abs", np.abs, dtypes=EVERY),
    _row("sign", np.sign, dtypes=EVERY),
    _row("floor", np.floor, _STEPS, dtypes=EVERY, whole=lambda x: x),
    _row("ceil", np.ceil, _STEPS, dtypes=EVERY, whole=lambda x: x),
    _row("round", _round, _STEPS, dtypes=EVERY, whole=lambda x: x),
    _case("affine", ops.Affine(1.5, -0.25), lambda x: x * 1.5 - 0.25),
    _case("affine by nothing", ops.Affine(0.0, 2.0), lambda x: x * 0.0 + 2.0),
    _case("affine of integers", ops.Affine(3, 2), lambda x: x * 3 + 2, Real(whole=(0, 80)), dtypes=EVERY),
    _case("powf", ops.Powf(2.5), lambda x: x**2.5, _POSITIVE),
    _case("powf cube", ops.Powf(3.0), lambda x: x**3.0),
    _case("powf root", ops.Powf(0.5), lambda x: x**0.5, _POSITIVE),
    _case("powf inverse", ops.Powf(-1.0), lambda x: x**-1.0, _POSITIVE),
    _case("powf zero", ops.Powf(0.0), lambda x: x**0.0),
    _case("powf one", ops.Powf(1.0), lambda x: x),
    _case("elu", ops.Elu(1.0), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0)))),
    _case("elu alpha", ops.Elu(0.3), lambda x: np.where(x > 0, x, 0.3 * np.expm1(np.minimum(x, 0.0)))),
    _case("clamp", ops.Clamp(-1.0, 0.5), lambda x: np.clip(x, -1.0, 0.5), Real(kinks=(-1.0, 0.5))),
    _case("clamp of integers", ops.Clamp(2, 5), lambda x: np.clip(x, 2, 5), Real(-9.0, 9.0, kinks=(2.0, 5.0)), dtypes=EVERY),
    _case("to f64", ops.Cast(np.dtype(np.float64), True), lambda x: x, result="f64"),
    _case("to f32", ops.Cast(np.dtype(np.float32), True), lambda x: x, result="f32"),
    _case("to i32", ops.Cast(np.dtype(np.int32), False), np.trunc, _STEPS, result="i32", dtypes=EVERY, whole=lambda x: x),
    _case("integers to f32", ops.Cast(np.dtype(np.float32), False), lambda x: x, result="f32", dtypes=(DType.U8, DType.I64, DType.U32)),
]
