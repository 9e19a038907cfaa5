"""`pad`: more places around a tensor, of a constant or of its own numbers (floor 4). Made of views and joins, so any dtype goes through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cafe.errors import Error, show
from cafe.ops.layout import Unslice
from cafe.shape import parse_shape, whole

from .base import Base, apply
from .convert import number_for

if TYPE_CHECKING:
    from .core import Tensor

_MODES = ("constant", "reflect", "replicate", "circular")


class PadMethods(Base):
    """Padding."""

    __slots__ = ()

    def pad(self, pads: Sequence[tuple[int, int]], mode: str = "constant", value: float = 0.0) -> Tensor:
        """With so many places more before and after along the last dims: `pads` holds one pair (before, after) for each of them, in order.

        mode: `constant` fills in `value`; `reflect` mirrors at the edge without repeating it (3 2 | 1 2 3 | 2 1); `replicate` repeats the
        edge; `circular` goes on at the other end.

        Shape: (…, n, …) → (…, before + n + after, …).
        Raises: Error for an unknown mode, a negative count, more pairs than dims, or a count that the dim is too small for.
        Gradient: each place of x takes the sum of those it was copied to; constants take none.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0, 3.0]).pad([(2, 1)], "reflect").tolist()
        [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]
        >>> cafe.Tensor([[1, 2]]).pad([(1, 0), (0, 1)], value=9).tolist()
        [[9, 9, 9], [1, 2, 9]]
        """
        pairs = _pairs(self.shape, pads)
        parse_shape(tuple(n + sum(pair) for n, pair in zip(self.shape[len(self.shape) - len(pairs) :], pairs)))
        if mode not in _MODES:
            raise Error(f"pad: unknown mode {mode!r}").help("one of " + ", ".join(_MODES))
        if number_for(self._data, value, "pad") == 0 and mode == "constant":
            return _with_zeros(self, pairs)
        t: Any = self
        first = len(self.shape) - len(pairs)
        for d, (before, after) in enumerate(pairs, first):
            if before or after:
                t = t.cat(_parts(t, d, before, after, mode, value), d)
        return t  # type: ignore[no-any-return]


def _pairs(shape: tuple[int, ...], pads: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs in one strict form."""
    try:
        pairs = [(whole("pad", "a count", before), whole("pad", "a count", after)) for before, after in pads]
    except (TypeError, ValueError):
        raise TypeError(f"pad: expected one pair (before, after) for each of the last dims, got {pads!r}") from None
    if len(pairs) > len(shape):
        raise Error(f"pad: {len(pairs)} pairs for shape {show(shape)}")
    if any(n < 0 for pair in pairs for n in pair):
        raise Error(f"pad: counts must be at least 0, got {pairs}").help("`narrow` takes places away")
    return pairs


def _with_zeros(t: Base, pairs: list[tuple[int, int]]) -> Tensor:
    """All dims in one op."""
    kept = len(t.shape) - len(pairs)
    sizes = t.shape[kept:]
    key = (slice(None),) * kept + tuple(slice(before, before + n) for (before, _), n in zip(pairs, sizes))
    shape = parse_shape(t.shape[:kept] + tuple(before + n + after for (before, after), n in zip(pairs, sizes)))
    return apply(Unslice(key, shape), t)


def _parts(t: Any, d: int, before: int, after: int, mode: str, value: float) -> list[Any]:
    """What stands before, in and after t along dim d."""
    size = t.shape[d]
    if mode == "constant":
        blocks = [t.full(value, (*t.shape[:d], n, *t.shape[d + 1 :]), dtype=t.dtype) for n in (before, after)]
        return [blocks[0], t, blocks[1]]
    least = {"reflect": max(before, after) + 1, "replicate": 1, "circular": max(before, after)}[mode]
    if size < least:
        raise Error(f"pad: {mode} by {(before, after)} takes a dim of at least {least}, got {show(t.shape)}, dim: {d}")
    if mode == "reflect":
        return [t.narrow(d, 1, before).flip(d), t, t.narrow(d, size - 1 - after, after).flip(d)]
    if mode == "circular":
        return [t.narrow(d, size - before, before), t, t.narrow(d, 0, after)]
    edges = [t.narrow(d, at, 1).broadcast_as((*t.shape[:d], n, *t.shape[d + 1 :])) for at, n in ((0, before), (size - 1, after))]
    return [edges[0], t, edges[1]]
