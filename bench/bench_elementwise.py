"""One pass over four million numbers: add, and functions of one argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from .row import Array, Call, Curve, Row, Stream

M4 = 4 * 2**20
_ROOT = 0.7978845608028654  # √(2/π)

# The function of float64 arrays that each row is held to.
_MEANING: dict[str, Callable[..., Array]] = {
    "gelu_erf": lambda x: 0.5 * x * (1.0 + special.erf(x / np.sqrt(2.0))),
    "gelu": lambda x: 0.5 * x * (1.0 + np.tanh(_ROOT * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1.0 + np.exp(-x)),
    "exp": np.exp,
    "tanh": np.tanh,
    "add": np.add,
}
_TORCH: dict[str, Callable[..., Any]] = {
    "gelu_erf": lambda torch: torch.nn.functional.gelu,
    "gelu": lambda torch: lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda torch: torch.nn.functional.silu,
    "exp": lambda torch: torch.exp,
    "tanh": lambda torch: torch.tanh,
    "add": lambda torch: torch.add,
}
_JAX: dict[str, Callable[..., Any]] = {
    "gelu_erf": lambda jax: lambda x: jax.nn.gelu(x, approximate=False),
    "gelu": lambda jax: lambda x: jax.nn.gelu(x, approximate=True),
    "silu": lambda jax: jax.nn.silu,
    "exp": lambda jax: jax.numpy.exp,
    "tanh": lambda jax: jax.numpy.tanh,
    "add": lambda jax: jax.numpy.add,
}
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_NUMPY: dict[str, Callable[..., Any]] = {
    "gelu": lambda x: _HALF * x * (_ONE + np.tanh(np.float32(_ROOT) * (x + np.float32(0.044715) * x * x * x))),
    "silu": lambda x: x / (_ONE + np.exp(-x)),
    "exp": np.exp,
    "tanh": np.tanh,
    "add": np.add,
}


@dataclass(frozen=True, kw_only=True)
class Elementwise(Row):
    """y = f(x), or f(a, b), over n float32 numbers."""

    op: str
    n: int = M4
    arity: int = 1

    @property
    def limit(self) -> Stream:
        return Stream(4.0 * self.arity * self.n, 4.0 * self.n)

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        return tuple(2.0 * rng.standard_normal(self.n, np.float32) for _ in range(self.arity))

    def reference(self, *xs: Array) -> Array:
        return _MEANING[self.op](*(x.astype(np.float64) for x in xs))

    def cafe(self, cafe: Any, *xs: Array) -> Call:
        x, *others = map(cafe.Tensor, xs)
        method = getattr(x, self.op)
        return lambda: method(*others)

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
]
CURVES = [Curve("add, by bytes of an operand", "bytes", "GB/s", tuple((2**k, add(2**k // 4)) for k in range(10, 29, 2)))]
