"""What the kernels' families share: the namespace of twins and how a twin gets into it (floor 1).

A *primitive* verb has its meaning in plain NumPy; a *composition* has it in other verbs, given as `xp`. Put on `twins`,
a composition is what the C kernel is held to and what runs without an extension; put on Tensors it is the form that
second derivatives go through.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from cafe.dtype import Array

from . import _ffi


class XP(Protocol):
    """A namespace of verbs: `cafe.kernels`, `twins`, or the verbs on Tensors (which a rule sees as arrays all the same)."""

    def __getattr__(self, name: str) -> Callable[..., Array]: ...


Verb = TypeVar("Verb", bound=Callable[..., Any])


class Twins:
    """Every verb in plain NumPy, by its name. What is not there was never registered."""

    def __init__(self) -> None:
        self.verbs: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Array]:
        try:
            verb: Callable[..., Array] = self.__dict__["verbs"][name]
            return verb
        except KeyError:
            raise AttributeError(f"no verb `{name}` among the twins") from None

    def register(self, name: str, verb: Callable[..., Any]) -> None:
        """Adds a verb; a name is taken once."""
        assert name not in self.verbs, f"two twins named {name}"
        self.verbs[name] = verb


twins = Twins()
TAKES_HALVES = _ffi.BACKEND == "c"  # whether kernels take F16 and BF16 as they are; NumPy's verbs are given F32
halves: set[str] = set()  # the verbs of one array that C, where it is, computes for F16 and BF16: in F32, rounded once


def primitive(ref: Verb) -> Verb:
    """Registers `name_ref` as `twins.name`, made to give ndarrays (0-d too) and to follow IEEE without warnings."""

    @functools.wraps(ref)
    def run(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return _as_arrays(ref(*args, **kwargs))

    twins.register(ref.__name__.removesuffix("_ref"), run)
    return run  # type: ignore[return-value]


def composition(ref: Verb) -> Verb:
    """Registers `name_ref(xp, …)` as `twins.name(…)`, bound to the twins."""
    twins.register(ref.__name__.removesuffix("_ref"), functools.partial(ref, twins))
    return ref


def _as_arrays(out: Any) -> Any:
    if isinstance(out, tuple):
        return tuple(_as_arrays(o) for o in out)
    return out if isinstance(out, np.ndarray) else np.asarray(out)


def power(x: Array, e: Array) -> Array:
    """x to the e in float64, C's `pow` in its special cases.

    Where one exponent serves many, or a single x, NumPy takes square roots for 0.5, which treat −0 and −inf otherwise.
    """
    e = np.array(np.broadcast_to(e, np.broadcast_shapes(x.shape, e.shape)), np.float64)
    return np.asarray(np.power(x.astype(np.float64), e) if e.size > 1 else np.float_power(x, e))


def through_f64(function: Callable[..., Array], *args: Array) -> Array:
    """A function's value in float64, rounded once to the arguments' dtype: NumPy's own float32 loops are off by an ulp here and there."""
    dtype = args[0].dtype
    if dtype == np.float64:
        return np.asarray(function(*args))
    return np.asarray(function(*(a.astype(np.float64) for a in args))).astype(dtype)
