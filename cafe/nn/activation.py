"""Activations by name, as model configurations spell them (floor 6).

    Activation.from_name(config["hidden_act"])       "gelu", "quick_gelu", {"elu": 1.0} …

The names are candle's and those of Hugging Face's transformers; one that both know means the same in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import ml_dtypes

from cafe.errors import Error, bail, near
from cafe.ops.matmul import LinearThen
from cafe.tensor.convert import real
from cafe.tensor.core import Tensor

from . import ops
from .building import builds
from .init import Init
from .linear import Linear
from .module import Module
from .var_builder import VarBuilder

Function: TypeAlias = Callable[[Tensor], Tensor]


def _relu2(xs: Tensor) -> Tensor:
    return xs.relu().sqr()


def _relu6(xs: Tensor) -> Tensor:
    return xs.clamp(0.0, 6.0)


def _quick_gelu(xs: Tensor) -> Tensor:
    """x · sigmoid(1.702 x)."""
    return xs.mul(ops.sigmoid(xs * 1.702))


def _gelu_10(xs: Tensor) -> Tensor:
    """The exact GELU, held between −10 and 10."""
    return xs.gelu_erf().clamp(-10.0, 10.0)


def _laplace(xs: Tensor) -> Tensor:
    """The normal distribution's cumulative with mean √½ and deviation √(1/4π): close to relu²."""
    return ((xs - 0.707107) / (0.282095 * math.sqrt(2.0))).erf().affine(0.5, 0.5)


def _sqrt_softplus(xs: Tensor) -> Tensor:
    """√ ln(1 + eˣ); far below 0, where the logarithm is eˣ and the root's slope would be infinite, it is e^(x/2)."""
    usual = xs.gt(-30.0)
    guarded = usual.where_cond(xs, xs.zeros_like())
    return usual.where_cond(ops.softplus(guarded).sqrt(), xs.minimum(0.0).affine(0.5, 0.0).exp())


def _xielu(xs: Tensor) -> Tensor:
    """αₚ x² + β x where x > 0, αₙ (eˣ − 1 − x) + β x elsewhere, with the initial values that transformers gives a fresh layer in BF16."""
    squared = xs.sqr() * _XIELU_P
    low = xs.minimum(_XIELU_EPS).elu(1.0).sub(xs) * _XIELU_N
    return xs.gt(0.0).where_cond(squared, low).add(xs * _XIELU_BETA)


def _bf16(value: float) -> float:
    return float(ml_dtypes.bfloat16(value))


def _bf16_softplus_of_inverse(value: float) -> float:
    """softplus(ln(eᵛ − 1)), which would be v, with each step rounded to BF16 as the layer's parameter is."""
    parameter = _bf16(math.log(_bf16(math.expm1(_bf16(value)))))
    return _bf16(math.log1p(math.exp(parameter)))


_XIELU_BETA, _XIELU_EPS = _bf16(0.5), _bf16(-1e-6)
_XIELU_P = _bf16_softplus_of_inverse(0.8)
_XIELU_N = _bf16(_XIELU_BETA + _bf16_softplus_of_inverse(0.8 - 0.5))

_PLAIN: dict[str, Function] = {
    "gelu": Tensor.gelu_erf,
    "gelu_python": Tensor.gelu_erf,
    "gelu_10": _gelu_10,
    "gelu_new": Tensor.gelu,
    "gelu_fast": Tensor.gelu,
    "gelu_accurate": Tensor.gelu,
    "gelu_pytorch_tanh": Tensor.gelu,
    "gelu_python_tanh": Tensor.gelu,
    "quick_gelu": _quick_gelu,
    "relu": Tensor.relu,
    "relu2": _relu2,
    "relu6": _relu6,
    "silu": Tensor.silu,
    "swish": Tensor.silu,
    "sigmoid": ops.sigmoid,
    "hardsigmoid": ops.hard_sigmoid,
    "hardswish": ops.hardswish,
    "mish": ops.mish,
    "swiglu": ops.swiglu,
    "tanh": Tensor.tanh,
    "linear": ops.Identity().forward,
    "laplace": _laplace,
    "sqrtsoftplus": _sqrt_softplus,
    "xielu": _xielu,
}

_PARAMETRISED: dict[str, tuple[float, Callable[[Tensor, float], Tensor]]] = {
    "elu": (1.0, Tensor.elu),
    "leaky_relu": (0.01, ops.leaky_relu),
    "prelu": (0.25, ops.leaky_relu),  # a fresh PReLU; one with trained slopes is the layer `PReLU`
}

# the functions that a linear layer's op can end with, by the verbs' names
_AFTER_LINEAR: dict[Function, LinearThen] = {
    f: LinearThen(verb)
    for verb, f in (
        ("relu", Tensor.relu),
        ("tanh", Tensor.tanh),
        ("sigmoid", ops.sigmoid),
        ("silu", Tensor.silu),
        ("gelu", Tensor.gelu),
        ("gelu_erf", Tensor.gelu_erf),
    )
}

_ALIASES = {"newgelu": "gelu_new", "gelupytorchtanh": "gelu_pytorch_tanh", "leakyrelu": "leaky_relu"}


class Activation(Module):
    """An activation function with a name; `from_name` reads what a configuration says, `names()` lists what it may say.

    Two of one name and parameter are equal. Gradients are those of the functions, all of them differentiable.

    Source: candle-nn/src/activation.rs, Activation; transformers/activations.py, ACT2CLS.

    >>> from cafe import Tensor
    >>> Activation.from_name("relu6")(Tensor([-1.0, 3.0, 9.0])).tolist()
    [0.0, 3.0, 6.0]
    >>> Activation.from_name({"elu": 0.5}), Activation.Gelu == Activation.from_name("gelu")
    (Activation(elu, 0.5), True)
    """

    __slots__ = ("_after_linear", "_function", "name", "parameter")

    Gelu: ClassVar[Activation]
    NewGelu: ClassVar[Activation]
    GeluPytorchTanh: ClassVar[Activation]
    Relu: ClassVar[Activation]
    Relu2: ClassVar[Activation]
    Relu6: ClassVar[Activation]
    Silu: ClassVar[Activation]
    Sigmoid: ClassVar[Activation]
    HardSigmoid: ClassVar[Activation]
    Swiglu: ClassVar[Activation]
    Swish: ClassVar[Activation]
    Mish: ClassVar[Activation]
    HardSwish: ClassVar[Activation]

    def __init__(self, name: str, parameter: float | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"an activation's name is a string, got {name!r}")
        self.name = _ALIASES.get(name, name)
        if self.name in _PARAMETRISED:
            default, f = _PARAMETRISED[self.name]
            slope = default if parameter is None else real("Activation", parameter)
            self.parameter: float | None = slope
            self._function: Function = lambda xs: f(xs, slope)
        elif self.name not in _PLAIN:
            raise _unknown(name)
        elif parameter is not None:
            raise Error(f"activation {name} takes no parameter, got {parameter}")
        else:
            self.parameter, self._function = None, _PLAIN[self.name]
        self._after_linear = _AFTER_LINEAR.get(self._function)

    @staticmethod
    def from_name(name: str | Mapping[str, Any]) -> Activation:
        """From a name, or from a mapping of one name to its parameter, as in `{"elu": 1.0}`.

        Raises: Error for a name that is not known, with the nearest ones.
        """
        if isinstance(name, str):
            return Activation(name)
        if not isinstance(name, Mapping) or len(name) != 1:
            bail(f'an activation is a name or one name with its parameter, as in {{"elu": 1.0}}; got {name!r}')
        ((key, parameter),) = name.items()
        return Activation(key, parameter)

    @staticmethod
    def Elu(alpha: float) -> Activation:
        """`elu` with this alpha."""
        return Activation("elu", alpha)

    @staticmethod
    def LeakyRelu(negative_slope: float) -> Activation:
        """`leaky_relu` with this slope."""
        return Activation("leaky_relu", negative_slope)

    @staticmethod
    def names() -> list[str]:
        """Every name that `from_name` knows, sorted."""
        return sorted([*_PLAIN, *_PARAMETRISED, *_ALIASES])

    def forward(self, xs: Tensor) -> Tensor:
        """The function's value."""
        return self._function(xs)

    def of_linear(self, layer: Linear, xs: Tensor) -> Tensor:
        """The function of layer(xs), to the same bits: for relu, tanh, sigmoid, silu and the GELUs in one op, in which the product is still
        in the nearest caches. With a gradient to come that is so for the first three, whose slopes are known from their values.

        `Sequential` asks for it by itself where a Linear is followed by an Activation.

        Shape: as the layer's.
        Raises: as the layer itself.

        >>> from cafe import Tensor, nn
        >>> layer = nn.Linear(Tensor([[1.0, -1.0], [-1.0, 1.0]]))
        >>> nn.Activation.Relu.of_linear(layer, Tensor([[3.0, 1.0]])).tolist()
        [[2.0, 0.0]]
        """
        op = self._after_linear
        if op is not None:
            try:
                ys = layer.then(op, xs)
            except AttributeError:  # not a Tensor: the layer says so
                ys = None
            if ys is not None:
                return ys
        return self._function(layer(xs))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Activation) and (self.name, self.parameter) == (other.name, other.parameter)

    def __hash__(self) -> int:
        return hash((self.name, self.parameter))

    def __repr__(self) -> str:
        return f"Activation({self.name})" if self.parameter is None else f"Activation({self.name}, {self.parameter})"


Activation.Gelu, Activation.NewGelu = Activation("gelu"), Activation("gelu_new")
Activation.GeluPytorchTanh = Activation("gelu_pytorch_tanh")
Activation.Relu, Activation.Relu2, Activation.Relu6 = Activation("relu"), Activation("relu2"), Activation("relu6")
Activation.Silu, Activation.Swish, Activation.Swiglu = Activation("silu"), Activation("swish"), Activation("swiglu")
Activation.Sigmoid, Activation.HardSigmoid = Activation("sigmoid"), Activation("hardsigmoid")
Activation.Mish, Activation.HardSwish = Activation("mish"), Activation("hardswish")


def _unknown(name: str) -> Error:
    error = Error(f"unknown activation {name!r}")
    return error.help(near(name, Activation.names()) or "one of " + ", ".join(Activation.names()))


class PReLU(Module):
    """x where x > 0, weight · x elsewhere, with one weight or one a channel (dim 1). Gradient: g or g · weight, the latter at 0;
    the weight's is Σ g x over x ≤ 0.

    Raises: Error with candle's text when the weights are not as many as the channels.
    Source: candle-nn/src/activation.rs, PReLU.

    >>> from cafe import Tensor
    >>> PReLU(Tensor([0.5]), True)(Tensor([[-2.0, 3.0]])).tolist()
    [[-1.0, 3.0]]
    """

    __slots__ = ("is_scalar", "weight")

    @builds
    def __init__(self, weight: Tensor, is_scalar: bool) -> None:
        self.weight, self.is_scalar = weight, is_scalar

    def forward(self, xs: Tensor) -> Tensor:
        """The function's value."""
        if self.is_scalar:
            weight = self.weight.reshape(())
        else:
            channels = xs.dim(1) if xs.rank >= 2 else xs.elem_count()
            if self.weight.elem_count() != channels:
                count = self.weight.elem_count()
                bail(f"error in prelu: unexpected number of channels for the input, got {channels}, weight dim is {count}")
            weight = self.weight.reshape(tuple(channels if i == min(1, xs.rank - 1) else 1 for i in range(xs.rank)))
        return xs.gt(0.0).where_cond(xs, xs.broadcast_mul(weight))


@builds
def prelu(num_channels: int | None, vb: VarBuilder) -> PReLU:
    """A PReLU with the variable `weight`: (num_channels), or (1) for None; 0.25 at first.

    Source: candle-nn/src/activation.rs, prelu.
    """
    return PReLU(vb.get_with_hints(1 if num_channels is None else num_channels, "weight", Init.Const(0.25)), num_channels is None)
