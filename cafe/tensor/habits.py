"""What PyTorch's and NumPy's tensors have and cafe's have not, and what there is instead (floor 4)."""

from __future__ import annotations

from typing import NoReturn

from cafe.errors import helped
from cafe.habits import Elsewhere, Unlike

from .base import Base

_IN_PLACE = "a tensor does not change, `t = t.add(…)` names a new one; a `Var` is given new numbers by `set`"
_DTYPE = "`to_dtype(DType.F64)` converts, to any of the nine dtypes"
_DEVICE = "there is one device, the CPU; `to_dtype` converts, `to_device(Device.Cpu)` gives the tensor itself"
_GRAPH = "`is_variable()` says whether it is a `Var`, `track_op()` whether it descends from one"
_VARIABLE = "a `Var` is what gradients are taken for, and `track_op()` says whether a tensor descends from one"


def unknown_keyword(kind: str, keyword: str) -> TypeError:
    """The error of a tensor made with a keyword that it has not."""
    cure = "`Var(data)` is what gradients are taken for" if keyword == "requires_grad" else None
    return helped(TypeError(f"{kind} has no `{keyword}`: it takes `data`, `dtype` and `device`"), cure)


def _no_operator(symbol: str, instead: str) -> TypeError:
    return TypeError(f"a Tensor has no operator {symbol}: {instead}")


class Habits(Base):
    """The names, each with its answer."""

    __slots__ = ()

    # -- functions, as in candle

    sigmoid = Elsewhere("cafe.nn.ops")
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

    def __and__(self, other: object) -> NoReturn:
        raise _no_operator("&", "of masks it is `a * b`")

    def __or__(self, other: object) -> NoReturn:
        raise _no_operator("|", "of masks it is `a.maximum(b)`")

    def __xor__(self, other: object) -> NoReturn:
        raise _no_operator("^", "of masks it is `a.ne(b)`; a power is `a ** b`")

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
    detach_ = Unlike("`t = t.detach()` is the same storage outside the graph")

    # -- facts, dtypes, devices

    numel = Unlike("`elem_count()` counts the elements")
    nelement = Unlike("`elem_count()` counts the elements")
    size = Unlike("`shape` is a tuple of the sizes, `dims()` a list, `dim(i)` one of them; `elem_count()` counts the elements")
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
    mT = Unlike("`t()` swaps the last two dims")
    clone = Unlike("a tensor does not change, so it can be shared; `copy()` copies")
    swapaxes = Unlike("it is `transpose(dim1, dim2)`")
    movedim = Unlike("`permute` takes all the dims in their new order")
    split = Unlike("`chunk(n, dim)` cuts into n parts, `narrow(dim, start, len)` takes one of any length")
    unbind = Unlike("iterating over a tensor gives its rows; `chunk(n, dim)` cuts along another dim")
    repeat_interleave = Unlike("`t.unsqueeze(d + 1)`, then `repeat` along d + 1, then `flatten(d, d + 1)`")

    # -- functions that have another name, or are made of others

    std = Unlike("`var(dim).sqrt()` is the standard deviation")
    mm = Unlike("it is `matmul`")
    bmm = Unlike("it is `matmul`")
    clip = Unlike("it is `clamp(low, high)`")
    logsumexp = Unlike("it is `log_sum_exp(dim)`")
    rsqrt = Unlike("`sqrt().recip()`")
    log2 = Unlike("`log() / math.log(2)`")
    log10 = Unlike("`log() / math.log(10)`")
    log1p = Unlike("`(t + 1.0).log()`; `cafe.nn.ops.softplus(x)` is ln(1 + eˣ) without loss")
    expm1 = Unlike("`elu(1.0)` is eˣ − 1 where x is below 0; elsewhere `exp() - 1.0`")
    tan = Unlike("`t.sin() / t.cos()`")
    fmod = Unlike("`t.sign() * (t.abs() - (t.abs() / n).floor() * n)` for n above 0; of integers `t - t / n * n`")
    where = Unlike("`mask.where_cond(a, b)`, a method of the condition")
    masked_select = Unlike("`t[mask]` takes the elements, or rows, where a U8 mask is not 0")
    topk = Unlike("`sort_last_dim(False)` gives values and their ids, largest first; `narrow(-1, 0, k)` takes k of them")
    sort = Unlike("`sort_last_dim(True)` gives values and their ids, smallest first")
    argsort = Unlike("it is `arg_sort_last_dim(True)`")
    unique = Unlike("`numpy.unique(t.numpy())` finds them")
    nonzero = Unlike("`numpy.nonzero(t.numpy())` finds them")
    any = Unlike("`t.ne(0).max_all()` is 1 where any is not 0")
    all = Unlike("`t.ne(0).min_all()` is 1 where none is 0")
    isnan = Unlike("`t.ne(t)` is 1 where t is NaN")
    isinf = Unlike("`t.abs().eq(math.inf)` is 1 where t is infinite")
    equal = Unlike("`a.eq(b).min_all()` is 1 where all are equal")
    allclose = Unlike("`numpy.allclose(a.numpy(), b.numpy())` says so")
    tril = Unlike("`Tensor.tril2(n, dtype)` has ones on and below the diagonal, to multiply with")
    triu = Unlike("`Tensor.triu2(n, dtype)` has ones on and above the diagonal, to multiply with")
    empty = Unlike("`Tensor.zeros(shape)`: no memory is given out unwritten")
    tensor = Unlike("`Tensor(data)` makes one")
    randint = Unlike("`Tensor(numpy.random.default_rng().integers(…))` draws whole numbers")
