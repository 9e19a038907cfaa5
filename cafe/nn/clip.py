"""Gradients held within bounds before a step (floor 6).

    grads = loss.backward()
    norm = clip_grad_norm(grads, varmap.all_vars(), 1.0)
    opt.step(grads)
"""

from __future__ import annotations

import math

from cafe import kernels
from cafe.dtype import DType
from cafe.errors import bail
from cafe.tensor.convert import real
from cafe.tensor.core import Tensor, Var
from cafe.tensor.grads import GradStore

from .cohort import named
from .habits import called
from .optim import Vars


@called
def clip_grad_norm(grads: GradStore, vars: Vars, max_norm: float) -> float:
    """Scales the variables' gradients so that √ Σ g² over all of them is at most max_norm; gives what it was before.

    A norm that is not finite scales nothing: look at what is given back. Sums run in F64.

    Raises: Error unless max_norm is above 0.

    >>> from cafe import Var
    >>> w = Var([3.0, 4.0])
    >>> grads = w.sqr().sum_all().backward()     # [6, 8]
    >>> clip_grad_norm(grads, [w], 5.0), grads[w].tolist()
    (10.0, [3.0, 4.0])
    """
    if not real("clip_grad_norm", max_norm) > 0.0:
        bail(f"clip_grad_norm: max_norm must be above 0, got {max_norm}")
    found = _found(grads, vars)
    norm = math.sqrt(sum(_sum_of_squares(g) for _, g in found))
    if math.isfinite(norm) and norm > max_norm:
        for var, g in found:
            grads.insert(var, g.affine(max_norm / norm, 0.0))
    return norm


@called
def clip_grad_value(grads: GradStore, vars: Vars, max_value: float) -> None:
    """Holds each number of the variables' gradients between ± max_value.

    Raises: Error unless max_value is at least 0.

    >>> from cafe import Var
    >>> w = Var([0.5, -4.0])
    >>> grads = w.sqr().sum_all().backward()     # [1, -8]
    >>> clip_grad_value(grads, [w], 2.0)
    >>> grads[w].tolist()
    [1.0, -2.0]
    """
    if not real("clip_grad_value", max_value) >= 0.0:
        bail(f"clip_grad_value: max_value must be at least 0, got {max_value}")
    for var, g in _found(grads, vars):
        grads.insert(var, g.clamp(-max_value, max_value))


def _found(grads: GradStore, vars: Vars) -> list[tuple[Var, Tensor]]:
    """Each variable once, with its gradient; those without are left out."""
    if not isinstance(grads, GradStore):
        raise TypeError(f"expected GradStore, found {type(grads).__name__}: give `loss.backward()`")
    found: dict[int, Var] = {}
    for _, var in named(vars):
        if not isinstance(var, Var):
            raise TypeError(f"expected Var, found {type(var).__name__}")
        found[var.id] = var
    return [(var, g) for var in found.values() if (g := grads.get(var)) is not None]


def _sum_of_squares(g: Tensor) -> float:
    wide = kernels.cast(g._data, DType.F64.numpy)
    return float(kernels.sum(kernels.sqr(wide), tuple(range(wide.ndim)), False))
