"""Rows for one operation, forward, or with its backward: the gradients of some operands for a given gradient of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from .row import Absent, Array, Call, Row, Stream

Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class OpRow(Row):
    """y = f(operands). `gradients` are the positions of the operands whose gradients are asked for; without any it is the forward alone.

    A library's row is the function that `in_<library>` gives. The inputs are the operands and, with a backward, last the gradient of y.
    """

    gradients: tuple[int, ...] = ()

    def operands(self, rng: np.random.Generator) -> Sequence[Array]:
        """What f is given."""
        raise NotImplementedError

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of y."""
        raise NotImplementedError

    def value(self, *operands: Any, **_: Any) -> Array:
        """y, in float64."""
        raise NotImplementedError

    def slopes(self, g: Array, *operands: Any, **_: Any) -> Sequence[Array | None]:
        """The gradient of Σ g y in each operand, in float64; None for those that nobody asks for."""
        raise NotImplementedError

    def in_cafe(self, cafe: Any) -> Function:
        """f on tensors."""
        raise Absent("has no such operation")

    in_torch = in_jax = in_scipy = in_cafe

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        operands = tuple(self.operands(rng))
        return (*operands, rng.standard_normal(self.result, np.float32)) if self.gradients else operands

    def reference(self, *inputs: Array) -> Any:
        wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in inputs]
        if not self.gradients:
            return self.value(*wide)
        slopes = self.slopes(wide[-1], *wide[:-1])
        return [slopes[i] for i in self.gradients]

    def cafe(self, cafe: Any, *inputs: Array) -> Call:
        f = self.in_cafe(cafe)
        if not self.gradients:
            tensors = [cafe.Tensor(a) for a in inputs]
            return lambda: f(*tensors)
        operands = [(cafe.Var if i in self.gradients else cafe.Tensor)(a) for i, a in enumerate(inputs[:-1])]
        seed, asked = seed_of(cafe, inputs[-1]), [operands[i] for i in self.gradients]

        def pull() -> list[Any]:
            grads = cafe.apply(seed, f(*operands)).backward()
            return [grads.get(v) for v in asked]

        return pull

    def torch(self, torch: Any, *inputs: Array) -> Call:
        f, tensors = self.in_torch(torch), [torch.from_numpy(a) for a in inputs]
        if not self.gradients:
            return lambda: f(*tensors)
        *operands, g = tensors
        asked = [operands[i].requires_grad_() for i in self.gradients]
        return lambda: torch.autograd.grad(f(*operands), asked, g)

    def scipy(self, scipy: Any, *inputs: Array) -> Call:
        f = self.in_scipy(scipy)
        if self.gradients:
            raise Absent("has no gradients")
        return lambda: f(*inputs)

    def jax(self, jax: Any, *inputs: Array) -> Call:
        f, arrays = self.in_jax(jax), [jax.numpy.asarray(a) for a in inputs]
        if not self.gradients:
            forward = jax.jit(f)
            return lambda: forward(*arrays).block_until_ready()

        @jax.jit  # type: ignore[untyped-decorator]
        def pull(*arrays: Any) -> list[Any]:
            grads = jax.vjp(f, *arrays[:-1])[1](arrays[-1])
            return [grads[i] for i in self.gradients]

        return lambda: jax.block_until_ready(pull(*arrays))


@dataclass(frozen=True, kw_only=True)
class OneToOne(OpRow):
    """y has the shape of the first operand, which is read once; backwards y and its gradient are read, another gradient written."""

    shape: tuple[int, ...]

    @property
    def limit(self) -> Stream:
        n = 4.0 * prod(self.shape)
        return Stream(3.0 * n, 2.0 * n) if self.gradients else Stream(n, n)

    @property
    def result(self) -> tuple[int, ...]:
        return self.shape


def seed_of(cafe: Any, g: Array) -> Any:
    """An op whose result is a number with the derivative g: how a backward is begun from a given gradient without computing a product."""
    zero = np.zeros((), g.dtype)

    class Seed(cafe.Op):  # type: ignore[misc]
        name = "seed"

        def forward(self, xp: Any, y: Array) -> Array:
            return zero

        def backward(self, xp: Any, given: Array, r: Any, y: Any) -> tuple[Array]:
            return (g,)

    return Seed()
