"""One step of an optimizer over all variables in one call, in place (floor 1).

Every list runs over the variables: parameters `ps`, gradients `gs`, moments. Parameters and moments are contiguous and written to; as
they are the same arrays from step to step, a `Column` of them has its addresses ready.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from cafe.dtype import Array

from . import _ffi

_SGD = _ffi.kernel("sgd")
_ADAM = _ffi.kernel("adam")
_POINTER = {_ffi.F32: "float *", _ffi.F64: "double *"}


def sgd_step(
    ps: Sequence[Array],
    gs: Sequence[Array],
    ms: Sequence[Array],
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    weight_decay: float,
    first: bool,
) -> None:
    """g ← g + weight_decay · p; m ← g at the first step, else momentum · m + (1 − dampening) g; p ← p − lr · m.

    With Nesterov p ← p − lr (g + momentum · m). `ms` is empty when momentum is 0: then p ← p − lr · g.
    """
    p = _column(ps)
    f = _SGD.get(p.dtype)
    if f is None:
        sgd_step_ref(ps, gs, ms, lr, momentum, dampening, nesterov, weight_decay, first)
        return
    moments = _column(ms).pointers if ms else _ffi.NULL
    grads = _pointers(p.dtype, gs)
    f(p.pointers, grads, moments, p.sizes, len(grads), lr, momentum, dampening, weight_decay, nesterov, first)


def sgd_step_ref(
    ps: Sequence[Array],
    gs: Sequence[Array],
    ms: Sequence[Array],
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    weight_decay: float,
    first: bool,
) -> None:
    for i, (p, g) in enumerate(zip(ps, gs)):
        real = p.dtype.type
        step = g + real(weight_decay) * p if weight_decay else g
        if momentum:
            m = ms[i]
            m[...] = step if first else m * real(momentum) + real(1.0 - dampening) * step
            step = step + real(momentum) * m if nesterov else m
        p -= real(lr) * step


def adam_step(
    ps: Sequence[Array],
    gs: Sequence[Array],
    ms: Sequence[Array],
    vs: Sequence[Array],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    step: int,
) -> None:
    """Adam's step number `step` (from 1), with bias correction in float64.

    decoupled (AdamW): p ← p (1 − lr · weight_decay); else (Adam): g ← g + weight_decay · p. Then
    m ← m + (1 − β₁)(g − m); v ← β₂ v + (1 − β₂) g²; p ← p − lr / (1 − β₁ᵗ) · m / (√v / √(1 − β₂ᵗ) + eps).
    """
    p, m, v = _column(ps), _column(ms), _column(vs)
    f = _ADAM.get(p.dtype)
    if f is None:
        adam_step_ref(ps, gs, ms, vs, lr, beta1, beta2, eps, weight_decay, decoupled, step)
        return
    grads = _pointers(p.dtype, gs)
    shrink, decay = (1.0 - lr * weight_decay, 0.0) if decoupled else (1.0, weight_decay)
    root, size = (1.0 - beta2**step) ** 0.5, lr / (1.0 - beta1**step)
    f(p.pointers, grads, m.pointers, v.pointers, p.sizes, len(grads), shrink, decay, beta1, beta2, root, eps, size)


def adam_step_ref(
    ps: Sequence[Array],
    gs: Sequence[Array],
    ms: Sequence[Array],
    vs: Sequence[Array],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    step: int,
) -> None:
    step_size = lr / (1.0 - beta1**step)
    root = (1.0 - beta2**step) ** 0.5
    for p, g, m, v in zip(ps, gs, ms, vs):
        real = p.dtype.type
        if weight_decay and decoupled:
            p *= real(1.0 - lr * weight_decay)
        elif weight_decay:
            g = g + real(weight_decay) * p
        m += real(1.0 - beta1) * (g - m)
        v *= real(beta2)
        v += real(1.0 - beta2) * (g * g)
        p -= real(step_size) * (m / (np.sqrt(v) / real(root) + real(eps)))


class Column(tuple[Array, ...]):
    """Arrays that live on from step to step. pointers, sizes: theirs in C memory, made when a kernel first asks for them."""

    def __new__(cls, arrays: Iterable[Array]) -> Self:
        return super().__new__(cls, arrays)

    @functools.cached_property
    def pointers(self) -> Any:
        """The addresses."""
        kind, pointer = _POINTER[self[0].dtype], _ffi.POINTERS[self[0].dtype]
        return _ffi.ffi.new(f"{kind}[]", [_ffi.ffi.cast(kind, pointer(a)) for a in self])

    @functools.cached_property
    def sizes(self) -> Any:
        """The numbers of elements."""
        return _ffi.ffi.new("int64_t[]", [a.size for a in self])

    @functools.cached_property
    def dtype(self) -> Any:
        """The one dtype of all; None for a mixture, which no kernel takes."""
        dtypes = {a.dtype for a in self}
        return dtypes.pop() if len(dtypes) == 1 else None


def _column(arrays: Sequence[Array]) -> Column:
    return arrays if isinstance(arrays, Column) else Column(arrays)


def _pointers(dtype: Any, gs: Sequence[Array]) -> list[Any]:
    """The gradients' pointers; those that are not contiguous are copied."""
    pointer = _ffi.POINTERS[dtype]
    try:
        return [pointer(g) for g in gs]
    except ValueError:
        return [pointer(np.ascontiguousarray(g)) for g in gs]
