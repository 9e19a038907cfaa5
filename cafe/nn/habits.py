"""What PyTorch's modules, optimizers and losses have and cafe's have not, and what there is instead (floor 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cafe.habits import Unlike, misfit, told

_VARIABLES = "variables live in the `VarMap` that the layers were made from: `varmap.all_vars()`, with their names `varmap.data()`"
_FILES = "the `VarMap` that the layers were made from is saved and loaded: `varmap.save(path)`, `varmap.load(path)`"
_TRAIN = "whether this is training is said in the call: `forward_t(xs, train)`"
_PLACE = "a layer's variables are made in one dtype, on the CPU: `VarBuilder.from_varmap(varmap, DType.F64)`"


class ModuleHabits:
    """What modules lack. (Not for the type checker: a subclass may have such a method of its own.)"""

    __slots__ = ()

    if not TYPE_CHECKING:
        parameters = Unlike(_VARIABLES)
        named_parameters = Unlike(_VARIABLES)
        register_buffer = Unlike(_VARIABLES)
        register_parameter = Unlike(_VARIABLES)
        requires_grad_ = Unlike("only the variables that an optimizer is given change: `SGD([w for w in … if …], lr)`")
        zero_grad = Unlike("`loss.backward()` returns new gradients, so there is nothing to zero")
        state_dict = Unlike(_FILES)
        load_state_dict = Unlike(_FILES)
        train = Unlike(_TRAIN)
        eval = Unlike(_TRAIN)
        to = Unlike(_PLACE)
        cuda = Unlike(_PLACE)
        cpu = Unlike(_PLACE)
        half = Unlike(_PLACE)
        float = Unlike(_PLACE)
        double = Unlike(_PLACE)
        modules = Unlike("a module knows no list of its parts; they are the attributes that it was given")
        children = Unlike("a module knows no list of its parts; they are the attributes that it was given")


class VarMapHabits:
    """What a `VarMap` lacks."""

    __slots__ = ()

    if not TYPE_CHECKING:
        parameters = Unlike("it is `all_vars()`")
        named_parameters = Unlike("it is `data()`, a mapping from names to variables")
        state_dict = Unlike("`data()` is a mapping from names to variables; `save(path)` writes them")
        load_state_dict = Unlike("`load(path)` reads a safetensors file, `set(tensors)` takes tensors by name")


class OptimizerHabits:
    """What optimizers lack."""

    __slots__ = ()

    if not TYPE_CHECKING:
        zero_grad = Unlike("`loss.backward()` returns new gradients, so there is nothing to zero")
        param_groups = Unlike("`learning_rate` and `set_learning_rate(lr)` are for all its variables; others take another optimizer")
        lr = Unlike("it is `learning_rate`, changed by `set_learning_rate(lr)`")


# the functions that make a layer and its variables, by the layer's name
BUILDERS = {
    "Linear": "linear(in_dim, out_dim, vb)",
    "Conv1d": "conv1d(in_channels, out_channels, kernel_size, Conv1dConfig(), vb)",
    "Conv2d": "conv2d(in_channels, out_channels, kernel_size, Conv2dConfig(), vb)",
    "ConvTranspose1d": "conv_transpose1d(in_channels, out_channels, kernel_size, ConvTranspose1dConfig(), vb)",
    "ConvTranspose2d": "conv_transpose2d(in_channels, out_channels, kernel_size, ConvTranspose2dConfig(), vb)",
    "Embedding": "embedding(rows, hidden_size, vb)",
    "LayerNorm": "layer_norm(size, 1e-5, vb)",
    "RmsNorm": "rms_norm(size, 1e-5, vb)",
    "GroupNorm": "group_norm(num_groups, num_channels, 1e-5, vb)",
    "InstanceNorm": "instance_norm(num_features, 1e-5, vb)",
    "BatchNorm": "batch_norm(num_features, 1e-5, vb)",
    "LSTM": "lstm(in_dim, hidden_dim, LSTMConfig(), vb)",
    "GRU": "gru(in_dim, hidden_dim, GRUConfig(), vb)",
    "MultiHeadAttention": "multi_head_attention(dim, heads, vb)",
    "PReLU": "prelu(num_channels, vb)",
}

_CONFIG = "padding, stride, dilation and groups are the configuration's, `{1}Config(padding=1)`; without a bias it is `{0}_no_bias`"
_WINDOW = "`kernel_size` and the channels are given to the function that builds the layer; `…_no_bias` builds one without a bias"
_STACKED = "several layers, in one or both directions, are built by `{0}(in_dim, hidden_dim, num_layers, vb, bidirectional=True)`"
_MEAN = "it takes `inp` and `target` and gives the mean; times `inp.elem_count()` that is the sum"
_GRADS = "the gradients first, then the variables and the bound: `{0}(grads, varmap.all_vars(), 1.0)`"

CALLS = {  # how functions and parameters are called
    "linear": "without a bias it is `linear_no_bias(in_dim, out_dim, vb)`",
    "conv1d": _CONFIG.format("conv1d", "Conv1d"),
    "conv2d": _CONFIG.format("conv2d", "Conv2d"),
    "conv_transpose1d": _CONFIG.format("conv_transpose1d", "ConvTranspose1d"),
    "conv_transpose2d": _CONFIG.format("conv_transpose2d", "ConvTranspose2d"),
    "Conv1dConfig": _WINDOW,
    "Conv2dConfig": _WINDOW,
    "ConvTranspose1dConfig": _WINDOW,
    "ConvTranspose2dConfig": _WINDOW,
    "LSTMConfig": _STACKED.format("lstm_stack"),
    "GRUConfig": _STACKED.format("gru_stack"),
    "mse": _MEAN,
    "l1": _MEAN,
    "smooth_l1": _MEAN,
    "huber": f"{_MEAN}; `delta` has no default",
    "binary_cross_entropy_with_logit": _MEAN,
    "nll": "`nll(inp, target)`; `weight`, `ignore_index` and `reduction` are given by name",
    "cross_entropy": "`cross_entropy(inp, target)`; `weight`, `ignore_index`, `label_smoothing` and `reduction` are given by name",
    "scaled_dot_product_attention": "it takes `q`, `k`, `v`, `mask`, `causal` and `scale`; `cafe.nn.ops.dropout` drops elements",
    "step": "it takes the gradients: `step(loss.backward())`",
    "clip_grad_norm": _GRADS.format("clip_grad_norm"),
    "clip_grad_value": _GRADS.format("clip_grad_value"),
    "VarBuilder": "`VarBuilder.from_varmap(varmap, DType.F32)` makes one for training; others read files, as `VarBuilder.from_pth(path)`",
}
called, wrong = told(CALLS), misfit(CALLS)

_NORM = f"it is `{BUILDERS['BatchNorm']}`, for inputs of any rank"
_LAYERS = "a Python list holds layers; `Sequential(a, b)` applies them in order"
_PICKED = "`cafe.tools.data` shuffles rows and cuts them into mini-batches"

MODULE = {
    "ReLU": "it is `Activation.Relu`, a layer as it is",
    "ReLU6": "it is `Activation.Relu6`, a layer as it is",
    "GELU": "it is `Activation.Gelu`, a layer as it is; the tanh form is `Activation.NewGelu`",
    "SiLU": "it is `Activation.Silu`, a layer as it is",
    "Mish": "it is `Activation.Mish`, a layer as it is",
    "Hardswish": "it is `Activation.HardSwish`, a layer as it is",
    "ELU": "it is `Activation.Elu(1.0)`",
    "LeakyReLU": "it is `Activation.LeakyRelu(0.01)`",
    "Sigmoid": "it is `Activation.Sigmoid`, a layer as it is",
    "Tanh": "it is `func(Tensor.tanh)`",
    "Softmax": "it is `func(lambda xs: ops.softmax(xs, 1))`",
    "LogSoftmax": "it is `func(lambda xs: ops.log_softmax(xs, 1))`",
    "Softplus": "it is `func(ops.softplus)`",
    "Flatten": "it is `func(lambda xs: xs.flatten_from(1))`",
    "Dropout2d": "`Dropout(p)` drops single elements",
    "CrossEntropyLoss": "it is the function `loss.cross_entropy(logits, ids)`",
    "NLLLoss": "it is the function `loss.nll(log_probabilities, ids)`",
    "MSELoss": "it is the function `loss.mse(inp, target)`",
    "L1Loss": "it is the function `loss.l1(inp, target)`",
    "HuberLoss": "it is the function `loss.huber(inp, target, delta)`",
    "SmoothL1Loss": "it is the function `loss.smooth_l1(inp, target)`",
    "BCEWithLogitsLoss": "it is the function `loss.binary_cross_entropy_with_logit(logits, target)`",
    "BCELoss": "`loss.binary_cross_entropy_with_logit` takes what comes before the sigmoid",
    "BatchNorm1d": _NORM,
    "BatchNorm2d": _NORM,
    "BatchNorm3d": _NORM,
    "RMSNorm": f"it is `{BUILDERS['RmsNorm']}`",
    "MultiheadAttention": f"it is `{BUILDERS['MultiHeadAttention']}`",
    "TransformerEncoderLayer": "it is `encoder_layer(TransformerConfig(…), vb)`",
    "TransformerEncoder": "it is `encoder(layers, TransformerConfig(…), vb)`",
    "TransformerDecoder": "it is `decoder(layers, TransformerConfig(…), vb)`",
    "Upsample": "it is `UpsampleNearest2d` or `UpsampleBilinear2d`",
    "ModuleList": _LAYERS,
    "ModuleDict": _LAYERS,
    "Parameter": "`vb.get(shape, name)` makes a variable that the `VarMap` keeps, `Var(data)` one of your own",
    "functional": "functions are in `cafe.nn.ops`, losses in `cafe.nn.loss`, the others are methods of Tensor",
    "utils": "`clip_grad_norm` and `clip_grad_value` are here",
    "StepLR": "it is `StepDecay(lr, every, gamma)`, a function of the step",
    "CosineAnnealingLR": "it is `Cosine(lr, steps)`, a function of the step",
    "LinearLR": "`Warmup(steps, then)`, a function of the step, is a straight line from 0 up to what the schedule after it starts with",
    "DataLoader": _PICKED,
    "Dataset": _PICKED,
}

_FUNCTIONAL = {
    "mse_loss": "mse",
    "l1_loss": "l1",
    "smooth_l1_loss": "smooth_l1",
    "huber_loss": "huber",
    "nll_loss": "nll",
    "binary_cross_entropy_with_logits": "binary_cross_entropy_with_logit",
}

LOSSES = {
    **{name: instead for name, instead in MODULE.items() if name.endswith("Loss")},
    **{name: f"it is `{loss}`" for name, loss in _FUNCTIONAL.items()},
    "bce": "`binary_cross_entropy_with_logit` takes what comes before the sigmoid",
    "binary_cross_entropy": "`binary_cross_entropy_with_logit` takes what comes before the sigmoid",
}

OPS = {
    **{name: f"it is `cafe.nn.loss.{loss}`" for name, loss in _FUNCTIONAL.items()},
    "linear": "`Linear(weight, bias)(xs)` is the product",
    "logsigmoid": "it is `log_sigmoid`",
    "hardsigmoid": "it is `hard_sigmoid`",
    "hard_swish": "it is `hardswish`",
    "relu6": "it is `Tensor.clamp(xs, 0.0, 6.0)`",
    "scaled_dot_product_attention": "it is `cafe.nn.scaled_dot_product_attention`",
    "batch_norm": "it is a layer, which keeps running moments: `cafe.nn.BatchNorm`",
    "group_norm": "it is a layer, `cafe.nn.GroupNorm`",
    "instance_norm": "it is a layer, `cafe.nn.InstanceNorm`",
    "normalize": "`xs.broadcast_div(xs.sqr().sum_keepdim(dim).sqrt().maximum(1e-12))`",
    "pad": "it is a method, `Tensor.pad`, with a pair a dim",
    "interpolate": "`Tensor.interpolate2d` and `upsample_bilinear2d` resize images",
    "one_hot": "`Tensor.eye(depth).index_select(ids, 0)` makes such rows",
}
