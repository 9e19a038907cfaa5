"""How rows ask cafe for gradients from a given one, as PyTorch's `torch.autograd.grad(y, x, g)` does: a loss whose derivative is g."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .row import Array


def puller(cafe: Any, g: Array) -> Callable[..., tuple[Any, ...]]:
    """pull(y, x, w, …): the gradients of sum(y · g) with respect to the variables x, w, …, without computing the product."""
    zero = np.zeros((), g.dtype)

    class Seed(cafe.Op):  # type: ignore[misc]
        name = "seed"

        def forward(self, xp: Any, y: Array) -> Array:
            return zero

        def backward(self, xp: Any, given: Array, r: Any, y: Any) -> tuple[Array]:
            return (g,)

    seed = Seed()

    def pull(y: Any, *variables: Any) -> tuple[Any, ...]:
        grads = cafe.apply(seed, y).backward()
        return tuple(grads.get(v) for v in variables)

    return pull
