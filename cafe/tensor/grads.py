"""GradStore: what a backward gives (floor 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cafe import kernels
from cafe.dtype import Array
from cafe.errors import Error, ShapeMismatchBinaryOp
from cafe.habits import Unlike
from cafe.kernels import memory
from cafe.tape import Leaf, Node

from .base import Base, check_tensors, wrap

if TYPE_CHECKING:
    from .core import Tensor


_BY_VARIABLE = "`grads[v]` is the gradient of a variable, `get_ids()` are the variables' ids"


class GradStore:
    """Gradients by variable. A variable that the loss was not computed from has no entry.

    >>> import cafe
    >>> a, b = cafe.Var([2.0]), cafe.Var([5.0])
    >>> grads = (a * a).sum_all().backward()
    >>> grads.get(a).tolist(), grads.get(b)
    ([4.0], None)
    """

    __slots__ = ("_grads",)
    keys = Unlike(_BY_VARIABLE)
    values = Unlike(_BY_VARIABLE)
    items = Unlike(_BY_VARIABLE)

    def __init__(self) -> None:
        self._grads: dict[int, Tensor | Array] = {}  # an array becomes a Tensor when it is first asked for

    def get(self, tensor: Tensor) -> Tensor | None:
        """The gradient for this variable (or retained tensor), or None where the loss was not computed from it.

        >>> import cafe
        >>> x, y = cafe.Var([2.0]), cafe.Var([3.0])
        >>> grads = x.sqr().backward()
        >>> grads.get(x).tolist(), grads.get(y)
        ([4.0], None)
        """
        return self.get_id(_key(tensor))

    def get_id(self, tensor_id: int) -> Tensor | None:
        """The gradient for the variable with this id, or None.

        >>> import cafe
        >>> x = cafe.Var([2.0])
        >>> x.sqr().backward().get_id(x.id).tolist()
        [4.0]
        """
        found = self._grads.get(tensor_id)
        if isinstance(found, np.ndarray):
            found = self._grads[tensor_id] = wrap(found)
        return found

    def get_ids(self) -> list[int]:
        """The ids of all that has a gradient here.

        >>> import cafe
        >>> x = cafe.Var([2.0])
        >>> x.sqr().backward().get_ids() == [x.id]
        True
        """
        return list(self._grads)

    def insert(self, tensor: Tensor, grad: Tensor) -> Tensor | None:
        """Puts a gradient in; gives the one that was there.

        Raises: ShapeMismatchBinaryOp when the shapes differ.

        >>> import cafe
        >>> x, grads = cafe.Var([2.0]), cafe.GradStore()
        >>> grads.insert(x, cafe.Tensor([1.0]))
        >>> grads.insert(x, cafe.Tensor([5.0])).tolist(), grads[x].tolist()
        ([1.0], [5.0])
        """
        check_tensors("insert", tensor, grad)
        if tensor.shape != grad.shape:
            raise ShapeMismatchBinaryOp("insert", tensor.shape, grad.shape)
        before = self.get_id(tensor._id)
        self._grads[tensor._id] = grad
        return before

    def remove(self, tensor: Tensor) -> Tensor | None:
        """Takes a gradient out; gives it, or None.

        >>> import cafe
        >>> x = cafe.Var([2.0])
        >>> grads = x.sqr().backward()
        >>> grads.remove(x).tolist(), grads.remove(x)
        ([4.0], None)
        """
        key = _key(tensor)
        found = self.get_id(key)
        self._grads.pop(key, None)
        return found

    def extend(self, other: GradStore) -> None:
        """Adds another store's gradients to these: what accumulation over batches needs.

        >>> import cafe
        >>> x = cafe.Var([2.0])
        >>> grads = x.sqr().backward()
        >>> grads.extend((x * 3.0).backward())
        >>> grads[x].tolist()
        [7.0]
        """
        if not isinstance(other, GradStore):
            raise TypeError(f"extend: expected GradStore, found {type(other).__name__}")
        for key in other._grads:
            grad, mine = other.get_id(key), self.get_id(key)
            assert grad is not None
            self._grads[key] = grad if mine is None else mine.add(grad)

    def __getitem__(self, tensor: Tensor) -> Tensor:
        found = self.get_id(_key(tensor))
        if found is None:
            raise _NoGradient(f"no gradient for this tensor of shape {tensor.dims()}").help(
                "it is no variable that the loss was computed from; `get` gives None instead"
            )
        return found

    def __contains__(self, tensor: Tensor) -> bool:
        return _key(tensor) in self._grads

    def __len__(self) -> int:
        return len(self._grads)

    def __iter__(self) -> Iterator[int]:
        return iter(self._grads)

    def __repr__(self) -> str:
        return f"GradStore({len(self._grads)} gradients)"

    def _arrays(self, ids: Iterable[int]) -> list[Array]:
        """The gradients with these ids, of those that have one, as the arrays that they are: what an optimizer reads."""
        return [g._data if isinstance(g, Base) else g for g in map(self._grads.get, ids) if g is not None]

    @classmethod
    def _of(cls, found: dict[Node, Any], retained: Mapping[Node | None, int]) -> GradStore:
        """What the tape found: arrays, or Tensors where the walk was recorded."""
        store = cls()
        grads = store._grads
        for node, g in found.items():
            if isinstance(node, Leaf):
                grads[node.owner] = g if g.dtype is node.dtype and g.flags.c_contiguous else _settled(g, node)
            else:
                grads[retained[node]] = _settled(g, node)
        return store


def _key(tensor: Tensor) -> int:
    check_tensors("gradients by variable", tensor)
    return tensor._id


class _NoGradient(Error, KeyError):
    pass


def _settled(g: Any, node: Node) -> Tensor | Array:
    """The gradient in the node's own dtype and in memory of its own, row-major. A variable's has that memory already, a Tensor stays."""
    if isinstance(g, Base):
        return g  # type: ignore[return-value]
    if g.dtype != node.dtype:
        return memory.dense(kernels.cast(g, node.dtype))
    return np.asarray(g) if node.op is None and g.flags.c_contiguous else np.array(g, order="C")
