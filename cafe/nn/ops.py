"""Functions of tensors that are no methods: softmax, activations, dropout (floor 6).

from cafe.nn import ops
ops.softmax(x, D.Minus1)
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from cafe.device import generator
from cafe.dtype import DType, check_float
from cafe.errors import UnsupportedDTypeForOp, bail, show
from cafe.habits import defined, missing
from cafe.kernels import keep_mask
from cafe.ops import activation
from cafe.ops import norm as norm_ops
from cafe.ops import softmax as softmax_ops
from cafe.ops.base import Op
from cafe.ops.unary import BY_NAME
from cafe.shape import Dim, check_rank, resolve_dim, whole
from cafe.tape import is_half
from cafe.tensor.base import apply, check_tensors, wrap
from cafe.tensor.convert import real
from cafe.tensor.core import Tensor

from .habits import OPS
from .module import Module

_SIGMOID, _SILU, _SOFTPLUS = BY_NAME["sigmoid"], BY_NAME["silu"], BY_NAME["softplus"]
_HARD_SIGMOID, _HARDSWISH = BY_NAME["hard_sigmoid"], BY_NAME["hardswish"]
_MISH, _DROPOUT = activation.Mish(), activation.Dropout()
SELU_ALPHA = 1.6732632423543772
SELU_GAMMA = 1.0507009873554805


class Identity(Module):
    """The input as it is.

    Source: candle-nn/src/ops.rs, Identity.

    >>> from cafe import Tensor
    >>> Identity()(Tensor([1.0])).tolist()
    [1.0]
    """

    __slots__ = ()

    def forward(self, xs: Tensor) -> Tensor:
        """xs."""
        return xs

    def __repr__(self) -> str:
        return "Identity"


# -- softmax


def softmax(xs: Tensor, dim: Dim) -> Tensor:
    """exp(x − max) / Σ exp(x − max) along the dim; a row of −inf alone is NaN.

    Shape: any → the same.
    Raises: DimOutOfRange, UnsupportedDTypeForOp for integers.
    Gradient: y (g − Σ g y).
    Source: candle-nn/src/ops.rs, softmax.

    >>> from cafe import D, Tensor
    >>> print(softmax(Tensor([[1000.0, 1005.0, 1002.0]]), D.Minus1))
    [[0.0064, 0.9465, 0.0471]]
    Tensor[[1, 3], f32]
    """
    return apply(softmax_ops.Softmax(_float_dim("softmax", xs, dim)), xs)


def log_softmax(xs: Tensor, dim: Dim) -> Tensor:
    """x − max − ln Σ exp(x − max) along the dim.

    Shape: any → the same.
    Raises: DimOutOfRange, UnsupportedDTypeForOp for integers.
    Gradient: g − eʸ Σ g.
    Source: candle-nn/src/ops.rs, log_softmax.

    >>> from cafe import Tensor
    >>> log_softmax(Tensor([[1e9, 0.0]]), 1).tolist()
    [[0.0, -1000000000.0]]
    """
    return apply(softmax_ops.LogSoftmax(_float_dim("log-softmax", xs, dim)), xs)


def softmax_last_dim(xs: Tensor) -> Tensor:
    """`softmax` along the last dim, with its gradient (candle's has none).

    Raises: DimOutOfRange for a scalar, Error for integers.
    Source: candle-nn/src/ops.rs, softmax_last_dim.

    >>> from cafe import Tensor
    >>> softmax_last_dim(Tensor([[2.0, 2.0], [0.0, 200.0]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    check_tensors("softmax", xs)
    d = resolve_dim(xs.shape, -1, "softmax")
    if xs.dtype.is_int:
        bail(f"unsupported dtype for softmax {xs.dtype!r}")
    return apply(softmax_ops.Softmax(d), xs)


# -- activations


def sigmoid(xs: Tensor) -> Tensor:
    """1 / (1 + e^−x), without overflow. Gradient: g y (1 − y); of F16 and BF16 with y before it is rounded (with `create_graph` after).

    Raises: UnsupportedDTypeForOp for integers.
    Source: candle-nn/src/ops.rs, sigmoid.

    >>> from cafe import Tensor
    >>> sigmoid(Tensor([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return _float_op(_SIGMOID, xs)


def silu(xs: Tensor) -> Tensor:
    """x · sigmoid(x). Gradient: g s (1 + x (1 − s)).

    Source: candle-nn/src/ops.rs, silu.

    >>> from cafe import Tensor
    >>> silu(Tensor([-1000.0, 0.0, 1000.0])).tolist()
    [-0.0, 0.0, 1000.0]
    """
    return _float_op(_SILU, xs)


def softplus(xs: Tensor) -> Tensor:
    """ln(1 + eˣ), without overflow. Gradient: g · sigmoid(x).

    >>> from cafe import Tensor
    >>> softplus(Tensor([-1000.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    return _float_op(_SOFTPLUS, xs)


def log_sigmoid(xs: Tensor) -> Tensor:
    """ln sigmoid(x) = −softplus(−x), without overflow. Gradient: g · sigmoid(−x).

    >>> from cafe import Tensor
    >>> log_sigmoid(Tensor([-1000.0, 1000.0])).tolist()
    [-1000.0, -0.0]
    """
    check_tensors("log-sigmoid", xs)
    return softplus(xs.neg()).neg()


def leaky_relu(xs: Tensor, negative_slope: float) -> Tensor:
    """x where x > 0, negative_slope · x elsewhere. Gradient: g or g · negative_slope, the latter at 0.

    Source: candle-nn/src/ops.rs, leaky_relu.

    >>> from cafe import Tensor
    >>> leaky_relu(Tensor([-2.0, 0.0, 2.0]), 0.25).tolist()
    [-0.5, 0.0, 2.0]
    """
    return _float_op(activation.LeakyRelu(real("leaky_relu", negative_slope)), xs)


def hard_sigmoid(xs: Tensor) -> Tensor:
    """(x + 3) / 6, held between 0 and 1. Gradient: g / 6 from −3 to 3, both included; 0 outside.

    Source: candle-nn/src/ops.rs, hard_sigmoid.

    >>> from cafe import Tensor
    >>> hard_sigmoid(Tensor([-4.0, 0.0, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return _float_op(_HARD_SIGMOID, xs)


def hardswish(xs: Tensor) -> Tensor:
    """x (x + 3) / 6, the fraction held between 0 and 1. Gradient: by the product rule; at −3 and 3 that of the middle, −½ and 1½.

    Source: Howard et al., "Searching for MobileNetV3", 2019.

    >>> from cafe import Tensor
    >>> hardswish(Tensor([-1.5, 1.5, 3.0])).tolist()
    [-0.375, 1.125, 3.0]
    """
    return _float_op(_HARDSWISH, xs)


def mish(xs: Tensor) -> Tensor:
    """x tanh(ln(1 + eˣ)). Gradient: finite everywhere, 1 for large x (candle's is NaN there).

    Source: candle-nn/src/ops.rs, mish.

    >>> from cafe import Var
    >>> x = Var([100.0])
    >>> mish(x).sum_all().backward()[x].tolist()
    [1.0]
    """
    return _float_op(_MISH, xs)


def selu(xs: Tensor, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> Tensor:
    """gamma x where x > 0, gamma alpha (eˣ − 1) elsewhere. Gradient: g gamma or g gamma alpha eˣ, the latter at 0.

    Source: candle-nn/src/ops.rs, selu (whose gradient is NaN for large x).

    >>> from cafe import Tensor
    >>> print(selu(Tensor([-100.0, 0.0, 1.0])))
    [-1.7581,  0.0000,  1.0507]
    Tensor[[3], f32]
    """
    check_tensors("selu", xs)
    if is_half(xs._data.dtype):  # rounded once, at the end
        return selu(xs.to_dtype(DType.F32), alpha, gamma).to_dtype(xs.dtype)
    return xs.elu(alpha).affine(gamma, -0.0)  # adding −0 leaves a zero its sign


def swiglu(xs: Tensor) -> Tensor:
    """silu(a) · b, where a and b are the halves of the last dim.

    Shape: (…, 2n) → (…, n); of an odd size a has one more, which is an error.
    Raises: ShapeMismatchBinaryOp.
    Source: candle-nn/src/ops.rs, swiglu.

    >>> from cafe import Tensor
    >>> swiglu(Tensor([[0.0, 1.0, 5.0, 2.0]])).tolist()
    [[0.0, 1.4621171951293945]]
    """
    check_tensors("swiglu", xs)
    halves = xs.chunk(2, -1)
    if len(halves) != 2:
        bail(f"swiglu: the last dim has two halves, got shape {show(xs.shape)}")
    return halves[0].silu().mul(halves[1])


def dropout(xs: Tensor, drop_p: float) -> Tensor:
    """Each number 0 with probability drop_p, else divided by 1 − drop_p. Gradient: the same factors.

    Raises: Error unless drop_p lies in [0, 1), UnsupportedDTypeForOp for integers.
    Source: candle-nn/src/ops.rs, dropout.

    >>> from cafe import Tensor
    >>> dropout(Tensor([1.0]), 1.0)
    Traceback (most recent call last):
    cafe.errors.Error: dropout probability has to be in [0, 1), got 1
    """
    check_dropout(drop_p)
    check_tensors("dropout", xs)
    check_float("dropout", xs._data)
    if drop_p == 0.0:
        return xs
    dtype = xs._data.dtype
    mask = keep_mask(xs.shape, float(drop_p), DType.F32.numpy if is_half(dtype) else dtype, generator)
    return apply(_DROPOUT, xs, wrap(mask))


def check_dropout(p: Any) -> None:
    """Raises Error unless this is a probability below 1, TypeError unless it is a number."""
    if not isinstance(p, numbers.Real):
        raise TypeError(f"expected a number for the dropout probability, found {type(p).__name__}")
    if not 0.0 <= (p := real("dropout", p)) < 1.0:
        bail(f"dropout probability has to be in [0, 1), got {_shortest(p)}")


# -- norms


def check_eps(op: str, eps: Any) -> float:
    """The eps of a norm as a float.

    Raises: Error unless it is at least 0, TypeError unless it is a number.
    """
    if type(eps) is not float and not isinstance(eps, numbers.Real):
        raise TypeError(f"{op}: expected a number for eps, found {type(eps).__name__}")
    found = real(op, eps)
    if not found >= 0.0:
        bail(f"{op}: eps must be at least 0, got {eps}")
    return found


def layer_norm(xs: Tensor, alpha: Tensor, beta: Tensor, eps: float) -> Tensor:
    """(x − mean) / √(var + eps) alpha + beta over the last dim, in one op, with its gradient (candle's has none).

    Shape: xs (…, n), alpha (n), beta (n) → (…, n).
    Raises: Error with candle's texts where the sizes or dtypes differ.
    Source: candle-nn/src/ops.rs, layer_norm.

    >>> from cafe import Tensor
    >>> layer_norm(Tensor([[3.0, 5.0]]), Tensor([1.0, 1.0]), Tensor([0.0, 10.0]), 0.0).tolist()
    [[-1.0, 11.0]]
    """
    check_tensors("layer-norm", xs, alpha, beta)
    if not alpha.shape == beta.shape == (xs.dim(-1),):
        for vector in (alpha, beta):
            vector.dims1()  # a wrong rank has a text of its own
        bail(f"shape mismatch in layer-norm src: {xs.dims()} alpha: {alpha.dims()} beta: {beta.dims()}")
    check_norm_dtype(xs, alpha, beta)
    return apply(norm_ops.LayerNorm(check_eps("layer-norm", eps)), xs, alpha, beta)


def layer_norm_slow(xs: Tensor, alpha: Tensor, beta: Tensor | None, eps: float) -> Tensor:
    """`layer_norm` step by step: what the fused one is compared with.

    Source: candle-nn/src/ops.rs, layer_norm_slow.
    """
    check_tensors("layer-norm", xs, alpha)
    wide = _computed_in(xs)
    centred = wide.broadcast_sub(wide.mean_keepdim(-1))
    ys = _divided_by_root(centred, check_eps("layer-norm", eps)).to_dtype(xs.dtype).broadcast_mul(alpha)
    return ys if beta is None else ys.broadcast_add(beta)


def rms_norm(xs: Tensor, alpha: Tensor, eps: float) -> Tensor:
    """x / √(mean of x² + eps) alpha over the last dim, in one op, with its gradient (candle's has none).

    Shape: xs (…, n), alpha (n) → (…, n).
    Raises: Error with candle's texts where the sizes or dtypes differ.
    Source: candle-nn/src/ops.rs, rms_norm.
    """
    check_tensors("rms-norm", xs, alpha)
    if xs.dim(-1) != alpha.dims1():
        bail(f"shape mismatch in rms-norm {xs.dims()} {alpha.dims()}")
    check_norm_dtype(xs, alpha)
    return apply(norm_ops.RmsNorm(check_eps("rms-norm", eps)), xs, alpha)


def rms_norm_slow(xs: Tensor, alpha: Tensor, eps: float) -> Tensor:
    """`rms_norm` step by step: what the fused one is compared with.

    Source: candle-nn/src/ops.rs, rms_norm_slow.
    """
    check_tensors("rms-norm", xs, alpha)
    return _divided_by_root(_computed_in(xs), check_eps("rms-norm", eps)).to_dtype(xs.dtype).broadcast_mul(alpha)


def check_norm_dtype(xs: Tensor, *others: Tensor) -> None:
    """Raises Error, with candle's text for every norm, for integers and unless all have one dtype."""
    dtype = xs.dtype
    for other in others:
        if other.dtype is not dtype or dtype.is_int:
            bail(f"unsupported dtype for rmsnorm {dtype!r}")


def _divided_by_root(xs: Tensor, eps: float) -> Tensor:
    return xs.broadcast_div((xs.sqr().mean_keepdim(-1) + eps).sqrt())


def _computed_in(xs: Tensor) -> Tensor:
    """xs in the dtype that halves compute in."""
    return xs.to_dtype(DType.F32) if is_half(xs._data.dtype) else xs


# -- pixels


def pixel_shuffle(xs: Tensor, upscale_factor: int) -> Tensor:
    """Channels become places: an r × r block of pixels out of r² channels.

    Shape: (b, c r², h, w) → (b, c, h r, w r).
    Raises: UnexpectedNumberOfDims, ShapeMismatchBinaryOp when r² does not divide the channels.
    Source: candle-nn/src/ops.rs, pixel_shuffle.

    >>> from cafe import Tensor
    >>> pixel_shuffle(Tensor.arange(0, 4).reshape((1, 4, 1, 1)), 2).tolist()
    [[[[0, 1], [2, 3]]]]
    """
    check_tensors("pixel_shuffle", xs)
    check_rank(xs.shape, 4)
    b, c, h, w = xs.shape
    r = _factor("pixel_shuffle", upscale_factor)
    split = xs.reshape((b, c // r**2, r, r, h, w))
    return split.permute((0, 1, 4, 2, 5, 3)).reshape((b, c // r**2, h * r, w * r))


def pixel_unshuffle(xs: Tensor, downscale_factor: int) -> Tensor:
    """Places become channels: the inverse of `pixel_shuffle`.

    Shape: (b, c, h r, w r) → (b, c r², h, w).
    Raises: UnexpectedNumberOfDims, ShapeMismatchBinaryOp when r does not divide height and width.
    Source: candle-nn/src/ops.rs, pixel_unshuffle.

    >>> from cafe import Tensor
    >>> pixel_unshuffle(Tensor.arange(0, 4).reshape((1, 1, 2, 2)), 2).dims()
    [1, 4, 1, 1]
    """
    check_tensors("pixel_unshuffle", xs)
    check_rank(xs.shape, 4)
    b, c, h, w = xs.shape
    r = _factor("pixel_unshuffle", downscale_factor)
    split = xs.reshape((b, c, h // r, r, w // r, r))
    return split.permute((0, 1, 3, 5, 2, 4)).reshape((b, c * r**2, h // r, w // r))


def replication_pad2d(xs: Tensor, pad: int) -> Tensor:
    """The last two dims with their border repeated `pad` times on each side.

    Raises: Error for a negative pad.
    Source: candle-nn/src/ops.rs, replication_pad2d (which knows pads of 0 and 1).

    >>> from cafe import Tensor
    >>> replication_pad2d(Tensor([[1.0, 2.0]]), 1).tolist()
    [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]
    """
    check_tensors("replication-pad", xs)
    if whole("replication-pad", "a pad", pad) < 0:
        bail(f"replication-pad with a size of {pad} is not supported")
    return xs.pad_with_same(-1, pad, pad).pad_with_same(-2, pad, pad)


def _factor(op: str, factor: int) -> int:
    if whole(op, "a factor", factor) < 1:
        bail(f"{op}: a factor must be at least 1, got {factor}")
    return factor


def _float_op(op: Op, xs: Tensor) -> Tensor:
    try:
        kind = xs._data.dtype.kind
    except AttributeError:
        check_tensors(op.name, xs)
        raise
    if kind in "iu":
        raise UnsupportedDTypeForOp(xs.dtype, op.name)
    return apply(op, xs)


def _float_dim(op: str, xs: Tensor, dim: Dim) -> int:
    """The dim counted from the front, of floats."""
    try:
        data = xs._data
    except AttributeError:
        check_tensors(op, xs)
        raise
    d = resolve_dim(data.shape, dim, op)
    check_float(op, data)
    return d


def _shortest(value: float) -> str:
    """A number as Rust prints it: `1`, `1.5`, `NaN`."""
    return "NaN" if value != value else f"{value}".removesuffix(".0")


if not TYPE_CHECKING:
    __getattr__ = missing("cafe.nn.ops", defined(globals()), OPS, Tensor)
