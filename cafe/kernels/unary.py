"""Elementwise functions of one array, and the fused gradients of the activations (floor 1).

Bounds: each function keeps 1 ulp against float64 unless its docstring says otherwise.
"""

from __future__ import annotations

import math

import numpy as np

from cafe.dtype import Array

from . import _elementwise, _ffi
from .base import XP, composition, primitive, through_f64, twins

_NEG = _ffi.code("NEG")
_ABS = _ffi.code("ABS")
_SIGN = _ffi.code("SIGN")
_EXP = _ffi.code("EXP")
_LOG = _ffi.code("LOG")
_TANH = _ffi.code("TANH")
_SQR = _ffi.code("SQR")
_SQRT = _ffi.code("SQRT")
_RECIP = _ffi.code("RECIP")
_ERF = _ffi.code("ERF")
_RELU = _ffi.code("RELU")
_SIGMOID = _ffi.code("SIGMOID")
_SOFTPLUS = _ffi.code("SOFTPLUS")
_SILU = _ffi.code("SILU")
_GELU = _ffi.code("GELU")
_GELU_ERF = _ffi.code("GELU_ERF")
_ELU = _ffi.code("ELU")
_RELU_BACKWARD = _ffi.code("RELU_BACKWARD")
_TANH_BACKWARD = _ffi.code("TANH_BACKWARD")
_SIGMOID_BACKWARD = _ffi.code("SIGMOID_BACKWARD")
_SILU_BACKWARD = _ffi.code("SILU_BACKWARD")
_GELU_BACKWARD = _ffi.code("GELU_BACKWARD")
_GELU_ERF_BACKWARD = _ffi.code("GELU_ERF_BACKWARD")

_erf = np.frompyfunc(math.erf, 1, 1)


def neg(x: Array) -> Array:
    """−x."""
    y = _elementwise.unary(_NEG, x)
    return neg_ref(x) if y is None else y


@primitive
def neg_ref(x: Array) -> Array:
    return np.negative(x)


def abs(x: Array) -> Array:
    """|x|."""
    y = _elementwise.unary(_ABS, x)
    return abs_ref(x) if y is None else y


@primitive
def abs_ref(x: Array) -> Array:
    return np.abs(x)


def sign(x: Array) -> Array:
    """−1, 0 or 1."""
    y = _elementwise.unary(_SIGN, x)
    return sign_ref(x) if y is None else y


@primitive
def sign_ref(x: Array) -> Array:
    return np.sign(x)


def exp(x: Array) -> Array:
    """eˣ."""
    y = _elementwise.unary(_EXP, x)
    return exp_ref(x) if y is None else y


@primitive
def exp_ref(x: Array) -> Array:
    return through_f64(np.exp, x)


def log(x: Array) -> Array:
    """ln x; −inf at 0, NaN below."""
    y = _elementwise.unary(_LOG, x)
    return log_ref(x) if y is None else y


@primitive
def log_ref(x: Array) -> Array:
    return through_f64(np.log, x)


def sin(x: Array) -> Array:
    """sin x, x in radians."""
    return sin_ref(x)


@primitive
def sin_ref(x: Array) -> Array:
    return through_f64(np.sin, x)


def cos(x: Array) -> Array:
    """cos x, x in radians."""
    return cos_ref(x)


@primitive
def cos_ref(x: Array) -> Array:
    return through_f64(np.cos, x)


def tanh(x: Array) -> Array:
    """tanh x."""
    y = _elementwise.unary(_TANH, x)
    return tanh_ref(x) if y is None else y


@primitive
def tanh_ref(x: Array) -> Array:
    return through_f64(np.tanh, x)


def sqr(x: Array) -> Array:
    """x²."""
    y = _elementwise.unary(_SQR, x)
    return sqr_ref(x) if y is None else y


@primitive
def sqr_ref(x: Array) -> Array:
    return np.multiply(x, x)


def sqrt(x: Array) -> Array:
    """√x; NaN below 0. Correctly rounded."""
    y = _elementwise.unary(_SQRT, x)
    return sqrt_ref(x) if y is None else y


@primitive
def sqrt_ref(x: Array) -> Array:
    return np.sqrt(x)


def recip(x: Array) -> Array:
    """1 / x. Correctly rounded."""
    y = _elementwise.unary(_RECIP, x)
    return recip_ref(x) if y is None else y


@primitive
def recip_ref(x: Array) -> Array:
    return np.divide(np.ones((), x.dtype), x)


def floor(x: Array) -> Array:
    """The largest whole number at most x."""
    return floor_ref(x)


@primitive
def floor_ref(x: Array) -> Array:
    return np.floor(x) if x.dtype.kind == "f" else x.copy()


def ceil(x: Array) -> Array:
    """The smallest whole number at least x."""
    return ceil_ref(x)


@primitive
def ceil_ref(x: Array) -> Array:
    return np.ceil(x) if x.dtype.kind == "f" else x.copy()


def round(x: Array) -> Array:
    """The nearest whole number, halves away from zero; a zero keeps the sign of x."""
    return round_ref(x)


@primitive
def round_ref(x: Array) -> Array:
    if x.dtype.kind != "f":
        return x.copy()
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.ones((), x.dtype), x), whole)


def erf(x: Array) -> Array:
    """The error function 2/√π ∫₀ˣ e^(−t²) dt."""
    y = _elementwise.unary(_ERF, x)
    return erf_ref(x) if y is None else y


@primitive
def erf_ref(x: Array) -> Array:
    return np.asarray(_erf(x)).astype(x.dtype) if x.size else x.copy()


def relu(x: Array) -> Array:
    """max(x, 0); NaN stays NaN."""
    y = _elementwise.unary(_RELU, x)
    return relu_ref(x) if y is None else y


@primitive
def relu_ref(x: Array) -> Array:
    return np.maximum(x, np.zeros((), x.dtype))


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^−x), without overflow on either side."""
    y = _elementwise.unary(_SIGMOID, x)
    return sigmoid_ref(x) if y is None else y


@primitive
def sigmoid_ref(x: Array) -> Array:
    return through_f64(lambda v: np.where(v >= 0, 1.0, np.exp(-np.abs(v))) / (1.0 + np.exp(-np.abs(v))), x)


def softplus(x: Array) -> Array:
    """ln(1 + eˣ) = max(x, 0) + ln(1 + e^−|x|)."""
    y = _elementwise.unary(_SOFTPLUS, x)
    return softplus_ref(x) if y is None else y


@primitive
def softplus_ref(x: Array) -> Array:
    return through_f64(lambda v: np.maximum(v, 0.0) + np.log1p(np.exp(-np.abs(v))), x)


def silu(x: Array) -> Array:
    """x · sigmoid(x)."""
    y = _elementwise.unary(_SILU, x)
    return twins.silu(x) if y is None else y


@composition
def silu_ref(xp: XP, x: Array) -> Array:
    return xp.mul(x, xp.sigmoid(x))


def gelu(x: Array) -> Array:
    """½ x (1 + tanh(√(2/π) (x + 0.044715 x³))): candle's `gelu`, the tanh form."""
    y = _elementwise.unary(_GELU, x)
    return twins.gelu(x) if y is None else y


@composition
def gelu_ref(xp: XP, x: Array) -> Array:
    return xp.mul(x, xp.sigmoid(xp.affine(_gelu_inner(xp, x), 2.0, 0.0)))


def _gelu_inner(xp: XP, x: Array) -> Array:
    """u = √(2/π) (x + 0.044715 x³); ½ (1 + tanh u) is sigmoid(2u)."""
    return xp.mul(x, xp.affine(xp.sqr(x), _GELU_CUBE, _GELU_LINE))


_GELU_LINE = math.sqrt(2.0 / math.pi)
_GELU_CUBE = 0.044715 * _GELU_LINE


def gelu_erf(x: Array) -> Array:
    """½ x (1 + erf(x / √2)): the exact GELU."""
    y = _elementwise.unary(_GELU_ERF, x)
    return twins.gelu_erf(x) if y is None else y


@composition
def gelu_erf_ref(xp: XP, x: Array) -> Array:
    return xp.mul(x, xp.affine(xp.erf(xp.affine(x, math.sqrt(0.5), 0.0)), 0.5, 0.5))


def powf(x: Array, e: float) -> Array:
    """x^e for a fixed exponent; 0^0 is 1, a negative base takes whole exponents."""
    return powf_ref(x, e)


@primitive
def powf_ref(x: Array, e: float) -> Array:
    return through_f64(lambda v: np.power(v, e), x)


def elu(x: Array, alpha: float) -> Array:
    """x where x > 0, alpha (eˣ − 1) elsewhere."""
    y = _elementwise.unary(_ELU, x, alpha)
    return elu_ref(x, alpha) if y is None else y


@primitive
def elu_ref(x: Array, alpha: float) -> Array:
    return through_f64(lambda v: np.where(v > 0, v, alpha * np.expm1(np.minimum(v, 0.0))), x)


# -- fused gradients: each takes g and what its rule keeps


def relu_backward(g: Array, y: Array) -> Array:
    """g where y > 0, else 0: the slope at 0 is 0."""
    gx = _elementwise.binary(_RELU_BACKWARD, g, y)
    return twins.relu_backward(g, y) if gx is None else gx


@composition
def relu_backward_ref(xp: XP, g: Array, y: Array) -> Array:
    return xp.where(xp.gt(y, xp.full_like(y, 0.0)), g, xp.full_like(g, 0.0))


def tanh_backward(g: Array, y: Array) -> Array:
    """g (1 − y²)."""
    gx = _elementwise.binary(_TANH_BACKWARD, g, y)
    return twins.tanh_backward(g, y) if gx is None else gx


@composition
def tanh_backward_ref(xp: XP, g: Array, y: Array) -> Array:
    return xp.mul(g, xp.affine(xp.sqr(y), -1.0, 1.0))


def sigmoid_backward(g: Array, y: Array) -> Array:
    """g y (1 − y)."""
    gx = _elementwise.binary(_SIGMOID_BACKWARD, g, y)
    return twins.sigmoid_backward(g, y) if gx is None else gx


@composition
def sigmoid_backward_ref(xp: XP, g: Array, y: Array) -> Array:
    return xp.mul(g, xp.mul(y, xp.affine(y, -1.0, 1.0)))


def silu_backward(g: Array, x: Array) -> Array:
    """g s (1 + x (1 − s)) with s = sigmoid(x)."""
    gx = _elementwise.binary(_SILU_BACKWARD, g, x)
    return twins.silu_backward(g, x) if gx is None else gx


@composition
def silu_backward_ref(xp: XP, g: Array, x: Array) -> Array:
    s, rest = xp.sigmoid(x), xp.sigmoid(xp.neg(x))  # rest = 1 − s, with all its digits where s is near 1
    return xp.mul(g, xp.mul(s, xp.affine(xp.mul(x, rest), 1.0, 1.0)))


def gelu_backward(g: Array, x: Array) -> Array:
    """g (s + 2 x s (1 − s) u′) with s = sigmoid(2u), u = √(2/π) (x + 0.044715 x³)."""
    gx = _elementwise.binary(_GELU_BACKWARD, g, x)
    return twins.gelu_backward(g, x) if gx is None else gx


@composition
def gelu_backward_ref(xp: XP, g: Array, x: Array) -> Array:
    u = _gelu_inner(xp, x)
    s, rest = xp.sigmoid(xp.affine(u, 2.0, 0.0)), xp.sigmoid(xp.affine(u, -2.0, 0.0))  # rest = 1 − s, with all its digits
    inner_slope = xp.affine(xp.sqr(x), 6.0 * _GELU_CUBE, 2.0 * _GELU_LINE)
    slope = xp.mul(xp.mul(s, rest), xp.mul(x, inner_slope))
    return xp.mul(g, xp.add(s, slope))


def gelu_erf_backward(g: Array, x: Array) -> Array:
    """g (Φ(x) + x φ(x)), the normal distribution's cumulative and density."""
    gx = _elementwise.binary(_GELU_ERF_BACKWARD, g, x)
    return twins.gelu_erf_backward(g, x) if gx is None else gx


@composition
def gelu_erf_backward_ref(xp: XP, g: Array, x: Array) -> Array:
    below = xp.affine(xp.erf(xp.affine(x, math.sqrt(0.5), 0.0)), 0.5, 0.5)
    density = xp.affine(xp.exp(xp.affine(xp.sqr(x), -0.5, 0.0)), 1.0 / math.sqrt(2.0 * math.pi), 0.0)
    return xp.mul(g, xp.add(below, xp.mul(x, density)))
