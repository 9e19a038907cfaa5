"""Hostile files of every format, megabytes long: each is refused, nothing runs, and reading takes less than twice the file's size.

A child process reads them all and says of each by how much its memory grew at most.
"""

from __future__ import annotations

import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable

import pytest
import test_io_gguf
import test_io_safetensors
from pickles import archive, dict_of, floats, legacy, program
from test_io_pth import attacks

import cafe

SIZE = 8 << 20
CAFE = str(pathlib.Path(cafe.__file__).resolve().parent.parent)

PROGRAM = """
import json, sys
from cafe import Error, Tensor, nn
from cafe.io import gguf, npy, pth, safetensors
from cafe.tools.inspect import inspect

READERS = {"pth": pth.read_all, "safetensors": safetensors.load, "gguf": gguf.load, "npz": npy.read_npz}

def attempt(read, path):
    try:
        return read(path)
    except Error as error:
        return f"{type(error).__name__}: {error}"

def taken(read):
    return lambda path: f"taken: {read(path)}"

def told(path):
    found = inspect(path)
    problems = [entry.problem for entry in found.entries if entry.problem]
    return f"refused: {found.refused} {problems}" if found.refused or problems else "taken"

def peak():  # since the last `forget`; ru_maxrss would begin with what the parent had
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

def forget():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return peak()

safetensors.save({"a": Tensor([1.0])}, sys.argv[1] + "/first.safetensors")
attempt(told, sys.argv[1] + "/first.safetensors")
for path in sys.argv[2:]:
    before = forget()
    read = READERS[path.rpartition(".")[2]]
    print(json.dumps([path, attempt(taken(read), path), attempt(told, path), peak() - before]))
"""


def hostile_pth(folder: pathlib.Path) -> None:
    """Each attack on pickles in a zip file and in the old format, beside a large tensor; and a tar archive."""
    for i, (data, _) in enumerate(attacks(str(folder / "sign")).values()):
        archive(folder / f"{i}.zip.pth", data, {"0": bytes(SIZE)})
        (folder / f"{i}.legacy.pth").write_bytes(legacy(data, {"0": bytes(SIZE)}))
    with tarfile.open(folder / "tar.pth", "w") as file:
        member = tarfile.TarInfo("storages")
        member.size = SIZE
        file.addfile(member, io.BytesIO(bytes(SIZE)))


def hostile_safetensors(folder: pathlib.Path) -> None:
    """Every header that is none, before megabytes; and names by the thousand whose last one is wrong."""
    for i, (data, _) in enumerate(test_io_safetensors.BAD.values()):
        (folder / f"{i}.safetensors").write_bytes(data + bytes(SIZE))
    names = {f"{i}": test_io_safetensors.entry("U8", [800], [800 * i, 800 * i + 800]) for i in range(10_000)}
    names["9999"]["shape"] = [801]
    (folder / "names.safetensors").write_bytes(test_io_safetensors.file_of(names, bytes(8_000_000)))


def hostile_gguf(folder: pathlib.Path) -> None:
    """Counts of what is not there, and zeros that could be read as tensors without a name."""
    huge = {name: data for name, (data, _) in test_io_gguf.CASES.items() if name.startswith("huge")}
    assert len(huge) > 6
    for i, data in enumerate(huge.values()):
        (folder / f"{i}.gguf").write_bytes(data + bytes(SIZE))
    (folder / "zeros.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, SIZE // 24, 0) + bytes(SIZE))


def bomb(members: int) -> bytes:
    """A zip file of SIZE bytes or so; each of its members unpacks to a thousand times its length."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    count = SIZE // members // len(block)
    data, buffer = block * count + packer.flush(), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for i in range(members):
            file.writestr(f"archive/data/{i}.npy", data)
    announced = struct.pack("<HHHLLL", zipfile.ZIP_DEFLATED, 0, 33, 0, len(data), min(count << 20, (1 << 32) - 2))
    stored = struct.pack("<LL", len(data), len(data))
    whole = buffer.getvalue()
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        parts = whole.split(mark)
        assert len(parts) == members + 1 and stored in parts[1]
        whole = parts[0] + b"".join(mark + part[: at - 4] + announced + part[at - 4 + len(announced) :] for part in parts[1:])
    return whole


def hostile_zip(folder: pathlib.Path) -> None:
    """A bomb in one piece and one in many, for NumPy's archives and for PyTorch's."""
    for members in (1, 50):
        for suffix in ("npz", "pth"):
            (folder / f"{members}.{suffix}").write_bytes(bomb(members))


measured = pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="how much memory was used, Linux says in /proc")


@measured
@pytest.mark.parametrize("write", [hostile_pth, hostile_safetensors, hostile_gguf, hostile_zip])
def test_hostile_files_are_refused_in_little_memory(tmp_path: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
    write(tmp_path)
    paths = sorted(tmp_path.iterdir())
    assert all(path.stat().st_size >= SIZE - 400_000 for path in paths)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), *map(str, paths)]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": CAFE}, capture_output=True, encoding="utf8")
    assert ran.returncode == 0, ran.stderr
    results = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(results) == len(paths) > 3
    for path, read, told, grown in results:
        assert not read.startswith("taken") and not told.startswith("taken"), (path, read, told)
        assert grown < 2 * os.path.getsize(path), (path, grown)
    assert not (tmp_path / "sign").exists()


@measured
def test_the_same_file_without_the_attack_is_read_and_its_memory_is_seen(tmp_path: pathlib.Path) -> None:
    archive(tmp_path / "f.pth", program(dict_of({"w": floats("0", SIZE // 4)})), {"0": bytes(SIZE)})
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(tmp_path / "f.pth")]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": CAFE}, capture_output=True, encoding="utf8")
    _, read, told, grown = json.loads(ran.stdout)
    assert read.startswith("taken") and told == "taken" and grown > SIZE // 2
