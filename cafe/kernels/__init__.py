"""Arrays in, arrays out: every kernel by name, and `twins`, the same names in plain NumPy (floor 1).

    from cafe import kernels
    kernels.softmax(x, 1)          # in C where there is an extension
    kernels.twins.softmax(x, 1)    # its twin
"""

from .assign import assign
from .attention import attention, attention_backward
from .base import twins
from .binary import (
    accumulate,
    add,
    affine,
    clamp,
    div,
    eq,
    full_like,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    pow,
    sub,
    where,
    zeros,
)
from .conv import col2im, conv, conv_input_grad, conv_norm, conv_weight_grad, im2col
from .indexing import gather, ids_where, index_add, index_select, last_writes, scatter, scatter_add
from .layout import broadcast_to, cast, cat, contiguous, copy, permute, reshape, slice, unslice
from .loss import (
    bce_with_logits,
    bce_with_logits_backward,
    cross_entropy,
    cross_entropy_backward,
    cross_entropy_with_grad,
    huber,
    huber_backward,
    huber_with_grad,
    mse,
    mse_backward,
    mse_with_grad,
)
from .matmul import linear, linear_backward, matmul
from .norm import (
    batch_norm,
    batch_norm_backward,
    channel_norm,
    channel_norm_backward,
    group_norm,
    group_norm_backward,
    layer_norm,
    layer_norm_backward,
    residual_norm,
    residual_norm_backward,
    rms_norm,
    rms_norm_backward,
)
from .optim import adam_step, sgd_step
from .pool import avg_pool, avg_pool_backward, max_pool, max_pool_backward, max_pool_ids
from .prod import prod, prod_backward
from .quant import dequantize
from .random import keep_mask, normal, permutation, uniform
from .reduce import argmax, argmin, cumsum, dot, max, min, sum
from .resample import resize_linear, resize_linear_backward, resize_nearest, resize_nearest_backward
from .rnn import gru, gru_backward, lstm, lstm_backward
from .rotary import rotate
from .softmax import log_softmax, log_softmax_backward, softmax, softmax_backward
from .sort import sort
from .unary import (
    abs,
    ceil,
    clamp_backward,
    cos,
    elu,
    elu_backward,
    erf,
    exp,
    floor,
    gelu,
    gelu_backward,
    gelu_erf,
    gelu_erf_backward,
    hard_sigmoid,
    hard_sigmoid_backward,
    hardswish,
    hardswish_backward,
    leaky_relu,
    leaky_relu_backward,
    log,
    neg,
    powf,
    recip,
    relu,
    relu_backward,
    round,
    sigmoid,
    sigmoid_backward,
    sign,
    silu,
    silu_backward,
    sin,
    softplus,
    sqr,
    sqrt,
    tanh,
    tanh_backward,
)
from .unfold import fold, unfold

__all__ = [
    "abs", "accumulate", "adam_step", "add", "affine", "argmax", "argmin", "assign", "attention", "attention_backward", "avg_pool",
    "avg_pool_backward", "batch_norm", "batch_norm_backward", "bce_with_logits", "bce_with_logits_backward", "broadcast_to", "cast", "cat",
    "ceil", "channel_norm", "channel_norm_backward", "clamp", "clamp_backward", "col2im", "contiguous", "conv", "conv_input_grad",
    "conv_norm", "conv_weight_grad", "copy", "cos", "cross_entropy", "cross_entropy_backward", "cross_entropy_with_grad", "cumsum",
    "dequantize", "div", "dot", "elu", "elu_backward", "eq", "erf", "exp", "floor", "fold", "full_like", "gather", "ge", "gelu",
    "gelu_backward", "gelu_erf", "gelu_erf_backward", "group_norm", "group_norm_backward", "gru", "gru_backward", "gt", "hard_sigmoid",
    "hard_sigmoid_backward", "hardswish", "hardswish_backward", "huber", "huber_backward", "huber_with_grad", "ids_where", "im2col",
    "index_add", "index_select", "keep_mask", "last_writes", "layer_norm", "layer_norm_backward", "le", "leaky_relu", "leaky_relu_backward",
    "linear", "linear_backward", "log", "log_softmax", "log_softmax_backward", "lstm", "lstm_backward", "lt", "matmul", "max", "max_pool",
    "max_pool_backward", "max_pool_ids", "maximum", "min", "minimum", "mse", "mse_backward", "mse_with_grad", "mul", "ne", "neg", "normal",
    "permutation", "permute", "pow", "powf", "prod", "prod_backward", "recip", "relu", "relu_backward", "reshape", "residual_norm",
    "residual_norm_backward", "resize_linear", "resize_linear_backward", "resize_nearest", "resize_nearest_backward", "rms_norm",
    "rms_norm_backward", "rotate", "round", "scatter", "scatter_add", "sgd_step", "sigmoid", "sigmoid_backward", "sign", "silu",
    "silu_backward", "sin", "slice", "softmax", "softmax_backward", "softplus", "sort", "sqr", "sqrt", "sub", "sum", "tanh",
    "tanh_backward", "twins", "unfold", "uniform", "unslice", "where", "zeros",
]  # fmt: skip
