"""Every verb in C and on its twin at once, each held to the twin's value in float64 (above the tensor floor)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from cafe import kernels
from cafe.dtype import Array

from .compare import assert_close, epsilon, scale

# How far a verb may be from float64, in epsilons of the larger of 1 and the largest element; a verb that is not here keeps ULPS.
ULPS = 3.0
BOUNDS: dict[str, float] = {
    "matmul": 8.0,
    "linear": 8.0,
    "linear_backward": 8.0,
    "attention_backward": 8.0,
    # sums over rows or planes of products that were rounded
    "layer_norm_backward": 8.0,
    "residual_norm_backward": 56.0,  # x + r is rounded: half an ulp of 4, times the 32 that rstd can be, times 1.5 of g
    "rms_norm_backward": 8.0,
    "group_norm_backward": 8.0,
    "batch_norm_backward": 8.0,
    "channel_norm_backward": 8.0,
}


class Both:
    """A namespace of verbs for a rule: each call runs on `cafe.kernels` and on the twins, and both are compared.

    seen: the names of the verbs used so far.
    """

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *args: self._call(name, args)

    def _call(self, name: str, args: tuple[Any, ...]) -> Any:
        self.seen.add(name)
        with_twin = getattr(kernels.twins, name)(*args)
        exact = getattr(kernels.twins, name)(*_widened(args))
        verb = kernels.twins.verbs[name]
        if isinstance(verb, functools.partial):  # a composition: the verbs it is made of are compared, too
            verb.func(self, *args)
        y = getattr(kernels, name)(*args)  # last: some write over what they are given for it
        for got, twin, wanted in zip(_parts(y), _parts(with_twin), _parts(exact)):
            assert isinstance(got, np.ndarray), f"kernels.{name} gives a {type(got).__name__}, expected an array"
            assert got.dtype == twin.dtype, f"kernels.{name} gives {got.dtype}, its twin {twin.dtype}"
            unit = epsilon(got.dtype) if got.dtype.kind == "f" else 0.0
            bound = BOUNDS.get(name, ULPS) * unit
            leave = _sum_leave(got.dtype, args) * unit / scale(wanted) if name == "sum" else 0.0
            assert_close(got, wanted, bound + leave, f"kernels.{name}")
            assert_close(twin, wanted, bound + (leave if got.dtype == np.float64 else 0.0), f"twins.{name}")
        return y


def _sum_leave(dtype: np.dtype[Any], args: tuple[Any, ...]) -> float:
    """What a sum may be off where its terms cancel, in epsilons.

    The kernel adds four neighbours of a slot in float32 before it widens them: each number goes through two sums, each rounded by half
    an epsilon at most. Its float32 twin widens first and gets no such leave. In float64 the reference is a float64 sum itself, no nearer
    than a few epsilons.
    """
    x, *rest = args
    return (1.0 if dtype == np.float32 else ULPS) * scale(kernels.twins.sum(np.abs(x), *rest))


def _widened(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if value.dtype == np.float32 else value
    if not isinstance(value, tuple | list):
        return value
    make = getattr(type(value), "_make", type(value))  # a NamedTuple takes its fields one by one
    return make(_widened(v) for v in value)


def _parts(value: Any) -> tuple[Array, ...]:
    if isinstance(value, tuple):
        return tuple(a for v in value for a in _parts(v))
    return () if value is None else (value,)
