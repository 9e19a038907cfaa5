"""GGUF, the format of llama.cpp: metadata and tensors in one file, most of them packed into a few bits a number (floor 5).

    file = GgufFile.new("model.gguf")                     # reads the header; the rest is mapped into memory
    file.metadata["llama.block_count"]                    # read when it is asked for
    file.load("blk.0.attn_q.weight")                      # F32, [out, in], as a Linear wants it

The format: "GGUF", a version, two counts; keys with typed values; names with sizes, type and offset; then the tensors' bytes. A header
comes from a stranger: every count and length is held to the bytes that are left before anything is made from it, and every tensor lies
inside the file, apart from all others.

Read: versions 1 to 3; F32, F16, BF16, F64, I8 to I64 as they are; Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 and the K-quants Q2_K to Q6_K as F32, by
`cafe.kernels.dequantize`. Other types are known by name and size, and refused when asked for. Sizes are stored innermost first; here they
are turned, so that shapes read as everywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from cafe import kernels
from cafe.device import Device
from cafe.dtype import Array, DType
from cafe.errors import CannotFindTensor, FormatError
from cafe.files import PathLike
from cafe.io.base import HOMES, brief, forget, mapped, taken
from cafe.kernels.quant import PACKED
from cafe.shape import Shape
from cafe.tensor.convert import check_device
from cafe.tensor.core import Tensor

DIMS_LIMIT = 4  # the format's own
NESTING_LIMIT = 4  # arrays in arrays
KEY_LIMIT = 65_535  # bytes, the format's own


class _Type(NamedTuple):
    """A type of tensors: numbers and bytes of a block; NumPy's dtype where a block is one number."""

    name: str
    numbers: int
    size: int
    stored: np.dtype[Any] | None = None


def _one(name: str, stored: Any) -> _Type:
    dtype = np.dtype(stored)
    return _Type(name, 1, dtype.itemsize, dtype)


_PACKED_IDS = {2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K"}
_TYPES: dict[int, _Type] = {
    0: _one("F32", np.float32),
    1: _one("F16", np.float16),
    24: _one("I8", np.int8),
    25: _one("I16", np.int16),
    26: _one("I32", np.int32),
    27: _one("I64", np.int64),
    28: _one("F64", np.float64),
    30: _one("BF16", ml_dtypes.bfloat16),
    **{number: _Type(name, *PACKED[name]) for number, name in _PACKED_IDS.items()},
    # known so that a file with them can be looked at
    9: _Type("Q8_1", 32, 40),
    15: _Type("Q8_K", 256, 292),
    16: _Type("IQ2_XXS", 256, 66),
    17: _Type("IQ2_XS", 256, 74),
    18: _Type("IQ3_XXS", 256, 98),
    19: _Type("IQ1_S", 256, 50),
    20: _Type("IQ4_NL", 32, 18),
    21: _Type("IQ3_S", 256, 110),
    22: _Type("IQ2_S", 256, 82),
    23: _Type("IQ4_XS", 256, 136),
    29: _Type("IQ1_M", 256, 56),
    34: _Type("TQ1_0", 256, 54),
    35: _Type("TQ2_0", 256, 66),
    39: _Type("MXFP4", 32, 17),
}

# Values of the metadata: NumPy's dtype by the type's number; 8 is a string, 9 an array.
_VALUES: dict[int, np.dtype[Any]] = {
    0: np.dtype("<u1"),
    1: np.dtype("<i1"),
    2: np.dtype("<u2"),
    3: np.dtype("<i2"),
    4: np.dtype("<u4"),
    5: np.dtype("<i4"),
    6: np.dtype("<f4"),
    7: np.dtype(np.bool_),
    10: np.dtype("<u8"),
    11: np.dtype("<i8"),
    12: np.dtype("<f8"),
}
_STRING, _ARRAY = 8, 9


# -- the header


class _Reader:
    """A place in the file. Every length is held to the bytes that are left."""

    def __init__(self, view: memoryview, at: int, wide: bool) -> None:
        self.view, self.at = view, at
        self.length_size = 8 if wide else 4  # of lengths and counts: four bytes in version 1

    def take(self, count: int, what: str) -> memoryview:
        """So many bytes, which must be there."""
        if count > len(self.view) - self.at:
            raise FormatError(f"the file ends within {what}: {count} bytes announced, {len(self.view) - self.at} are left")
        piece = self.view[self.at : self.at + count]
        self.at += count
        return piece

    def number(self, size: int, what: str) -> int:
        return int.from_bytes(self.take(size, what), "little")

    def length(self, what: str) -> int:
        """A length or a count."""
        return self.number(self.length_size, what)

    def count(self, each: int, what: str) -> int:
        """A count of things that take at least so many bytes each."""
        count = self.length(what)
        if count * each > len(self.view) - self.at:
            raise FormatError(f"{count} {what} announced, {len(self.view) - self.at} bytes are left")
        return count

    def string(self, what: str, limit: int | None = None) -> str:
        length = self.length(what)
        if limit is not None and length > limit:
            raise FormatError(f"{what} of {length} bytes, the limit is {limit}")
        try:
            return str(self.take(length, what), "utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"{what} is not UTF-8: {error.reason} at byte {error.start}") from error

    def skip(self, kind: int, depth: int = 0) -> None:
        """Goes past a value of this type."""
        if kind in _VALUES:
            self.take(_VALUES[kind].itemsize, "a value")
        elif kind == _STRING:
            self.take(self.length("a string"), "a string")
        elif kind == _ARRAY:
            self._skip_array(depth)
        else:
            raise FormatError(f"unknown type of metadata {kind}")

    def _skip_array(self, depth: int) -> None:
        kind, count = self._array_head(depth)
        if kind in _VALUES:
            self.take(count * _VALUES[kind].itemsize, "an array")
        else:
            for _ in range(count):
                self.skip(kind, depth + 1)

    def _array_head(self, depth: int) -> tuple[int, int]:
        """The type of an array's items, and how many there are."""
        if depth == NESTING_LIMIT:
            raise FormatError(f"arrays nested more than {NESTING_LIMIT} deep")
        kind = self.number(4, "a type")
        each = _VALUES[kind].itemsize if kind in _VALUES else self.length_size
        return kind, self.count(each, "items of an array")

    def value(self, kind: int, depth: int = 0) -> Any:
        """A value that `skip` has been past: a number, a bool, a string, or a list of them."""
        if kind == _STRING:
            return self.string("a string")
        if kind != _ARRAY:
            return np.frombuffer(self.take(_VALUES[kind].itemsize, "a value"), _VALUES[kind])[0].item()
        kind, count = self._array_head(depth)
        if kind in _VALUES:
            return np.frombuffer(self.take(count * _VALUES[kind].itemsize, "an array"), _VALUES[kind]).tolist()
        return [self.value(kind, depth + 1) for _ in range(count)]


class Metadata(Mapping[str, Any]):
    """The keys of a file and their values, each read when it is asked for: a vocabulary has a hundred thousand strings."""

    def __init__(self, reader: _Reader, count: int) -> None:
        self._reader = reader
        self._places: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            key = reader.string("a key", KEY_LIMIT)
            if key in self._places:
                raise FormatError(f"two values have the key {brief(key)}")
            kind = reader.number(4, "a type")
            self._places[key] = (kind, reader.at)
            reader.skip(kind)

    def __getitem__(self, key: str) -> Any:
        kind, at = self._places[key]
        return _Reader(self._reader.view, at, self._reader.length_size == 8).value(kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as it is stored: its type's name, its shape, and its bytes. `dtype` is the one it is read to, None where cafe has none."""

    type: str
    dtype: DType | None
    shape: Shape
    data: memoryview

    def load(self, device: Device | None = None) -> Tensor:
        """A new tensor with these values; packed ones become F32.

        Raises: FormatError for a type that is not read.
        """
        check_device(device)
        return Tensor.from_numpy(self._array())

    def _array(self) -> Array:
        if self.type in PACKED:
            size = PACKED[self.type][1]
            blocks = np.frombuffer(self.data, np.uint8, len(self.data)).reshape(-1, size)
            flat = kernels.dequantize(blocks, self.type).reshape(-1)
            forget(self.data)
        elif self.dtype is None:
            raise FormatError(f"unsupported tensor type {self.type}").help("read are F32, F16, BF16, F64, integers, " + ", ".join(PACKED))
        else:
            flat = taken(self.data, _BY_NAME[self.type])
        return flat.reshape(self.shape)


_BY_NAME = {kind.name: kind.stored for kind in _TYPES.values() if kind.stored is not None}


class _Entry(NamedTuple):
    name: str
    type: _Type
    shape: Shape
    offset: int
    size: int


def _entry(reader: _Reader) -> _Entry:
    """What the header says of a tensor."""
    name = reader.string("a tensor's name", KEY_LIMIT)
    rank = reader.number(4, "the number of dims")
    if rank > DIMS_LIMIT:
        raise FormatError(f"tensor {brief(name)} has {rank} dims, the limit is {DIMS_LIMIT}")
    shape = tuple(reversed([reader.length("a size") for _ in range(rank)]))
    number, offset = reader.number(4, "a type"), reader.number(8, "an offset")
    if number not in _TYPES:
        raise FormatError(f"tensor {brief(name)} has the unknown type {number}")
    kind = _TYPES[number]
    innermost = shape[-1] if shape else 1
    if innermost % kind.numbers:
        raise FormatError(f"tensor {brief(name)}: {kind.name} packs {kind.numbers} numbers, its rows have {innermost}")
    return _Entry(name, kind, shape, offset, math.prod(shape) // kind.numbers * kind.size)


def _entries(reader: _Reader, count: int) -> list[_Entry]:
    """What the header says of all tensors. A name that comes twice is seen at once: zeros read as ever more tensors without a name."""
    found: dict[str, _Entry] = {}
    for _ in range(count):
        entry = _entry(reader)
        if entry.name in found:
            raise FormatError(f"two tensors have the name {brief(entry.name)}")
        found[entry.name] = entry
    return list(found.values())


def _tensors(entries: list[_Entry], body: memoryview, alignment: int) -> dict[str, TensorInfo]:
    """The tensors by name, in the file's order; each inside the file, and no two on one place."""
    end = 0
    for entry in sorted(entries, key=lambda e: (e.offset, e.size)):
        if entry.offset % alignment or entry.offset < end or entry.offset + entry.size > len(body):
            raise FormatError(
                f"tensor {brief(entry.name)} of {entry.size} bytes at {entry.offset}: the one before it ends at {end}, all at {len(body)}"
            )
        end = entry.offset + entry.size
    found: dict[str, TensorInfo] = {}
    for entry in entries:
        kind = entry.type
        home = DType.F32 if kind.name in PACKED else None if kind.stored is None else HOMES[kind.stored]
        found[entry.name] = TensorInfo(kind.name, home, entry.shape, body[entry.offset : entry.offset + entry.size])
    return found


def _parse(view: memoryview) -> tuple[int, Metadata, dict[str, TensorInfo]]:
    if bytes(view[:4]) != b"GGUF":
        raise FormatError("not a GGUF file: it does not begin with `GGUF`")
    version = int.from_bytes(view[4:8], "little")
    if version not in (1, 2, 3):
        known = "a big-endian file" if version and version % (1 << 16) == 0 else f"version {version}"
        raise FormatError(f"unsupported GGUF: {known}; versions 1 to 3 are read")
    reader = _Reader(view, 8, version > 1)
    tensor_count = reader.count(3 * reader.length_size, "tensors")
    metadata = Metadata(reader, reader.count(reader.length_size + 5, "keys"))
    entries = _entries(reader, tensor_count)
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or alignment < 1 or alignment > 1 << 20 or alignment & (alignment - 1):
        raise FormatError(f"general.alignment must be a power of two, got {brief(alignment)}")
    start = min(-(-reader.at // alignment) * alignment, len(view))
    return version, metadata, _tensors(entries, view[start:], alignment)


# -- the public face


class GgufFile:
    """A GGUF file seen through a memory map: opening reads the header, `load` the bytes of one tensor.

    Source: candle-core/src/quantized/gguf_file.rs, Content; the format's specification in ggml/docs/gguf.md.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "empty.gguf")
    ...     with open(path, "wb") as file:
    ...         _ = file.write(b"GGUF" + bytes([3]) + bytes(19))
    ...     GgufFile.new(path).names()
    []
    """

    def __init__(self, version: int, metadata: Metadata, tensors: dict[str, TensorInfo]) -> None:
        self.version, self.metadata = version, metadata
        self._tensors = tensors

    @classmethod
    def new(cls, path: PathLike) -> GgufFile:
        """A file's header.

        Raises: Io; FormatError for a damaged or foreign file.
        """
        try:
            return cls(*_parse(mapped(path)))
        except FormatError as error:
            error.add_note(f"in {path}")
            raise

    def names(self) -> list[str]:
        """The tensors' names, in the file's order."""
        return list(self._tensors)

    def tensor_infos(self) -> dict[str, TensorInfo]:
        """What each tensor is; nothing is read yet."""
        return dict(self._tensors)

    def get(self, name: str) -> TensorInfo:
        """A tensor as it is stored.

        Raises: CannotFindTensor, with the nearest names.
        """
        if name not in self._tensors:
            raise CannotFindTensor(name, self._tensors)
        return self._tensors[name]

    def load(self, name: str, device: Device | None = None) -> Tensor:
        """A new tensor with the values of this name; errors as `get` and `TensorInfo.load`."""
        return self.get(name).load(device)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __len__(self) -> int:
        return len(self._tensors)


def load(path: PathLike, device: Device | None = None) -> dict[str, Tensor]:
    """All tensors of a file by name; packed ones become F32.

    Raises: Io; FormatError.
    """
    return {name: info.load(device) for name, info in GgufFile.new(path).tensor_infos().items()}
