"""Constructors: `Tensor.zeros`, `Tensor.arange` and their like; on Var they make variables (floor 4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cafe.device import Device, generator
from cafe.dtype import Array, DType, DTypeLike, as_dtype, from_numpy_dtype
from cafe.errors import Error, OpRequiresAtLeastTwoTensors, ShapeMismatch, UnsupportedDTypeForOp
from cafe.kernels import normal, uniform
from cafe.shape import ShapeLike, check_rank, parse_hole

from .base import Base, wrap
from .convert import check_device, default_dtype, number_for, shaped, to_array

if TYPE_CHECKING:
    from .core import Tensor


def _float(dtype: DTypeLike | None, op: str) -> np.dtype[Any]:
    wanted = DType.F32 if dtype is None else as_dtype(dtype)
    if not wanted.is_float:
        raise UnsupportedDTypeForOp(wanted, op)
    return wanted.numpy


class CreateMethods(Base):
    """Tensors from shapes, numbers, ranges, random numbers and other people's arrays."""

    __slots__ = ()

    @classmethod
    def _made(cls, data: Array) -> Any:
        """The array itself as a Tensor; Var gives a variable."""
        return wrap(data)

    @classmethod
    def new(cls, data: Any, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """`Tensor(data)`: floats give F32, ints I64, bools U8; an array keeps its dtype.

        Raises: Error for ragged nesting, UnsupportedDTypeForOp for a dtype that cafe lacks.
        """
        check_device(device)
        return cls._made(to_array(data, dtype))  # type: ignore[no-any-return]

    @classmethod
    def zeros(cls, shape: ShapeLike, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Tensor:
        """Zeros."""
        return cls._made(np.zeros(shaped(shape, device), as_dtype(dtype).numpy))  # type: ignore[no-any-return]

    @classmethod
    def ones(cls, shape: ShapeLike, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Tensor:
        """Ones."""
        return cls._made(np.ones(shaped(shape, device), as_dtype(dtype).numpy))  # type: ignore[no-any-return]

    @classmethod
    def full(cls, value: Any, shape: ShapeLike, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """One number everywhere, value first as in candle; the dtype is the number's: float F32, int I64."""
        target = (default_dtype(value) if dtype is None else as_dtype(dtype)).numpy
        out = np.zeros(shaped(shape, device), target)
        out[...] = number_for(out, value, "full")
        return cls._made(out)  # type: ignore[no-any-return]

    @classmethod
    def arange(cls, start: Any, end: Any, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """start, start + 1, … below end. Ints give I64, a float gives F32."""
        return cls.arange_step(start, end, type(start)(1), dtype, device)

    @classmethod
    def arange_step(cls, start: Any, end: Any, step: Any, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """⌈(end − start) / step⌉ numbers, the i-th start + i · step.

        Raises: Error for a step of 0.

        >>> import cafe
        >>> cafe.Tensor.arange_step(0, 1, 0.25).tolist()
        [0.0, 0.25, 0.5, 0.75]
        """
        check_device(device)
        if step == 0:
            raise Error("step cannot be zero")
        kind = max((default_dtype(v) for v in (start, end, step)), key=list(DType).index)
        target = kind if dtype is None else as_dtype(dtype)
        values: Array
        if kind.is_int:
            values = np.array(range(int(start), int(end), int(step)), np.int64)
        else:
            count = max(0, math.ceil((end - start) / step))
            values = float(start) + np.arange(count, dtype=np.float64) * float(step)
        return cls._made(values.astype(target.numpy) if target.is_float else to_array(values, target))  # type: ignore[no-any-return]

    @classmethod
    def linspace(cls, start: float, stop: float, steps: int, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """`steps` numbers evenly from start to stop, both included; one step gives start.

        >>> import cafe
        >>> cafe.Tensor.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
        """
        check_device(device)
        if steps < 0:
            raise Error(f"linspace: steps must be at least 0, got {steps}")
        return cls._made(np.linspace(start, stop, steps, dtype=np.float64).astype(_float(dtype, "linspace")))  # type: ignore[no-any-return]

    @classmethod
    def rand(cls, lo: float, up: float, shape: ShapeLike, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """Uniform in [lo, up)."""
        target = _float(dtype, "rand_uniform")
        values = uniform(shaped(shape, device), float(lo), float(up), generator).astype(target)
        return cls._made(np.where(values < target.type(up), values, target.type(lo)) if up > lo else values)  # type: ignore[no-any-return]

    @classmethod
    def randn(cls, mean: float, std: float, shape: ShapeLike, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """Normal with this mean and standard deviation, in candle's order: mean, std, shape."""
        target = _float(dtype, "rand_normal")
        return cls._made(normal(shaped(shape, device), float(mean), float(std), generator).astype(target))  # type: ignore[no-any-return]

    @classmethod
    def eye(cls, n: int, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Tensor:
        """Ones on the diagonal: (n, n)."""
        check_device(device)
        return cls._made(np.eye(n, dtype=np.uint8).astype(as_dtype(dtype).numpy))  # type: ignore[no-any-return]

    @classmethod
    def tril2(cls, n: int, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Tensor:
        """Ones on and below the diagonal: (n, n)."""
        check_device(device)
        return cls._made(np.tri(n, dtype=np.uint8).astype(as_dtype(dtype).numpy))  # type: ignore[no-any-return]

    @classmethod
    def triu2(cls, n: int, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Tensor:
        """Ones on and above the diagonal: (n, n)."""
        check_device(device)
        return cls._made(np.tri(n, dtype=np.uint8).T.astype(as_dtype(dtype).numpy, order="C"))  # type: ignore[no-any-return]

    @classmethod
    def from_vec(cls, data: Any, shape: Any, device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """Flat data under a shape, in which one size may be a hole.

        Raises: ShapeMismatch when the counts differ.
        """
        check_device(device)
        array = to_array(list(data) if isinstance(data, Iterable) and not isinstance(data, np.ndarray | Sequence | Base) else data, dtype)
        check_rank(array.shape, 1)
        target = parse_hole(shape, array.size)
        if prod(target) != array.size:
            raise ShapeMismatch(array.size, target)
        return cls._made(array.reshape(target))  # type: ignore[no-any-return]

    @classmethod
    def from_slice(cls, data: Any, shape: Any, device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """`from_vec`."""
        return cls.from_vec(data, shape, device, dtype)

    @classmethod
    def from_iter(cls, data: Iterable[Any], device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """The numbers of an iterable, rank 1."""
        return cls.new(list(data), dtype, device)

    @classmethod
    def from_numpy(cls, array: Array) -> Tensor:
        """A tensor over the array's own memory (a bool array as U8): a later write to the array is seen. Other byte orders are copied.

        Raises: UnsupportedDTypeForOp for a dtype that cafe lacks.
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(f"from_numpy: expected an ndarray, found {type(array).__name__}")
        found = from_numpy_dtype(array.dtype, "from_numpy").numpy
        return cls._made(array.view(np.uint8) if array.dtype == np.bool_ else array.astype(found, copy=False))  # type: ignore[no-any-return]

    @classmethod
    def from_dlpack(cls, source: Any) -> Tensor:
        """A tensor over the memory of anything that speaks DLPack on the CPU (a PyTorch tensor, a JAX array)."""
        return cls.from_numpy(np.from_dlpack(source))

    def zeros_like(self) -> Tensor:
        """Zeros of this shape and dtype."""
        return wrap(np.zeros(self.shape, self._data.dtype))

    def ones_like(self) -> Tensor:
        """Ones of this shape and dtype."""
        return wrap(np.ones(self.shape, self._data.dtype))

    def full_like(self, value: Any) -> Tensor:
        """One number everywhere, of this shape and dtype."""
        return CreateMethods.full(value, self.shape, self.dtype)

    def rand_like(self, lo: float, up: float) -> Tensor:
        """Uniform in [lo, up), of this shape and dtype."""
        return CreateMethods.rand(lo, up, self.shape, self.dtype)

    def randn_like(self, mean: float, std: float) -> Tensor:
        """Normal, of this shape and dtype."""
        return CreateMethods.randn(mean, std, self.shape, self.dtype)

    @staticmethod
    def meshgrid(tensors: Sequence[Tensor], xy_indexing: bool = False) -> list[Tensor]:
        """Each vector repeated over the grid of all: n vectors of sizes s → n tensors of shape s (the first two swapped for xy).

        Raises: OpRequiresAtLeastTwoTensors, UnexpectedNumberOfDims.
        """
        if len(tensors) < 2:
            raise OpRequiresAtLeastTwoTensors("meshgrid")
        for t in tensors:
            check_rank(t.shape, 1)
        order = [1, 0, *range(2, len(tensors))] if xy_indexing else list(range(len(tensors)))
        sizes = tuple(tensors[i].shape[0] for i in order)
        out = []
        for i, t in enumerate(tensors):
            place = order.index(i)
            out.append(t.reshape(tuple(t.shape[0] if d == place else 1 for d in range(len(sizes)))).broadcast_as(sizes))
        return out
