"""IDX, the format of MNIST and its like: one array in a file, plain or packed with gzip (floor 5).

    images = read_idx("train-images-idx3-ubyte.gz")       # U8, [60000, 28, 28]

The format: two bytes of zero, one for the type, one for the number of dims, then the sizes and the numbers, all big-endian. A file comes
from a stranger: it is held to its own header before memory is taken, and a packed one to what gzip can unpack to.
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import BinaryIO

import numpy as np

from cafe.device import Device
from cafe.errors import FormatError, show
from cafe.files import PathLike, replacing
from cafe.io.base import brought_home, reading
from cafe.tensor.base import wrap
from cafe.tensor.convert import check_device
from cafe.tensor.core import Tensor

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CODES = {np.dtype(name).newbyteorder("="): code for code, name in _TYPES.items()}
_GZIP = b"\x1f\x8b"
_GZIP_RATIO = 1032  # deflate cannot unpack a byte to more


def read_idx(path: PathLike, device: Device | None = None) -> Tensor:
    """The tensor of an IDX file. Whether it is packed is seen by its first bytes, not by its name.

    Signed bytes are read as I16, all else keeps its dtype: U8, I16, I32, F32, F64.

    Raises: Io; FormatError for a file that is damaged, cut short or no IDX file.

    >>> import tempfile
    >>> import cafe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_idx(cafe.Tensor([[1, 2], [3, 4]], dtype="u8"), f"{folder}/t.idx")
    ...     print(read_idx(f"{folder}/t.idx"))
    [[1, 2],
     [3, 4]]
    Tensor[[2, 2], u8]
    """
    check_device(device)
    with reading(path) as file, _unpacked(file) as (stream, most):
        dtype, shape = _header(stream)
        wanted = prod(shape) * dtype.itemsize
        if wanted > most:
            raise FormatError(f"idx: the header announces {show(shape)}, {wanted} bytes, in a file that can hold {most}")
        data = stream.read(wanted)
        if len(data) != wanted:
            raise FormatError(f"idx: the header announces {show(shape)}, {wanted} bytes, and there are {len(data)}")
        if stream.read(1):
            raise FormatError(f"idx: there is more in the file than its {show(shape)}, {wanted} bytes")
    return wrap(brought_home(np.frombuffer(data, dtype).reshape(shape)))


def write_idx(tensor: Tensor, path: PathLike) -> None:
    """Writes an IDX file, whole or not at all; packed when the name ends in `.gz`, without a date, so that equal tensors give equal files.

    Raises: Io; FormatError for a dtype that IDX lacks (U32, I64, F16, BF16) and for more than 255 dims.
    """
    array = tensor.numpy()
    code = _CODES.get(array.dtype)
    if code is None:
        raise FormatError(f"idx: the format has no {tensor.dtype!r}").help("`to_dtype` converts")
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    content = header + np.ascontiguousarray(array, array.dtype.newbyteorder(">")).tobytes()
    with replacing(path) as file:
        file.write(gzip.compress(content, mtime=0) if os.fspath(path).endswith(".gz") else content)


@contextmanager
def _unpacked(file: BinaryIO) -> Iterator[tuple[BinaryIO, int]]:
    """The file's content, and how many bytes it can have at most."""
    size = os.fstat(file.fileno()).st_size
    packed = file.read(2) == _GZIP
    file.seek(0)
    if not packed:
        yield file, size
        return
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            yield io.BufferedReader(unpacked), _GZIP_RATIO * size
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(f"idx: the file is damaged: {error}") from error


def _header(stream: BinaryIO) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
    """The type and the sizes."""
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _TYPES:
        raise FormatError(f"idx: this is no IDX file, it starts with {magic.hex(' ') or 'nothing'}")
    sizes = stream.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise FormatError(f"idx: the header announces {magic[3]} dims and ends after {len(sizes) // 4}")
    return np.dtype(_TYPES[magic[2]]), struct.unpack(f">{magic[3]}I", sizes)
