"""Feeding a training loop: tensors whose rows belong together, shuffled, split and cut into mini-batches (above every floor).

    (train_x, train_y), (test_x, test_y) = split(*shuffled(x, y), at=1500)
    for _ in range(epochs):
        for xb, yb in batches(*shuffled(train_x, train_y), size=32):
            …

The order is drawn from cafe's generator: after `cafe.manual_seed(n)` it is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, overload

from cafe.device import generator
from cafe.errors import bail
from cafe.kernels import permutation
from cafe.tensor.core import Tensor

Rows: TypeAlias = tuple[Tensor, ...]


def _count(tensors: Rows, op: str) -> int:
    """How many rows the tensors have: the same for all.

    Raises: Error if it is not, or if there is none to ask.
    """
    counts = [t.dim(0) for t in tensors]
    if not counts:
        bail(f"{op}: expected at least one tensor")
    if len(set(counts)) > 1:
        bail(f"{op}: rows belong together, expected {counts[0]} in each, got {counts}")
    return counts[0]


def shuffled(*tensors: Tensor) -> Rows:
    """The tensors with their rows in a random order, the same for all.

    Raises: Error when their counts of rows differ.

    >>> import cafe
    >>> cafe.manual_seed(1)
    >>> x, y = shuffled(cafe.Tensor([[0.0], [1.0], [2.0], [3.0]]), cafe.Tensor([0, 1, 2, 3]))
    >>> x.flatten_all().tolist() == y.tolist(), sorted(y.tolist())
    (True, [0, 1, 2, 3])
    """
    order = Tensor.from_numpy(permutation(_count(tensors, "shuffled"), generator))
    return tuple(t.index_select(order, 0) for t in tensors)


def split(*tensors: Tensor, at: int) -> tuple[Rows, Rows]:
    """The first `at` rows of each tensor, and the rest: views.

    Raises: Error when the counts of rows differ or there are fewer than `at`.

    >>> import cafe
    >>> (a,), (b,) = split(cafe.Tensor([1, 2, 3]), at=2)
    >>> a.tolist(), b.tolist()
    ([1, 2], [3])
    """
    count = _count(tensors, "split")
    if not 0 <= at <= count:
        bail(f"split: expected 0 to {count} rows, got {at}")
    return tuple(t.narrow(0, 0, at) for t in tensors), tuple(t.narrow(0, at, count - at) for t in tensors)


class Batches(Sequence[Rows]):
    """Rows in runs of `size`, the last run as long as what is left; `batches` makes one."""

    __slots__ = ("_count", "_size", "_tensors")

    def __init__(self, tensors: Rows, size: int) -> None:
        if size < 1:
            bail(f"batches: expected a size of at least 1, got {size}")
        self._tensors, self._size, self._count = tensors, size, _count(tensors, "batches")

    def __len__(self) -> int:
        return -(-self._count // self._size)

    @overload
    def __getitem__(self, index: int) -> Rows: ...
    @overload
    def __getitem__(self, index: slice) -> list[Rows]: ...
    def __getitem__(self, index: int | slice) -> Rows | list[Rows]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        start = range(0, self._count, self._size)[index]
        return tuple(t.narrow(0, start, min(self._size, self._count - start)) for t in self._tensors)

    def __iter__(self) -> Iterator[Rows]:
        return (self[i] for i in range(len(self)))


def batches(*tensors: Tensor, size: int) -> Batches:
    """The tensors' rows in mini-batches, as views; it has a length, and can be gone through again.

    Raises: Error when the counts of rows differ or the size is below 1.

    >>> import cafe
    >>> runs = batches(cafe.Tensor([[1.0], [2.0], [3.0]]), cafe.Tensor([1, 2, 3]), size=2)
    >>> len(runs), [y.tolist() for _, y in runs]
    (2, [[1, 2], [3]])
    """
    return Batches(tensors, size)
