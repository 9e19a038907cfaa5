"""Elementwise functions of one array, and the fused gradients of the activations (floor 1).

Bounds: each function, not the gradients, keeps 1 ulp against float64 unless its docstring says otherwise.
"""

from __future__ import annotations

import math

import numpy as np

from cafe.dtype import Array

from . import _elementwise, _ffi, _integers
from .base import XP, composition, power, primitive, through_f64, twins

_AFFINE, _ELU, _LEAKY_RELU, _MUL = map(_ffi.code, ("AFFINE", "ELU", "LEAKY_RELU", "MUL"))
_ELU_BACKWARD, _LEAKY_RELU_BACKWARD, _CLAMP_BACKWARD = map(_ffi.code, ("ELU_BACKWARD", "LEAKY_RELU_BACKWARD", "CLAMP_BACKWARD"))
_erf = np.frompyfunc(math.erf, 1, 1)


@_elementwise.of_one
def neg(x: Array) -> Array:
    """−x."""
    whole = _integers.unary(_AFFINE, x, -1.0, 0.0) if x.dtype.kind == "i" else None
    return neg_ref(x) if whole is None else whole


@primitive
def neg_ref(x: Array) -> Array:
    return np.negative(x)


@_elementwise.of_one
def abs(x: Array) -> Array:
    """|x|."""
    return abs_ref(x)


@primitive
def abs_ref(x: Array) -> Array:
    return np.abs(x)


@_elementwise.of_one
def sign(x: Array) -> Array:
    """−1, 0 or 1."""
    return sign_ref(x)


@primitive
def sign_ref(x: Array) -> Array:
    return np.sign(x)


@_elementwise.of_one
def exp(x: Array) -> Array:
    """eˣ."""
    return exp_ref(x)


@primitive
def exp_ref(x: Array) -> Array:
    return through_f64(np.exp, x)


@_elementwise.of_one
def log(x: Array) -> Array:
    """ln x; −inf at 0, NaN below."""
    return log_ref(x)


@primitive
def log_ref(x: Array) -> Array:
    return through_f64(np.log, x)


@_elementwise.of_one
def sin(x: Array) -> Array:
    """sin x, x in radians, within 2 ulp. Beyond 10⁵ (F64: 10⁹) by the C library's sine."""
    return sin_ref(x)


@primitive
def sin_ref(x: Array) -> Array:
    return through_f64(np.sin, x)


@_elementwise.of_one
def cos(x: Array) -> Array:
    """cos x, x in radians, as sin."""
    return cos_ref(x)


@primitive
def cos_ref(x: Array) -> Array:
    return through_f64(np.cos, x)


@_elementwise.of_one
def tanh(x: Array) -> Array:
    """tanh x, within 2.1 ulp."""
    return tanh_ref(x)


@primitive
def tanh_ref(x: Array) -> Array:
    return through_f64(np.tanh, x)


@_elementwise.of_one
def sqr(x: Array) -> Array:
    """x²."""
    whole = _integers.binary(_MUL, x, x)
    return sqr_ref(x) if whole is None else whole


@primitive
def sqr_ref(x: Array) -> Array:
    return np.multiply(x, x)


@_elementwise.of_one
def sqrt(x: Array) -> Array:
    """√x; NaN below 0. Correctly rounded."""
    return sqrt_ref(x)


@primitive
def sqrt_ref(x: Array) -> Array:
    return np.sqrt(x)


@_elementwise.of_one
def recip(x: Array) -> Array:
    """1 / x. Correctly rounded."""
    return recip_ref(x)


@primitive
def recip_ref(x: Array) -> Array:
    return np.divide(np.ones((), x.dtype), x)


@_elementwise.of_one
def floor(x: Array) -> Array:
    """The largest whole number at most x."""
    return floor_ref(x)


@primitive
def floor_ref(x: Array) -> Array:
    return np.floor(x) if x.dtype.kind == "f" else x.copy()


@_elementwise.of_one
def ceil(x: Array) -> Array:
    """The smallest whole number at least x."""
    return ceil_ref(x)


@primitive
def ceil_ref(x: Array) -> Array:
    return np.ceil(x) if x.dtype.kind == "f" else x.copy()


@_elementwise.of_one
def round(x: Array) -> Array:
    """The nearest whole number, halves away from zero; a zero keeps the sign of x."""
    return round_ref(x)


@primitive
def round_ref(x: Array) -> Array:
    if x.dtype.kind != "f":
        return x.copy()
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.ones((), x.dtype), x), whole)


@_elementwise.of_one
def erf(x: Array) -> Array:
    """The error function 2/√π ∫₀ˣ e^(−t²) dt, within 2 ulp."""
    return erf_ref(x)


@primitive
def erf_ref(x: Array) -> Array:
    return np.asarray(_erf(x)).astype(x.dtype) if x.size else x.copy()


@_elementwise.of_one
def relu(x: Array) -> Array:
    """max(x, 0); NaN stays NaN, and −0 is −0."""
    return relu_ref(x)


@primitive
def relu_ref(x: Array) -> Array:
    y: Array = np.where(x < 0, np.zeros((), x.dtype), x)  # a zero stays as it is, which of two zeros `maximum` takes is open
    return y


def leaky_relu(x: Array, slope: float) -> Array:
    """x where x > 0, slope · x elsewhere; a zero keeps its sign where the slope is positive."""
    y = _elementwise.unary(_LEAKY_RELU, x, slope, 0.0)
    return leaky_relu_ref(x, slope) if y is None else y


@primitive
def leaky_relu_ref(x: Array, slope: float) -> Array:
    return np.where(x > 0, x, x * x.dtype.type(slope))


@_elementwise.of_one
def hard_sigmoid(x: Array) -> Array:
    """(x + 3) / 6, held between 0 and 1."""
    return twins.hard_sigmoid(x)


@composition
def hard_sigmoid_ref(xp: XP, x: Array) -> Array:
    shifted = xp.affine(xp.clamp(x, -3.0, 3.0), 1.0, 3.0)
    return xp.div(shifted, xp.full_like(shifted, 6.0))


@_elementwise.of_one
def hardswish(x: Array) -> Array:
    """x · hard_sigmoid(x)."""
    return twins.hardswish(x)


@composition
def hardswish_ref(xp: XP, x: Array) -> Array:
    return xp.mul(x, xp.hard_sigmoid(x))


@_elementwise.of_one
def sigmoid(x: Array) -> Array:
    """1 / (1 + e^−x), without overflow on either side, within 2.5 ulp."""
    return sigmoid_ref(x)


@primitive
def sigmoid_ref(x: Array) -> Array:
    return through_f64(lambda v: np.where(v >= 0, 1.0, np.exp(-np.abs(v))) / (1.0 + np.exp(-np.abs(v))), x)


@_elementwise.of_one
def softplus(x: Array) -> Array:
    """ln(1 + eˣ) = max(x, 0) + ln(1 + e^−|x|), within 2 ulp."""
    return softplus_ref(x)


@primitive
def softplus_ref(x: Array) -> Array:
    return through_f64(lambda v: np.maximum(v, 0.0) + np.log1p(np.exp(-np.abs(v))), x)


@_elementwise.of_one
def silu(x: Array) -> Array:
    """x · sigmoid(x), within 3 ulp."""
    return twins.silu(x)


@composition
def silu_ref(xp: XP, x: Array) -> Array:
    return xp.mul(x, xp.sigmoid(x))


@_elementwise.of_one
def gelu(x: Array) -> Array:
    """½ x (1 + tanh(√(2/π) (x + 0.044715 x³))): candle's `gelu`, the tanh form.

    Within 3 ulp above −1; below, where it is nearly x e²ᵘ (`_gelu_inner`) and u is rounded, within 3 (1 + 2 |u|) ulp.
    """
    return twins.gelu(x)


@composition
def gelu_ref(xp: XP, x: Array) -> Array:
    return xp.mul(x, xp.sigmoid(xp.affine(_gelu_inner(xp, x), 2.0, 0.0)))


def _gelu_inner(xp: XP, x: Array) -> Array:
    """u = √(2/π) (x + 0.044715 x³); ½ (1 + tanh u) is sigmoid(2u)."""
    return xp.mul(x, xp.affine(xp.sqr(x), _GELU_CUBE, _GELU_LINE))


_GELU_LINE = math.sqrt(2.0 / math.pi)
_GELU_CUBE = 0.044715 * _GELU_LINE


@_elementwise.of_one
def gelu_erf(x: Array) -> Array:
    """½ x (1 + erf(x / √2)): the exact GELU, within 8 ulp; without a fused multiply-add its tail loses x² / 2 ulp more."""
    return twins.gelu_erf(x)


@composition
def gelu_erf_ref(xp: XP, x: Array) -> Array:
    return xp.mul(x, xp.affine(xp.erf(xp.affine(x, math.sqrt(0.5), 0.0)), 0.5, 0.5))


def powf(x: Array, e: float) -> Array:
    """x^e for a fixed exponent, as `pow`: x^0 is 1, a negative base takes whole exponents. Within 1 ulp."""
    if e == 2.0:
        return sqr(x)
    if e == -1.0:
        return recip(x)
    y = _elementwise.powf(x, e)
    return powf_ref(x, e) if y is None else y


@primitive
def powf_ref(x: Array, e: float) -> Array:
    return power(x, np.asarray(e)).astype(x.dtype) if e == 0.5 else through_f64(lambda v: np.power(v, np.float64(e)), x)


def elu(x: Array, alpha: float) -> Array:
    """x where x ≥ 0, alpha (eˣ − 1) elsewhere; a zero keeps its sign."""
    y = _elementwise.unary(_ELU, x, alpha, 0.0)
    return elu_ref(x, alpha) if y is None else y


@primitive
def elu_ref(x: Array, alpha: float) -> Array:
    return through_f64(lambda v: np.where(v >= 0, v, alpha * np.expm1(np.minimum(v, 0.0))), x)


# -- fused gradients: each takes g and what its rule keeps


@_elementwise.of_two
def relu_backward(g: Array, y: Array) -> Array:
    """g where y > 0, else 0: the slope at 0 is 0."""
    return twins.relu_backward(g, y)


@composition
def relu_backward_ref(xp: XP, g: Array, y: Array) -> Array:
    return xp.where(xp.gt(y, xp.full_like(y, 0.0)), g, xp.full_like(g, 0.0))


@_elementwise.of_two
def tanh_backward(g: Array, y: Array) -> Array:
    """g (1 − y²)."""
    return twins.tanh_backward(g, y)


@composition
def tanh_backward_ref(xp: XP, g: Array, y: Array) -> Array:
    return xp.mul(g, xp.affine(xp.sqr(y), -1.0, 1.0))


@_elementwise.of_two
def sigmoid_backward(g: Array, y: Array) -> Array:
    """g y (1 − y)."""
    return twins.sigmoid_backward(g, y)


@composition
def sigmoid_backward_ref(xp: XP, g: Array, y: Array) -> Array:
    return xp.mul(g, xp.mul(y, xp.affine(y, -1.0, 1.0)))


@_elementwise.of_two
def hard_sigmoid_backward(g: Array, x: Array) -> Array:
    """g / 6 from −3 to 3, both included; 0 outside."""
    return twins.hard_sigmoid_backward(g, x)


@composition
def hard_sigmoid_backward_ref(xp: XP, g: Array, x: Array) -> Array:
    return xp.clamp_backward(xp.div(g, xp.full_like(g, 6.0)), x, -3.0, 3.0)


@_elementwise.of_two
def hardswish_backward(g: Array, x: Array) -> Array:
    """g (hard_sigmoid(x) + x / 6), the latter from −3 to 3, both included."""
    return twins.hardswish_backward(g, x)


@composition
def hardswish_backward_ref(xp: XP, g: Array, x: Array) -> Array:
    return xp.mul(g, xp.add(xp.hard_sigmoid(x), xp.clamp_backward(xp.affine(x, 1.0 / 6.0, 0.0), x, -3.0, 3.0)))


def leaky_relu_backward(g: Array, x: Array, slope: float) -> Array:
    """g where x > 0, slope · g elsewhere."""
    y = _elementwise.slope(_LEAKY_RELU_BACKWARD, g, x, slope, 0.0)
    return twins.leaky_relu_backward(g, x, slope) if y is None else y


@composition
def leaky_relu_backward_ref(xp: XP, g: Array, x: Array, slope: float) -> Array:
    return xp.where(xp.gt(x, xp.full_like(x, 0.0)), g, xp.affine(g, slope, 0.0))


def clamp_backward(g: Array, x: Array, low: float, high: float) -> Array:
    """g where low ≤ x ≤ high, else 0."""
    y = _elementwise.slope(_CLAMP_BACKWARD, g, x, low, high)
    return twins.clamp_backward(g, x, low, high) if y is None else y


@composition
def clamp_backward_ref(xp: XP, g: Array, x: Array, low: float, high: float) -> Array:
    inside = xp.mul(xp.ge(x, xp.full_like(x, low)), xp.le(x, xp.full_like(x, high)))
    return xp.where(inside, g, xp.full_like(g, 0.0))


def elu_backward(g: Array, x: Array, alpha: float) -> Array:
    """g where x > 0, g alpha eˣ elsewhere."""
    y = _elementwise.slope(_ELU_BACKWARD, g, x, alpha, 0.0)
    return twins.elu_backward(g, x, alpha) if y is None else y


@composition
def elu_backward_ref(xp: XP, g: Array, x: Array, alpha: float) -> Array:
    low = xp.affine(xp.exp(xp.minimum(x, xp.full_like(x, 0.0))), alpha, 0.0)
    return xp.mul(g, xp.where(xp.gt(x, xp.full_like(x, 0.0)), xp.full_like(x, 1.0), low))


@_elementwise.of_two
def silu_backward(g: Array, x: Array) -> Array:
    """g s (1 + x (1 − s)) with s = sigmoid(x)."""
    return twins.silu_backward(g, x)


@composition
def silu_backward_ref(xp: XP, g: Array, x: Array) -> Array:
    s, rest = xp.sigmoid(x), xp.sigmoid(xp.neg(x))  # rest = 1 − s, with all its digits where s is near 1
    return xp.mul(g, xp.mul(s, xp.affine(xp.mul(x, rest), 1.0, 1.0)))


@_elementwise.of_two
def gelu_backward(g: Array, x: Array) -> Array:
    """g (s + 2 x s (1 − s) u′) with s = sigmoid(2u), u = √(2/π) (x + 0.044715 x³)."""
    return twins.gelu_backward(g, x)


@composition
def gelu_backward_ref(xp: XP, g: Array, x: Array) -> Array:
    x = xp.clamp(x, -64.0, 64.0)  # the slope is 0 or 1 beyond, and x³ would overflow
    u = _gelu_inner(xp, x)
    s, rest = xp.sigmoid(xp.affine(u, 2.0, 0.0)), xp.sigmoid(xp.affine(u, -2.0, 0.0))  # rest = 1 − s, with all its digits
    inner_slope = xp.affine(xp.sqr(x), 6.0 * _GELU_CUBE, 2.0 * _GELU_LINE)
    slope = xp.mul(xp.mul(s, rest), xp.mul(x, inner_slope))
    return xp.mul(g, xp.add(s, slope))


@_elementwise.of_two
def gelu_erf_backward(g: Array, x: Array) -> Array:
    """g (Φ(x) + x φ(x)), the normal distribution's cumulative and density."""
    return twins.gelu_erf_backward(g, x)


@composition
def gelu_erf_backward_ref(xp: XP, g: Array, x: Array) -> Array:
    x = xp.clamp(x, -64.0, 64.0)  # the slope is 0 or 1 beyond, and infinity times a density of 0 would be none
    below = xp.affine(xp.erf(xp.affine(x, math.sqrt(0.5), 0.0)), 0.5, 0.5)
    density = xp.affine(xp.exp(xp.affine(xp.sqr(x), -0.5, 0.0)), 1.0 / math.sqrt(2.0 * math.pi), 0.0)
    return xp.mul(g, xp.add(below, xp.mul(x, density)))
