"""Tensor and Var: the facade over an array and its place in the graph (floor 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never, NoReturn, Protocol

import numpy as np

from cafe import kernels, tape, tracing
from cafe.device import Device
from cafe.dtype import Array, DTypeLike, check_same
from cafe.errors import CannotSetVar, ShapeMismatchBinaryOp, UnsupportedDTypeForOp, bail, helped
from cafe.habits import named
from cafe.kernels.tensors import know
from cafe.shape import shares_memory

from ._activation import ActivationMethods
from ._binary import BinaryMethods
from ._compare import CompareMethods
from ._conv import ConvMethods
from ._create import CreateMethods
from ._extreme import ExtremeMethods
from ._facts import FactsMethods
from ._indexing import IndexingMethods
from ._join import JoinMethods
from ._layout import LayoutMethods
from ._matmul import MatmulMethods
from ._out import OutMethods
from ._pad import PadMethods
from ._pool import PoolMethods
from ._reduce import ReduceMethods
from ._resample import ResampleMethods
from ._slice import SliceMethods
from ._sort import SortMethods
from ._unary import UnaryMethods
from .base import Base, check_tensors, wrap
from .convert import check_device, to_array
from .display import debug, display
from .grads import GradStore
from .habits import Habits, wrong
from .verbs import GRAPH

_NONE: frozenset[Any] = frozenset()  # what a backward retains beside its variables, usually


class _ModuleT(Protocol):
    """What `apply_t` needs of a module."""

    def forward_t(self, xs: Any, train: bool) -> Tensor: ...


@named
class Tensor(
    FactsMethods,
    OutMethods,
    UnaryMethods,
    ActivationMethods,
    BinaryMethods,
    CompareMethods,
    ReduceMethods,
    ExtremeMethods,
    LayoutMethods,
    SliceMethods,
    JoinMethods,
    PadMethods,
    IndexingMethods,
    SortMethods,
    MatmulMethods,
    ConvMethods,
    PoolMethods,
    ResampleMethods,
    CreateMethods,
    Habits,
):
    """An n-dimensional array of one dtype, with its place in the graph of what it was computed from.

    `Tensor(data)`: floats give F32, ints I64, bools U8; a NumPy array keeps its dtype; the data is copied.

    Operators want one shape and one dtype (or a Python number); the `broadcast_…` methods broadcast. Views share storage.

    >>> import cafe
    >>> t = cafe.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> print(t * 2.0)
    [[2., 4.],
     [6., 8.]]
    Tensor[[2, 2], f32]
    """

    __slots__ = ()

    def __init__(self, data: Any, dtype: DTypeLike | None = None, device: Device | None = None, **others: Never) -> None:
        if others:
            raise wrong("Var" if self.is_variable() else "Tensor", others)
        check_device(device)
        self._data = to_array(data, dtype)
        self._node, self._version = None, None

    def to_device(self, device: Device) -> Tensor:
        """This tensor itself: there is one device.

        Raises: TypeError for what is no Device.

        >>> import cafe
        >>> t = cafe.Tensor([1.0])
        >>> t.to_device(cafe.Device.Cpu) is t
        True
        """
        check_device(device)
        return self

    def apply(self, module: Callable[[Tensor], Tensor]) -> Tensor:
        """What a module (or any function of one tensor) makes of this: `module(t)`, to be written in a chain.

        Source: candle-core/src/tensor.rs, apply.

        >>> import cafe
        >>> cafe.Tensor([-1.0, 2.0]).apply(cafe.Tensor.relu).apply(lambda t: t * 10.0).tolist()
        [0.0, 20.0]
        """
        try:
            return module(self)
        except TypeError:
            if not callable(module):
                raise TypeError(f"apply: expected a module or a function, found {type(module).__name__}") from None
            raise

    def apply_t(self, module: _ModuleT, train: bool) -> Tensor:
        """What a module that knows about training makes of this: `module.forward_t(t, train)`.

        Source: candle-core/src/tensor.rs, apply_t.

        >>> import cafe
        >>> from cafe.nn import Dropout
        >>> cafe.Tensor([1.0, 2.0]).apply_t(Dropout(0.5), False).tolist()
        [1.0, 2.0]
        """
        try:
            return module.forward_t(self, train)
        except AttributeError:
            if not hasattr(module, "forward_t"):
                raise TypeError(f"apply_t: expected a module, found {type(module).__name__}") from None
            raise

    def __str__(self) -> str:
        return display(self._data, str(self.dtype))

    def __repr__(self) -> str:
        return debug(self._data, str(self.dtype), self.is_variable())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), np.ascontiguousarray(self._data).reshape(self.shape))

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return type(self)(self._data)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        """Refused: a tensor does not change.

        Raises: TypeError that says what there is instead.
        """
        cure = "`t.slice_assign([slice(0, 1), …], src)` gives a new tensor, `Var.set(new)` gives a variable new numbers"
        raise helped(TypeError(f"a {type(self).__name__} does not change: no item can be set"), cure)

    # -- the graph

    def detach(self) -> Tensor:
        """The same storage outside the graph: no gradient passes. An untracked tensor gives itself.

        Source: candle-core/src/tensor.rs, detach.

        >>> import cafe
        >>> x = cafe.Var([2.0])
        >>> (x.detach() * x).backward()[x].tolist()
        [2.0]
        """
        return self if self._node is None else wrap(self._data, None, self._version)

    def backward(
        self,
        *more: Never,
        retain: list[Tensor] | tuple[Tensor, ...] = (),
        retain_graph: bool = False,
        create_graph: bool = False,
        **others: Never,
    ) -> GradStore:
        """The gradients of this tensor with respect to every variable it was computed from, starting from ones.

        retain: tensors on the way whose gradient is wanted too.
        retain_graph: keeps what the walk needs, so that it can be walked again.
        create_graph: records the walk itself, so that gradients can be differentiated; implies retain_graph.

        A tensor that was computed from no variable, or under `no_grad`, gives an empty store: it has no variables whose gradients could
        be missing. `track_op` tells beforehand.

        Raises: GraphReleased on a second walk; VersionMismatch when a variable it needs was set since; Error for an integer tensor,
        or a tensor to retain that this one was not computed from.

        >>> import cafe
        >>> x = cafe.Var([3.0])
        >>> grads = x.sqr().sum_all().backward()
        >>> grads[x].tolist()
        [6.0]
        """
        if more or others:
            raise wrong("backward", others)
        node, dtype = self._node, self._data.dtype
        if node is None:
            if self.dtype.is_int:
                raise UnsupportedDTypeForOp(self.dtype, "backward")
            return GradStore()
        wanted = _nodes(retain) if retain is not None and retain != () else {}
        if None in wanted:
            bail("retain: a tensor that descends from no variable has no gradient")
        ones = np.empty(self._data.shape, np.float32 if dtype.itemsize == 2 and not create_graph else dtype)  # halves walk in F32
        ones.fill(1.0)
        found = tape.backward(
            node,
            wrap(ones) if create_graph else ones,
            frozenset(wanted) if retain else _NONE,
            retain_graph or create_graph,
            GRAPH if create_graph else None,
        )
        return GradStore._of(found, wanted)


class Var(Tensor):
    """A tensor that can be set, and for which a backward gives a gradient (floats only).

    `Var(data, dtype=None)` copies the data. Every view of it sees a new value.

    >>> import cafe
    >>> w = cafe.Var([1.0, 2.0])
    >>> view = w.narrow(0, 0, 1)
    >>> w.set(cafe.Tensor([5.0, 6.0]))
    >>> view.tolist()
    [5.0]
    """

    __slots__ = ()

    def __init__(self, data: Any, dtype: DTypeLike | None = None, device: Device | None = None, **others: Never) -> None:
        super().__init__(data, dtype, device, **others)
        self._node, self._version = tape.leaf(self._data, self._id), tape.Version()

    @staticmethod
    def from_tensor(tensor: Tensor) -> Var:
        """A variable with a copy of the tensor's numbers; a variable gives itself, so that shared ones stay shared.

        Source: candle-core/src/variable.rs, from_tensor.

        >>> import cafe
        >>> v = cafe.Var.from_tensor(cafe.Tensor([1.0]))
        >>> cafe.Var.from_tensor(v) is v
        True
        """
        return tensor if isinstance(tensor, Var) else Var(tensor)

    @classmethod
    def _made(cls, data: Array) -> Var:  # Var.zeros and the other constructors come through here
        return cls(data)

    def is_variable(self) -> bool:
        """`True`."""
        return True

    def as_tensor(self) -> Tensor:
        """This variable: in Python it is a Tensor.

        >>> import cafe
        >>> v = cafe.Var([1.0])
        >>> v.as_tensor() is v
        True
        """
        return self

    def as_detached_tensor(self) -> Tensor:
        """The same storage outside the graph: it follows `set`, and no gradient passes.

        Source: candle-core/src/variable.rs, as_detached_tensor.

        >>> import cafe
        >>> v = cafe.Var([1.0])
        >>> t = v.as_detached_tensor()
        >>> v.set(cafe.Tensor([5.0]))
        >>> t.tolist(), t.track_op()
        ([5.0], False)
        """
        return wrap(self._data, None, self._version)

    def set(self, source: Tensor) -> None:
        """Copies the source's numbers into this variable's storage; every view of it sees them.

        A backward that was recorded before and needs the old value raises VersionMismatch.

        Raises: CannotSetVar for a source in the same storage, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp (which candle words after the
        copy, `copy_strided`, with the source on the left), TypeError for what is no Tensor.
        Source: candle-core/src/variable.rs, set.

        >>> import cafe
        >>> v = cafe.Var([1.0, 2.0])
        >>> row = v[0]
        >>> v.set(v * 10.0)
        >>> row.to_scalar()
        10.0
        """
        try:
            data = source._data
        except AttributeError:
            check_tensors("set", source)
            raise
        if shares_memory(self._data, data):
            raise CannotSetVar("cannot set a variable to a tensor that is derived from its value")
        if self.shape != data.shape:
            raise ShapeMismatchBinaryOp("set", self.shape, data.shape)
        check_same("copy_strided", data, self._data)
        self._data[...] = data
        self._touch()

    def _in_place(self, other: Any) -> NoReturn:
        """Refused: `v += x` would give the name to a tensor that is no variable.

        Raises: TypeError that says what there is instead.
        """
        error = TypeError("a Var is not changed by an operator: its name would stand for a tensor that is no variable")
        raise helped(error, "`v.set(v + x)` gives it new numbers, `y = v + x` names another tensor")

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __imatmul__ = _in_place

    def _touch(self) -> None:
        """Says that the storage was written."""
        assert self._version is not None
        self._version.count += 1


def _nodes(retain: Any) -> dict[Any, int]:
    """The nodes of the tensors to retain, with the tensors' ids.

    Raises: TypeError for anything but a list or tuple of Tensors.
    """
    if not isinstance(retain, list | tuple):
        raise TypeError(f"retain: expected a list of Tensors, found {type(retain).__name__}")
    check_tensors("retain", *retain)
    return {t._node: t._id for t in retain}


def _unpickled(kind: type[Tensor], data: Array) -> Tensor:
    return kind(data)


Base._plain = Tensor
know(Tensor, kernels, tracing, tape.record)
