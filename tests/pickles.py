"""PyTorch files by hand, opcode by opcode, for the reader's tests: what no PyTorch would write, too."""

from __future__ import annotations

import pathlib
import pickle
import struct
import zipfile
from collections.abc import Mapping

MAGIC = 0x1950A86A20F9469CFC6C


def named(module: str, name: str) -> bytes:
    """GLOBAL."""
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def plain(value: object) -> bytes:
    """The opcodes that push a plain value, protocol 2, without PROTO, STOP and memo."""
    if isinstance(value, tuple):
        return b"(" + b"".join(map(plain, value)) + b"t"
    return pickle.dumps(value, 2)[2:-1]


def storage(key: str, count: int, kind: str = "FloatStorage", module: str = "torch", location: str = "cpu", more: bytes = b"") -> bytes:
    """A persistent id; `more` is what the old format adds."""
    return b"(" + plain("storage") + named(module, kind) + plain(key) + plain(location) + plain(count) + more + b"tQ"


def tensor(of: bytes, offset: object, size: object, stride: object, *more: bytes, function: str = "_rebuild_tensor_v2") -> bytes:
    """A call that makes a tensor; `more` are arguments after requires_grad and hooks, as opcodes."""
    hooks = named("collections", "OrderedDict") + b")R"
    ends = plain(False) + hooks + b"".join(more)
    return named("torch._utils", function) + b"(" + of + plain(offset) + plain(size) + plain(stride) + ends + b"tR"


def floats(key: str = "0", *size: int) -> bytes:
    """A row-major tensor that fills its storage."""
    stride, count = [], 1
    for n in reversed(size):
        stride.insert(0, count)
        count *= n
    return tensor(storage(key, count), 0, tuple(size), tuple(stride))


def dict_of(items: Mapping[str, bytes]) -> bytes:
    """A dict of what these opcodes push."""
    return b"}(" + b"".join(plain(name) + value for name, value in items.items()) + b"u"


def program(body: bytes) -> bytes:
    """PROTO 2 … STOP."""
    return b"\x80\x02" + body + b"."


def archive(path: pathlib.Path, data: bytes, storages: Mapping[str, bytes] | None = None, **more: bytes) -> pathlib.Path:
    """The zip format around a pickle."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", data)
        for key, numbers in (storages or {}).items():
            file.writestr(f"archive/data/{key}", numbers)
        for name, text in more.items():
            file.writestr(f"archive/{name}", text)
    return path


def legacy(data: bytes, storages: Mapping[str, bytes] | None = None, width: int = 4, little_endian: bool = True) -> bytes:
    """The format before zip around a pickle."""
    system = {"protocol_version": 1001, "little_endian": little_endian, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    head = b"".join(pickle.dumps(value, 2) for value in (MAGIC, 1001, system))
    numbers = b"".join(struct.pack("<q", len(n) // width) + n for n in (storages or {}).values())
    return head + data + pickle.dumps(list(storages or {}), 2) + numbers
