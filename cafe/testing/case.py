"""A row of the table of op cases: one op on sample inputs, with all that is promised about it (above the tensor floor)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from cafe.dtype import Array, DType, DTypeLike, as_dtype
from cafe.errors import Error
from cafe.ops.base import Op
from cafe.shape import Shape

from .arrays import Draw, Ids, Mask, Real

FLOATS = (DType.F32, DType.F64, DType.F16, DType.BF16)
INTS = (DType.U8, DType.U32, DType.I16, DType.I32, DType.I64)
SIGNED = (DType.I16, DType.I32, DType.I64)
EVERY = (*FLOATS, *INTS)

Shapes: TypeAlias = tuple[Shape, ...]


@dataclass(frozen=True)
class Case:
    """One op, what it is fed and what is promised about it.

    name: what a failing test is called; unique in the table.
    op: the op, or a function that makes it from the inputs' shapes (one argument an input).
    shapes: the samples, each a shape per input. Together they have a sample of one element and one with an odd tail (a dim of 17 or more).
    reference: the same function in NumPy, on float64 arrays; for integers on arrays of Python ints, unless `whole` is given for those.
    empty: samples in which something has size 0, each with None (the reference says what comes out) or the class of the error.
    draws: where the numbers come from, one an input, the last for all further ones. They keep away from kinks.
    dtypes: what it takes. The drawn inputs have this dtype, except Ids and Masks, which have their own.
    result: the result's dtype where it is not that of the inputs.
    ulps: how far forward and gradients may be off in the result's dtype, in epsilons of the larger of 1 and the reference's largest.
    constant: positions of float inputs that have no gradient.
    smooth: how far the derivatives may be from central differences, as in `gradcheck`.

    >>> import numpy as np
    >>> from cafe.ops.unary import BY_NAME
    >>> case = Case("neg", BY_NAME["neg"], [((1,),), ((17,),)], np.negative, empty=[(((0,),), None)])
    >>> [a.shape for a in case.inputs(case.shapes[1], DType.F32)]
    [(17,)]
    """

    name: str
    op: Op | Callable[..., Op]
    shapes: Sequence[Shapes]
    reference: Callable[..., Any]
    empty: Sequence[tuple[Shapes, type[Error] | None]]
    draws: Sequence[Draw] = (Real(),)
    dtypes: Sequence[DType] = FLOATS
    result: DTypeLike | None = None
    whole: Callable[..., Any] | None = None
    ulps: float = 2.0
    constant: Sequence[int] = ()
    smooth: float = 1e-8

    def rule(self, shapes: Shapes | None = None) -> Op:
        """The op for inputs of these shapes (those of the first sample by default)."""
        return self.op if isinstance(self.op, Op) else self.op(*(shapes or self.shapes[0]))

    def inputs(self, shapes: Shapes, dtype: DTypeLike) -> tuple[Array, ...]:
        """The arrays of one sample; the same each time."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return tuple(self._draw(i)(rng, shape, dtype) for i, shape in enumerate(shapes))

    def _draw(self, place: int) -> Draw:
        return self.draws[min(place, len(self.draws) - 1)]

    def samples(self, dtype: DTypeLike) -> Iterator[tuple[Op, tuple[Array, ...]]]:
        """Each sample's op with its inputs."""
        for shapes in self.shapes:
            yield self.rule(shapes), self.inputs(shapes, dtype)

    def expected(self, arrays: Sequence[Array]) -> Array:
        """What the reference says: float64, or Python ints where the drawn inputs are integers; Ids and Masks go in as int64."""
        own = [isinstance(self._draw(i), Ids | Mask) for i in range(len(arrays))]
        is_int = [a.dtype.kind in "iu" for a in arrays]
        with_ints = any(i and not o for i, o in zip(is_int, own))
        function = self.whole if with_ints and self.whole is not None else self.reference
        kinds: list[Any] = [np.int64 if o else object if i else np.float64 for i, o in zip(is_int, own)]
        with np.errstate(all="ignore"):
            return np.asarray(function(*(a.astype(kind) for a, kind in zip(arrays, kinds))))

    def result_dtype(self, dtype: DTypeLike) -> DType:
        """The dtype that comes out for inputs of this one."""
        return as_dtype(dtype if self.result is None else self.result)

    def differentiable(self, op: Op, arrays: Sequence[Array]) -> list[int]:
        """The positions of the inputs that have a gradient."""
        if not op.differentiable:
            return []
        return [i for i, a in enumerate(arrays) if a.dtype.kind not in "iu" and i not in self.constant]
