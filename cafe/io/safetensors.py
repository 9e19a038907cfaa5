"""safetensors: names and tensors in one file, read through a memory map, written whole or not at all (floor 5).

The format: eight bytes with the header's length, a JSON header `{name: {dtype, shape, data_offsets}}`, then the bytes
of the tensors one after the other. A header comes from a stranger, so it is checked in full before anything is made
from it: a damaged or hostile file raises SafeTensor, in the words of the safetensors library where it has some. (The
library is what the tests compare with. Here it would read each file a second time, and hold a second copy of all
tensors while it writes them.)

Dtypes that cafe lacks are read into the smallest of cafe's that holds every value: BOOL as U8, I8 as I16, U16 as U32
(as in candle), F8_E4M3 and F8_E5M2 as F16, F8_E8M0 as F32. U64, C64, F4, F6_E2M3 and F6_E3M2 have no such home: loading
one raises `unsupported safetensor dtype U64`, while the file's other tensors can be had from MmapedSafetensors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, TypeAlias

import ml_dtypes
import numpy as np

from cafe.device import Device
from cafe.dtype import Array
from cafe.errors import CannotFindTensor, Error, SafeTensor, TensorNotFound, UnsupportedSafeTensorDtype
from cafe.files import PathLike, replacing
from cafe.habits import defined, missing
from cafe.io.base import brief, brought_home, little_endian, mapped
from cafe.tensor.base import check_tensors
from cafe.tensor.convert import check_device
from cafe.tensor.core import Tensor

HEADER_LIMIT = 100_000_000  # bytes; the safetensors library's own limit

Bytes: TypeAlias = "bytes | bytearray | memoryview"

class _Dtype(NamedTuple):
    bits: int
    stored: np.dtype[Any] | None  # None: cafe has no home for it


# In the library's order: files are written from the last row to the first, so that what needs alignment comes first.
_DTYPES: dict[str, _Dtype] = {
    "BOOL": _Dtype(8, np.dtype(np.bool_)),
    "F4": _Dtype(4, None),
    "F6_E2M3": _Dtype(6, None),
    "F6_E3M2": _Dtype(6, None),
    "U8": _Dtype(8, np.dtype(np.uint8)),
    "I8": _Dtype(8, np.dtype(np.int8)),
    "F8_E5M2": _Dtype(8, np.dtype(ml_dtypes.float8_e5m2)),
    "F8_E4M3": _Dtype(8, np.dtype(ml_dtypes.float8_e4m3fn)),
    "F8_E8M0": _Dtype(8, np.dtype(ml_dtypes.float8_e8m0fnu)),
    "F8_E4M3FNUZ": _Dtype(8, np.dtype(ml_dtypes.float8_e4m3fnuz)),
    "F8_E5M2FNUZ": _Dtype(8, np.dtype(ml_dtypes.float8_e5m2fnuz)),
    "I16": _Dtype(16, np.dtype(np.int16)),
    "U16": _Dtype(16, np.dtype(np.uint16)),
    "F16": _Dtype(16, np.dtype(np.float16)),
    "BF16": _Dtype(16, np.dtype(ml_dtypes.bfloat16)),
    "I32": _Dtype(32, np.dtype(np.int32)),
    "U32": _Dtype(32, np.dtype(np.uint32)),
    "F32": _Dtype(32, np.dtype(np.float32)),
    "C64": _Dtype(64, None),
    "F64": _Dtype(64, np.dtype(np.float64)),
    "I64": _Dtype(64, np.dtype(np.int64)),
    "U64": _Dtype(64, None),
}
_NAMES = {row.stored: name for name, row in _DTYPES.items() if row.stored is not None}
_RANK = {name: rank for rank, name in enumerate(_DTYPES)}


@dataclass(frozen=True)
class TensorView:
    """One tensor of a file as it is stored: the dtype's name in the file, the shape, and the bytes themselves."""

    dtype: str
    shape: tuple[int, ...]
    data: memoryview

    def load(self, device: Device | None = None) -> Tensor:
        """A new tensor with these values.

        Raises: UnsupportedSafeTensorDtype for a dtype that cafe has no home for.
        """
        check_device(device)
        return Tensor.from_numpy(self._array())

    def _array(self) -> Array:
        stored = _DTYPES[self.dtype].stored
        if stored is None:
            raise UnsupportedSafeTensorDtype(self.dtype).help("cafe has no dtype that holds all its values")
        try:
            view: Array = np.ndarray(self.shape, dtype=stored, buffer=self.data)
        except (ValueError, OverflowError) as error:  # more dims than NumPy has, or [0, 2**63]
            raise _damaged("invalid shape, data type, or offset for tensor", f"{brief(self.shape)}: {error}") from error
        return brought_home(little_endian(view))


# -- reading: bytes to views, without a doubt left


def _views(buffer: memoryview) -> tuple[dict[str, TensorView], dict[str, str]]:
    """The tensors of a file by name, sorted, and its metadata; every byte of the file is accounted for."""
    header, start = _header(buffer)
    metadata = _metadata(header.pop("__metadata__", None))
    entries = sorted((_entry(name, fields) for name, fields in header.items()), key=lambda e: e.offsets)
    body = buffer[start:]
    end = 0
    for entry in entries:
        if entry.offsets[0] != end or entry.offsets[1] < end:
            note = f"it should begin at {end}, data_offsets are {list(entry.offsets)}"
            raise _damaged(f"invalid offset for tensor `{brief(entry.name)}`", note)
        _check_size(entry)
        end = entry.offsets[1]
    if end != len(body):
        note = f"the header tells of {end} bytes, the file holds {len(body)}"
        raise _damaged("incomplete metadata, file not fully covered", note)
    views = {e.name: TensorView(e.dtype, e.shape, body[slice(*e.offsets)]) for e in sorted(entries)}
    return views, metadata


def _header(buffer: memoryview) -> tuple[dict[str, Any], int]:
    """The header's JSON object and where the tensors' bytes begin."""
    if len(buffer) < 8:
        raise _damaged("header too small", f"a file has at least 8 bytes, this one {len(buffer)}")
    length = int.from_bytes(buffer[:8], "little")
    if length > HEADER_LIMIT:
        raise _damaged("header too large", f"{length} bytes: is this a safetensors file?")
    if 8 + length > len(buffer):
        raise _damaged("invalid header length", f"{length} bytes announced, {len(buffer) - 8} in the file")
    try:
        text = str(buffer[8 : 8 + length], "utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(f"invalid UTF-8 in header: {error.reason} at byte {error.start}") from error
    return _json_object(text), 8 + length


def _json_object(text: str) -> dict[str, Any]:
    """A JSON object in which no key comes twice; deep nesting and numbers that are no JSON are refused."""
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"invalid JSON in header: {brief(str(error))}") from error
    if not isinstance(value, dict):
        raise _malformed(f"expected an object, got {type(value).__name__}")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"duplicate key `{brief(key)}`")
        found[key] = value
    return found


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _text(value: Any, what: str) -> str:
    """A string that can be written again: half a surrogate pair cannot."""
    if not isinstance(value, str):
        raise _malformed(f"{what} must be a string, got {brief(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _malformed(f"{what} is not Unicode: {brief(ascii(value))}") from None
    return value


def _metadata(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _malformed(f"__metadata__ must be an object, got {brief(value)}")
    return {_text(key, "a key of the metadata"): _text(item, "a value of the metadata") for key, item in value.items()}


class _Entry(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int, ...]
    offsets: tuple[int, ...]


def _entry(name: str, fields: Any) -> _Entry:
    _text(name, "a tensor's name")
    if not isinstance(fields, dict):
        raise _malformed(f"tensor `{brief(name)}` must be an object, got {brief(repr(fields))}")
    for field in ("dtype", "shape", "data_offsets"):
        if field not in fields:
            raise _malformed(f"missing field `{field}` of tensor `{brief(name)}`")
    dtype = _text(fields["dtype"], f"the dtype of tensor `{brief(name)}`")
    if dtype not in _DTYPES:
        raise UnsupportedSafeTensorDtype(brief(dtype)).help(f"safetensors has {', '.join(_DTYPES)}")
    shape, offsets = (_sizes(fields[key], f"{key} of tensor `{brief(name)}`") for key in ("shape", "data_offsets"))
    if len(offsets) != 2:
        raise _malformed(f"data_offsets of tensor `{brief(name)}` must be two numbers, got {brief(offsets)}")
    return _Entry(name, dtype, shape, offsets)


def _sizes(value: Any, what: str) -> tuple[int, ...]:
    """Whole numbers from 0 to 2⁶⁴ − 1 (True is none)."""
    if not isinstance(value, list) or not all(type(item) is int and 0 <= item < 1 << 64 for item in value):
        raise _malformed(f"{what} must be whole numbers from 0 to 2**64 - 1, got {brief(value)}")
    return tuple(value)


def _check_size(entry: _Entry) -> None:
    """The shape's bytes are those between the offsets; no product on the way exceeds 64 bits, as in the library."""
    bits = 1
    for factor in (*entry.shape, _DTYPES[entry.dtype].bits):
        bits *= factor
        if bits >= 1 << 64:
            note = f"tensor `{brief(entry.name)}`: {brief(entry.shape)}"
            raise _damaged("overflow computing buffer size from shape and/or element type", note)
    if bits != 8 * (entry.offsets[1] - entry.offsets[0]):
        note = f"tensor `{brief(entry.name)}`: {entry.dtype} {brief(entry.shape)} at {list(entry.offsets)}"
        raise _damaged("invalid shape, data type, or offset for tensor", note)


def _damaged(text: str, note: str = "") -> SafeTensor:
    error = SafeTensor(text)
    if note:
        error.add_note(note)
    return error


def _malformed(text: str) -> SafeTensor:
    return _damaged(f"invalid JSON in header: {text}")


# -- writing: arrays to bytes


def _write(file: BinaryIO, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Header and arrays, each row-major: by dtype as the library does, then by name; metadata sorted."""
    names = sorted(arrays, key=lambda name: (-_RANK[_NAMES[arrays[name].dtype]], name))
    file.write(_encoded_header({name: arrays[name] for name in names}, metadata))
    for name in names:
        flat = little_endian(np.asarray(arrays[name], order="C").reshape(-1))
        file.write(flat.view(np.uint8).data)


def _encoded_header(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    fields: dict[str, Any] = {}
    if metadata:
        fields["__metadata__"] = dict(sorted(_metadata(dict(metadata)).items()))
    end = 0
    for name, array in arrays.items():
        if _text(name, "a tensor's name") == "__metadata__":
            raise SafeTensor("invalid name for tensor `__metadata__`").help("this name is the format's own")
        start, end = end, end + array.nbytes
        fields[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > HEADER_LIMIT:
        raise _damaged("header too large", f"{len(text)} bytes, the limit is {HEADER_LIMIT}")
    return len(text).to_bytes(8, "little") + text


# -- the public face

_NotFound: TypeAlias = Callable[[str, Iterable[str]], Error]


class SafeTensors:
    """The tensors of one or several files or buffers, each read when it is asked for.

    `metadata` is the text that came with them, by key.
    """

    def __init__(self, views: dict[str, TensorView], metadata: dict[str, str], not_found: _NotFound) -> None:
        self._views = views
        self._not_found = not_found
        self.metadata = metadata

    def names(self) -> list[str]:
        """The names, sorted."""
        return list(self._views)

    def tensors(self) -> list[tuple[str, TensorView]]:
        """Names and stored tensors, sorted by name; nothing is read yet."""
        return list(self._views.items())

    def get(self, name: str) -> TensorView:
        """A tensor as it is stored: dtype, shape and bytes.

        Raises: TensorNotFound (one file) or CannotFindTensor (several), with the nearest names.
        """
        try:
            return self._views[name]
        except KeyError:
            raise self._not_found(name, self._views) from None

    def load(self, name: str, device: Device | None = None) -> Tensor:
        """A new tensor with the values stored under this name; errors as `get` and `TensorView.load`."""
        return self.get(name).load(device)

    def __contains__(self, name: object) -> bool:
        return name in self._views

    def __len__(self) -> int:
        return len(self._views)


class MmapedSafetensors(SafeTensors):
    """Files seen through a memory map: opening reads the headers, `load` the bytes of one tensor.

    Source: candle-core/src/safetensors.rs, MmapedSafetensors.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save({"w": Tensor([[1.0, 2.0]]), "b": Tensor([3.0])}, path)
    ...     file = MmapedSafetensors.new(path)
    ...     print(file.names(), file.get("w").shape, file.load("b").to_vec1())
    ['b', 'w'] (1, 2) [3.0]
    """

    @classmethod
    def new(cls, path: PathLike) -> Self:
        """One file.

        Raises: Io, SafeTensor.
        """
        return cls(*_mapped_views(path), TensorNotFound)

    @classmethod
    def multi(cls, paths: Iterable[PathLike]) -> Self:
        """Several files as one; where two hold a name, the later one counts.

        Raises: Io, SafeTensor.
        """
        views: dict[str, TensorView] = {}
        metadata: dict[str, str] = {}
        for path in paths:
            more, texts = _mapped_views(path)
            views |= more
            metadata |= texts
        return cls(dict(sorted(views.items())), metadata, CannotFindTensor)


class BufferedSafetensors(SafeTensors):
    """The bytes of a file that are in memory already."""

    @classmethod
    def new(cls, buffer: Bytes) -> Self:
        """The bytes of a file, which are not copied.

        Raises: SafeTensor.
        """
        return cls(*_views(memoryview(buffer).cast("B")), TensorNotFound)


SliceSafetensors = BufferedSafetensors  # candle has two: one owns its bytes, one borrows them


def _mapped_views(path: PathLike) -> tuple[dict[str, TensorView], dict[str, str]]:
    try:
        return _views(mapped(path))
    except (SafeTensor, UnsupportedSafeTensorDtype) as error:
        error.add_note(f"in {path}")
        raise


def load(path: PathLike, device: Device | None = None) -> dict[str, Tensor]:
    """All tensors of a file by name, sorted.

    Raises: Io, SafeTensor, UnsupportedSafeTensorDtype.
    Source: candle-core/src/safetensors.rs, load.
    """
    return {name: view.load(device) for name, view in MmapedSafetensors.new(path).tensors()}


def load_buffer(data: Bytes, device: Device | None = None) -> dict[str, Tensor]:
    """All tensors of a file that is in memory already, by name, sorted; errors as `load`.

    Source: candle-core/src/safetensors.rs, load_buffer.
    """
    return {name: view.load(device) for name, view in BufferedSafetensors.new(data).tensors()}


def save(tensors: Mapping[str, Tensor], path: PathLike, metadata: Mapping[str, str] | None = None) -> None:
    """Writes tensors by name, views and variables as what they show, whole or not at all.

    The order is the safetensors library's: by dtype, the widest first, then by name. The same tensors give the same
    bytes.

    Raises: Io; SafeTensor for the name `__metadata__`, and for metadata that is no text.
    Source: candle-core/src/safetensors.rs, save.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save({"w": Tensor([[1.0, 2.0]]).t()}, path, {"step": "3"})
    ...     load(path)["w"].to_vec2()
    [[1.0], [2.0]]
    """
    if not isinstance(tensors, Mapping):
        raise TypeError(f"safetensors.save: expected Tensors by name, found {type(tensors).__name__}")
    for name, tensor in tensors.items():
        check_tensors(f"safetensors.save: {name}", tensor)
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    with replacing(path) as file:
        _write(file, arrays, metadata or {})


def save_safetensors(tensor: Tensor, name: str, path: PathLike) -> None:
    """Writes one tensor under a name; errors as `save`.

    Source: candle-core/src/safetensors.rs, Tensor::save_safetensors.
    """
    save({name: tensor}, path)


if not TYPE_CHECKING:
    __getattr__ = missing("cafe.io.safetensors", defined(globals()), {"save_file": "it is `save`", "load_file": "it is `load`"})
