"""A PyTorch file taken apart: what its pickle says, as plain values, and the bytes of its storages (floor 5).

Tensors are no tensors yet: a `TensorInfo` says which numbers of which storage one is. cafe/io/pth.py makes Tensors of them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import ml_dtypes
import numpy as np

from cafe.dtype import DType
from cafe.errors import FormatError
from cafe.files import PathLike
from cafe.io.base import HOMES, brief, mapped, zip_damage_named
from cafe.io.unpickle import Cursor, Name, Refused, ordered_dict, read
from cafe.shape import Shape

MAGIC = 0x1950A86A20F9469CFC6C  # what the formats before zip begin with
PICKLE_LIMIT = 100_000_000  # bytes: as safetensors' header

_OPAQUE = np.dtype("V1")
_KINDS: dict[str, np.dtype[Any]] = {
    "Float": np.dtype(np.float32),
    "Double": np.dtype(np.float64),
    "Half": np.dtype(np.float16),
    "BFloat16": np.dtype(ml_dtypes.bfloat16),
    "Byte": np.dtype(np.uint8),
    "Char": np.dtype(np.int8),
    "Short": np.dtype(np.int16),
    "Int": np.dtype(np.int32),
    "Long": np.dtype(np.int64),
    "Bool": np.dtype(np.bool_),
    "ComplexFloat": np.dtype(np.complex64),
    "ComplexDouble": np.dtype(np.complex128),
    "QInt8": _OPAQUE,
    "QUInt8": _OPAQUE,
    "QUInt4x2": _OPAQUE,
    "QUInt2x4": _OPAQUE,
    "QInt32": np.dtype("V4"),
}
_UNTYPED = ("torch.storage.UntypedStorage", "torch.storage._UntypedStorage", "torch.UntypedStorage")
_STORAGES = {
    **{f"torch.{place}{kind}Storage": dtype for kind, dtype in _KINDS.items() for place in ("", "cuda.")},
    **dict.fromkeys(_UNTYPED, np.dtype(np.uint8)),
}
# What stands in untyped storages, by its dtype.
_DTYPES: dict[str, np.dtype[Any]] = {
    **{f"torch.{name}": np.dtype(name) for name in ("float32", "float64", "float16", "uint8", "int8", "int16", "int32", "int64")},
    **{f"torch.{name}": np.dtype(name) for name in ("uint16", "uint32", "uint64", "complex64", "complex128")},
    "torch.bool": np.dtype(np.bool_),
    "torch.bfloat16": np.dtype(ml_dtypes.bfloat16),
    "torch.float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "torch.float8_e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "torch.float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "torch.float8_e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "torch.float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
    "torch.complex32": np.dtype("V4"),
}
_NAMES = _STORAGES.keys() | _DTYPES.keys()


@dataclass(frozen=True)
class _Storage:
    """What a pickle says of a storage: its key in the file, the type of its numbers, where it was."""

    key: str
    type: str
    stored: np.dtype[Any]
    location: str
    offset: int  # in numbers: of a view on the storage, in files before PyTorch 0.4


@dataclass(frozen=True)
class TensorInfo:
    """A tensor as it is stored: which numbers of which storage. `dtype` is the one it is read to, None where cafe has none.

    type: "FloatStorage" and its like, or a dtype of PyTorch; stride and offset count numbers; location: "cpu", "cuda:0" …
    """

    type: str
    dtype: DType | None
    shape: Shape
    stride: tuple[int, ...]
    offset: int
    storage: str
    location: str
    stored: np.dtype[Any] = field(repr=False)

    @property
    def span(self) -> int:
        """How many numbers lie from the first to the last; fewer than the shape has where some show several times."""
        return 0 if 0 in self.shape else 1 + sum((n - 1) * step for n, step in zip(self.shape, self.stride))


# -- from the pickle's calls to what is stored


class _Makers:
    """Answers what the pickle of a file asks for."""

    def __init__(self) -> None:
        self.storages: dict[str, _Storage] = {}
        self.builders = {
            "collections.OrderedDict": ordered_dict,
            "torch.Size": _size,
            "torch._utils._rebuild_tensor": self.tensor,
            "torch._utils._rebuild_tensor_v2": self.tensor,
            "torch._utils._rebuild_tensor_v3": self.typed_tensor,
            "torch._utils._rebuild_parameter": _parameter,
        }

    def storage(self, id: Any) -> _Storage | Refused:
        """The storage of ("storage", type, key, location, count[, view])."""
        if not isinstance(id, tuple) or len(id) < 5 or id[0] != "storage" or not isinstance(id[1], Name):
            if isinstance(id, tuple) and len(id) > 1 and isinstance(id[1], Name):  # ("module", class, …): the class has been refused
                return Refused(id[1].dotted)
            raise FormatError(f"expected a storage, got {brief(id)}")
        name, key, location = id[1].dotted, _text(id[2]), _text(id[3])
        if name not in _STORAGES:
            return Refused(name)
        kind = name.rpartition(".")[2]
        view = id[5] if len(id) > 5 and isinstance(id[5], tuple) and len(id[5]) == 3 else (None, 0, 0)
        made = _Storage(key, kind, _STORAGES[name], brief(location), _count(view[1], "the offset of a view"))
        if self.storages.setdefault(key, made).stored != made.stored:
            raise FormatError(f"storage {brief(key)} has two types, {self.storages[key].type} and {kind}")
        return made

    def tensor(self, arguments: tuple[Any, ...]) -> TensorInfo | Refused:
        """(storage, offset, size, stride[, requires_grad, hooks[, metadata]]) of `_rebuild_tensor` and `_rebuild_tensor_v2`."""
        storage = arguments[0] if arguments else None
        if not isinstance(storage, _Storage):
            return _no_storage(storage)
        return _tensor(storage, storage.type, storage.stored, arguments, 6)

    def typed_tensor(self, arguments: tuple[Any, ...]) -> TensorInfo | Refused:
        """(storage, offset, size, stride, requires_grad, hooks, dtype[, metadata]) of `_rebuild_tensor_v3`."""
        storage, dtype = arguments[0] if arguments else None, arguments[6] if len(arguments) > 6 else None
        if not isinstance(storage, _Storage):
            return _no_storage(storage)
        if not isinstance(dtype, Name) or dtype.dotted not in _DTYPES:
            raise FormatError(f"expected a dtype, got {dtype.dotted if isinstance(dtype, Name) else type(dtype).__name__}")
        return _tensor(storage, dtype.dotted, _DTYPES[dtype.dotted], arguments, 7)


def _no_storage(storage: Any) -> Refused:
    if isinstance(storage, Refused):
        return storage
    raise FormatError(f"expected a storage, got {type(storage).__name__}")


def _tensor(storage: _Storage, kind: str, stored: np.dtype[Any], arguments: tuple[Any, ...], metadata: int) -> TensorInfo:
    """Raises FormatError for sizes and strides that are none."""
    if len(arguments) < 4:
        raise FormatError(f"a tensor is made of at least 4 arguments, got {len(arguments)}")
    if len(arguments) > metadata and arguments[metadata]:
        raise FormatError("a tensor that is stored negated or conjugated")
    offset, shape, stride = _count(arguments[1], "an offset"), _sizes(arguments[2], "a size"), _sizes(arguments[3], "a stride")
    if len(shape) != len(stride):
        raise FormatError(f"a size of {len(shape)} dims has a stride of {len(stride)}")
    home = HOMES.get(stored)
    return TensorInfo(kind, home, shape, stride, offset + storage.offset, storage.key, storage.location, stored)


def _parameter(arguments: tuple[Any, ...]) -> Any:
    """The tensor of (tensor, requires_grad, hooks)."""
    if not arguments or not isinstance(arguments[0], TensorInfo | Refused):
        raise FormatError("a parameter is made of a tensor")
    return arguments[0]


def _size(arguments: tuple[Any, ...]) -> Shape:
    return _sizes(arguments[0] if arguments else (), "a size")


def _sizes(value: Any, what: str) -> Shape:
    if not isinstance(value, tuple | list):
        raise FormatError(f"{what} must be whole numbers, got {type(value).__name__}")
    return tuple(_count(dim, what) for dim in value)


def _text(value: Any) -> str:
    if not isinstance(value, str | int):
        raise FormatError(f"expected a string, got a {type(value).__name__}")
    return str(value)


def _count(value: Any, what: str) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise FormatError(f"{what} must be a whole number from 0 to 2**63 - 1, got {brief(value)}")
    return value


def _no_outside(id: Any) -> NoReturn:
    raise FormatError("the pickle refers to what lies outside it")


# -- from a file to its pickle and its storages


class Parts(NamedTuple):
    """A file taken apart: what its pickle says, the names it was refused, the bytes of each storage and their order, "little" or "big"."""

    root: Any
    refused: tuple[str, ...]
    storages: dict[str, memoryview]
    order: str
    pickle_length: int


def take_apart(path: PathLike) -> Parts:
    """Raises Io; FormatError for what is no such file."""
    view = mapped(path)
    if bytes(view[:2]) == b"PK":
        return _zip_parts(path, view)
    if bytes(view[257:262]) == b"ustar":
        raise FormatError("a tar archive: PyTorch 0.1 wrote these").help("load it in PyTorch and save its state dict again")
    return _legacy_parts(view)


def _zip_parts(path: PathLike, view: memoryview) -> Parts:
    """A zip archive with the pickle in {root}/data.pkl and storage k in {root}/data/{k}; never compressed."""
    with zip_damage_named(path, FormatError), zipfile.ZipFile(path) as archive:
        listed = archive.infolist()
    members = {member.filename: member for member in listed}
    if len(members) < len(listed):
        raise FormatError("invalid Zip archive: two members have one name")
    announced = sum(member.file_size for member in listed if "/code/" not in member.filename)  # TorchScript's programs: never read
    if announced > len(view):  # else a copy of all would be larger than the file
        raise FormatError(f"invalid Zip archive: its members announce more than the {len(view)} bytes that it has").help(
            "PyTorch stores them as they are; a small archive that unpacks to much may be an attack"
        )
    pickles = [name for name in members if name.rpartition("/")[2] == "data.pkl" and name.count("/") <= 1]
    if len(pickles) != 1:
        raise FormatError("a .pth archive holds one data.pkl" + (f", this one {len(pickles)}" if pickles else ": this one has none"))
    root = pickles[0].removesuffix("data.pkl")
    data = _member(view, members[pickles[0]])
    if len(data) > PICKLE_LIMIT:
        raise FormatError(f"a pickle of {len(data)} bytes, the limit is {PICKLE_LIMIT}")
    makers = _Makers()
    value, refused = read(Cursor(data), makers.builders, _NAMES, makers.storage)
    storages = {key: _member(view, members[f"{root}data/{key}"]) for key in makers.storages if f"{root}data/{key}" in members}
    order = members.get(f"{root}byteorder")
    big = order is not None and bytes(_member(view, order)[:4]) == b"big"
    return Parts(value, refused, storages, "big" if big else "little", len(data))


def _member(view: memoryview, member: zipfile.ZipInfo) -> memoryview:
    """The bytes of a stored member, where they lie in the file."""
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise FormatError(f"unsupported Zip archive: {brief(member.filename)} is compressed").help("PyTorch stores it as it is")
    if member.flag_bits & 1:
        raise FormatError(f"unsupported Zip archive: {brief(member.filename)} is encrypted")
    header = bytes(view[member.header_offset : member.header_offset + 30])
    if len(header) < 30 or not header.startswith(b"PK\x03\x04"):
        raise FormatError(f"invalid Zip archive: {brief(member.filename)} has no header")
    name_length, extra_length = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
    start = member.header_offset + 30 + name_length + extra_length
    if start + member.file_size > len(view):
        raise FormatError(f"invalid Zip archive: {brief(member.filename)} ends beyond the file")
    return view[start : start + member.file_size]


def _legacy_parts(view: memoryview) -> Parts:
    """Five pickles: magic number, version, system, the value, its storages' keys; then each storage: a count and its bytes."""
    cursor = Cursor(view)
    makers = _Makers()
    magic, refused = read(cursor, makers.builders, _NAMES, _no_outside)
    if refused:  # a bare pickle
        return Parts(None, refused, {}, "little", cursor.at)
    if magic != MAGIC:
        raise FormatError("not a PyTorch file: it is neither a zip archive nor begins with PyTorch's magic number")
    read(cursor, {}, (), _no_outside)
    system = read(cursor, {}, (), _no_outside).value
    start = cursor.at
    value, refused = read(cursor, makers.builders, _NAMES, makers.storage)
    length = cursor.at - start
    if refused:
        return Parts(value, refused, {}, "little", length)
    keys = read(cursor, {}, (), _no_outside).value
    order = "big" if isinstance(system, dict) and system.get("little_endian") is False else "little"
    return Parts(value, refused, dict(_legacy_storages(view, cursor.at, keys, makers.storages)), order, length)


def _legacy_storages(view: memoryview, at: int, keys: Any, known: dict[str, _Storage]) -> Iterator[tuple[str, memoryview]]:
    """Storages lie one after the other in the order of their keys."""
    if not isinstance(keys, list):
        raise FormatError(f"expected a list, got a {type(keys).__name__}")
    for key in map(_text, keys):
        if key not in known:
            raise FormatError(f"storage {brief(key)} has no type")
        size = int.from_bytes(view[at : at + 8], "little", signed=True) * known[key].stored.itemsize
        at += 8
        if size < 0 or at + size > len(view):
            raise FormatError(f"storage {brief(key)} announces {size} bytes, {max(len(view) - at, 0)} are left")
        yield key, view[at : at + size]
        at += size
