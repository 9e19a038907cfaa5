"""One step of an optimizer over all variables in one call, in place (floor 1).

Every list runs over the variables: parameters `ps`, gradients `gs`, moments. Parameters and moments are contiguous and written to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cafe.dtype import Array


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
    sgd_step_ref(ps, gs, ms, lr, momentum, dampening, nesterov, weight_decay, first)


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
    adam_step_ref(ps, gs, ms, vs, lr, beta1, beta2, eps, weight_decay, decoupled, step)


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
