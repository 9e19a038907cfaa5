"""What every file format needs: opening with a named error, mapping, and homes for dtypes that cafe lacks (floor 5)."""

from __future__ import annotations

import contextlib
import mmap
import os
import reprlib
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from cafe.dtype import Array, DType
from cafe.errors import Io
from cafe.files import PathLike

#: Where each stored dtype is read to: its own dtype, or the smallest of cafe's that holds every value exactly.
#: Complex numbers, strings, U64 and 80-bit floats have no such home, nor have numbers packed below a byte.
HOMES: dict[np.dtype[Any], DType] = {
    **{dtype.numpy: dtype for dtype in DType},
    np.dtype(np.bool_): DType.U8,
    np.dtype(np.int8): DType.I16,
    np.dtype(np.uint16): DType.U32,
    np.dtype(ml_dtypes.float8_e4m3fn): DType.F16,
    np.dtype(ml_dtypes.float8_e4m3fnuz): DType.F16,
    np.dtype(ml_dtypes.float8_e5m2): DType.F16,
    np.dtype(ml_dtypes.float8_e5m2fnuz): DType.F16,
    np.dtype(ml_dtypes.float8_e8m0fnu): DType.F32,
}


def brought_home(stored: Array) -> Array:
    """A new C-contiguous array of the home dtype with the same values; any byte of a bool but 0 is 1."""
    home = HOMES[stored.dtype.newbyteorder("=")].numpy
    if stored.dtype == np.bool_:
        stored = stored.view(np.uint8) != 0
    return np.array(stored, dtype=home, order="C")


def little_endian(array: Array) -> Array:
    """Native bytes to the little-endian ones of a file, or back."""
    return array.byteswap() if sys.byteorder == "big" else array


@contextlib.contextmanager
def reading(path: PathLike) -> Iterator[BinaryIO]:
    """The file, open for reading.

    Raises: Io, with the path, for what the operating system refuses within the block.
    """
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise error if isinstance(error, Io) else Io(path, error) from error


def mapped(path: PathLike) -> memoryview:
    """The bytes of a file without reading them: pages come in as they are touched, and go when memory is short.

    Whoever cuts the file short meanwhile takes the pages away under us (the system then ends the process): a file that
    is in use should be replaced by a new one, as cafe's own writers do.

    Raises: Io.
    """
    with reading(path) as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")  # what is empty cannot be mapped
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def brief(value: object) -> str:
    """A name or a value from a file as an error can show it: a hostile one may be megabytes long, or deeply nested."""
    if isinstance(value, str):
        return value if len(value) <= 120 else value[:120] + "…"
    return reprlib.repr(value)
