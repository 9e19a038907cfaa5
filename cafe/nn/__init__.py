"""Layers, losses and optimizers: candle_nn's names (floor 6).

    from cafe.nn import AdamW, VarBuilder, VarMap, linear, loss, ops
"""

from . import init, loss, ops, optim
from .clip import clip_grad_norm, clip_grad_value
from .dropout import Dropout
from .init import Init
from .linear import Linear, linear, linear_b, linear_no_bias
from .module import Func, FuncT, Module, ModuleT, func, func_t
from .ops import Identity
from .optim import SGD, Adam, AdamW, Optimizer, ParamsAdam, ParamsAdamW, ParamsSGD
from .schedule import Cosine, StepDecay, Warmup
from .sequential import Sequential, seq
from .var_builder import VarBuilder
from .var_map import VarMap

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Cosine",
    "Dropout",
    "Func",
    "FuncT",
    "Identity",
    "Init",
    "Linear",
    "Module",
    "ModuleT",
    "Optimizer",
    "ParamsAdam",
    "ParamsAdamW",
    "ParamsSGD",
    "Sequential",
    "StepDecay",
    "VarBuilder",
    "VarMap",
    "Warmup",
    "clip_grad_norm",
    "clip_grad_value",
    "func",
    "func_t",
    "init",
    "linear",
    "linear_b",
    "linear_no_bias",
    "loss",
    "ops",
    "optim",
    "seq",
]
