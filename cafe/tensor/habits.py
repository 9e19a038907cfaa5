"""What PyTorch's and NumPy's tensors have and cafe's have not, and what there is instead (floor 4)."""

from __future__ import annotations

from typing import NoReturn

from cafe.habits import Elsewhere, Unlike, misfit, told

from .base import Base

_IN_PLACE = "a tensor does not change, `t = t.add(…)` names a new one; a `Var` is given new numbers by `set`"
_DTYPE = "`to_dtype(DType.F64)` converts, to any of the nine dtypes"
_DEVICE = "there is one device, the CPU; `to_dtype` converts, `to_device(Device.Cpu)` gives the tensor itself"
_GRAPH = "`is_variable()` says whether it is a `Var`, `track_op()` whether it descends from one"
_VARIABLE = "a `Var` is what gradients are taken for, and `track_op()` says whether a tensor descends from one"


_MADE = "; `Var.{0}` takes the same and makes a variable, which gradients are taken for"
_TUPLE = "the sizes are one argument, a tuple: `t.{0}((3, 2))`"
_WINDOW = "`{0}(kernel, stride=None, padding=0, ceil_mode=False)`"
_BIAS = "`{0}(kernel, padding=0, …)` adds no bias: a layer does, `cafe.nn.{1}(kernel, bias, {1}Config(…))`"

_REDUCES = "`{0}(dim)`; `{0}_keepdim(dim)` keeps the dim at size 1, `{0}_all()` reduces everything to a scalar"
_OF_ONE = "`{0}(dim)`; `{0}_keepdim(dim)` keeps the dim at size 1"

CALLS = {  # how the methods are called
    # made of shapes and numbers
    "Tensor": "it takes `data`, `dtype` and `device`; a `Var` is what gradients are taken for",
    "Var": "it takes `data`, `dtype` and `device`, and is what gradients are taken for",
    "zeros": "`Tensor.zeros((2, 3), DType.F32)`" + _MADE.format("zeros"),
    "ones": "`Tensor.ones((2, 3), DType.F32)`" + _MADE.format("ones"),
    "full": "`Tensor.full(1.0, (2, 3))`" + _MADE.format("full"),
    "eye": "`Tensor.eye(3)`, a square" + _MADE.format("eye"),
    "arange": "`Tensor.arange(0, 3)`; `Tensor.arange_step(0, 9, 3)` has steps" + _MADE.format("arange"),
    "arange_step": "`Tensor.arange_step(0, 9, 3)`: start, end, step" + _MADE.format("arange_step"),
    "linspace": "`Tensor.linspace(0.0, 1.0, 5)`: first, last, how many" + _MADE.format("linspace"),
    "rand": "`Tensor.rand(0.0, 1.0, (2, 3))`: bounds, shape" + _MADE.format("rand"),
    "randn": "`Tensor.randn(0.0, 1.0, (2, 3))`: mean, deviation, shape" + _MADE.format("randn"),
    "zeros_like": "it is of t's dtype; of another, `Tensor.zeros(t.shape, dtype)`",
    "ones_like": "it is of t's dtype; of another, `Tensor.ones(t.shape, dtype)`",
    "rand_like": "`t.rand_like(0.0, 1.0)`: bounds",
    "randn_like": "`t.randn_like(0.0, 1.0)`: mean, deviation",
    "meshgrid": "`Tensor.meshgrid([a, b], xy_indexing=False)`",
    # shapes
    "dim": "`dim(i)` is the size of one dim; `rank` is the number of dims",
    "flatten": "`flatten(start, end)` joins these dims and those between; `flatten_from(start)`, `flatten_to(end)`, `flatten_all()`",
    "squeeze": "`squeeze(dim)` drops one dim of size 1; all of them go by `t.reshape([n for n in t.shape if n != 1])`",
    "expand": _TUPLE.format("expand"),
    "broadcast_as": _TUPLE.format("broadcast_as"),
    "broadcast_left": _TUPLE.format("broadcast_left"),
    "repeat": "how often along each dim is one argument, a tuple: `t.repeat((3, 2))`",
    "flip": "the dims are one argument, an int or a tuple: `t.flip((0, 1))`",
    "roll": "`roll(shift, dim)` goes along one dim; once more, along another",
    # numbers
    "clamp": "`clamp(low, high)` wants both bounds; one alone is `maximum(low)` or `minimum(high)`",
    "round": "it rounds to whole numbers; `round_to(decimals)` to decimals",
    "norm": "it is the root of the sum of all squares; along a dim it is `t.sqr().sum(dim).sqrt()`",
    "log_sum_exp": "`log_sum_exp(dim)`, several dims as a tuple; `unsqueeze(dim)` puts one back at size 1",
    "sort_last_dim": "`sort_last_dim(True)` gives the smallest first, `sort_last_dim(False)` the largest",
    "arg_sort_last_dim": "`arg_sort_last_dim(True)` gives the place of the smallest first, `arg_sort_last_dim(False)` of the largest",
    "sum": _REDUCES.format("sum"),
    "mean": _REDUCES.format("mean"),
    "max": _REDUCES.format("max"),
    "min": _REDUCES.format("min"),
    "prod": _REDUCES.format("prod"),
    "argmax": _OF_ONE.format("argmax"),
    "argmin": _OF_ONE.format("argmin"),
    "var": _OF_ONE.format("var") + "; it divides by n − 1, and times (n − 1) / n it is the biased variance",
    # windows
    "conv1d": _BIAS.format("conv1d", "Conv1d"),
    "conv2d": _BIAS.format("conv2d", "Conv2d"),
    "conv_transpose1d": _BIAS.format("conv_transpose1d", "ConvTranspose1d"),
    "conv_transpose2d": _BIAS.format("conv_transpose2d", "ConvTranspose2d"),
    "max_pool1d": _WINDOW.format("max_pool1d"),
    "max_pool2d": _WINDOW.format("max_pool2d"),
    "avg_pool1d": _WINDOW.format("avg_pool1d").replace(")`", ", count_include_pad=True)`"),
    "avg_pool2d": _WINDOW.format("avg_pool2d").replace(")`", ", count_include_pad=True)`"),
    # the graph
    "backward": "it starts from ones; other weights go before it, `(t * weights).sum_all().backward()`, and all variables get a gradient",
}
called, wrong = told(CALLS), misfit(CALLS)


def _no_operator(symbol: str, instead: str) -> TypeError:
    return TypeError(f"a Tensor has no operator {symbol}: {instead}")


class Habits(Base):
    """The names, each with its answer."""

    __slots__ = ()

    # -- functions, as in candle

    sigmoid = Elsewhere("cafe.nn.ops")
    logsigmoid = Unlike("it is the function `cafe.nn.ops.log_sigmoid`")
    dropout = Elsewhere("cafe.nn.ops")
    layer_norm = Elsewhere("cafe.nn.ops")
    rms_norm = Elsewhere("cafe.nn.ops")
    softmax = Elsewhere("cafe.nn.ops")
    log_softmax = Elsewhere("cafe.nn.ops")
    softmax_last_dim = Elsewhere("cafe.nn.ops")
    softplus = Elsewhere("cafe.nn.ops")
    leaky_relu = Elsewhere("cafe.nn.ops")
    selu = Elsewhere("cafe.nn.ops")
    mish = Elsewhere("cafe.nn.ops")
    hard_sigmoid = Elsewhere("cafe.nn.ops")
    read_npy = Elsewhere("cafe.io.npy")
    write_npy = Elsewhere("cafe.io.npy")
    read_npz = Elsewhere("cafe.io.npy")
    write_npz = Elsewhere("cafe.io.npy")
    read_npz_by_name = Elsewhere("cafe.io.npy")
    save_safetensors = Elsewhere("cafe.io.safetensors")
    cross_entropy = Elsewhere("cafe.nn.loss")
    mse = Elsewhere("cafe.nn.loss")
    nll = Elsewhere("cafe.nn.loss")

    # -- operators

    def __floordiv__(self, other: object) -> NoReturn:
        raise _no_operator("//", "`(a / b).floor()`; of integers `a / b` is whole, cut towards 0")

    def __mod__(self, other: object) -> NoReturn:
        raise _no_operator("%", "`a - (a / b).floor() * b`; of integers `a - a / b * b`, which has the sign of a")

    def __divmod__(self, other: object) -> NoReturn:
        raise _no_operator("divmod", "`q = (a / b).floor()` and `a - q * b`; of integers `q = a / b` is whole, cut towards 0")

    def __and__(self, other: object) -> NoReturn:
        raise _no_operator("&", "of masks it is `a * b`")

    def __or__(self, other: object) -> NoReturn:
        raise _no_operator("|", "of masks it is `a.maximum(b)`")

    def __xor__(self, other: object) -> NoReturn:
        raise _no_operator("^", "of masks it is `a.ne(b)`; a power is `a ** b`")

    __rfloordiv__, __rmod__, __rdivmod__ = __floordiv__, __mod__, __divmod__
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> NoReturn:
        raise _no_operator("~", "of a mask it is `mask.eq(0)`")

    # -- the graph

    grad = Unlike("`backward()` returns the gradients: `grads = loss.backward(); grads[v]`")
    requires_grad = Unlike(_VARIABLE)
    requires_grad_ = Unlike(_VARIABLE)
    grad_fn = Unlike(_GRAPH)
    is_leaf = Unlike(_GRAPH)
    retain_grad = Unlike("`loss.backward(retain=[t])` keeps the gradient of a tensor on the way")
    zero_grad = Unlike("`backward()` returns new gradients, so there is nothing to zero")
    data = Unlike("`numpy()` shows the numbers, `detach()` leaves the graph, and `Var.set` gives a variable new ones")

    is_floating_point = Unlike("`dtype.is_float` says so")
    register_hook = Unlike("`loss.backward(retain=[t])` keeps the gradient of a tensor on the way")

    # -- in place

    add_ = Unlike(_IN_PLACE)
    sub_ = Unlike(_IN_PLACE)
    mul_ = Unlike(_IN_PLACE)
    div_ = Unlike(_IN_PLACE)
    zero_ = Unlike(_IN_PLACE)
    fill_ = Unlike(_IN_PLACE)
    copy_ = Unlike(_IN_PLACE)
    clamp_ = Unlike(_IN_PLACE)
    relu_ = Unlike(_IN_PLACE)
    exp_ = Unlike(_IN_PLACE)
    normal_ = Unlike(_IN_PLACE)
    uniform_ = Unlike(_IN_PLACE)
    masked_fill_ = Unlike(_IN_PLACE)
    sqrt_ = Unlike(_IN_PLACE)
    tanh_ = Unlike(_IN_PLACE)
    sigmoid_ = Unlike(_IN_PLACE)
    abs_ = Unlike(_IN_PLACE)
    neg_ = Unlike(_IN_PLACE)
    pow_ = Unlike(_IN_PLACE)
    squeeze_ = Unlike(_IN_PLACE)
    unsqueeze_ = Unlike(_IN_PLACE)
    t_ = Unlike(_IN_PLACE)
    index_add_ = Unlike(_IN_PLACE)
    scatter_ = Unlike("`scatter(ids, source, dim)` gives a new tensor")
    scatter_add_ = Unlike("`scatter_add(ids, source, dim)` gives a new tensor")
    assign = Unlike("`Var.set(new)` gives a variable new numbers")
    detach_ = Unlike("`t = t.detach()` is the same storage outside the graph")

    # -- facts, dtypes, devices

    numel = Unlike("`elem_count()` counts the elements")
    nelement = Unlike("`elem_count()` counts the elements")
    size = Unlike("`shape` is a tuple of the sizes, `dims()` a list, `dim(i)` one of them; `elem_count()` counts the elements")
    ndimension = Unlike("`rank` is the number of dims")
    strides = Unlike("`stride` has the steps, in elements")
    nbytes = Unlike("`elem_count() * dtype.size_in_bytes` is what the elements take")
    itemsize = Unlike("`dtype.size_in_bytes` is the size of an element")
    element_size = Unlike("`dtype.size_in_bytes` is the size of an element")
    to = Unlike(_DEVICE)
    cuda = Unlike(_DEVICE)
    cpu = Unlike(_DEVICE)
    is_cuda = Unlike(_DEVICE)
    float = Unlike("it is `to_dtype(DType.F32)`")
    double = Unlike("it is `to_dtype(DType.F64)`")
    half = Unlike("it is `to_dtype(DType.F16)`")
    bfloat16 = Unlike("it is `to_dtype(DType.BF16)`")
    long = Unlike("it is `to_dtype(DType.I64)`")
    int = Unlike("it is `to_dtype(DType.I32)`")
    bool = Unlike("`t.ne(0)` is a mask, of U8")
    type = Unlike(_DTYPE)
    type_as = Unlike(_DTYPE)
    astype = Unlike(_DTYPE)

    # -- shapes

    view = Unlike("`reshape` gives a view wherever there can be one")
    view_as = Unlike("`a.reshape(b.shape)`, a view wherever there can be one")
    ravel = Unlike("it is `flatten_all()`")
    unflatten = Unlike("`reshape` takes all the sizes, one of which may be -1")
    reshape_as = Unlike("`a.reshape(b.shape)`")
    expand_as = Unlike("`a.broadcast_as(b.shape)`")
    tile = Unlike("it is `repeat`, with a count for each dim in a tuple: `t.repeat((1, 2))`")
    new_zeros = Unlike("`Tensor.zeros(shape, t.dtype)`")
    new_ones = Unlike("`Tensor.ones(shape, t.dtype)`")
    new_full = Unlike("`Tensor.full(value, shape, t.dtype)`")
    new_tensor = Unlike("`Tensor(data, t.dtype)`")
    mT = Unlike("`t()` swaps the last two dims")
    clone = Unlike("a tensor does not change, so it can be shared; `copy()` copies")
    swapaxes = Unlike("it is `transpose(dim1, dim2)`")
    swapdims = Unlike("it is `transpose(dim1, dim2)`")
    movedim = Unlike("`permute` takes all the dims in their new order")
    moveaxis = Unlike("`permute` takes all the dims in their new order")
    select = Unlike("`get_on_dim(dim, index)` takes one index, and the dim goes")
    concat = Unlike("it is `Tensor.cat(tensors, dim)`")
    concatenate = Unlike("it is `Tensor.cat(tensors, dim)`")
    vstack = Unlike("it is `Tensor.cat(tensors, 0)`, of vectors `Tensor.stack(tensors, 0)`")
    hstack = Unlike("it is `Tensor.cat(tensors, 1)`, of vectors `Tensor.cat(tensors, 0)`")
    split = Unlike("`chunk(n, dim)` cuts into n parts, `narrow(dim, start, len)` takes one of any length")
    unbind = Unlike("iterating over a tensor gives its rows; `chunk(n, dim)` cuts along another dim")
    repeat_interleave = Unlike("`t.unsqueeze(d + 1)`, then `repeat` along d + 1, then `flatten(d, d + 1)`")

    # -- functions that have another name, or are made of others

    std = Unlike("`var(dim).sqrt()` is the standard deviation")
    mm = Unlike("it is `matmul`")
    bmm = Unlike("it is `matmul`")
    outer = Unlike("`a.unsqueeze(1).matmul(b.unsqueeze(0))`")
    inner = Unlike("of vectors it is `dot`")
    subtract = Unlike("it is `sub`, or `a - b`")
    multiply = Unlike("it is `mul`, or `a * b`")
    divide = Unlike("it is `div`, or `a / b`")
    true_divide = Unlike("it is `div`, or `a / b`")
    floor_divide = Unlike("`(a / b).floor()`; of integers `a / b` is whole, cut towards 0")
    remainder = Unlike("`a - (a / b).floor() * b`; of integers `a - a / b * b`, which has the sign of a")
    negative = Unlike("it is `neg`, or `-t`")
    reciprocal = Unlike("it is `recip`")
    square = Unlike("it is `sqr`")
    absolute = Unlike("it is `abs`")
    clip = Unlike("it is `clamp(low, high)`")
    clamp_min = Unlike("it is `maximum(low)`")
    clamp_max = Unlike("it is `minimum(high)`")
    relu6 = Unlike("it is `clamp(0.0, 6.0)`")
    hardtanh = Unlike("it is `clamp(-1.0, 1.0)`")
    logsumexp = Unlike("it is `log_sum_exp(dim)`")
    rsqrt = Unlike("`sqrt().recip()`")
    log2 = Unlike("`log() / math.log(2)`")
    log10 = Unlike("`log() / math.log(10)`")
    log1p = Unlike("`(t + 1.0).log()`; `cafe.nn.ops.softplus(x)` is ln(1 + eˣ) without loss")
    expm1 = Unlike("`elu(1.0)` is eˣ − 1 where x is below 0; elsewhere `exp() - 1.0`")
    tan = Unlike("`t.sin() / t.cos()`")
    fmod = Unlike("`t.sign() * (t.abs() - (t.abs() / n).floor() * n)` for n above 0; of integers `t - t / n * n`")
    trunc = Unlike("`t.sign() * t.abs().floor()`")
    frac = Unlike("`t - t.sign() * t.abs().floor()`")
    sinh = Unlike("`(t.exp() - t.neg().exp()) / 2.0`")
    cosh = Unlike("`(t.exp() + t.neg().exp()) / 2.0`")
    lerp = Unlike("`a + (b - a) * weight`")
    greater = Unlike("it is `gt`, or `a > b`")
    greater_equal = Unlike("it is `ge`, or `a >= b`")
    less = Unlike("it is `lt`, or `a < b`")
    less_equal = Unlike("it is `le`, or `a <= b`")
    not_equal = Unlike("it is `ne`")
    logical_and = Unlike("of masks it is `a * b`")
    logical_or = Unlike("of masks it is `a.maximum(b)`")
    logical_xor = Unlike("of masks it is `a.ne(b)`")
    logical_not = Unlike("of a mask it is `mask.eq(0)`")
    take = Unlike("`t.flatten_all().index_select(ids, 0)`")
    take_along_axis = Unlike("it is `gather(ids, dim)`")
    where = Unlike("`mask.where_cond(a, b)`, a method of the condition")
    masked_select = Unlike("`t[mask]` takes the elements, or rows, where a U8 mask is not 0")
    topk = Unlike("`sort_last_dim(False)` gives values and their ids, largest first; `narrow(-1, 0, k)` takes k of them")
    sort = Unlike("`sort_last_dim(True)` gives values and their ids, smallest first")
    argsort = Unlike("it is `arg_sort_last_dim(True)`")
    unique = Unlike("`numpy.unique(t.numpy())` finds them")
    nonzero = Unlike("`numpy.nonzero(t.numpy())` finds them")
    any = Unlike("`t.numpy().any()` says whether any is not 0")
    all = Unlike("`t.numpy().all()` says whether none is 0")
    isnan = Unlike("`t.ne(t)` is 1 where t is NaN")
    isinf = Unlike("`t.abs().eq(math.inf)` is 1 where t is infinite")
    equal = Unlike("`numpy.array_equal(a.numpy(), b.numpy())` says so")
    allclose = Unlike("`numpy.allclose(a.numpy(), b.numpy())` says so")
    tril = Unlike("`Tensor.tril2(n, dtype)` has ones on and below the diagonal, to multiply with")
    triu = Unlike("`Tensor.triu2(n, dtype)` has ones on and above the diagonal, to multiply with")
    empty = Unlike("`Tensor.zeros(shape)`: no memory is given out unwritten")
    median = Unlike("`numpy.median(t.numpy(), axis)` finds it, of an even number the mean of the two in the middle")
    quantile = Unlike("`numpy.quantile(t.numpy(), q, axis)` finds it")
    cumprod = Unlike("of numbers above 0 it is `t.log().cumsum(dim).exp()`")
    interpolate = Unlike("it is `interpolate2d(target_h, target_w)`, or `upsample_bilinear2d` between the pixels")
    tensor = Unlike("`Tensor(data)` makes one")
    randint = Unlike("`Tensor(numpy.random.default_rng().integers(…))` draws whole numbers")
