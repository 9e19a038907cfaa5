"""Derivatives checked against central differences in float64 (above the tensor floor).

A numeric derivative here is of fourth order (four evaluations at ±h and ±2h), so a step of 10⁻³ gives about twelve digits of a smooth
function. It is taken twice, with h and with h/2: where the two disagree the function has a kink, which is an error of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cafe.dtype import Array, DType
from cafe.tensor.base import wrap
from cafe.tensor.core import Tensor, Var

from .compare import to_numpy

Function = Callable[..., Tensor]
STEP = 1e-3
BOUND = 1e-8


def gradcheck(function: Function, *inputs: Any, order: int = 1, seed: int = 0, bound: float = BOUND) -> None:
    """Holds derivatives of a function of Tensors to central differences along one random direction.

    inputs: tensors or arrays; float ones are taken in F64 and differentiated, integer ones are passed on.
    order: 1 for the first derivative, 2 for the second, which goes through `create_graph`.
    bound: a fraction of the larger of 1 and the numeric derivative.

    Raises: AssertionError showing the analytic and the numeric derivative, or saying that the inputs stand on a kink.

    >>> import cafe
    >>> gradcheck(lambda x: x.sqr() * x, cafe.Tensor([1.0, -2.0]), order=2)
    """
    check = _Check(function, inputs, seed)
    directions = check.random_like()
    if order == 1:
        analytic = _dot(check.gradient(check.floats), directions)
        check.compare("first", analytic, lambda xs: check.loss(xs), directions, bound)
    elif order == 2:
        second = check.random_like()
        analytic = _dot(check.second_gradient(check.floats, directions), second)
        check.compare("second", analytic, lambda xs: _dot(check.gradient(xs), directions), second, bound)
    else:
        raise ValueError(f"gradcheck: order is 1 or 2, got {order}")


def gradcheck_full(function: Function, *inputs: Any, seed: int = 0, bound: float = BOUND) -> None:
    """Holds the first derivative to central differences in every element of every float input; arguments as in `gradcheck`.

    Raises: AssertionError naming the element.

    >>> import cafe
    >>> gradcheck_full(lambda a, b: a.matmul(b), cafe.Tensor([[1.0, 2.0]]), cafe.Tensor([[3.0], [4.0]]))
    """
    check = _Check(function, inputs, seed)
    gradients = check.gradient(check.floats)
    for which, gradient in enumerate(gradients):
        for place in np.ndindex(gradient.shape):
            unit = [np.zeros_like(x) for x in check.floats]
            unit[which][place] = 1.0
            where = f"first, of input {which} at {list(place)},"
            check.compare(where, float(gradient[place]), lambda xs: check.loss(xs), unit, bound)


class _Check:
    """A function made a scalar one by random weights on its output, in F64."""

    def __init__(self, function: Function, inputs: Sequence[Any], seed: int) -> None:
        self.function = function
        arrays = [to_numpy(x) for x in inputs]
        self.is_float = [a.dtype.kind not in "iu" for a in arrays]
        self.others = [None if f else wrap(a) for f, a in zip(self.is_float, arrays)]
        self.floats = [a.astype(np.float64) for f, a in zip(self.is_float, arrays) if f]
        self.rng = np.random.default_rng(seed)
        if not self.floats:
            raise ValueError("gradcheck: there is no float input to differentiate")
        y = self.call([wrap(x) for x in self.floats])
        if y.dtype is not DType.F64:
            raise ValueError(f"gradcheck: the function gives {y.dtype!r} for F64")
        self.weights = wrap(np.asarray(self.rng.uniform(0.5, 1.5, y.shape) * self.rng.choice([-1.0, 1.0], y.shape)))

    def call(self, floats: Sequence[Tensor]) -> Tensor:
        """The function on these float inputs and the integer ones."""
        given = iter(floats)
        return self.function(*(next(given) if o is None else o for o in self.others))

    def random_like(self) -> list[Array]:
        """A direction in the space of the float inputs."""
        return [np.asarray(self.rng.uniform(-1.0, 1.0, x.shape)) for x in self.floats]

    def loss(self, xs: Sequence[Array]) -> float:
        """Σ weights · f(xs)."""
        return float((self.call([wrap(x) for x in xs]) * self.weights).sum_all().to_scalar())

    def gradient(self, xs: Sequence[Array]) -> list[Array]:
        """∂loss/∂x for each float input, zeros where there is none."""
        variables = [Var(x) for x in xs]
        grads = (self.call(variables) * self.weights).sum_all().backward()
        return [np.zeros_like(x) if (g := grads.get(v)) is None else to_numpy(g) for x, v in zip(xs, variables)]

    def second_gradient(self, xs: Sequence[Array], directions: Sequence[Array]) -> list[Array]:
        """∂/∂x of Σ direction · ∂loss/∂x."""
        variables = [Var(x) for x in xs]
        grads = (self.call(variables) * self.weights).sum_all().backward(create_graph=True)
        along = wrap(np.zeros((), np.float64))
        for v, d in zip(variables, directions):
            if (g := grads.get(v)) is not None:
                along = along + (g * wrap(d)).sum_all()
        again = along.backward()
        return [np.zeros_like(x) if (g := again.get(v)) is None else to_numpy(g) for x, v in zip(xs, variables)]

    def compare(self, which: str, analytic: float, f: Callable[..., float], direction: Sequence[Array], bound: float) -> None:
        """Raises AssertionError unless the analytic derivative is the numeric one, or when there is a kink nearby."""
        numeric, finer = (_derivative(f, self.floats, direction, h) for h in (STEP, STEP / 2.0))
        allowed = bound * max(1.0, abs(numeric))
        if abs(numeric - finer) > allowed:
            raise AssertionError(
                f"{which} derivative: the inputs stand near a kink (or the function is too wild): numeric {numeric!r} with step"
                f" {STEP}, {finer!r} with half of it; analytic {analytic!r}"
            )
        assert abs(analytic - numeric) <= allowed, (
            f"{which} derivative: analytic {analytic!r}, numeric {numeric!r}, apart by {abs(analytic - numeric):.3g} > {allowed:.3g}"
        )


def _dot(xs: Sequence[Array], ys: Sequence[Array]) -> float:
    return float(sum(np.sum(x * y) for x, y in zip(xs, ys)))


def _derivative(f: Callable[..., float], xs: Sequence[Array], direction: Sequence[Array], h: float) -> float:
    """(8 (f(h) − f(−h)) − (f(2h) − f(−2h))) / 12h."""

    def at(step: float) -> float:
        return f([np.asarray(x + step * d) for x, d in zip(xs, direction)])

    return (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
