"""The verbs on Tensors: what a rule is given when its backward is itself recorded (floor 4).

Names and arguments are those of `cafe.kernels`. A verb that has an op is that op, applied; a fused backward is its composition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, partialmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from cafe import kernels
from cafe.dtype import Array, DTypeLike, as_dtype
from cafe.kernels.attention import attention_backward_ref, attention_ref
from cafe.kernels.conv import Geometry
from cafe.kernels.loss import (
    bce_with_logits_backward_ref,
    cross_entropy_backward_ref,
    cross_entropy_with_grad_ref,
    huber_backward_ref,
    huber_with_grad_ref,
    mse_backward_ref,
    mse_with_grad_ref,
)
from cafe.kernels.matmul import linear_backward_ref
from cafe.kernels.norm import (
    batch_norm_backward_ref,
    batch_norm_ref,
    channel_norm_backward_ref,
    group_norm_backward_ref,
    group_norm_ref,
    layer_norm_backward_ref,
    layer_norm_ref,
    residual_norm_backward_ref,
    residual_norm_ref,
    rms_norm_backward_ref,
    rms_norm_ref,
)
from cafe.kernels.pool import max_pool_backward_ref, max_pool_ref
from cafe.kernels.prod import prod_backward_ref
from cafe.kernels.rnn import gru_backward_ref, gru_ref, lstm_backward_ref, lstm_ref
from cafe.kernels.rotary import rotate_ref
from cafe.kernels.softmax import log_softmax_backward_ref, softmax_backward_ref
from cafe.kernels.unary import (
    clamp_backward_ref,
    elu_backward_ref,
    gelu_backward_ref,
    gelu_erf_backward_ref,
    hard_sigmoid_backward_ref,
    hardswish_backward_ref,
    leaky_relu_backward_ref,
    relu_backward_ref,
    sigmoid_backward_ref,
    silu_backward_ref,
    tanh_backward_ref,
)
from cafe.ops import activation as activation_ops
from cafe.ops import binary as binary_ops
from cafe.ops import conv as conv_ops
from cafe.ops import indexing as indexing_ops
from cafe.ops import layout as layout_ops
from cafe.ops import loss as loss_ops
from cafe.ops import matmul as matmul_ops
from cafe.ops import norm as norm_ops
from cafe.ops import pool as pool_ops
from cafe.ops import prod as prod_ops
from cafe.ops import reduce as reduce_ops
from cafe.ops import resample as resample_ops
from cafe.ops import softmax as softmax_ops
from cafe.ops import unary as unary_ops
from cafe.ops.assign import Assign
from cafe.ops.base import Op
from cafe.ops.sort import Sort
from cafe.ops.unfold import Fold, Unfold
from cafe.tape import Node

from .base import apply, apply_with_const, wrap

if TYPE_CHECKING:
    from .core import Tensor


def _with(make: Callable[..., Op]) -> Callable[..., Tensor]:
    """The verb (tensor, *parameters) of an op that has parameters."""
    return lambda x, *parameters: apply(make(*parameters), x)


def _row(name: str) -> Callable[..., Tensor]:
    """The verb of a row of the unary table."""
    return partial(apply, unary_ops.BY_NAME[name])


def cast(x: Tensor, dtype: DTypeLike) -> Tensor:
    """x under another dtype; itself if it has that one."""
    target = as_dtype(dtype)
    return x if x.dtype is target else apply(unary_ops.Cast(target.numpy, target.is_float and x.dtype.is_float), x)


def full_like(x: Tensor, value: float) -> Tensor:
    """A constant of x's shape and dtype."""
    return wrap(np.full(x.shape, value, x.dtype.numpy))


def zeros(shape: tuple[int, ...], dtype: DTypeLike) -> Tensor:
    """A constant of zeros."""
    return wrap(np.zeros(shape, as_dtype(dtype).numpy))


def index_select(x: Tensor, ids: Tensor, dim: int) -> Tensor:
    """y[…, i, …] = x[…, ids[i], …]."""
    return apply(indexing_ops.IndexSelect(dim), x, ids)


def index_add(x: Tensor, ids: Tensor, source: Tensor, dim: int) -> Tensor:
    """x with source's slices added at the ids."""
    return apply(indexing_ops.IndexAdd(dim), x, ids, source)


def gather(x: Tensor, ids: Tensor, dim: int) -> Tensor:
    """y[i, j, k] = x[i, ids[i, j, k], k] for dim 1."""
    return apply(indexing_ops.Gather(dim), x, ids)


def scatter_add(x: Tensor, ids: Tensor, source: Tensor, dim: int) -> Tensor:
    """x with source added where `gather` by the same ids would read."""
    return apply(indexing_ops.ScatterAdd(dim), x, ids, source)


def scatter(x: Tensor, ids: Tensor, source: Tensor, dim: int) -> Tensor:
    """x with source in place of what `gather` by the same ids would read."""
    return apply(indexing_ops.Scatter(dim), x, ids, source)


def last_writes(ids: Tensor, size: int, dim: int) -> Tensor:
    """Which of the writes of a `scatter` stay; a constant."""
    return wrap(kernels.last_writes(ids._data, size, dim))


def assign(x: Tensor, source: Tensor, key: tuple[slice, ...]) -> Tensor:
    """x with source in a part of it."""
    return apply(Assign(key), x, source)


def sort(x: Tensor, ascending: bool) -> tuple[Tensor, Tensor]:
    """Each row in order, and where its elements came from."""
    y, ids = apply_with_const(Sort(ascending), x)
    return y, wrap(ids)


def cat(xs: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors one after the other along a dim."""
    return apply(layout_ops.Cat(dim), *xs)


def linear(x: Tensor, w: Tensor, b: Tensor | None, then: str = "") -> Tensor:
    """x wᵀ + b, and the verb `then` of it."""
    y = apply(matmul_ops.Linear(), x, w) if b is None else apply(matmul_ops.Linear(), x, w, b)
    return getattr(Verbs, then)(y) if then else y


def conv(x: Tensor, w: Tensor, b: Tensor | None, geometry: Geometry) -> Tensor:
    """w ∗ x + b."""
    return apply(conv_ops.Conv(geometry), x, w) if b is None else apply(conv_ops.Conv(geometry), x, w, b)


def conv_norm(x: Tensor, w: Tensor, b: Tensor | None, geometry: Geometry, norm: Any, then: str = "") -> Tensor:
    """A convolution, a batch norm of it by given statistics, and the verb `then` of that."""
    y = channel_norm(conv(x, w, b, geometry), *norm)
    return getattr(Verbs, then)(y) if then else y


def conv_input_grad(g: Tensor, w: Tensor, size: tuple[int, ...], geometry: Geometry) -> Tensor:
    """The input gradient of `conv`: the transposed convolution of g."""
    return apply(conv_ops.ConvInputGrad(size, geometry), g, w)


def conv_weight_grad(g: Tensor, x: Tensor, kernel: tuple[int, ...], geometry: Geometry) -> Tensor:
    """The weight gradient of `conv`."""
    return apply(conv_ops.ConvWeightGrad(kernel, geometry), g, x)


def channel_norm(x: Tensor, mean: Tensor, var: Tensor, w: Tensor | None, b: Tensor | None, eps: float) -> Tensor:
    """Batch norm by given statistics."""
    return apply(norm_ops.ChannelNorm(eps), x, mean, var, *(p for p in (w, b) if p is not None))


def cross_entropy(x: Tensor, ids: Tensor, weights: Tensor | None) -> Tensor:
    """Σ wᵢ (ln Σ exp xᵢ − xᵢ at the id)."""
    return apply(loss_ops.CrossEntropy(False), x, ids, *(w for w in (weights,) if w is not None))


def huber(a: Tensor, b: Tensor, delta: float) -> Tensor:
    """The mean of d² / 2 up to delta, of delta (|d| − delta / 2) beyond."""
    return apply(loss_ops.Huber(delta, False), a, b)


def _on_self(xp: Verbs, composition: Callable[..., Any], *args: Any) -> Any:
    """A composition on the verbs it is a method of."""
    return composition(xp, *args)


class Verbs:
    """Every verb that a rule may use, on Tensors."""

    neg = staticmethod(_row("neg"))
    sqr = staticmethod(_row("sqr"))
    sqrt = staticmethod(_row("sqrt"))
    recip = staticmethod(_row("recip"))
    exp = staticmethod(_row("exp"))
    log = staticmethod(_row("log"))
    sin = staticmethod(_row("sin"))
    cos = staticmethod(_row("cos"))
    tanh = staticmethod(_row("tanh"))
    erf = staticmethod(_row("erf"))
    relu = staticmethod(_row("relu"))
    hard_sigmoid = staticmethod(_row("hard_sigmoid"))
    hardswish = staticmethod(_row("hardswish"))
    sigmoid = staticmethod(_row("sigmoid"))
    softplus = staticmethod(_row("softplus"))
    silu = staticmethod(_row("silu"))
    gelu = staticmethod(_row("gelu"))
    gelu_erf = staticmethod(_row("gelu_erf"))
    abs = staticmethod(_row("abs"))
    sign = staticmethod(_row("sign"))
    floor = staticmethod(_row("floor"))
    ceil = staticmethod(_row("ceil"))
    round = staticmethod(_row("round"))
    affine = staticmethod(_with(unary_ops.Affine))
    powf = staticmethod(_with(unary_ops.Powf))
    elu = staticmethod(_with(unary_ops.Elu))
    leaky_relu = staticmethod(_with(activation_ops.LeakyRelu))
    clamp = staticmethod(_with(unary_ops.Clamp))
    cast = staticmethod(cast)

    add = staticmethod(partial(apply, binary_ops.Add()))
    sub = staticmethod(partial(apply, binary_ops.Sub()))
    mul = staticmethod(partial(apply, binary_ops.Mul()))
    div = staticmethod(partial(apply, binary_ops.Div()))
    maximum = staticmethod(partial(apply, binary_ops.Maximum()))
    minimum = staticmethod(partial(apply, binary_ops.Minimum()))
    pow = staticmethod(partial(apply, binary_ops.Pow()))
    where = staticmethod(partial(apply, binary_ops.Where()))
    eq = staticmethod(partial(apply, binary_ops.Compare("eq")))
    ne = staticmethod(partial(apply, binary_ops.Compare("ne")))
    lt = staticmethod(partial(apply, binary_ops.Compare("lt")))
    le = staticmethod(partial(apply, binary_ops.Compare("le")))
    gt = staticmethod(partial(apply, binary_ops.Compare("gt")))
    ge = staticmethod(partial(apply, binary_ops.Compare("ge")))
    full_like = staticmethod(full_like)
    zeros = staticmethod(zeros)

    sum = staticmethod(_with(reduce_ops.Sum))
    dot = staticmethod(partial(apply, reduce_ops.Dot()))
    max = staticmethod(_with(partial(reduce_ops.Extreme, "max")))
    min = staticmethod(_with(partial(reduce_ops.Extreme, "min")))
    argmax = staticmethod(_with(partial(reduce_ops.ArgExtreme, "argmax")))
    argmin = staticmethod(_with(partial(reduce_ops.ArgExtreme, "argmin")))
    prod = staticmethod(_with(prod_ops.Prod))
    cumsum = staticmethod(_with(reduce_ops.Cumsum))

    reshape = staticmethod(_with(layout_ops.Reshape))
    permute = staticmethod(_with(layout_ops.Permute))
    broadcast_to = staticmethod(_with(layout_ops.BroadcastTo))
    slice = staticmethod(_with(layout_ops.Slice))
    unslice = staticmethod(_with(layout_ops.Unslice))
    assign = staticmethod(assign)
    cat = staticmethod(cat)
    unfold = staticmethod(_with(Unfold))
    fold = staticmethod(_with(Fold))
    contiguous = staticmethod(partial(apply, layout_ops.Contiguous()))
    copy = staticmethod(partial(apply, layout_ops.Copy()))

    index_select = staticmethod(index_select)
    index_add = staticmethod(index_add)
    gather = staticmethod(gather)
    scatter_add = staticmethod(scatter_add)
    scatter = staticmethod(scatter)
    last_writes = staticmethod(last_writes)
    sort = staticmethod(sort)

    matmul = staticmethod(partial(apply, matmul_ops.Matmul()))
    linear = staticmethod(linear)
    linear_backward = partialmethod(_on_self, linear_backward_ref)
    im2col = staticmethod(_with(conv_ops.Im2col))
    col2im = staticmethod(_with(conv_ops.Col2im))
    conv = staticmethod(conv)
    conv_norm = staticmethod(conv_norm)
    conv_input_grad = staticmethod(conv_input_grad)
    conv_weight_grad = staticmethod(conv_weight_grad)
    softmax = staticmethod(_with(softmax_ops.Softmax))
    log_softmax = staticmethod(_with(softmax_ops.LogSoftmax))
    cross_entropy = staticmethod(cross_entropy)
    mse = staticmethod(partial(apply, loss_ops.Mse(False)))
    huber = staticmethod(huber)
    bce_with_logits = staticmethod(partial(apply, loss_ops.BceWithLogits()))

    max_pool_ids = staticmethod(_with(pool_ops.MaxPoolIds))
    avg_pool = staticmethod(_with(pool_ops.AvgPool))
    avg_pool_backward = staticmethod(_with(pool_ops.AvgPoolBackward))
    resize_nearest = staticmethod(_with(resample_ops.Nearest))
    resize_nearest_backward = staticmethod(_with(resample_ops.NearestBackward))
    resize_linear = staticmethod(_with(resample_ops.Linear))
    resize_linear_backward = staticmethod(_with(resample_ops.LinearBackward))
    channel_norm = staticmethod(channel_norm)

    # fused verbs with several results, and fused gradients, as their compositions
    max_pool = partialmethod(_on_self, max_pool_ref)
    max_pool_backward = partialmethod(_on_self, max_pool_backward_ref)
    layer_norm = partialmethod(_on_self, layer_norm_ref)
    layer_norm_backward = partialmethod(_on_self, layer_norm_backward_ref)
    residual_norm = partialmethod(_on_self, residual_norm_ref)
    residual_norm_backward = partialmethod(_on_self, residual_norm_backward_ref)
    rms_norm = partialmethod(_on_self, rms_norm_ref)
    rms_norm_backward = partialmethod(_on_self, rms_norm_backward_ref)
    group_norm = partialmethod(_on_self, group_norm_ref)
    group_norm_backward = partialmethod(_on_self, group_norm_backward_ref)
    batch_norm = partialmethod(_on_self, batch_norm_ref)
    batch_norm_backward = partialmethod(_on_self, batch_norm_backward_ref)
    channel_norm_backward = partialmethod(_on_self, channel_norm_backward_ref)
    lstm = partialmethod(_on_self, lstm_ref)
    lstm_backward = partialmethod(_on_self, lstm_backward_ref)
    gru = partialmethod(_on_self, gru_ref)
    gru_backward = partialmethod(_on_self, gru_backward_ref)
    rotate = partialmethod(_on_self, rotate_ref)
    attention = partialmethod(_on_self, attention_ref)
    attention_backward = partialmethod(_on_self, attention_backward_ref)
    cross_entropy_with_grad = partialmethod(_on_self, cross_entropy_with_grad_ref)
    cross_entropy_backward = partialmethod(_on_self, cross_entropy_backward_ref)
    mse_with_grad = partialmethod(_on_self, mse_with_grad_ref)
    mse_backward = partialmethod(_on_self, mse_backward_ref)
    bce_with_logits_backward = partialmethod(_on_self, bce_with_logits_backward_ref)
    huber_with_grad = partialmethod(_on_self, huber_with_grad_ref)
    huber_backward = partialmethod(_on_self, huber_backward_ref)
    relu_backward = partialmethod(_on_self, relu_backward_ref)
    hard_sigmoid_backward = partialmethod(_on_self, hard_sigmoid_backward_ref)
    hardswish_backward = partialmethod(_on_self, hardswish_backward_ref)
    leaky_relu_backward = partialmethod(_on_self, leaky_relu_backward_ref)
    clamp_backward = partialmethod(_on_self, clamp_backward_ref)
    elu_backward = partialmethod(_on_self, elu_backward_ref)
    tanh_backward = partialmethod(_on_self, tanh_backward_ref)
    sigmoid_backward = partialmethod(_on_self, sigmoid_backward_ref)
    silu_backward = partialmethod(_on_self, silu_backward_ref)
    gelu_backward = partialmethod(_on_self, gelu_backward_ref)
    gelu_erf_backward = partialmethod(_on_self, gelu_erf_backward_ref)
    prod_backward = partialmethod(_on_self, prod_backward_ref)
    softmax_backward = partialmethod(_on_self, softmax_backward_ref)
    log_softmax_backward = partialmethod(_on_self, log_softmax_backward_ref)


class _Graph:
    """What the tape is handed to record a backward."""

    xp: Any = Verbs()

    def wrap(self, array: Array, node: Node | None) -> Tensor:
        """The array as a Tensor with its place in the graph."""
        return wrap(array, node)


GRAPH = _Graph()
