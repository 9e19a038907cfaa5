"""How variables start: `Init` and its ready-made values (floor 6).

    vb.get_with_hints((3, 2), "weight", init.DEFAULT_KAIMING_NORMAL)
    Init.Uniform(lo=-0.1, up=0.1).var((3, 2))

Random numbers are drawn in float64 and rounded once, from the generator that `cafe.manual_seed` seeds.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from cafe.device import Device
from cafe.dtype import DType, DTypeLike
from cafe.shape import Shape, ShapeLike, parse_shape
from cafe.tensor.core import Var


def _debug(value: float) -> str:
    """A float as Rust's Debug prints an f64: `0.0`, `1e-5`."""
    mantissa, e, exponent = repr(float(value)).partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


class NormalOrUniform(enum.Enum):
    """The distribution of a Kaiming initialisation.

    >>> list(NormalOrUniform)
    [Normal, Uniform]
    """

    Normal = "Normal"
    Uniform = "Uniform"

    def __repr__(self) -> str:
        return self.name


class FanInOut(enum.Enum):
    """Which side's connections are counted: FanIn keeps the variance of the outputs, FanOut that of the gradients.

    >>> list(FanInOut)
    [FanIn, FanOut]
    """

    FanIn = "FanIn"
    FanOut = "FanOut"

    def for_shape(self, shape: ShapeLike) -> int:
        """Connections into a neuron of a weight (out, in, …), or out of an input: in · …, or out · …; 1 where there is no such dim.

        >>> FanInOut.FanIn.for_shape((8, 4, 3, 3)), FanInOut.FanOut.for_shape((8, 4, 3, 3))
        (36, 72)
        """
        dims = parse_shape(shape)
        at = 1 if self is FanInOut.FanIn else 0
        return dims[at] * prod(dims[2:]) if len(dims) > at else 1

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class NonLinearity:
    """What comes after the layer, and by how much it shrinks the numbers.

    >>> NonLinearity.ReLU.gain() == 2.0 ** 0.5, NonLinearity.ExplicitGain(1.5)
    (True, ExplicitGain(1.5))
    """

    name: str
    value: float
    ReLU: ClassVar[NonLinearity]
    Linear: ClassVar[NonLinearity]
    Sigmoid: ClassVar[NonLinearity]
    Tanh: ClassVar[NonLinearity]
    SELU: ClassVar[NonLinearity]

    @staticmethod
    def ExplicitGain(gain: float) -> NonLinearity:
        """A gain of one's own."""
        return NonLinearity("ExplicitGain", float(gain))

    def gain(self) -> float:
        """The factor that makes up for it."""
        return self.value

    def __repr__(self) -> str:
        return f"ExplicitGain({_debug(self.value)})" if self.name == "ExplicitGain" else self.name


NonLinearity.ReLU = NonLinearity("ReLU", math.sqrt(2.0))
NonLinearity.Linear = NonLinearity("Linear", 1.0)
NonLinearity.Sigmoid = NonLinearity("Sigmoid", 1.0)
NonLinearity.Tanh = NonLinearity("Tanh", 5.0 / 3.0)
NonLinearity.SELU = NonLinearity("SELU", 0.75)


class Init:
    """How a variable starts: `Init.Const`, `Init.Randn`, `Init.Uniform` or `Init.Kaiming`; without a hint `Const(0.0)`.

    Source: candle-nn/src/init.rs, Init.

    >>> from cafe.nn import Init
    >>> Init.default(), Init.Randn(mean=0.0, stdev=0.02)
    (Const(0.0), Randn { mean: 0.0, stdev: 0.02 })
    >>> Init.Const(1.5).var(2).tolist()
    [1.5, 1.5]
    """

    __slots__ = ()
    Const: ClassVar[type[Const]]
    Randn: ClassVar[type[Randn]]
    Uniform: ClassVar[type[Uniform]]
    Kaiming: ClassVar[type[Kaiming]]

    @staticmethod
    def default() -> Init:
        """`Const(0.0)`."""
        return ZERO

    def var(self, shape: ShapeLike, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Var:
        """A new variable that starts so.

        Raises: UnsupportedDTypeForOp for random integers.
        """
        return self._var(parse_shape(shape), dtype, device)

    def _var(self, shape: Shape, dtype: DTypeLike, device: Device | None) -> Var:
        raise NotImplementedError


@dataclass(frozen=True)
class Const(Init):
    """One number everywhere.

    >>> Const(0.5), Const(0.5).var(2).tolist()
    (Const(0.5), [0.5, 0.5])
    """

    value: float

    def _var(self, shape: Shape, dtype: DTypeLike, device: Device | None) -> Var:
        return Var.full(self.value, shape, dtype, device)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Const({_debug(self.value)})"


@dataclass(frozen=True)
class Randn(Init):
    """Normal with this mean and standard deviation.

    >>> Randn(mean=5.0, stdev=0.0).var(2).tolist()
    [5.0, 5.0]
    """

    mean: float
    stdev: float

    def _var(self, shape: Shape, dtype: DTypeLike, device: Device | None) -> Var:
        return Var.randn(self.mean, self.stdev, shape, dtype, device)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Randn {{ mean: {_debug(self.mean)}, stdev: {_debug(self.stdev)} }}"


@dataclass(frozen=True)
class Uniform(Init):
    """Uniform in [lo, up).

    >>> x = Uniform(lo=2.0, up=3.0).var(100)
    >>> x.min_all().item() >= 2.0, x.max_all().item() < 3.0
    (True, True)
    """

    lo: float
    up: float

    def _var(self, shape: Shape, dtype: DTypeLike, device: Device | None) -> Var:
        return Var.rand(self.lo, self.up, shape, dtype, device)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Uniform {{ lo: {_debug(self.lo)}, up: {_debug(self.up)} }}"


@dataclass(frozen=True)
class Kaiming(Init):
    """Mean 0 and standard deviation gain / √fan, normal, or uniform in ± √3 times that.

    Source: He et al., "Delving Deep into Rectifiers", 2015.

    >>> Kaiming(NormalOrUniform.Normal, FanInOut.FanOut, NonLinearity.Linear).stdev((4, 100))
    0.5
    """

    dist: NormalOrUniform
    fan: FanInOut
    non_linearity: NonLinearity

    def stdev(self, shape: ShapeLike) -> float:
        """The standard deviation for a weight of this shape; 0 where it has no connections.

        >>> DEFAULT_KAIMING_NORMAL.stdev((3, 2))
        1.0
        """
        fan = self.fan.for_shape(shape)
        return self.non_linearity.gain() / math.sqrt(fan) if fan else 0.0

    def _var(self, shape: Shape, dtype: DTypeLike, device: Device | None) -> Var:
        stdev = self.stdev(shape)
        if self.dist is NormalOrUniform.Normal:
            return Var.randn(0.0, stdev, shape, dtype, device)  # type: ignore[return-value]
        bound = math.sqrt(3.0) * stdev
        return Var.rand(-bound, bound, shape, dtype, device)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Kaiming {{ dist: {self.dist!r}, fan: {self.fan!r}, non_linearity: {self.non_linearity!r} }}"


Init.Const, Init.Randn, Init.Uniform, Init.Kaiming = Const, Randn, Uniform, Kaiming

ZERO = Const(0.0)
ONE = Const(1.0)
DEFAULT_KAIMING_UNIFORM = Kaiming(NormalOrUniform.Uniform, FanInOut.FanIn, NonLinearity.ReLU)
DEFAULT_KAIMING_NORMAL = Kaiming(NormalOrUniform.Normal, FanInOut.FanIn, NonLinearity.ReLU)

_GLOROT = "`Init.Uniform(lo, up)` with ±√(6 / (in + out)), or `Init.Randn(0.0, stdev)` with √(2 / (in + out))"
_INSTEAD = {
    **dict.fromkeys(("kaiming_normal", "kaiming_normal_", "he_normal"), "`init.DEFAULT_KAIMING_NORMAL`"),
    **dict.fromkeys(("kaiming_uniform", "kaiming_uniform_", "he_uniform"), "`init.DEFAULT_KAIMING_UNIFORM`"),
    **dict.fromkeys(("xavier_normal", "xavier_uniform", "xavier_normal_", "xavier_uniform_", "glorot_normal", "glorot_uniform"), _GLOROT),
    **dict.fromkeys(("zeros", "zeros_"), "`init.ZERO`"),
    **dict.fromkeys(("ones", "ones_"), "`init.ONE`"),
    **dict.fromkeys(("constant", "constant_"), "`Init.Const(value)`"),
    **dict.fromkeys(("normal", "normal_"), "`Init.Randn(mean, stdev)`"),
    **dict.fromkeys(("uniform", "uniform_"), "`Init.Uniform(lo, up)`"),
}


def __getattr__(name: str) -> Any:
    error = AttributeError(f"cannot find `{name}` in module `init`")
    if name in _INSTEAD:
        error.add_note(f"help: an initialisation is a value here: {_INSTEAD[name]}")
    raise error
