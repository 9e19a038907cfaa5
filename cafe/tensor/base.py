"""What every family of methods stands on: a Tensor's parts, and the one way an op is applied (floor 4)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cafe import tape
from cafe.dtype import Array, DType, dtype_of
from cafe.errors import Error, helped
from cafe.kernels.tensors import apply as apply_in_c
from cafe.ops.base import Op
from cafe.shape import Shape, shares_memory
from cafe.tape import Node, Version

if TYPE_CHECKING:
    from .core import Tensor

_MEANT = {  # where a number came for a Tensor
    "pow": "it is `powf(e)` for a number",
    "add": "`t + 1.0` takes a number",
    "sub": "`t - 1.0` takes a number",
    "mul": "`t * 2.0` takes a number",
    "div": "`t / 2.0` takes a number",
    "where_cond": "`t.full_like(0.0)` is a tensor of one number, and `masked_fill` takes a number",
    "index-select": "the ids come first: `t.index_select(ids, dim)`",
    "gather": "the ids come first: `t.gather(ids, dim)`",
    "index-add": "the ids come first: `t.index_add(ids, source, dim)`",
}
_next_id, _numbering = itertools.count(1).__next__, threading.Lock()
_new = object.__new__


class Base:
    """An array, its place in the graph (None outside it), and the version cell of the variable whose storage it views (or None)."""

    __slots__ = ("__weakref__", "_data", "_node", "_number", "_version")

    # an ndarray on the left of an operator leaves it to us
    __array_ufunc__: ClassVar[None] = None
    _plain: ClassVar[type[Any]]  # Tensor: what the methods of a Var give, too

    _data: Array
    _node: Node | None
    _version: Version | None
    _number: int

    @property
    def _id(self) -> int:
        """A number that no other tensor has. It is given out when it is first asked for: that takes a moment, and few ever are."""
        try:
            return self._number
        except AttributeError:
            with _numbering:
                if not hasattr(self, "_number"):
                    self._number = _next_id()
            return self._number

    @property
    def shape(self) -> Shape:
        """The sizes, as a tuple."""
        return self._data.shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return dtype_of(self._data)

    def _apply(self, op: Op, *others: Tensor) -> Tensor:
        """The op on this tensor and others, recorded if any of them descends from a variable."""
        return apply(op, self, *others)


def wrap(data: Array, node: Node | None = None, version: Version | None = None) -> Tensor:
    """A Tensor over this array itself."""
    out: Tensor = _new(Base._plain)
    out._data = data
    out._node = node
    out._version = version
    return out


def apply(op: Op, *tensors: Base) -> Tensor:
    """Applies an op to tensors: `cafe.apply`. The result is recorded if an input descends from a variable.

    op: a rule; users' own subclass `cafe.Op`.

    >>> import cafe
    >>> class Double(cafe.Op):
    ...     name = "double"
    ...     def forward(self, xp, x):
    ...         return xp.affine(x, 2.0, 0.0)
    ...     def backward(self, xp, g, r, x):
    ...         return (xp.affine(g, 2.0, 0.0),)
    >>> x = cafe.Var([1.0, 2.0])
    >>> y = cafe.apply(Double(), x).sum_all()
    >>> y.backward().get(x).tolist()
    [2.0, 2.0]
    """
    try:
        out: Tensor | None = apply_in_c(op, tensors)
        if out is not None:
            return out
        y, node, _ = tape.run(op, tensors)
    except AttributeError:
        if not isinstance(op, Op):
            raise TypeError(f"apply: expected an Op, found {type(op).__name__}") from None
        check_tensors(op.name, *tensors)
        raise
    except (ValueError, OverflowError) as error:
        raise _of_numpy(op.name, error) from None
    version = tensors[0]._version if op.views else None
    if version is not None and not shares_memory(y, tensors[0]._data):
        version = None
    return wrap(y, node, version)


def check_tensors(op: str, *values: Any) -> None:
    """Raises TypeError, saying what came instead, unless all are Tensors.

    Where an op is quick it is asked only after something failed for want of a Tensor's parts.
    """
    for value in values:
        if not isinstance(value, Base):
            meant = _MEANT.get(op) if isinstance(value, int | float) else taken(value)
            error = TypeError(f"{op}: expected Tensor, found {named_type(value)}")
            raise helped(error, meant or "`Tensor(…)` makes one of numbers, lists of them and ndarrays")


def taken(value: Any) -> str | None:
    """How another library's tensor becomes one; None for anything else."""
    if isinstance(value, np.ndarray) or not hasattr(type(value), "__dlpack__"):
        return None
    return "`Tensor.from_dlpack(x)` takes another library's tensor over its own memory, `Tensor(x.numpy())` copies it"


def named_type(value: Any) -> str:
    """The name of a value's type; with its package where that is called Tensor, too."""
    kind = type(value)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}" if kind.__name__ == "Tensor" else kind.__name__


def _of_numpy(op: str, error: Exception) -> Exception:
    """The error itself, or cafe's in place of NumPy's word on a result that it cannot make."""
    if isinstance(error, Error):
        return error
    said = str(error)
    if "maximum supported dimension" in said:
        return Error(f"{op}: a tensor has at most 64 dims")
    if "Maximum allowed dimension" in said or " too big" in said or " too large" in said:
        return Error(f"{op}: the result would have more elements than can be counted")
    return error


def named_tensors(op: str, tensors: Any) -> list[tuple[str, Any]]:
    """The pairs of a mapping from names to Tensors, or of a list of such pairs.

    Raises: TypeError, saying what came, for anything else.
    """
    pairs = list(tensors.items()) if isinstance(tensors, Mapping) else tensors
    if isinstance(pairs, Base | str) or not isinstance(pairs, Iterable):
        raise TypeError(f"{op}: expected Tensors by name, found {type(tensors).__name__}")
    pairs = list(pairs)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(f"{op}: expected a name and a Tensor, found {pair!r}")
        check_tensors(f"{op}: {pair[0]}", pair[1])
    return pairs


def apply_with_const(op: Op, *tensors: Base) -> tuple[Tensor, Any]:
    """As `apply`, with the arrays that the op hands on as its `const`: results without a derivative (a batch's moments, a sort's ids)."""
    y, node, const = tape.run(op, tensors)
    return wrap(y, node), const
