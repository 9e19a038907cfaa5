"""What every file format needs: opening with a named error, mapping, and homes for dtypes that cafe lacks (floor 5)."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import reprlib
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from cafe.dtype import Array, DType
from cafe.errors import Error, Io
from cafe.files import PathLike, as_path

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
    return np.array(_cleaned(stored), dtype=home, order="C")


def _cleaned(stored: Array) -> Array:
    """Bools whose bytes are 0 and 1, whatever they were in a file; all else as it is."""
    return stored.view(np.uint8) != 0 if stored.dtype == np.bool_ else stored


CHUNK = 1 << 24  # bytes that are copied before their pages are given back


def taken(view: memoryview, stored: np.dtype[Any], order: str = "little") -> Array:
    """All of these bytes, in this byte order, as a flat new array of the home dtype.

    Piece by piece: what has been copied out of a mapped file counts no longer as this process's memory.
    """
    if stored.itemsize > 1 and order != sys.byteorder:
        words = np.frombuffer(view, f"u{stored.itemsize}", len(view) // stored.itemsize)
        view = words.byteswap().view(np.uint8).data
    count = len(view) // stored.itemsize
    flat = np.empty(count, HOMES[stored.newbyteorder("=")].numpy)
    step = CHUNK // stored.itemsize
    for at in range(0, count, step):
        piece = view[at * stored.itemsize : (at + step) * stored.itemsize]
        flat[at : at + step] = _cleaned(np.frombuffer(piece, dtype=stored, count=len(piece) // stored.itemsize))
        forget(piece)
    return flat


def forget(view: memoryview) -> None:
    """Gives back the pages of a mapped file that hold nothing but these bytes; whoever looks again reads them again."""
    owner = view.obj
    if not isinstance(owner, mmap.mmap) or not hasattr(owner, "madvise"):
        return
    start = _address(view) - _address(owner)
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (start + len(view) - first) // mmap.PAGESIZE * mmap.PAGESIZE
    if length > 0:
        owner.madvise(mmap.MADV_DONTNEED, first, length)


def _address(buffer: memoryview | mmap.mmap) -> int:
    return int(np.frombuffer(buffer, np.uint8, 1).__array_interface__["data"][0])


def little_endian(array: Array) -> Array:
    """Native bytes to the little-endian ones of a file, or back."""
    return array.byteswap() if sys.byteorder == "big" else array


@contextlib.contextmanager
def reading(path: PathLike) -> Iterator[BinaryIO]:
    """The file, open for reading.

    Raises: Io, with the path, for what the operating system refuses within the block.
    """
    try:
        with open(as_path(path), "rb") as file:
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


@contextlib.contextmanager
def zip_damage_named(path: PathLike, kind: Callable[[str], Error]) -> Iterator[None]:
    """What zipfile raises on damaged archives, as this kind of error; what the operating system says, as Io.

    Raises: Io and the kind given.
    """
    try:
        yield
    except Error:
        raise
    except OSError as error:
        if error.errno is None or error.errno == errno.EINVAL:  # a seek to where no file can have a byte
            raise kind(f"invalid Zip archive: {error}") from error
        raise Io(path, error) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, OverflowError) as error:
        raise kind(f"invalid Zip archive: {brief(str(error))}") from error
    except (NotImplementedError, RuntimeError) as error:  # an unknown method; a password
        raise kind(f"unsupported Zip archive: {brief(str(error))}") from error


def brief(value: object) -> str:
    """A name or a value from a file as an error can show it: a hostile one may be megabytes long, or deeply nested."""
    if isinstance(value, str):
        return value if len(value) <= 120 else value[:120] + "…"
    return reprlib.repr(value)
