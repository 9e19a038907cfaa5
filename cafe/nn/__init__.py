"""Layers, losses and optimizers: candle_nn's names (floor 6).

from cafe.nn import AdamW, VarBuilder, VarMap, linear, loss, ops
"""

from . import init, loss, ops, optim
from .activation import Activation, PReLU, prelu
from .attention import scaled_dot_product_attention
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
from .init import Init
from .kv_cache import Cache, KvCache, RotatingCache, RotatingKvCache
from .linear import Linear, linear, linear_b, linear_no_bias
from .module import Func, FuncT, Module, ModuleT, func, func_t
from .ops import Identity
from .optim import SGD, Adam, AdamW, Optimizer, ParamsAdam, ParamsAdamW, ParamsSGD
from .rnn import GRU, LSTM, Direction, GRUConfig, GRUState, LSTMConfig, LSTMState, RNNStack, gru, gru_stack, lstm, lstm_stack
from .rotary_emb import rope, rope_i, rope_thd, rotary_angles
from .schedule import Cosine, StepDecay, Warmup
from .sequential import Sequential, seq
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

__all__ = [
    "GRU",
    "LSTM",
    "SGD",
    "Activation",
    "Adam",
    "AdamW",
    "Cache",
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
    "Identity",
    "Init",
    "KvCache",
    "LSTMConfig",
    "LSTMState",
    "Linear",
    "Module",
    "ModuleT",
    "MultiHeadAttention",
    "Optimizer",
    "PReLU",
    "ParamsAdam",
    "ParamsAdamW",
    "ParamsSGD",
    "RNNStack",
    "RotatingCache",
    "RotatingKvCache",
    "Sequential",
    "StepDecay",
    "TransformerConfig",
    "VarBuilder",
    "VarMap",
    "Warmup",
    "clip_grad_norm",
    "clip_grad_value",
    "conv1d",
    "conv1d_no_bias",
    "conv2d",
    "conv2d_no_bias",
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
    "gru",
    "gru_stack",
    "init",
    "linear",
    "linear_b",
    "linear_no_bias",
    "loss",
    "lstm",
    "lstm_stack",
    "multi_head_attention",
    "ops",
    "optim",
    "prelu",
    "rope",
    "rope_i",
    "rope_thd",
    "rotary_angles",
    "scaled_dot_product_attention",
    "seq",
    "sinusoidal_positions",
]
