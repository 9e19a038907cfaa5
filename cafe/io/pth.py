"""PyTorch's own files, .pth and .pt, read without PyTorch and without running anything that stands in them (floor 5).

Such a file is a pickle, which can name any function of any module and call it, beside the tensors' bytes ("storages"). Here only what
makes tensors and plain containers is understood: OrderedDict, torch.Size, dtypes, storages, `_rebuild_tensor` (_v2, _v3) and
`_rebuild_parameter`. A file that asks for anything else is refused with its dotted name, before a single number is read; the reader of
pickles in cafe/io/unpickle.py imports nothing and calls nothing.

Read: the zip format of PyTorch 1.6 and later, mapped into memory, so that opening costs no more than the pickle; the formats before it;
any strides; tensors that share a storage (they share memory here, too); tensors saved on another device. Nested dicts and lists give
dotted names, `model_state.lstm.weight_ih_l0`. Integers and booleans that cafe lacks find a home as in safetensors; complex, quantised and
unsigned 64-bit numbers have none, and asking for one raises `unsupported storage type …`.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from cafe.device import Device
from cafe.dtype import Array
from cafe.errors import FormatError, near
from cafe.files import PathLike
from cafe.io.base import brief, taken
from cafe.io.torch_file import Parts, TensorInfo, take_apart
from cafe.io.unpickle import PLAIN
from cafe.tensor.convert import check_device
from cafe.tensor.core import Tensor

DEPTH_LIMIT = 64  # containers within containers
NAMES_RATIO = 4  # how much longer than its pickle all names together may be

# -- from the pickle's value to names


def _below(root: Any, key: str | None) -> Any:
    """The value under a key, which may be dotted.

    Raises: FormatError `key … not found`, with near ones.
    """
    if key is None:
        return root
    value, rest = root, key
    while rest:
        known = {str(name): item for name, item in _items(value)}
        found = next((name for name in (rest, *_beginnings(rest)) if name in known), None)
        if found is None:
            error = FormatError(f"key {brief(key)} not found")
            raise error.help(note) if (note := near(rest, known)) else error
        value, rest = known[found], rest[len(found) + 1 :]
    return value


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    """Keys and values of a dict, places and values of a list; nothing of all else."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list | tuple) else ()


def _beginnings(dotted: str) -> list[str]:
    """`a.b.c` → `a.b`, `a`."""
    parts = dotted.split(".")
    return [".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]


class _Listed:
    """The tensors in a value by dotted name, and beside them the plain values."""

    def __init__(self, root: Any, length_limit: int) -> None:
        self.tensors: dict[str, TensorInfo] = {}
        self.values: dict[str, Any] = {}
        self.left = length_limit
        self._walk(root, "", 0)

    def _walk(self, value: Any, name: str, depth: int) -> None:
        if isinstance(value, TensorInfo):
            if name in self.tensors:
                raise FormatError(f"two tensors have the name {brief(name)}")
            self.tensors[name] = value
        elif isinstance(value, PLAIN) or (isinstance(value, list | tuple) and self._all_plain(value)):
            self.values[name] = value
        elif isinstance(value, dict | list | tuple):
            if depth == DEPTH_LIMIT:
                raise FormatError(f"containers nested more than {DEPTH_LIMIT} deep")
            for key, item in _items(value):
                below = f"{name}.{key}" if depth else str(key)
                self._spend(len(below) + 1)
                self._walk(item, below, depth + 1)

    def _all_plain(self, items: list[Any] | tuple[Any, ...]) -> bool:
        self._spend(len(items))
        return all(isinstance(item, PLAIN) for item in items)

    def _spend(self, length: int) -> None:
        """Raises FormatError where the same containers come again and again, under ever more names."""
        self.left -= length
        if self.left < 0:
            raise FormatError("the names of all tensors are longer than the file that they are from")


# -- the public face


class PthTensors:
    """The tensors of a .pth file by dotted name, each read when it is asked for. `values` holds the plain values beside them.

    Source: candle-core/src/pickle.rs, PthTensors (which reads the zip format and contiguous tensors only).
    """

    def __init__(self, parts: Parts, key: str | None) -> None:
        listed = _Listed(_below(parts.root, key), NAMES_RATIO * parts.pickle_length + 1024)
        self._infos, self.values = listed.tensors, listed.values
        self._storages, self._order = parts.storages, parts.order
        self._arrays: weakref.WeakValueDictionary[tuple[str, np.dtype[Any]], Array] = weakref.WeakValueDictionary()
        for name, info in {} if parts.refused else self._infos.items():
            self._check(name, info)

    @classmethod
    def new(cls, path: PathLike, key: str | None = None) -> PthTensors:
        """A file's tensors, or those below this key, which may be dotted.

        Raises: Io; FormatError for a damaged file, for one that asks for anything that could run, and for `key … not found`.
        """
        with _named(path):
            parts = take_apart(path)
            if parts.refused:
                raise _refusal(parts.refused)
            return cls(parts, key)

    def names(self) -> list[str]:
        """The names, in the file's order."""
        return list(self._infos)

    def tensor_infos(self) -> dict[str, TensorInfo]:
        """What each tensor is; nothing is read yet."""
        return dict(self._infos)

    def get(self, name: str) -> Tensor | None:
        """The tensor with this name, None where there is none. Tensors of one storage share it, and keep their strides.

        Raises: FormatError `unsupported storage type …` for numbers that cafe has no dtype for.
        """
        info = self._infos.get(name)
        return None if info is None else Tensor.from_numpy(self._array(info))

    def _check(self, name: str, info: TensorInfo) -> None:
        """Raises FormatError for a tensor that is larger than its storage, or has none."""
        if info.storage not in self._storages:
            raise FormatError(f"tensor {brief(name)} lies in storage {brief(info.storage)}, which the file does not hold")
        end = info.offset + info.span if info.span else 0
        if end * info.stored.itemsize > len(self._storages[info.storage]):
            raise FormatError(
                f"tensor {brief(name)} ends at number {end} of a storage of {len(self._storages[info.storage])} bytes"
            )

    def _array(self, info: TensorInfo) -> Array:
        flat = self._storage(info)
        offset, stride = (info.offset, tuple(step * flat.itemsize for step in info.stride)) if info.span else (0, None)
        try:
            return np.ndarray(info.shape, flat.dtype, flat, offset * flat.itemsize, stride)
        except (ValueError, OverflowError) as error:  # more dims than NumPy has, or (0, 2**62)
            raise FormatError(f"shape {brief(info.shape)}: {error}") from error

    def _storage(self, info: TensorInfo) -> Array:
        """All numbers of a storage; once, as long as a tensor needs them."""
        place = (info.storage, info.stored)
        flat = self._arrays.get(place)
        if flat is None:
            if info.dtype is None:
                raise FormatError(f"unsupported storage type {info.type}").help("cafe has no dtype that holds all its values")
            view = self._storages[info.storage]
            flat = self._arrays[place] = taken(view, info.stored, self._order)
        return flat


@contextlib.contextmanager
def _named(path: PathLike) -> Iterator[None]:
    """Adds to a FormatError in which file it is."""
    try:
        yield
    except FormatError as error:
        error.add_note(f"in {path}")
        raise


def _refusal(refused: tuple[str, ...]) -> FormatError:
    error = FormatError(f"the file asks for `{brief(refused[0])}`, which is refused: tensors are read, nothing is run")
    if len(refused) > 1:
        error.add_note("refused, too: " + ", ".join(map(brief, refused[1:10])) + (" …" if len(refused) > 10 else ""))
    if any(name.startswith("__torch__") for name in refused):
        return error.help("this is a TorchScript archive; in PyTorch, save the `state_dict()` of what `torch.jit.load` gives")
    return error.help("in PyTorch, save the model's `state_dict()`: it holds tensors alone")


def survey(path: PathLike) -> tuple[PthTensors, tuple[str, ...]]:
    """What a file's tensors are, and the names that it asks for and is refused; of a refused file no numbers are read.

    Raises: Io; FormatError for a damaged file.
    """
    with _named(path):
        parts = take_apart(path)
        return PthTensors(parts, None), parts.refused


def read_all(path: PathLike, device: Device | None = None) -> list[tuple[str, Tensor]]:
    """Names and tensors of a .pth file, in its order.

    Raises: Io; FormatError.
    Source: candle-core/src/pickle.rs, read_all.
    """
    return read_all_with_key(path, None, device)


def read_all_with_key(path: PathLike, key: str | None, device: Device | None = None) -> list[tuple[str, Tensor]]:
    """Names and tensors below this key; errors as `read_all`, and FormatError `key … not found`.

    Source: candle-core/src/pickle.rs, read_all_with_key.
    """
    check_device(device)
    file = PthTensors.new(path, key)
    return [(name, Tensor.from_numpy(file._array(info))) for name, info in file.tensor_infos().items()]
