"""The nine dtypes and what is known of each (floor 0).

`DType.F32` is candle's name, `"f32"` its string; a NumPy dtype is understood wherever a dtype is asked for.
"""

from __future__ import annotations

import enum
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from cafe.errors import DTypeMismatchBinaryOp, DTypeParse, UnsupportedDTypeForOp

Array: TypeAlias = npt.NDArray[Any]


class DType(enum.Enum):
    """The type of a tensor's elements.

    >>> DType.F32, str(DType.F32), DType.F32.size_in_bytes
    (F32, 'f32', 4)
    >>> DType.from_str("bf16")
    BF16
    """

    U8 = ("u8", np.dtype(np.uint8))
    U32 = ("u32", np.dtype(np.uint32))
    I16 = ("i16", np.dtype(np.int16))
    I32 = ("i32", np.dtype(np.int32))
    I64 = ("i64", np.dtype(np.int64))
    BF16 = ("bf16", np.dtype(ml_dtypes.bfloat16))
    F16 = ("f16", np.dtype(np.float16))
    F32 = ("f32", np.dtype(np.float32))
    F64 = ("f64", np.dtype(np.float64))

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's dtype (BF16 is that of ml_dtypes)."""
        found: np.dtype[Any] = self.value[1]
        return found

    @property
    def size_in_bytes(self) -> int:
        """Bytes an element."""
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        """Whether this is BF16, F16, F32 or F64."""
        return self in _FLOATS

    @property
    def is_int(self) -> bool:
        """Whether this is U8, U32, I16, I32 or I64."""
        return self not in _FLOATS

    def as_str(self) -> str:
        """candle's lower-case name."""
        return str(self.value[0])

    @staticmethod
    def from_str(text: str) -> DType:
        """The dtype with this lower-case name.

        Raises: DTypeParse for another string.
        """
        try:
            return _BY_NAME[text]
        except (KeyError, TypeError):
            raise DTypeParse(text).help("one of " + ", ".join(_BY_NAME)) from None

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return str(self.value[0])


_FLOATS = frozenset({DType.BF16, DType.F16, DType.F32, DType.F64})
_BY_NAME = {d.as_str(): d for d in DType}
_BY_LONG_NAME = {d.numpy.name: d for d in DType}
_BY_NUMPY = {d.numpy: d for d in DType}

DTypeLike: TypeAlias = "DType | str | type | np.dtype[Any]"


def dtype_of(array: Array) -> DType:
    """The DType of an array that already has one of the nine."""
    return _BY_NUMPY[array.dtype]


_DIMS = "; several dims are one argument, a tuple: `Tensor.zeros((2, 3))`"


def as_dtype(value: DTypeLike) -> DType:
    """A DType from a DType, a name (`"f32"`, `"float32"`), or what NumPy takes for a dtype. NumPy's short names are not taken:
    its `u8` has eight bytes.

    Raises: DTypeParse, UnsupportedDTypeForOp for a NumPy dtype that cafe lacks.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        return _BY_LONG_NAME[value] if value in _BY_LONG_NAME else DType.from_str(value)
    try:
        if value is None:  # NumPy would read F64
            raise TypeError
        dtype = np.dtype(value)
    except (TypeError, ValueError):
        several: Any = value  # `Tensor.zeros(2, 3)`
        raise DTypeParse(value).help("one of " + ", ".join(_BY_NAME) + (_DIMS if isinstance(several, int) else "")) from None
    return from_numpy_dtype(dtype, "to_dtype")


def from_numpy_dtype(dtype: np.dtype[Any], op: str) -> DType:
    """The DType that holds this NumPy dtype as it is (bool becomes U8, any byte order is native).

    Raises: UnsupportedDTypeForOp when there is none.
    """
    if dtype == np.bool_:
        return DType.U8
    found = _BY_NUMPY.get(dtype.newbyteorder("="))
    if found is None:
        raise UnsupportedDTypeForOp(dtype, op).help("cafe has " + ", ".join(_BY_NAME))
    return found


def check_same(op: str, lhs: Array, rhs: Array) -> None:
    """Raises DTypeMismatchBinaryOp unless both have one dtype."""
    if lhs.dtype is not rhs.dtype and lhs.dtype != rhs.dtype:
        raise DTypeMismatchBinaryOp(op, dtype_of(lhs), dtype_of(rhs))


def check_float(op: str, array: Array) -> None:
    """Raises UnsupportedDTypeForOp unless the array holds floats."""
    if array.dtype.kind in "iu":
        raise UnsupportedDTypeForOp(dtype_of(array), op)


def rounded(array: Array, dtype: np.dtype[Any]) -> Array:
    """`array.astype(dtype)`, rounded once; what is too large becomes an infinity, of which nobody is warned.

    ml_dtypes makes BF16 of F32, so that F64 and integers would be rounded twice.
    """
    if dtype.itemsize >= array.dtype.itemsize:
        return array.astype(dtype)
    with np.errstate(over="ignore"):
        if dtype == DType.BF16.numpy and array.dtype != np.float32:
            array = _rounded_to_odd(array)
        return array.astype(dtype)


def _rounded_to_odd(array: Array) -> Array:
    """F32 with the last bit set wherever something was cut off: what is rounded from it is rounded as from the number itself."""
    near = array.astype(np.float32)
    exact, got = array.astype(np.longdouble), near.astype(np.longdouble)
    even = (near.view(np.uint32) & 1) == 0
    other = np.nextafter(near, np.where(exact > got, np.float32(np.inf), np.float32(-np.inf)))
    return np.where((exact != got) & even & np.isfinite(near), other, near)
