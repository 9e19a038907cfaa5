"""NumPy's own files: one array in a .npy, several with their names in a .npz (floor 5).

Read: versions 1 to 3, either byte order, C and Fortran order, and of the dtypes that cafe lacks those that it can hold
exactly (bool as U8, int8 as I16, uint16 as U32). Refused: object arrays, which are pickles and could run code; strings,
dates, complex numbers, uint64 and long doubles, which have no home; a file with bytes missing or left over.

A .npz is a zip archive. The names of its members are keys and nothing else: no file of that name is ever touched. An
archive may unpack to 64 MiB or to a hundred times its own size, whichever is more; one that announces more is refused
before memory is taken for it. `max_bytes=` sets another limit.

Written: version 1, little-endian, row-major, whole or not at all; npz members uncompressed and with a fixed date, so
that the same tensors give the same bytes.
"""

from __future__ import annotations

import ast
import contextlib
import math
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, NamedTuple, Self

import numpy as np

from cafe.device import Device
from cafe.dtype import Array, DType
from cafe.errors import CannotFindTensor, Npy, near
from cafe.files import PathLike, as_path, replacing
from cafe.io.base import HOMES, brief, brought_home, reading, zip_damage_named
from cafe.shape import Shape
from cafe.tensor.base import check_tensors, named_tensors
from cafe.tensor.convert import check_device
from cafe.tensor.core import Tensor

MAGIC = b"\x93NUMPY"
HEADER_LIMIT = 10_000  # bytes; NumPy's own limit: Python's parser is no match for a hostile megabyte
UNPACKED_AT_LEAST = 64 << 20  # bytes that any archive may unpack to
UNPACKED_RATIO = 100  # times its size that a larger archive may unpack to; deflate reaches 1032 on zeros

_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}  # of the header's length, by version
_CODES = {
    code: np.dtype(long)
    for long, codes in {
        "f2": ("f2", "e"),
        "f4": ("f4", "f"),
        "f8": ("f8", "d"),
        "i1": ("i1", "b"),
        "i2": ("i2", "h"),
        "i4": ("i4", "i"),
        "i8": ("i8", "q"),
        "u1": ("u1", "B"),
        "u2": ("u2", "H"),
        "u4": ("u4", "I"),
        "b1": ("b1", "?"),
    }.items()
    for code in codes
}


# -- one array: bytes to an array


class _Header(NamedTuple):
    dtype: np.dtype[Any]  # with the byte order of the file
    fortran: bool
    shape: Shape


def _read(file: IO[bytes], size: int) -> Array:
    """The array of a file or a member that is `size` bytes long, in its home dtype; memory is taken once that fits."""
    header, used = _read_header(file)
    count = math.prod(header.shape)
    if count * header.dtype.itemsize != size - used:
        raise Npy(f"shape {brief(header.shape)} of {header.dtype} does not take the {size - used} bytes that follow")
    try:
        flat = np.empty(count, dtype=header.dtype)
        _fill(file, flat.view(np.uint8).data)
        array = flat.reshape(header.shape, order="F" if header.fortran else "C")
    except (ValueError, OverflowError) as error:  # more dims than NumPy has, or (0, 2**63)
        raise error if isinstance(error, Npy) else Npy(f"shape {brief(header.shape)}: {error}") from error
    return brought_home(array)


def _fill(file: IO[bytes], buffer: memoryview) -> None:
    """Reads exactly as many bytes as there is room for; then the file must be at its end."""
    got = 0
    while got < len(buffer) and (piece := file.read(min(len(buffer) - got, 1 << 20))):
        buffer[got : got + len(piece)] = piece
        got += len(piece)
    if got < len(buffer) or file.read(1):
        raise Npy("the file is shorter or longer than it says")


def _read_header(file: IO[bytes]) -> tuple[_Header, int]:
    """The header, and how many bytes it took."""
    if _exactly(file, len(MAGIC)) != MAGIC:
        raise Npy("magic string mismatch")
    version, minor = _exactly(file, 2)
    if version not in _LENGTH_BYTES or minor != 0:
        raise Npy(f"unsupported version {version}" + (f".{minor}" if minor else ""))
    length = int.from_bytes(_exactly(file, _LENGTH_BYTES[version]), "little")
    if length > HEADER_LIMIT:
        raise Npy(f"unable to parse header of {length} bytes, the limit is {HEADER_LIMIT}")
    try:
        text = _exactly(file, length).decode("utf-8" if version == 3 else "latin-1")
    except UnicodeDecodeError as error:
        raise Npy(f"unable to parse header: {error.reason} at byte {error.start}") from error
    return _parse(text), len(MAGIC) + 2 + _LENGTH_BYTES[version] + length


def _exactly(file: IO[bytes], count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise Npy("the file ends within its header")
    return data


def _parse(text: str) -> _Header:
    """The Python literal `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`."""
    try:
        fields = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise Npy(f"unable to parse header {brief(text.strip())}") from error
    if not isinstance(fields, dict) or not fields.keys() <= {"descr", "fortran_order", "shape"}:
        raise Npy(f"unable to parse header {brief(text.strip())}")
    for key in ("descr", "shape"):
        if key not in fields:
            raise Npy(f"no {key} in header")
    fortran, shape = fields.get("fortran_order", False), fields["shape"]
    if not isinstance(fortran, bool):
        raise Npy(f"unknown fortran_order {brief(fortran)}")
    if not isinstance(shape, tuple) or not all(type(dim) is int and dim >= 0 for dim in shape):
        raise Npy(f"unable to parse header: the shape is {brief(shape)}")
    return _Header(_dtype(fields["descr"]), fortran, shape)


def _dtype(descr: object) -> np.dtype[Any]:
    """The dtype that `'<f4'` and its like stand for, in the file's byte order."""
    if descr == "":
        raise Npy("empty descr")
    if not isinstance(descr, str):
        raise Npy(f"unrecognized descr {brief(descr)}").help("records have no tensor")
    order, code = (descr[0], descr[1:]) if descr[0] in "<>=|" else ("<", descr)
    if code not in _CODES:
        error = Npy(f"unrecognized descr {brief(code)}")
        if code == "O":
            error.help("an object array is a pickle, which could run code: it is never read")
        raise error
    return _CODES[code].newbyteorder(">" if order == ">" else "<")


# -- one array: an array to bytes


def _write(file: IO[bytes], array: Array) -> None:
    """The array as a version 1 file, row-major and little-endian."""
    if array.dtype == DType.BF16.numpy:
        raise Npy("bf16 is not supported").help("convert with `to_dtype(DType.F32)`, or save as safetensors")
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    np.lib.format.write_array(file, plain, version=(1, 0), allow_pickle=False)


# -- archives


class _Archive:
    """An open archive: its members by key, in their order, and how much it may still unpack to."""

    def __init__(self, path: PathLike, max_bytes: int | None) -> None:
        self.path = path
        with zip_damage_named(path, Npy):
            self.zip = zipfile.ZipFile(as_path(path))
        own_size = os.stat(path).st_size
        self.limit = max(UNPACKED_AT_LEAST, UNPACKED_RATIO * own_size) if max_bytes is None else max_bytes
        self.members: dict[str, zipfile.ZipInfo] = {}
        for member in self.zip.infolist():
            key = member.filename.removesuffix(".npy")
            if key in self.members:
                raise Npy(f"two arrays have the name {brief(key)}")
            self.members[key] = member

    def check_limit(self, keys: Iterable[str]) -> None:
        """Raises Npy where these members together announce more than the archive may unpack to."""
        announced = sum(self.members[key].file_size for key in keys)
        if announced > self.limit:
            raise Npy(f"the arrays announce {announced} bytes, the limit for this archive is {self.limit}").help(
                "a small archive that unpacks to so much may be an attack; if it is yours, pass `max_bytes=`"
            )

    @contextlib.contextmanager
    def opened(self, key: str) -> Iterator[IO[bytes]]:
        """The bytes of a member, unpacked as they are read."""
        member = self.members[key]
        with zip_damage_named(self.path, Npy):
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise Npy(f"unsupported Zip archive: compression method {member.compress_type}")
            with self.zip.open(member) as file:
                yield file

    def read(self, key: str) -> Tensor:
        """A member's tensor."""
        with self.opened(key) as file:
            return Tensor.from_numpy(_read(file, self.members[key].file_size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.zip.close()


def _write_archive(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for key, array in arrays.items():
            with archive.open(_member(key), "w", force_zip64=True) as member:
                _write(member, array)


def _member(key: str) -> zipfile.ZipInfo:
    """A member for this key, under the format's first date: the same arrays give the same file."""
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        raise Npy(f"invalid name {brief(ascii(key))}: it is not Unicode") from None
    if "\0" in key or length > 65_000:
        raise Npy(f"invalid name {brief(ascii(key))}: a zip archive cannot hold it")
    return zipfile.ZipInfo(key + ".npy")


# -- the public face


def read_npy(path: PathLike, device: Device | None = None) -> Tensor:
    """The tensor in a .npy file.

    Raises: Io; Npy for a file that is damaged or holds what cafe has no dtype for.
    Source: candle-core/src/npy.rs, Tensor::read_npy (which takes neither Fortran order nor big-endian bytes).
    """
    check_device(device)
    with reading(path) as file:
        try:
            return Tensor.from_numpy(_read(file, os.fstat(file.fileno()).st_size))
        except Npy as error:
            error.add_note(f"in {path}")
            raise


def write_npy(tensor: Tensor, path: PathLike) -> None:
    """Writes a tensor as a .npy file, row-major, whole or not at all.

    Raises: Io; Npy for BF16, which NumPy lacks.
    Source: candle-core/src/npy.rs, Tensor::write_npy.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "t.npy")
    ...     write_npy(Tensor([[1.0, 2.0], [3.0, 4.0]]).t(), path)
    ...     read_npy(path).to_vec2()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    check_tensors("write_npy", tensor)
    array = tensor.numpy()
    with replacing(path) as file:
        _write(file, array)


def read_npz(
    path: PathLike, device: Device | None = None, *, max_bytes: int | None = None
) -> list[tuple[str, Tensor]]:
    """Names and tensors of a .npz archive, in its order, without the `.npy` of the members' names.

    max_bytes: how much it may unpack to; by default 64 MiB or a hundred times its size, whichever is more.

    Raises: Io; Npy, also for an archive that announces more than that.
    Source: candle-core/src/npy.rs, Tensor::read_npz.
    """
    check_device(device)
    with _Archive(path, max_bytes) as archive:
        archive.check_limit(archive.members)
        return [(key, archive.read(key)) for key in archive.members]


def read_npz_by_name(
    path: PathLike, names: Iterable[str], device: Device | None = None, *, max_bytes: int | None = None
) -> list[Tensor]:
    """The tensors with these names, in the order asked for; `max_bytes` as in `read_npz`.

    Raises: Io; Npy `no array for {name} in {path}`, and as `read_npz`.
    Source: candle-core/src/npy.rs, Tensor::read_npz_by_name.
    """
    check_device(device)
    names = list(names)
    with _Archive(path, max_bytes) as archive:
        for name in names:
            if name not in archive.members:
                error = Npy(f'no array for {name} in "{path}"')
                raise error.help(note) if (note := near(name, archive.members)) else error
        archive.check_limit(names)
        return [archive.read(name) for name in names]


def write_npz(tensors: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]], path: PathLike) -> None:
    """Writes tensors with their names as a .npz archive, uncompressed and in their order, whole or not at all.

    Raises: Io; Npy for BF16, for a name given twice, and for a name that a zip archive cannot hold.
    Source: candle-core/src/npy.rs, Tensor::write_npz.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "t.npz")
    ...     write_npz([("b", Tensor([1.0])), ("a", Tensor([2, 3]))], path)
    ...     print([(name, t.to_vec1()) for name, t in read_npz(path)], read_npz_by_name(path, ["a"])[0].dtype)
    [('b', [1.0]), ('a', [2, 3])] i64
    """
    arrays: dict[str, Array] = {}
    for name, tensor in named_tensors("write_npz", tensors):
        if name in arrays:
            raise Npy(f"two arrays have the name {brief(name)}")
        arrays[name] = tensor.numpy()
    with replacing(path) as file:
        _write_archive(file, arrays)


class NpzTensors:
    """A .npz archive whose tensors are read when they are asked for.

    Source: candle-core/src/npy.rs, NpzTensors.
    """

    def __init__(self, archive: _Archive) -> None:
        self._archive = archive

    @classmethod
    def new(cls, path: PathLike, *, max_bytes: int | None = None) -> NpzTensors:
        """An archive's names; `max_bytes` as in `read_npz`, for one tensor at a time.

        Raises: Io, Npy.
        """
        return cls(_Archive(path, max_bytes))

    def names(self) -> list[str]:
        """The names, in the archive's order."""
        return list(self._archive.members)

    def get(self, name: str) -> Tensor | None:
        """The tensor with this name, None where there is none.

        Raises: Io, Npy.
        """
        if name not in self._archive.members:
            return None
        self._archive.check_limit([name])
        return self._archive.read(name)

    def get_shape_and_dtype(self, name: str) -> tuple[Shape, DType]:
        """Shape and dtype of a tensor, from its header alone.

        Raises: CannotFindTensor, with near names; Io, Npy.
        """
        if name not in self._archive.members:
            raise CannotFindTensor(name, self._archive.members)
        with self._archive.opened(name) as file:
            header, _ = _read_header(file)
        return header.shape, HOMES[header.dtype.newbyteorder("=")]
