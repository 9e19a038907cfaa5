"""Tensor and Var: the facade over an array and its place in the graph (floor 4)."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from math import prod
from typing import Any, NoReturn

import numpy as np

from cafe import tape
from cafe.device import Device
from cafe.dtype import Array, DType, DTypeLike, as_dtype, check_same
from cafe.errors import CannotSetVar, Error, ShapeMismatchBinaryOp, UnexpectedDType, UnsupportedDTypeForOp, bail
from cafe.shape import Dim, Shape, check_rank, contiguous_stride, resolve_dim, shares_memory

from ._activation import ActivationMethods
from ._binary import BinaryMethods
from ._compare import CompareMethods
from ._conv import ConvMethods
from ._create import CreateMethods
from ._extreme import ExtremeMethods
from ._indexing import IndexingMethods
from ._join import JoinMethods
from ._layout import LayoutMethods
from ._matmul import MatmulMethods
from ._pad import PadMethods
from ._pool import PoolMethods
from ._reduce import ReduceMethods
from ._resample import ResampleMethods
from ._slice import SliceMethods
from ._sort import SortMethods
from ._unary import UnaryMethods
from .base import Base, _next_id, wrap
from .convert import check_device, to_array
from .display import debug, display
from .grads import GradStore
from .verbs import GRAPH


class _Elsewhere:
    """Stands where a method would be and says which function it is. (A `__getattr__` could, too, and would slow every other attribute.)"""

    def __init__(self, place: str) -> None:
        self.place = place

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, tensor: object, owner: type) -> NoReturn:
        raise AttributeError(f"a Tensor has no method `{self.name}`: it is the function `{self.place}.{self.name}`")


class Tensor(
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

    def __init__(self, data: Any, dtype: DTypeLike | None = None, device: Device | None = None) -> None:
        check_device(device)
        self._data = to_array(data, dtype)
        self._node, self._version, self._id = None, None, _next_id()

    # -- what it is

    @property
    def device(self) -> Device:
        """`Device.Cpu`."""
        return Device.Cpu

    def to_device(self, device: Device) -> Tensor:
        """Itself: there is one device."""
        check_device(device)
        return self

    @property
    def rank(self) -> int:
        """The number of dims."""
        return self._data.ndim

    @property
    def ndim(self) -> int:
        """`rank`."""
        return self._data.ndim

    @property
    def stride(self) -> Shape:
        """Steps between neighbours along each dim, in elements; row-major ones for an empty tensor."""
        if self._data.size == 0:
            return contiguous_stride(self.shape)
        return tuple(s // self._data.itemsize for s in self._data.strides)

    @property
    def id(self) -> int:
        """A number that no other tensor has; a variable keeps its own."""
        return self._id

    def dims(self) -> list[int]:
        """The sizes, as a list: this prints as `[2, 3]`."""
        return list(self.shape)

    def dim(self, dim: Dim) -> int:
        """The size of one dim."""
        return self.shape[resolve_dim(self.shape, dim, "dim")]

    def dims0(self) -> tuple[()]:
        """(), for a scalar.

        Raises: UnexpectedNumberOfDims.
        """
        check_rank(self.shape, 0)
        return ()

    def dims1(self) -> int:
        """The size of a vector.

        Raises: UnexpectedNumberOfDims.
        """
        check_rank(self.shape, 1)
        return self.shape[0]

    def dims2(self) -> Shape:
        """The two sizes.

        Raises: UnexpectedNumberOfDims.
        """
        check_rank(self.shape, 2)
        return self.shape

    def dims3(self) -> Shape:
        """The three sizes.

        Raises: UnexpectedNumberOfDims.
        """
        check_rank(self.shape, 3)
        return self.shape

    def dims4(self) -> Shape:
        """The four sizes.

        Raises: UnexpectedNumberOfDims.
        """
        check_rank(self.shape, 4)
        return self.shape

    def dims5(self) -> Shape:
        """The five sizes.

        Raises: UnexpectedNumberOfDims.
        """
        check_rank(self.shape, 5)
        return self.shape

    def elem_count(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return self._data.flags.c_contiguous

    def is_fortran_contiguous(self) -> bool:
        """Whether the elements lie in column-major order without gaps."""
        return self._data.flags.f_contiguous

    def is_variable(self) -> bool:
        """Whether this is a Var."""
        return False

    def track_op(self) -> bool:
        """Whether gradients pass here: a variable, or computed from one."""
        return self._node is not None

    # -- out

    def to_scalar(self, dtype: DTypeLike | None = None) -> Any:
        """The number of a rank-0 tensor, a Python int or float.

        Raises: UnexpectedNumberOfDims; UnexpectedDType when a dtype is named that is not this one's.
        """
        return self._out(0, dtype)

    def to_vec0(self, dtype: DTypeLike | None = None) -> Any:
        """`to_scalar`."""
        return self._out(0, dtype)

    def to_vec1(self, dtype: DTypeLike | None = None) -> list[Any]:
        """A list of the numbers of a rank-1 tensor; errors as `to_scalar`."""
        return self._out(1, dtype)  # type: ignore[no-any-return]

    def to_vec2(self, dtype: DTypeLike | None = None) -> list[list[Any]]:
        """Nested lists of a rank-2 tensor; errors as `to_scalar`."""
        return self._out(2, dtype)  # type: ignore[no-any-return]

    def to_vec3(self, dtype: DTypeLike | None = None) -> list[list[list[Any]]]:
        """Nested lists of a rank-3 tensor; errors as `to_scalar`."""
        return self._out(3, dtype)  # type: ignore[no-any-return]

    def _out(self, rank: int, dtype: DTypeLike | None) -> Any:
        if dtype is not None and (wanted := as_dtype(dtype)) is not self.dtype:
            raise UnexpectedDType("unexpected dtype", wanted, self.dtype).help("`to_dtype` converts")
        check_rank(self.shape, rank)
        return self.tolist()

    def tolist(self) -> Any:
        """Nested lists of Python numbers, of any rank; a number for rank 0."""
        return self._data.tolist() if self._data.dtype.kind != "V" else self._data.astype(np.float32).tolist()

    def item(self) -> Any:
        """The number of a tensor with one element, whatever its rank.

        Raises: Error for any other count.
        """
        if self._data.size != 1:
            raise Error(f"item: a tensor of one element is wanted, got shape {self.dims()}")
        return self.reshape(()).tolist()

    def numpy(self) -> Array:
        """A read-only view of the numbers as an ndarray; copy it to write."""
        view = self._data.view()
        view.flags.writeable = False
        return view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False and dtype is not None and np.dtype(dtype) != self._data.dtype:
            raise ValueError(f"a {self.dtype!r} tensor cannot be seen as {np.dtype(dtype)} without a copy")
        if copy or (dtype is not None and np.dtype(dtype) != self._data.dtype):
            return np.array(self._data, dtype=dtype)
        return self.numpy()

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.dtype is DType.BF16:
            raise UnsupportedDTypeForOp(self.dtype, "dlpack")
        return self._data.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.is_float:
            raise TypeError(f"a {self.dtype!r} tensor is no index")
        return operator.index(self.item())

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise Error(f"the truth of a tensor of shape {self.dims()} is ambiguous").help("reduce it to one element first")
        return bool(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a rank-0 tensor has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("a rank-0 tensor cannot be iterated over")
        return (self.get(i) for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self._data == (value._data if isinstance(value, Base) else value)).any())

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

    # -- what candle has no method for either

    sigmoid = _Elsewhere("cafe.nn.ops")
    softmax = _Elsewhere("cafe.nn.ops")
    log_softmax = _Elsewhere("cafe.nn.ops")
    softmax_last_dim = _Elsewhere("cafe.nn.ops")
    leaky_relu = _Elsewhere("cafe.nn.ops")
    selu = _Elsewhere("cafe.nn.ops")
    mish = _Elsewhere("cafe.nn.ops")
    hard_sigmoid = _Elsewhere("cafe.nn.ops")
    read_npy = _Elsewhere("cafe.io.npy")
    write_npy = _Elsewhere("cafe.io.npy")
    read_npz = _Elsewhere("cafe.io.npy")
    write_npz = _Elsewhere("cafe.io.npy")
    read_npz_by_name = _Elsewhere("cafe.io.npy")
    save_safetensors = _Elsewhere("cafe.io.safetensors")
    cross_entropy = _Elsewhere("cafe.nn.loss")
    mse = _Elsewhere("cafe.nn.loss")
    nll = _Elsewhere("cafe.nn.loss")

    # -- the graph

    def detach(self) -> Tensor:
        """The same storage outside the graph: no gradient passes. An untracked tensor gives itself."""
        return self if self._node is None else wrap(self._data, None, self._version)

    def backward(
        self, *, retain: list[Tensor] | tuple[Tensor, ...] = (), retain_graph: bool = False, create_graph: bool = False
    ) -> GradStore:
        """The gradients of this tensor with respect to every variable it was computed from, starting from ones.

        retain: tensors on the way whose gradient is wanted too.
        retain_graph: keeps what the walk needs, so that it can be walked again.
        create_graph: records the walk itself, so that gradients can be differentiated; implies retain_graph.

        Raises: GraphReleased on a second walk; VersionMismatch when a variable it needs was set since; Error for an integer tensor,
        or a tensor to retain that this one was not computed from.

        >>> import cafe
        >>> x = cafe.Var([3.0])
        >>> grads = x.sqr().sum_all().backward()
        >>> grads[x].tolist()
        [6.0]
        """
        node, dtype = self._node, self._data.dtype
        if node is None:
            if self.dtype.is_int:
                raise UnsupportedDTypeForOp(self.dtype, "backward")
            return GradStore()
        wanted = {t._node: t._id for t in retain}
        if None in wanted:
            bail("retain: a tensor that descends from no variable has no gradient")
        ones = np.empty(self._data.shape, np.float32 if tape.is_half(dtype) and not create_graph else dtype)
        ones.fill(1.0)
        found = tape.backward(
            node,
            wrap(ones) if create_graph else ones,
            frozenset(wanted),  # type: ignore[arg-type]  # None is not among them
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

    def __init__(self, data: Any, dtype: DTypeLike | None = None, device: Device | None = None) -> None:
        super().__init__(data, dtype, device)
        self._node, self._version = tape.leaf(self._data, self._id), tape.Version()

    @staticmethod
    def from_tensor(tensor: Tensor) -> Var:
        """A variable with a copy of the tensor's numbers; a variable gives itself."""
        return tensor if isinstance(tensor, Var) else Var(tensor)

    @classmethod
    def _made(cls, data: Array) -> Var:  # Var.zeros and the other constructors come through here
        return cls(data)

    def is_variable(self) -> bool:
        """True."""
        return True

    def as_tensor(self) -> Tensor:
        """This variable, as candle's `as_tensor`."""
        return self

    def as_detached_tensor(self) -> Tensor:
        """The same storage outside the graph."""
        return wrap(self._data, None, self._version)

    def set(self, source: Tensor) -> None:
        """Copies the source's numbers into this variable's storage; every view of it sees them.

        Raises: CannotSetVar for a source in the same storage, ShapeMismatchBinaryOp, DTypeMismatchBinaryOp.
        """
        if shares_memory(self._data, source._data):
            raise CannotSetVar("cannot set a variable to a tensor that is derived from its value")
        if self.shape != source.shape:
            raise ShapeMismatchBinaryOp("set", self.shape, source.shape)
        check_same("copy_strided", source._data, self._data)
        self._data[...] = source._data
        self._touch()

    def _touch(self) -> None:
        """Says that the storage was written."""
        assert self._version is not None
        self._version.count += 1


def _unpickled(kind: type[Tensor], data: Array) -> Tensor:
    return kind(data)


Base._plain = Tensor
