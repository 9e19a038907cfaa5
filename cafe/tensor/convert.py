"""From Python and NumPy values to arrays of the nine dtypes, and back (floor 4)."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from cafe.device import Device
from cafe.dtype import Array, DType, DTypeLike, as_dtype, dtype_of, from_numpy_dtype, rounded
from cafe.errors import Error, IntegerOverflow, helped, show
from cafe.kernels import memory
from cafe.shape import ShapeLike, parse_shape
from cafe.tape import Version

from .base import Base, named_type, taken

_NUMBERS = (numbers.Real, np.bool_)
_PLAIN = frozenset((int, float, bool))


def check_device(device: object) -> None:
    """Raises TypeError for what is no Device; there is one, the CPU."""
    if device is not None and not isinstance(device, Device):
        several = isinstance(device, int)  # `Tensor.zeros(2, 3, 4)`
        cure = "several dims are one argument, a tuple" if several else "there is one, `Device.Cpu`, and it need not be said"
        raise helped(TypeError(f"expected a Device, found {type(device).__name__}"), cure)


def to_array(data: Any, dtype: DTypeLike | None = None) -> Array:
    """A fresh row-major array of one of the nine dtypes: floats give F32, ints I64, bools U8; an array keeps its dtype.

    Raises: Error with candle's texts for ragged or empty nesting, UnsupportedDTypeForOp, IntegerOverflow, TypeError.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(data, Base):
        data = data._data
    if not isinstance(data, np.ndarray | np.generic):
        data = _from_nested(data, wanted)
    plain = isinstance(data, np.ndarray) and data.dtype.kind in "iuf"
    array = memory.copy(data) if plain else np.array(data, order="C", copy=True)  # large ones on the bounds that kernels like
    found = from_numpy_dtype(array.dtype, "new")
    if wanted is None or wanted is found:
        return array.astype(found.numpy, copy=False)
    return _exact(array.astype(found.numpy, copy=False), wanted)


def _exact(array: Array, wanted: DType) -> Array:
    """The numbers under another dtype; integers must fit, floats are not cut to integers.

    Raises: IntegerOverflow, Error.
    """
    if wanted.is_float:
        return rounded(array, wanted.numpy)
    if array.dtype.kind not in "iu":
        raise Error(f"cannot make a {wanted!r} tensor from floats").help("`Tensor(data).to_dtype(…)` truncates toward zero")
    info = np.iinfo(wanted.numpy)
    if array.size and (int(array.min()) < info.min or int(array.max()) > info.max):
        raise IntegerOverflow(f"{int(array.min())} .. {int(array.max())} does not fit {wanted!r}")
    return array.astype(wanted.numpy)


def _from_nested(data: Any, wanted: DType | None) -> Array:
    """An array from numbers, nested lists and tuples, ranges, and lists of arrays or tensors."""
    shape = _nested_shape(data)
    flat: list[Any] = []
    _flatten(data, shape, flat)
    kinds = {_kind(v) for v in dict(zip(map(type, flat), flat)).values()}  # one of each type: the type decides
    if not kinds:
        return np.zeros(shape, (wanted or DType.F32).numpy)
    if kinds == {"b"}:
        return np.array(flat, np.uint8).reshape(shape)
    if "f" in kinds:
        width = np.float32 if wanted is None else np.float64  # a named dtype is rounded to once, from the Python float itself
        return np.array([float(v) for v in flat], np.float64).astype(width).reshape(shape)
    info = np.iinfo(np.int64)
    if min(flat) < info.min or max(flat) > info.max:
        raise IntegerOverflow(f"{min(flat)} .. {max(flat)} does not fit I64")
    return np.array([int(v) for v in flat], np.int64).reshape(shape)


def _kind(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "b"
    if isinstance(value, numbers.Integral):
        return "i"
    if isinstance(value, numbers.Real):
        return "f"
    raise helped(TypeError(f"a tensor holds numbers, found {named_type(value)}"), taken(value))


def _is_nested(data: Any) -> bool:
    return isinstance(data, list | tuple | range) or (isinstance(data, np.ndarray | Base) and len(data.shape) > 0)


def _nested_shape(data: Any) -> tuple[int, ...]:
    if not _is_nested(data):
        return ()
    if isinstance(data, np.ndarray | Base):
        return data.shape
    if len(data) == 0:
        return (0,)
    return (len(data), *_nested_shape(data[0]))


def _flatten(data: Any, shape: tuple[int, ...], flat: list[Any]) -> None:
    """Appends the numbers in row-major order.

    Raises: Error where two branches differ in length.
    """
    if isinstance(data, np.ndarray | Base):
        array = data._data if isinstance(data, Base) else data
        if array.shape != shape:
            raise Error(f"two elements have different shapes {show(shape)} {show(array.shape)}")
        flat.extend(array.reshape(-1).tolist())
    elif not shape:
        if _is_nested(data):
            raise Error("two elements have different shapes [] " + show(_nested_shape(data)))
        flat.append(data)
    else:
        if not _is_nested(data):
            raise Error(f"two elements have different shapes {show(shape)} []")
        if len(data) != shape[0]:
            raise Error(f"two elements have different len {shape[0]} {len(data)}")
        if len(shape) == 1 and isinstance(data, list | tuple) and _PLAIN.issuperset(map(type, data)):
            flat.extend(data)  # a row of token ids takes a tenth of the time
            return
        for item in data:
            _flatten(item, shape[1:], flat)


class Memory:
    """A variable's memory as NumPy is shown it. Arrays over it, and their views, have this below them, which says whose it is."""

    __slots__ = ("__array_interface__", "data", "version")

    def __init__(self, data: Array, version: Version) -> None:
        self.data, self.version = data, version
        self.__array_interface__ = {**data.__array_interface__, "data": (data.__array_interface__["data"][0], True)}  # read-only


def shown(data: Array, version: Version | None) -> Array:
    """A read-only view; over a variable's memory one by which `owner` finds the variable's version."""
    if version is not None:
        return np.asarray(Memory(data, version)).view(data.dtype)
    view = data.view()
    view.flags.writeable = False
    return view


def owner(array: Any) -> Version | None:
    """The version of the variable whose memory an array sees; None where NumPy was shown none."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array.version if isinstance(array, Memory) else None


def number_for(array: Array, value: Any, op: str) -> float | int:
    """A Python number that may meet this array: any real for floats, an integer that fits for integers.

    Raises: Error for a number that is no integer beside an integer tensor, IntegerOverflow.
    """
    if array.dtype.kind not in "iu":
        return real(op, value)
    if not isinstance(value, numbers.Integral) and not real(op, value).is_integer():
        raise Error(f"{op}: a {dtype_of(array)!r} tensor takes integers, got {value}").help("convert the tensor with `to_dtype` first")
    info = np.iinfo(array.dtype)
    if not info.min <= int(value) <= info.max:
        raise IntegerOverflow(f"{op}: {int(value)} does not fit {dtype_of(array)!r}")
    return int(value)


def real(op: str, value: Any) -> float:
    """A Python or NumPy number as a float.

    Raises: TypeError, saying what came, for anything else (a string of digits, a list, a tensor); IntegerOverflow for an int beyond
    all floats.
    """
    if type(value) is float:
        return value
    if not isinstance(value, _NUMBERS):
        error = TypeError(f"{op}: expected a number, found {type(value).__name__}")
        if isinstance(value, Base):
            error.add_note("help: `item()` gives the number of a tensor of one element; no gradient goes there")
        raise error
    try:
        return float(value)
    except OverflowError:
        raise IntegerOverflow(f"{op}: no float is as large as {value}") from None


def is_number(value: Any) -> bool:
    """Whether this is a real number (bool, int, float, a NumPy scalar)."""
    return type(value) is float or isinstance(value, _NUMBERS)


def shaped(shape: ShapeLike, device: Device | None) -> tuple[int, ...]:
    """A strict shape, once the device is known to be one."""
    check_device(device)
    return parse_shape(shape)


def default_dtype(value: Any) -> DType:
    """The dtype of a Python number: F32, I64, U8 for bools; a NumPy scalar keeps its own."""
    if isinstance(value, np.generic):
        return from_numpy_dtype(value.dtype, "new")
    return {"b": DType.U8, "i": DType.I64, "f": DType.F32}[_kind(value)]
