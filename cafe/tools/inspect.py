"""What is in a file of weights: names, shapes, dtypes, sizes, simple statistics, and what is refused; nothing is run (above every floor).

    print(inspect("model.safetensors"))
    python -m cafe inspect model.safetensors [--json] [--no-statistics]

Formats are told by their first bytes: safetensors, npy, npz, PyTorch's .pth (zip and older), GGUF. A tensor is read, measured and let go
before the next. A .pth that asks for more than tensors is shown without numbers, with the names that it asks for.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import ml_dtypes
import numpy as np

from cafe.dtype import Array, DType
from cafe.errors import Error, FormatError
from cafe.files import PathLike
from cafe.io import gguf, npy, pth, safetensors
from cafe.io.base import brief, reading, zip_damage_named
from cafe.io.torch_file import TensorInfo
from cafe.shape import Shape
from cafe.tensor.core import Tensor

_PIECE = 1 << 20  # numbers that are measured at a time, in float64

# Names of stored dtypes that cafe reads into another one.
_STORED = {
    np.dtype(np.bool_): "BOOL",
    np.dtype(np.int8): "I8",
    np.dtype(np.uint16): "U16",
    np.dtype(np.uint64): "U64",
    np.dtype(np.complex64): "C64",
    np.dtype(np.complex128): "C128",
    np.dtype(ml_dtypes.float8_e4m3fn): "F8_E4M3",
    np.dtype(ml_dtypes.float8_e4m3fnuz): "F8_E4M3FNUZ",
    np.dtype(ml_dtypes.float8_e5m2): "F8_E5M2",
    np.dtype(ml_dtypes.float8_e5m2fnuz): "F8_E5M2FNUZ",
    np.dtype(ml_dtypes.float8_e8m0fnu): "F8_E8M0",
}
_STORED |= {dtype.numpy: dtype.name for dtype in DType}


@dataclass(frozen=True)
class Statistics:
    """Of the finite numbers of a tensor: extremes, mean and deviation (None where there are none); and how many are NaN or infinite."""

    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    nan: int
    inf: int

    def __str__(self) -> str:
        said = [f"{name} {value:.5g}" for name, value in asdict(self).items() if name not in ("nan", "inf") and value is not None]
        said += [f"{count} {name}" for name, count in (("NaN", self.nan), ("infinite", self.inf)) if count]
        return "  ".join(said)


@dataclass(frozen=True)
class Entry:
    """A tensor of a file: its stored dtype, its bytes there, its statistics if they were asked for, or why it cannot be read."""

    name: str
    dtype: str
    shape: Shape
    bytes: int
    statistics: Statistics | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Inspection:
    """All that is known of a file; `str` of it is a tree.

    values: what stands beside the tensors; refused: the names that it asks for and may not have.
    """

    path: str
    format: str
    bytes: int
    entries: tuple[Entry, ...]
    values: Mapping[str, Any]
    refused: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def to_json(self) -> str:
        """The same as JSON."""
        known = {
            "path": self.path,
            "format": self.format,
            "bytes": self.bytes,
            "tensors": [asdict(entry) for entry in self.entries],
            "values": {name: _json_value(value) for name, value in self.values.items()},
            "refused": list(self.refused),
        }
        return json.dumps(known, indent=2, allow_nan=False)


def inspect(path: PathLike, statistics: bool = True) -> Inspection:
    """Looks into a file of weights.

    Raises: Io; FormatError and its like for a damaged file, and for one of no known format.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "till.safetensors")
    ...     safetensors.save({"out.weight": Tensor([[1.0, 2.0]]), "out.bias": Tensor([0.5])}, path)
    ...     print(str(inspect(path)).partition("\\n")[2])
    out
      bias    F32  [1]     4 B  min 0.5  max 0.5  mean 0.5  std 0
      weight  F32  [1, 2]  8 B  min 1  max 2  mean 1.5  std 0.5
    """
    return _reader(path)(path, statistics)


# -- the formats


def _reader(path: PathLike) -> Callable[[PathLike, bool], Inspection]:
    """What reads a file that begins so.

    Raises: Io, FormatError.
    """
    with reading(path) as file:
        start = file.read(512)
    if start.startswith(b"PK"):
        return _zipped
    if start.startswith(npy.MAGIC):
        return _npy
    if start.startswith(b"GGUF"):
        return _gguf
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= safetensors.HEADER_LIMIT:
        return _safetensors
    if start[257:262] == b"ustar" or start.startswith(b"\x80") or os.fspath(path).endswith((".pth", ".pt", ".bin", ".ckpt", ".pkl")):
        return _pth
    raise FormatError(f"{path}: this is no file of weights").help("read are safetensors, npy, npz, .pth of PyTorch, and GGUF")


def _made(path: PathLike, kind: str, entries: Iterator[Entry], values: Mapping[str, Any], refused: tuple[str, ...] = ()) -> Inspection:
    return Inspection(os.fspath(path), kind, os.stat(path).st_size, tuple(entries), values, refused)


def _entry(name: str, dtype: str, shape: Shape, size: int, read: Callable[[], Tensor | None] | None) -> Entry:
    """An entry with the statistics of what `read` gives, or with the reason why it gives nothing."""
    try:
        tensor = None if read is None else read()
        return Entry(name, dtype, shape, size, None if tensor is None else _measured(tensor.numpy()))
    except Error as error:
        return Entry(name, dtype, shape, size, None, str(error))


def _safetensors(path: PathLike, statistics: bool) -> Inspection:
    file = safetensors.MmapedSafetensors.new(path)
    entries = (_entry(name, v.dtype, v.shape, len(v.data), v.load if statistics else None) for name, v in file.tensors())
    return _made(path, "safetensors", entries, file.metadata)


def _npy(path: PathLike, statistics: bool) -> Inspection:
    tensor = npy.read_npy(path)
    size = tensor.elem_count() * tensor.dtype.size_in_bytes
    return _made(path, "npy", iter([_entry("", tensor.dtype.name, tensor.shape, size, (lambda: tensor) if statistics else None)]), {})


def _zipped(path: PathLike, statistics: bool) -> Inspection:
    """A zip archive is PyTorch's where it holds a pickle of the name that PyTorch gives."""
    with zip_damage_named(path, FormatError), zipfile.ZipFile(path) as file:
        members = file.namelist()
    if any(name.rpartition("/")[2] == "data.pkl" for name in members):
        return _pth(path, statistics)
    if members and not any(name.endswith(".npy") for name in members):
        raise FormatError(f"{path}: a zip archive, but neither of NumPy nor of PyTorch").help("it holds no .npy and no data.pkl")
    archive = npy.NpzTensors.new(path)
    return _made(path, "npz", (_npz_entry(archive, name, statistics) for name in archive.names()), {})


def _npz_entry(archive: npy.NpzTensors, name: str, statistics: bool) -> Entry:
    try:
        shape, dtype = archive.get_shape_and_dtype(name)
    except Error as error:
        return Entry(name, "?", (), 0, None, "; ".join([str(error), *getattr(error, "__notes__", [])]))
    size = math.prod(shape) * dtype.size_in_bytes
    return _entry(name, dtype.name, shape, size, (lambda: archive.get(name)) if statistics else None)


def _gguf(path: PathLike, statistics: bool) -> Inspection:
    file = gguf.GgufFile.new(path)
    infos = file.tensor_infos().items()
    entries = (_entry(name, i.type, i.shape, len(i.data), i.load if statistics else None) for name, i in infos)
    return _made(path, f"GGUF version {file.version}", entries, {key: _told(file.metadata, key) for key in file.metadata})


def _told(metadata: Mapping[str, Any], key: str) -> Any:
    """A value, or why it is none."""
    try:
        return metadata[key]
    except FormatError as error:
        return f"({error})"


def _pth(path: PathLike, statistics: bool) -> Inspection:
    file, refused = pth.survey(path)
    measured = statistics and not refused

    def entry(name: str, info: TensorInfo) -> Entry:
        label = _STORED.get(info.stored, info.type)
        size = info.stored.itemsize * math.prod(info.shape)
        if info.span < math.prod(info.shape):
            return Entry(name, label, info.shape, size, None, f"{info.span} numbers, each shown several times" if measured else None)
        return _entry(name, label, info.shape, size, (lambda: file.get(name)) if measured else None)

    return _made(path, "PyTorch", (entry(name, info) for name, info in file.tensor_infos().items()), file.values, refused)


# -- statistics


def _pieces(array: Array) -> Iterator[Array]:
    """All numbers, some at a time, as float64."""
    flat = np.ascontiguousarray(array).reshape(-1)
    for at in range(0, flat.size, _PIECE):
        yield flat[at : at + _PIECE].astype(np.float64)


@np.errstate(all="ignore")
def _measured(array: Array) -> Statistics:
    """Two passes: the mean first, then the deviation from it. What is too large for a float64 is left out."""
    count = nan = 0
    total, low, high = 0.0, math.inf, -math.inf
    for piece in _pieces(array):
        finite = piece[np.isfinite(piece)]
        nan += int(np.isnan(piece).sum())
        count += finite.size
        if finite.size:
            total += float(finite.sum())
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    inf = array.size - count - nan
    if count == 0:
        return Statistics(None, None, None, None, nan, inf)
    mean = total / count
    squares = sum(float(np.square(piece[np.isfinite(piece)] - mean).sum()) for piece in _pieces(array))
    return Statistics(low, high, _finite(mean), _finite(math.sqrt(squares / count)), nan, inf)


def _finite(value: float) -> float | None:
    """A number that JSON has: sums of the largest float64s have none."""
    return value if math.isfinite(value) else None


# -- the tree


def _lines(shown: Inspection) -> Iterator[str]:
    count, numbers = len(shown.entries), sum(math.prod(entry.shape) for entry in shown.entries)
    yield f"{printable(shown.path)}: {shown.format}, {_size(shown.bytes)}, {count} tensor{'s' * (count != 1)}, {numbers:,} numbers"
    for name in shown.refused:
        yield f"refused: {printable(name)} (the file asks for it; nothing was run, and no number was read)"
    for name, value in shown.values.items():
        yield f"{printable(name)} = {_value(value)}"
    yield from _tree(shown.entries)


def _tree(entries: tuple[Entry, ...]) -> Iterator[str]:
    """A line a tensor, under lines for the names before its last dot."""
    rows = [(_parents(entry.name), _row(entry)) for entry in entries]
    widths = [max((len(row[column]) for _, row in rows), default=0) for column in range(4)]
    above: list[str] = []
    for parents, (name, dtype, shape, size, about) in rows:
        same = _alike(above, parents)
        yield from ("  " * level + parents[level] for level in range(same, len(parents)))
        above = parents
        yield f"{name:<{widths[0]}}  {dtype:<{widths[1]}}  {shape:<{widths[2]}}  {size:>{widths[3]}}  {about}".rstrip()


def _alike(a: list[str], b: list[str]) -> int:
    """How many names both begin with."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def _parents(name: str) -> list[str]:
    return [printable(part) for part in name.split(".")[:-1]][:64]


def _row(entry: Entry) -> tuple[str, str, str, str, str]:
    about = entry.problem if entry.problem is not None else str(entry.statistics or "")
    last = printable(entry.name.rpartition(".")[2]) or "(no name)"
    return "  " * len(_parents(entry.name)) + last, entry.dtype, brief(str(list(entry.shape))), _size(entry.bytes), printable(about)


def _size(count: int) -> str:
    """Bytes in the unit that leaves one to three digits before the dot."""
    size, units = float(count), iter(["B", "kB", "MB", "GB", "TB"])
    unit = next(units)
    while size >= 999.95 and unit != "TB":
        size, unit = size / 1000, next(units)
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        few = ", ".join(_value(item) for item in value[:4])
        return f"[{few}{', …' if len(value) > 4 else ''}] ({len(value)})"
    return printable(str(value) if isinstance(value, str) else repr(value))


def printable(text: str) -> str:
    """At most 120 characters, with escapes for what would do something to a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in brief(text))


def _json_value(value: Any) -> Any:
    """A value that JSON has: floats that are none become text, long lists their beginning."""
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value[:16]] + ([f"… {len(value)} in all"] if len(value) > 16 else [])
    if isinstance(value, bytes) or (isinstance(value, float) and not math.isfinite(value)):
        return repr(value)
    return value
