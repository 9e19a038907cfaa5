"""One pass over four million numbers: sums, functions of one argument, random numbers; the same of BF16."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from .plain import as_bf16
from .row import Array, Call, Curve, Row, Stream

M4 = 4 * 2**20
_ROOT = 0.7978845608028654  # √(2/π)
_EXPONENT = 2.4  # of a display's brightness

_PERCENTS = np.arange(1, 100) / 100.0

# The function of float64 arrays that each row is held to.
_MEANING: dict[str, Callable[..., Array]] = {
    "gelu_erf": lambda x: 0.5 * x * (1.0 + special.erf(x / np.sqrt(2.0))),
    "gelu": lambda x: 0.5 * x * (1.0 + np.tanh(_ROOT * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1.0 + np.exp(-x)),
    "exp": np.exp,
    "tanh": np.tanh,
    "hardswish": lambda x: x * np.clip(x + 3.0, 0.0, 6.0) / 6.0,
    "powf": lambda x: np.power(x, _EXPONENT),
    "add": np.add,
}
_TORCH: dict[str, Callable[..., Any]] = {
    "gelu_erf": lambda torch: torch.nn.functional.gelu,
    "gelu": lambda torch: lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda torch: torch.nn.functional.silu,
    "exp": lambda torch: torch.exp,
    "tanh": lambda torch: torch.tanh,
    "hardswish": lambda torch: torch.nn.functional.hardswish,
    "powf": lambda torch: lambda x: torch.pow(x, _EXPONENT),
    "add": lambda torch: torch.add,
}
_JAX: dict[str, Callable[..., Any]] = {
    "gelu_erf": lambda jax: lambda x: jax.nn.gelu(x, approximate=False),
    "gelu": lambda jax: lambda x: jax.nn.gelu(x, approximate=True),
    "silu": lambda jax: jax.nn.silu,
    "exp": lambda jax: jax.numpy.exp,
    "tanh": lambda jax: jax.numpy.tanh,
    "hardswish": lambda jax: jax.nn.hard_swish,
    "powf": lambda jax: lambda x: jax.numpy.power(x, _EXPONENT),
    "add": lambda jax: jax.numpy.add,
}
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_NUMPY: dict[str, Callable[..., Any]] = {
    "gelu": lambda x: _HALF * x * (_ONE + np.tanh(np.float32(_ROOT) * (x + np.float32(0.044715) * x * x * x))),
    "silu": lambda x: x / (_ONE + np.exp(-x)),
    "exp": np.exp,
    "tanh": np.tanh,
    "hardswish": lambda x: x * np.clip(x + np.float32(3.0), np.float32(0.0), np.float32(6.0)) / np.float32(6.0),
    "powf": lambda x: np.power(x, np.float32(_EXPONENT)),
    "add": np.add,
}
_CAFE: dict[str, Callable[..., Any]] = {
    "hardswish": lambda cafe: cafe.nn.ops.hardswish,
    "powf": lambda cafe: lambda x: x.powf(_EXPONENT),
}


@dataclass(frozen=True, kw_only=True)
class Elementwise(Row):
    """y = f(x), or f(a, b), over n float32 numbers; above 0 where f takes no others."""

    op: str
    n: int = M4
    arity: int = 1
    above_zero: bool = False

    @property
    def limit(self) -> Stream:
        return Stream(4.0 * self.arity * self.n, 4.0 * self.n)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        drawn = (2.0 * rng.standard_normal(self.n, np.float32) for _ in range(self.arity))
        return tuple(np.abs(x) if self.above_zero else x for x in drawn)

    def reference(self, *xs: Array) -> Array:
        return _MEANING[self.op](*(x.astype(np.float64) for x in xs))

    def cafe(self, cafe: Any, *xs: Array) -> Call:
        tensors = tuple(map(cafe.Tensor, xs))
        f = _CAFE[self.op](cafe) if self.op in _CAFE else getattr(cafe.Tensor, self.op)
        return lambda: f(*tensors)

    def torch(self, torch: Any, *xs: Array) -> Call:
        tensors, f = tuple(map(torch.from_numpy, xs)), _TORCH[self.op](torch)
        return lambda: f(*tensors)

    def jax(self, jax: Any, *xs: Array) -> Call:
        arrays, f = tuple(map(jax.numpy.asarray, xs)), jax.jit(_JAX[self.op](jax))
        return lambda: f(*arrays).block_until_ready()


class OnNumPy(Elementwise):
    """Those that NumPy can say without another library."""

    def numpy(self, _: Any, *xs: Array) -> Call:
        f = _NUMPY[self.op]
        return lambda: f(*xs)


class OnSciPy(Elementwise):
    """GELU with the error function, which SciPy has and NumPy lacks."""

    def scipy(self, scipy: Any, x: Array) -> Call:
        root, erf = np.float32(0.5**0.5), scipy.special.erf
        return lambda: _HALF * x * (_ONE + erf(x * root))


@dataclass(frozen=True, kw_only=True)
class OfHalves(Elementwise):
    """y = f(x), or f(a, b), over n numbers of BF16: inputs that BF16 holds, and a result that is rounded to it."""

    tolerance: float = 2.0**-8
    jax = None  # what it inherits would be of F32

    @property
    def limit(self) -> Stream:
        return Stream(2.0 * self.arity * self.n, 2.0 * self.n)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return tuple(map(as_bf16, super().inputs(rng)))

    def cafe(self, cafe: Any, *xs: Array) -> Call:
        tensors, f = tuple(cafe.Tensor(x).to_dtype("bf16") for x in xs), getattr(cafe.Tensor, self.op)
        return lambda: f(*tensors)

    def torch(self, torch: Any, *xs: Array) -> Call:
        tensors, f = tuple(torch.from_numpy(x).bfloat16() for x in xs), _TORCH[self.op](torch)
        return lambda: f(*tensors)


@dataclass(frozen=True, kw_only=True)
class Normal(Row):
    """n normal random numbers. Which ones is each library's own affair: their quantiles are held to the distribution's."""

    n: int = M4
    tolerance: float = 4e-3  # of 2.33: the first percentile of four million numbers is off by 0.002, once in three times

    @property
    def limit(self) -> Stream:
        return Stream(0.0, 4.0 * self.n)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return ()

    def reference(self) -> Array:
        return np.asarray(special.ndtri(_PERCENTS))

    def compared(self, results: list[Array]) -> list[Array]:
        return [np.quantile(array.astype(np.float64), _PERCENTS) for array in results]

    def cafe(self, cafe: Any) -> Call:
        return lambda: cafe.Tensor.randn(0.0, 1.0, self.n)

    def torch(self, torch: Any) -> Call:
        return lambda: torch.randn(self.n)

    def numpy(self, np: Any) -> Call:
        rng = np.random.default_rng(1)
        return lambda: rng.standard_normal(self.n, np.float32)


def add(n: int) -> Elementwise:
    """a + b of n numbers."""
    return OnNumPy(name=f"add {n}", op="add", n=n, arity=2)


ROWS = [
    OnSciPy(name="GELU (erf) 4M", op="gelu_erf", goal=0.60),
    OnNumPy(name="GELU (tanh) 4M", op="gelu", goal=0.28, quick=False),
    OnNumPy(name="SiLU 4M", op="silu", goal=0.55, quick=False),
    OnNumPy(name="exp 4M", op="exp", goal=0.40),
    OnNumPy(name="tanh 4M", op="tanh", goal=0.30, quick=False),
    OnNumPy(name="add 4M", op="add", arity=2, goal=0.85),
    OnNumPy(name="hardswish 4M", op="hardswish", quick=False),
    OnNumPy(name="power 2.4 of 4M", op="powf", above_zero=True, quick=False),
    Normal(name="normal random numbers 4M", quick=False),
    OfHalves(name="add BF16 4M", op="add", arity=2),
    OfHalves(name="GELU (tanh) BF16 4M", op="gelu", quick=False),
]
CURVES = [Curve("add, by bytes of an operand", "bytes", "GB/s", tuple((2**k, add(2**k // 4)) for k in range(10, 29, 2)))]
