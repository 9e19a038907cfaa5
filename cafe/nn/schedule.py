"""Learning rates as functions of the step, counted from 0 (floor 6).

    schedule = Warmup(100, Cosine(1e-3, 10_000))
    for t, batch in enumerate(batches):
        opt.set_learning_rate(schedule(t))
        …
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from cafe.errors import Error
from cafe.shape import whole
from cafe.tensor.convert import real

from .habits import called


@called
@dataclass(frozen=True)
class StepDecay:
    """lr · gamma^⌊t / every⌋.

    >>> [StepDecay(1.0, every=2, gamma=0.5)(t) for t in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    lr: float
    every: int
    gamma: float = 0.1

    def __post_init__(self) -> None:
        _check("StepDecay", "every", self.every, self.lr, self.gamma)

    def __call__(self, t: int) -> float:
        t = whole("StepDecay", "a step", t)
        return self.lr * self.gamma ** (t // self.every)


@called
@dataclass(frozen=True)
class Cosine:
    """From lr at step 0 down to low at step `steps`, along half a cosine; low from then on.

    >>> [round(Cosine(1.0, steps=4)(t), 3) for t in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    lr: float
    steps: int
    low: float = 0.0

    def __post_init__(self) -> None:
        _check("Cosine", "steps", self.steps, self.lr, self.low)

    def __call__(self, t: int) -> float:
        done = min(whole("Cosine", "a step", t) / self.steps, 1.0)
        return self.low + (self.lr - self.low) * 0.5 * (1.0 + math.cos(math.pi * done))


@called
@dataclass(frozen=True)
class Warmup:
    """A straight line up to what `then` starts with, over the first `steps` steps; then `then`, from its own step 0.

    >>> [Warmup(2, StepDecay(1.0, every=2, gamma=0.5))(t) for t in range(6)]
    [0.5, 1.0, 1.0, 1.0, 0.5, 0.5]
    """

    steps: int
    then: Callable[[int], float]

    def __post_init__(self) -> None:
        _check("Warmup", "steps", self.steps, least=0)
        if not callable(self.then):
            raise TypeError(f"Warmup: expected a schedule, found {type(self.then).__name__}")

    def __call__(self, t: int) -> float:
        t = whole("Warmup", "a step", t)
        return self.then(0) * (t + 1) / self.steps if t < self.steps else self.then(t - self.steps)


def _check(name: str, what: str, steps: int, *rates: float, least: int = 1) -> None:
    """Raises TypeError unless these are an int and numbers, Error where the int is below `least`."""
    if whole(name, what, steps) < least:
        raise Error(f"{name}: {what} must be at least {least}, got {steps}")
    for rate in rates:
        real(name, rate)
