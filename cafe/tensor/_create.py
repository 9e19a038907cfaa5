"""Constructors: `Tensor.zeros`, `Tensor.arange` and their like; on Var they make variables (floor 4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from cafe.device import Device, generator
from cafe.dtype import Array, DType, DTypeLike, as_dtype, from_numpy_dtype
from cafe.errors import Error, IntegerOverflow, ShapeMismatch, UnsupportedDTypeForOp, helped
from cafe.habits import NEEDED
from cafe.kernels import cast, copy, full_like, lt, normal, uniform, where
from cafe.kernels.memory import cleared, full
from cafe.shape import ShapeLike, check_rank, parse_hole, parse_shape, shares_memory, whole

from .base import Base, named_type, taken, wrap
from .convert import check_device, default_dtype, number_for, owner, real, shaped, to_array
from .habits import called, wrong

if TYPE_CHECKING:
    from .core import Tensor


def _triangle(n: int, dtype: np.dtype[Any], *, upper: bool) -> Array:
    """Ones on one side of the diagonal: every row is the same line of zeros and ones, from one place further back."""
    line = np.zeros(2 * n, dtype)
    line[n if upper else 0 : 2 * n if upper else n + 1] = 1
    return copy(np.lib.stride_tricks.as_strided(line[n:], (n, n), (-line.itemsize, line.itemsize)))


def _float(dtype: DTypeLike | None, op: str) -> np.dtype[Any]:
    wanted = DType.F32 if dtype is None else as_dtype(dtype)
    if not wanted.is_float:
        raise UnsupportedDTypeForOp(wanted, op)
    return wanted.numpy


def _whole_steps(start: int, end: int, step: int) -> Array:
    """start, start + step, … below end.

    Raises: IntegerOverflow for what does not fit I64, Error for more than can be counted.
    """
    places = range(start, end, step)
    if not places:
        return np.zeros(0, np.int64)
    first, last = places[0], places[-1]
    if min(first, last) < -(1 << 63) or max(first, last) >= 1 << 63:
        raise IntegerOverflow(f"arange: {first} .. {last} does not fit I64")
    (count,) = parse_shape(abs(last - first) // abs(step) + 1)
    if count < 8:  # among so few a step may be longer than I64 itself
        return np.array(places, np.int64)
    return np.arange(count, dtype=np.int64) * step + first


def _steps(start: float, end: float, step: float) -> Array:
    """start + i · step for all i that stay below end.

    Raises: Error for more than can be counted, and where the number of steps is none.
    """
    count = (end - start) / step
    if not math.isfinite(count):
        raise Error(f"arange: no number of steps of {step} leads from {start} to {end}")
    (places,) = parse_shape(max(0, math.ceil(count)))
    return start + np.arange(places, dtype=np.float64) * step


class CreateMethods(Base):
    """Tensors from shapes, numbers, ranges, random numbers and other people's arrays."""

    __slots__ = ()

    @classmethod
    def _made(cls, data: Array) -> Any:
        """The array itself as a Tensor; Var gives a variable."""
        return wrap(data)

    @classmethod
    def new(cls, data: Any, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """`Tensor(data)`: floats give F32, ints I64, bools U8; a NumPy array keeps its dtype. The data is copied.

        Shape: that of the nesting.
        Raises: Error for ragged nesting, UnsupportedDTypeForOp for a dtype that cafe lacks, IntegerOverflow.
        Source: candle-core/src/tensor.rs, new.

        >>> import cafe
        >>> cafe.Tensor.new([[1, 2], [3, 4]]).dtype, cafe.Var.new([1.0]).is_variable()
        (I64, True)
        """
        check_device(device)
        return cls._made(to_array(data, dtype))  # type: ignore[no-any-return]

    @classmethod
    def zeros(cls, shape: ShapeLike, dtype: DTypeLike = DType.F32, device: Device | None = None, **others: Never) -> Tensor:
        """Zeros.

        Shape: the one given.
        Source: candle-core/src/tensor.rs, zeros.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 2)).tolist(), cafe.Tensor.zeros(1, "u8").tolist()
        ([[0.0, 0.0], [0.0, 0.0]], [0])
        """
        if others:
            raise wrong("zeros", others)
        return cls._made(cleared(shaped(shape, device), as_dtype(dtype).numpy))  # type: ignore[no-any-return]

    @classmethod
    def ones(cls, shape: ShapeLike, dtype: DTypeLike = DType.F32, device: Device | None = None, **others: Never) -> Tensor:
        """Ones.

        Shape: the one given.
        Source: candle-core/src/tensor.rs, ones.

        >>> import cafe
        >>> cafe.Tensor.ones(3).tolist()
        [1.0, 1.0, 1.0]
        """
        if others:
            raise wrong("ones", others)
        return cls._made(full(shaped(shape, device), as_dtype(dtype).numpy, 1))  # type: ignore[no-any-return]

    @classmethod
    def full(
        cls, value: Any, shape: ShapeLike = NEEDED, dtype: DTypeLike | None = None, device: Device | None = None, **others: Never
    ) -> Tensor:
        """One number everywhere, value first as in candle; the dtype is the number's: a float gives F32, an int I64.

        Shape: the one given.
        Raises: Error when an integer dtype is to hold another number, IntegerOverflow.
        Source: candle-core/src/tensor.rs, full.

        >>> import cafe
        >>> cafe.Tensor.full(42, (1, 3)).tolist(), cafe.Tensor.full(0.5, 1).dtype
        ([[42, 42, 42]], F32)
        """
        if isinstance(value, tuple | list) or shape is NEEDED or others:
            raise wrong("full", others)
        target = (default_dtype(value) if dtype is None else as_dtype(dtype)).numpy
        number = number_for(np.empty(0, target), value, "full")
        return cls._made(full(shaped(shape, device), target, number))  # type: ignore[no-any-return]

    @classmethod
    @called
    def arange(cls, start: Any, end: Any = NEEDED, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """start, start + 1, … below end. Ints give I64, a float gives F32.

        Shape: (⌈end − start⌉), (0) if there is nothing between.
        Raises: TypeError without an end, or for a step, which `arange_step` takes.
        Source: candle-core/src/tensor.rs, arange.

        >>> import cafe
        >>> cafe.Tensor.arange(2, 5).tolist(), cafe.Tensor.arange(0.0, 2.0).tolist()
        ([2, 3, 4], [0.0, 1.0])
        """
        if end is NEEDED or isinstance(dtype, int | float):
            raise wrong("arange")
        return cls.arange_step(start, end, 1.0 if isinstance(start, float) else 1, dtype, device)

    @classmethod
    @called
    def arange_step(cls, start: Any, end: Any, step: Any, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """start, start + step, … up to end, without it: the i-th is start + i · step, so nothing drifts (candle adds up its steps).

        Shape: (⌈(end − start) / step⌉).
        Raises: Error for a step of 0, IntegerOverflow for numbers that the dtype cannot hold.
        Source: candle-core/src/tensor.rs, arange_step.

        >>> import cafe
        >>> cafe.Tensor.arange_step(0, 1, 0.25).tolist(), cafe.Tensor.arange_step(5, 0, -2).tolist()
        ([0.0, 0.25, 0.5, 0.75], [5, 3, 1])
        """
        check_device(device)
        if step == 0:
            raise Error("step cannot be zero")
        kind = max((default_dtype(v) for v in (start, end, step)), key=list(DType).index)
        target = kind if dtype is None else as_dtype(dtype)
        values = _whole_steps(int(start), int(end), int(step)) if kind.is_int else _steps(float(start), float(end), float(step))
        return cls._made(values.astype(target.numpy) if target.is_float else to_array(values, target))  # type: ignore[no-any-return]

    @classmethod
    @called
    def linspace(cls, start: float, stop: float, steps: int, dtype: DTypeLike | None = None, device: Device | None = None) -> Tensor:
        """`steps` numbers evenly from start to stop, both included; one step gives start.

        Shape: (steps).
        Raises: Error for a negative count, UnsupportedDTypeForOp for an integer dtype.
        Source: ours; candle has none.

        >>> import cafe
        >>> cafe.Tensor.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
        """
        check_device(device)
        if whole("linspace", "steps", steps) < 0:
            raise Error(f"linspace: steps must be at least 0, got {steps}")
        ends, (count,) = (real("linspace", start), real("linspace", stop)), parse_shape(steps)
        return cls._made(np.linspace(*ends, count, dtype=np.float64).astype(_float(dtype, "linspace")))  # type: ignore[no-any-return]

    @classmethod
    @called
    def rand(
        cls,
        lo: float,
        up: float = NEEDED,
        shape: ShapeLike = NEEDED,
        dtype: DTypeLike | None = None,
        device: Device | None = None,
    ) -> Tensor:
        """Uniform random numbers in [lo, up).

        Shape: the one given.
        Raises: UnsupportedDTypeForOp for an integer dtype, Error unless lo ≤ up.
        Source: candle-core/src/tensor.rs, rand.

        >>> import cafe
        >>> cafe.manual_seed(1)
        >>> t = cafe.Tensor.rand(2.0, 3.0, (1000,))
        >>> t.ge(2.0).to_dtype("u32").sum_all().item(), t.lt(3.0).to_dtype("u32").sum_all().item()
        (1000, 1000)
        """
        if shape is NEEDED:
            raise wrong("rand")
        target, lo, up = _float(dtype, "rand_uniform"), real("rand", lo), real("rand", up)
        if not lo <= up:
            raise Error(f"rand: lo must be at most up, got {lo} and {up}")
        values = cast(uniform(shaped(shape, device), lo, up, generator), target)
        if up > lo:  # rounded to the dtype a number may reach the end
            values = where(lt(values, full_like(values, up)), values, full_like(values, lo))
        return cls._made(values)  # type: ignore[no-any-return]

    @classmethod
    @called
    def randn(
        cls,
        mean: float,
        std: float = NEEDED,
        shape: ShapeLike = NEEDED,
        dtype: DTypeLike | None = None,
        device: Device | None = None,
    ) -> Tensor:
        """Normal random numbers, in candle's order: mean, standard deviation, shape.

        Shape: the one given.
        Raises: UnsupportedDTypeForOp for an integer dtype, Error for a negative std.
        Source: candle-core/src/tensor.rs, randn.

        >>> import cafe
        >>> cafe.manual_seed(1)
        >>> t = cafe.Tensor.randn(5.0, 0.5, (4000,))
        >>> print(f"{t.mean_all().item():.1f} {t.var(0).item() ** 0.5:.1f}")
        5.0 0.5
        """
        if shape is NEEDED:
            raise wrong("randn")
        target, mean, std = _float(dtype, "rand_normal"), real("randn", mean), real("randn", std)
        if not std >= 0.0:
            raise Error(f"randn: std must be at least 0, got {std}")
        return cls._made(cast(normal(shaped(shape, device), mean, std, generator), target))  # type: ignore[no-any-return]

    @classmethod
    @called
    def eye(cls, n: int, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Tensor:
        """Ones on the diagonal.

        Shape: (n, n).
        Raises: TypeError for a second size.
        Source: candle-core/src/tensor.rs, eye.

        >>> import cafe
        >>> cafe.Tensor.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        if isinstance(dtype, int):
            raise wrong("eye")
        n, _ = shaped((n, n), device)
        return cls._made(np.eye(n, dtype=np.uint8).astype(as_dtype(dtype).numpy))  # type: ignore[no-any-return]

    @classmethod
    def tril2(cls, n: int, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Tensor:
        """Ones on and below the diagonal.

        Shape: (n, n).
        Source: candle-core/src/tensor.rs, tril2.

        >>> import cafe
        >>> cafe.Tensor.tril2(2, "u8").tolist()
        [[1, 0], [1, 1]]
        """
        n, _ = shaped((n, n), device)
        return cls._made(_triangle(n, as_dtype(dtype).numpy, upper=False))  # type: ignore[no-any-return]

    @classmethod
    def triu2(cls, n: int, dtype: DTypeLike = DType.F32, device: Device | None = None) -> Tensor:
        """Ones on and above the diagonal.

        Shape: (n, n).
        Source: candle-core/src/tensor.rs, triu2.

        >>> import cafe
        >>> cafe.Tensor.triu2(2, "u8").tolist()
        [[1, 1], [0, 1]]
        """
        n, _ = shaped((n, n), device)
        return cls._made(_triangle(n, as_dtype(dtype).numpy, upper=True))  # type: ignore[no-any-return]

    @classmethod
    def from_vec(cls, data: Any, shape: Any, device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """Flat data under a shape, in which one size may be a hole: -1, None or ().

        Shape: the one given, of as many elements.
        Raises: ShapeMismatch when the counts differ; Error when the hole cannot be filled.
        Source: candle-core/src/tensor.rs, from_vec.

        >>> import cafe
        >>> cafe.Tensor.from_vec(range(6), (2, -1)).tolist()
        [[0, 1, 2], [3, 4, 5]]
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
        """`from_vec`, by its other name in candle."""
        return cls.from_vec(data, shape, device, dtype)

    @classmethod
    def from_iter(cls, data: Iterable[Any], device: Device | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """The numbers of an iterable.

        Shape: (n).
        Source: candle-core/src/tensor.rs, from_iter.

        >>> import cafe
        >>> cafe.Tensor.from_iter(n * n for n in range(4)).tolist()
        [0, 1, 4, 9]
        """
        if not isinstance(data, Iterable):
            raise TypeError(f"from_iter: expected an iterable of numbers, found {type(data).__name__}")
        return cls.new(list(data), dtype, device)

    @classmethod
    def from_raw_buffer(cls, data: bytes, dtype: DTypeLike, shape: ShapeLike, device: Device | None = None) -> Tensor:
        """A tensor of a copy of these bytes, little-endian and in row-major order.

        Shape: the one given, of as many bytes.
        Raises: ShapeMismatch when the counts differ; Error for bytes that are no whole number of elements.
        Source: candle-core/src/tensor.rs, from_raw_buffer.

        >>> import cafe
        >>> cafe.Tensor.from_raw_buffer(bytes([1, 0, 2, 0]), "i16", (2, 1)).tolist()
        [[1], [2]]
        """
        found, target = as_dtype(dtype), shaped(shape, device)
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"from_raw_buffer: expected bytes, found {type(data).__name__}")
        count, rest = divmod(len(data), found.size_in_bytes)
        if rest:
            raise Error(f"from_raw_buffer: {len(data)} bytes are no whole number of {found!r}")
        if count != prod(target):
            raise ShapeMismatch(count, target)
        bits = np.frombuffer(bytes(data), f"<u{found.size_in_bytes}")
        return cls._made(bits.astype(bits.dtype.newbyteorder("=")).view(found.numpy).reshape(target))  # type: ignore[no-any-return]

    @classmethod
    def from_numpy(cls, array: Array) -> Tensor:
        """A tensor over an array's own memory (a bool array as U8): a later write to the array is seen. Other byte orders are copied.

        Over a variable's memory (`v.numpy()`) it follows `set` as `v.detach()` does, and a backward that needs the old numbers raises
        VersionMismatch. Of what is written to other arrays nobody is told.

        Shape: the array's, with its strides. What does not lie whole elements apart, as a field of records, is copied.
        Raises: UnsupportedDTypeForOp for a dtype that cafe lacks, TypeError for what is no ndarray.
        Source: ours.

        >>> import cafe, numpy
        >>> array = numpy.zeros(2)
        >>> t = cafe.Tensor.from_numpy(array)
        >>> array[1] = 5.0
        >>> t.tolist()
        [0.0, 5.0]
        """
        if not isinstance(array, np.ndarray):
            raise helped(TypeError(f"from_numpy: expected an ndarray, found {named_type(array)}"), taken(array))
        found = from_numpy_dtype(array.dtype, "from_numpy").numpy
        plain = np.asarray(array)  # a matrix, or another subclass, has methods of its own making
        plain = plain.copy() if any(step % plain.itemsize for step in plain.strides) else plain  # kernels count strides in elements
        made = cls._made(plain.view(np.uint8) if plain.dtype == np.bool_ else plain.astype(found, copy=False))
        if made._version is None and shares_memory(made._data, array):
            made._version = owner(array)
        return made  # type: ignore[no-any-return]

    @classmethod
    def from_dlpack(cls, source: Any) -> Tensor:
        """A tensor over the memory of anything that speaks DLPack on the CPU (a PyTorch tensor, a JAX array).

        Shape: the source's.
        Raises: UnsupportedDTypeForOp for a dtype that cafe lacks.
        Source: ours.

        >>> import cafe, numpy
        >>> cafe.Tensor.from_dlpack(numpy.arange(3)).tolist()
        [0, 1, 2]
        """
        if not hasattr(source, "__dlpack__"):
            raise TypeError(f"from_dlpack: expected what has `__dlpack__`, found {type(source).__name__}")
        made = cls.from_numpy(np.from_dlpack(source))
        if isinstance(source, Base) and made._version is None:
            made._version = source._version
        return made

    def zeros_like(self, **others: Never) -> Tensor:
        """Zeros of this shape and dtype.

        Shape: the same.
        Source: candle-core/src/tensor.rs, zeros_like.

        >>> import cafe
        >>> cafe.Tensor([1, 2]).zeros_like().tolist()
        [0, 0]
        """
        if others:
            raise wrong("zeros_like", others)
        return wrap(cleared(self.shape, self._data.dtype))

    def ones_like(self, **others: Never) -> Tensor:
        """Ones of this shape and dtype.

        Shape: the same.
        Source: candle-core/src/tensor.rs, ones_like.

        >>> import cafe
        >>> cafe.Tensor([3.0, 4.0]).ones_like().tolist()
        [1.0, 1.0]
        """
        if others:
            raise wrong("ones_like", others)
        return wrap(full(self.shape, self._data.dtype, 1))

    def full_like(self, value: Any) -> Tensor:
        """One number everywhere, of this shape and dtype.

        Shape: the same.
        Raises: Error for a number that an integer dtype cannot hold.
        Source: ours.

        >>> import cafe
        >>> cafe.Tensor([1.0, 2.0]).full_like(7).tolist()
        [7.0, 7.0]
        """
        return CreateMethods.full(value, self.shape, self.dtype)

    @called
    def rand_like(self, lo: float, up: float) -> Tensor:
        """Uniform random numbers in [lo, up), of this shape and dtype.

        Shape: the same.
        Raises: UnsupportedDTypeForOp for an integer dtype.
        Source: candle-core/src/tensor.rs, rand_like.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3)).rand_like(0.0, 1.0).dims()
        [2, 3]
        """
        return CreateMethods.rand(lo, up, self.shape, self.dtype)

    @called
    def randn_like(self, mean: float, std: float) -> Tensor:
        """Normal random numbers, of this shape and dtype.

        Shape: the same.
        Raises: UnsupportedDTypeForOp for an integer dtype.
        Source: candle-core/src/tensor.rs, randn_like.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3), "f64").randn_like(0.0, 1.0).dtype
        F64
        """
        return CreateMethods.randn(mean, std, self.shape, self.dtype)
