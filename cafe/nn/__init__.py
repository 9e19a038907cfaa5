"""Layers, losses and optimizers: candle_nn's names (floor 6).

from cafe.nn import AdamW, VarBuilder, VarMap, linear, loss, ops
"""

import typing

from cafe.habits import missing as _missing
from cafe.tensor.core import Tensor as _Tensor

from . import init, loss, ops, optim
from .activation import Activation, PReLU, prelu
from .attention import scaled_dot_product_attention
from .checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from .clip import clip_grad_norm, clip_grad_value
from .conv import (
    Conv1d,
    Conv1dConfig,
    Conv2d,
    Conv2dConfig,
    ConvTranspose1d,
    ConvTranspose1dConfig,
    ConvTranspose2d,
    ConvTranspose2dConfig,
    conv1d,
    conv1d_no_bias,
    conv2d,
    conv2d_no_bias,
    conv_transpose1d,
    conv_transpose1d_no_bias,
    conv_transpose2d,
    conv_transpose2d_no_bias,
)
from .dropout import Dropout
from .embedding import Embedding, embedding
from .habits import MODULE as _MODULE
from .init import Init
from .kv_cache import Cache, KvCache, RotatingCache, RotatingKvCache
from .linear import Linear, linear, linear_b, linear_no_bias
from .module import Func, FuncT, Module, ModuleT, func, func_t
from .norm import (
    BatchNorm,
    BatchNormConfig,
    GroupNorm,
    InstanceNorm,
    InstanceNormConfig,
    LayerNorm,
    LayerNormConfig,
    RmsNorm,
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    layer_norm_no_bias,
    rms_norm,
)
from .ops import Identity
from .optim import SGD, Adam, AdamW, Optimizer, ParamsAdam, ParamsAdamW, ParamsSGD
from .pool import (
    AdaptiveAvgPool2d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    GlobalAvgPool,
    GlobalMaxPool,
    MaxPool1d,
    MaxPool2d,
    UpsampleBilinear2d,
    UpsampleNearest2d,
)
from .rnn import GRU, LSTM, Direction, GRUConfig, GRUState, LSTMConfig, LSTMState, RNNStack, gru, gru_stack, lstm, lstm_stack
from .rotary_emb import rope, rope_i, rope_thd, rotary_angles
from .schedule import Cosine, StepDecay, Warmup
from .sequential import Sequential, seq
from .snake import Snake1d, snake1d
from .standardize import StdConv2d, standardize, std_conv2d
from .transformer import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    TransformerConfig,
    decoder,
    decoder_layer,
    encoder,
    encoder_layer,
    feed_forward,
    multi_head_attention,
    sinusoidal_positions,
)
from .var_builder import VarBuilder
from .var_map import VarMap
from .weight_norm import WeightNorm, conv1d_weight_norm, conv2d_weight_norm, weight_norm

__all__ = [
    "GRU",
    "LSTM",
    "SGD",
    "Activation",
    "Adam",
    "AdamW",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "BatchNorm",
    "BatchNormConfig",
    "Cache",
    "Checkpoint",
    "Conv1d",
    "Conv1dConfig",
    "Conv2d",
    "Conv2dConfig",
    "ConvTranspose1d",
    "ConvTranspose1dConfig",
    "ConvTranspose2d",
    "ConvTranspose2dConfig",
    "Cosine",
    "Decoder",
    "DecoderLayer",
    "Direction",
    "Dropout",
    "Embedding",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "Func",
    "FuncT",
    "GRUConfig",
    "GRUState",
    "GlobalAvgPool",
    "GlobalMaxPool",
    "GroupNorm",
    "Identity",
    "Init",
    "InstanceNorm",
    "InstanceNormConfig",
    "KvCache",
    "LSTMConfig",
    "LSTMState",
    "LayerNorm",
    "LayerNormConfig",
    "Linear",
    "MaxPool1d",
    "MaxPool2d",
    "Module",
    "ModuleT",
    "MultiHeadAttention",
    "Optimizer",
    "PReLU",
    "ParamsAdam",
    "ParamsAdamW",
    "ParamsSGD",
    "RNNStack",
    "RmsNorm",
    "RotatingCache",
    "RotatingKvCache",
    "Sequential",
    "Snake1d",
    "StdConv2d",
    "StepDecay",
    "TransformerConfig",
    "UpsampleBilinear2d",
    "UpsampleNearest2d",
    "VarBuilder",
    "VarMap",
    "Warmup",
    "WeightNorm",
    "batch_norm",
    "clip_grad_norm",
    "clip_grad_value",
    "conv1d",
    "conv1d_no_bias",
    "conv1d_weight_norm",
    "conv2d",
    "conv2d_no_bias",
    "conv2d_weight_norm",
    "conv_transpose1d",
    "conv_transpose1d_no_bias",
    "conv_transpose2d",
    "conv_transpose2d_no_bias",
    "decoder",
    "decoder_layer",
    "embedding",
    "encoder",
    "encoder_layer",
    "feed_forward",
    "func",
    "func_t",
    "group_norm",
    "gru",
    "gru_stack",
    "init",
    "instance_norm",
    "layer_norm",
    "layer_norm_no_bias",
    "linear",
    "linear_b",
    "linear_no_bias",
    "load_checkpoint",
    "loss",
    "lstm",
    "lstm_stack",
    "multi_head_attention",
    "ops",
    "optim",
    "prelu",
    "rms_norm",
    "rope",
    "rope_i",
    "rope_thd",
    "rotary_angles",
    "save_checkpoint",
    "scaled_dot_product_attention",
    "seq",
    "sinusoidal_positions",
    "snake1d",
    "standardize",
    "std_conv2d",
    "weight_norm",
]

if not typing.TYPE_CHECKING:
    __getattr__ = _missing("cafe.nn", __all__, _MODULE, ops, loss, _Tensor)
