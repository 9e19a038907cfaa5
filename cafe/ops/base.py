"""What a rule is: a forward and a backward, side by side, on whatever `xp` stands for (floor 2).

A rule is a pure function of what it is given: on `self` there are only the op's parameters. It uses the verbs of `xp` alone, no operators,
so that the same lines compute with arrays (`cafe.kernels`) and, for second derivatives, with Tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias, final

from cafe.dtype import Array
from cafe.errors import BackwardNotSupported
from cafe.kernels.base import XP

Grads: TypeAlias = tuple[Array | None, ...]


@final
class Result(NamedTuple):
    """A forward's output with what its backward can use.

    `saved`: differentiable residues of a fused kernel, recomputed when a graph is made of the backward.
    `const`: what has no derivative (masks, ids, counts).
    """

    y: Array
    saved: Any = None
    const: Any = None


@dataclass(slots=True)
class Meta:
    """What is left of an input that was not kept."""

    shape: tuple[int, ...]
    dtype: Any


class Record:
    """One application of an op, as its backward sees it.

    need: for each input, whether its gradient is wanted; work for the others is skipped.
    y: the output, if the op keeps it.
    saved, const: what the forward handed on; `saved` is None when a graph is made of the backward.
    """

    __slots__ = ("const", "need", "saved", "y")

    def __init__(self, need: Sequence[bool], y: Any, saved: Any, const: Any) -> None:
        self.need, self.y, self.saved, self.const = need, y, saved, const


class Op:
    """A differentiable operation. Subclass it, give it a name, a forward and a backward, and call `cafe.apply(op, *tensors)`.

    name:  how errors and traces call it.
    keep:  what backward needs, one letter each: inputs by position ("0", "01"; "*" for all), the output ("y").
    moves: it only moves numbers, so any dtype goes through as it is; others compute F16 and BF16 in F32 and round once.
    halves: its forward is made of kernels that take F16 and BF16 as they are and compute in F32, so that nothing has to be converted
        before it; what is F32 at its end is rounded then. There are such kernels in C alone; without them it is as any other.
    wide: of F16 and BF16 its backward is given the output as it was before it was rounded: where that is near a bound the rounded one
        has no digits of the slope left.
    views: its output may be a view of its first input.
    fresh: the gradients that its backward gives share memory with nothing: not with what it was given, not with each other. The tape
        takes them for a variable's as they are; those of other rules it copies unless it sees that nobody holds them.
    part: its backward gives zeros with g in a part of them, and its `add_to` adds g to that part of a sum that is there already, which the
        tape prefers: the gradient of a tensor taken apart costs its size once, not once for each piece.
    spends: its backward may write over the arrays that its forward `saved`: the tape hands them over, or copies if the graph is walked
        again.
    differentiable: False for what has no gradient (comparisons, argmax); it is never recorded.
    """

    name: str = "op"
    keep: ClassVar[str] = ""
    moves: ClassVar[bool] = False
    halves: ClassVar[bool] = False
    wide: ClassVar[bool] = False
    views: ClassVar[bool] = False
    fresh: ClassVar[bool] = False
    part: ClassVar[bool] = False
    spends: ClassVar[bool] = False
    differentiable: ClassVar[bool] = True

    def forward(self, xp: XP, *inputs: Any) -> Array | Result:
        """The output, or a Result where there is something to hand on."""
        raise NotImplementedError

    def backward(self, xp: XP, g: Array, r: Record, *inputs: Any) -> Grads:
        """One gradient or None per input; an input that was not kept arrives as its shape and dtype alone.

        Raises: BackwardNotSupported where the op has no rule.
        """
        raise BackwardNotSupported(self.name)

    def add_to(self, xp: XP, total: Array, g: Array) -> None:
        """Adds in place what `backward` would give; for an op that is a `part`."""
        raise NotImplementedError


def sum_to_shape(xp: XP, g: Array, shape: tuple[int, ...]) -> Array:
    """Sums g over the dims along which `shape` was broadcast: the adjoint of broadcasting."""
    if g.shape == shape:
        return g
    extra = len(g.shape) - len(shape)
    stretched = tuple(i for i, n in enumerate(g.shape) if i < extra or (shape[i - extra] == 1 and n != 1))
    summed = xp.sum(g, stretched, True) if stretched else g
    return xp.reshape(summed, shape) if extra else summed


def spread(xp: XP, g: Array, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    """Repeats g along the dims that a reduction took away: the adjoint of a sum."""
    kept = tuple(1 if i in dims else n for i, n in enumerate(shape))
    return xp.broadcast_to(xp.reshape(g, kept) if g.shape != kept else g, shape)


def zeros(xp: XP, meta: Any) -> Array:
    """Zeros of an input's shape and dtype."""
    return xp.zeros(meta.shape, meta.dtype)


def only_needed(r: Record, grads: tuple[Array, ...]) -> Grads:
    """The gradients that are wanted, None for the others: for a fused backward that works them all out at once."""
    return tuple(g if need else None for g, need in zip(grads, r.need))
