"""One step of an optimizer over all variables in one call, in place (floor 1).

Every list runs over the variables: parameters `ps`, gradients `gs`, moments. Parameters and moments are contiguous and written to.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

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
    found = _kernel(_SGD, ps)
    if found is None:
        sgd_step_ref(ps, gs, ms, lr, momentum, dampening, nesterov, weight_decay, first)
        return
    f, pointer = found
    p = _table(ps)
    moments = _table(ms).pointers if ms else _ffi.ffi.NULL
    grads = _pointers(pointer, gs)
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
    found = _kernel(_ADAM, ps)
    if found is None:
        adam_step_ref(ps, gs, ms, vs, lr, beta1, beta2, eps, weight_decay, decoupled, step)
        return
    f, pointer = found
    p, m, v = _table(ps), _table(ms), _table(vs)
    grads = _pointers(pointer, gs)
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


class _Table:
    """The addresses of arrays that live on from step to step, in C memory. It holds none of them: when one dies the table is forgotten."""

    def __init__(self, arrays: Sequence[Array], key: int) -> None:
        self.ids = list(map(id, arrays))
        self.refs = [weakref.ref(a, lambda _: _tables.pop(key, None)) for a in arrays]
        self.sizes = _ffi.ffi.new("int64_t[]", [a.size for a in arrays])
        kind = _POINTER[arrays[0].dtype]
        self.pointers = _ffi.ffi.new(f"{kind}[]", [_ffi.ffi.cast(kind, _ffi.ptr(a)) for a in arrays])


_tables: dict[int, _Table] = {}


def _table(arrays: Sequence[Array]) -> Any:
    """The table of these very arrays, made when they are first seen."""
    key = id(arrays[0])
    found = _tables.get(key)
    if found is None or found.ids != list(map(id, arrays)):
        found = _tables[key] = _Table(arrays, key)
    return found


def _kernel(kernels: dict[np.dtype[Any], _ffi.Kernel], ps: Sequence[Array]) -> _ffi.Kernel | None:
    """The kernel for parameters of one dtype; None for a mixture."""
    dtypes = {p.dtype for p in ps}
    return kernels.get(dtypes.pop()) if len(dtypes) == 1 else None


def _pointers(pointer: _ffi.Pointer, gs: Sequence[Array]) -> list[Any]:
    """The gradients' pointers; those that are not contiguous are copied."""
    try:
        return [pointer(g) for g in gs]
    except ValueError:
        return [pointer(np.ascontiguousarray(g)) for g in gs]
