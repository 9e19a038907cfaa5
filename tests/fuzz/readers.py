"""Changed and invented files for every reader, as many as one likes: each must be read or refused with an error of cafe's.

    python tests/fuzz/readers.py --count 100000                 # for each reader
    python tests/fuzz/readers.py --count 100000 pth gguf --seed 7

An input that takes more than ten seconds, more than 2 GB, or another exception is kept in the current folder and ends the run.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import pathlib
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

import pickles  # noqa: E402
import test_io_gguf  # noqa: E402
from mutating import mutated  # noqa: E402

from cafe import Tensor  # noqa: E402
from cafe.errors import Error  # noqa: E402
from cafe.io import gguf, npy, pth, safetensors  # noqa: E402
from cafe.io.unpickle import _ACTIONS, _OPCODES  # noqa: E402
from cafe.tools.inspect import inspect  # noqa: E402

Read = Callable[[pathlib.Path], object]
MEMORY, SECONDS = 2 << 30, 10


# -- what is read of a file


def read_safetensors(path: pathlib.Path) -> None:
    for _, view in safetensors.MmapedSafetensors.new(path).tensors():
        with contextlib.suppress(Error):
            view.load()


def read_npz(path: pathlib.Path) -> None:
    npy.read_npz(path, max_bytes=1 << 24)


def read_pth(path: pathlib.Path) -> None:
    tensors, refused = pth.survey(path)
    for name, info in tensors.tensor_infos().items():
        if info.dtype is not None and not refused:
            tensors.get(name)


def read_gguf(path: pathlib.Path) -> None:
    file = gguf.GgufFile.new(path)
    for key in file.metadata:
        with contextlib.suppress(Error):
            file.metadata[key]
    for info in file.tensor_infos().values():
        with contextlib.suppress(Error):
            info.load()


def look(path: pathlib.Path) -> None:
    found = inspect(path)
    str(found)
    found.to_json()


# -- what files there are


def in_memory(write: Callable[[pathlib.Path], object]) -> bytes:
    """The bytes of a file that is written to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "f"
        write(path)
        return path.read_bytes()


SOME = {"a.weight": Tensor([[1.0, 2.0], [3.0, 4.0]]), "b": Tensor([1, 2, 3]), "empty": Tensor.zeros((0, 2))}
TRANSPOSED = pickles.tensor(pickles.storage("0", 6), 1, (2, 2), (1, 2))
BODY = pickles.dict_of({"w": pickles.floats("0", 2, 3), "n": pickles.plain([1, "a", None, 2.5]), "t": TRANSPOSED})
NUMBERS = {"0": np.arange(6, dtype="<f4").tobytes()}


def seeds_safetensors() -> list[bytes]:
    return [in_memory(lambda path: safetensors.save(SOME, path, {"k": "v"}))]


def seeds_npz() -> list[bytes]:
    packed = io.BytesIO()
    np.savez_compressed(packed, a=np.arange(6).reshape(2, 3), b=np.asfortranarray(np.ones((2, 2), ">f4")))
    return [in_memory(lambda path: npy.write_npz(SOME, path)), packed.getvalue()]


def seeds_pth() -> list[bytes]:
    golden = [(TESTS / "golden" / f"weights_{form}.pth").read_bytes() for form in ("zip", "legacy")]
    data = pickles.program(BODY)
    return [in_memory(lambda path: pickles.archive(path, data, NUMBERS)), *golden, pickles.legacy(data, NUMBERS)]


def seeds_gguf() -> list[bytes]:
    packed = test_io_gguf.file_of({"k": test_io_gguf.KEYS["arrays"]}, [test_io_gguf.entry("a", (256,), 12, 0)], bytes(144))
    return [test_io_gguf.mixed(), packed]


def invented(count: int, seed: int) -> Iterator[bytes]:
    """Archives whose pickles are op-codes in any order, some with arguments that make sense."""
    rng = np.random.default_rng(seed)
    words = [bytes(code) for code in _OPCODES if _OPCODES[code].name in _ACTIONS]
    phrases = [pickles.floats("0", 2), pickles.storage("0", 2), pickles.plain("w"), pickles.plain((1, 2)), pickles.plain(3)]
    phrases += [pickles.named("torch._utils", "_rebuild_tensor_v2"), pickles.named("os", "system"), b"q\x01", b"h\x01"]
    phrases += [b"}", b"]", b"(", b"u", b"R", b"Q", b"t", b"s", b"a", b"e"]
    for _ in range(count):
        chosen = [phrases if rng.random() < 0.8 else words for _ in range(int(rng.integers(1, 40)))]
        parts = [some[int(rng.integers(len(some)))] for some in chosen]
        yield pickles.legacy(pickles.program(b"".join(parts)), {"0": bytes(8)})


READERS: dict[str, tuple[Read, Callable[[int, int], Iterator[bytes]]]] = {
    "safetensors": (read_safetensors, lambda count, seed: mutated(seeds_safetensors(), count, seed, lambda data: None)),
    "npz": (read_npz, lambda count, seed: mutated(seeds_npz(), count, seed, lambda data: None)),
    "pth": (read_pth, lambda count, seed: mutated(seeds_pth(), count, seed, lambda data: None)),
    "pickle": (read_pth, invented),
    "gguf": (read_gguf, lambda count, seed: mutated(seeds_gguf(), count, seed, lambda data: None)),
    "inspect": (
        look,
        lambda count, seed: mutated(seeds_safetensors() + seeds_npz() + seeds_pth() + seeds_gguf(), count, seed, lambda data: None),
    ),
}


def too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} seconds")


def fuzz(name: str, count: int, seed: int, folder: pathlib.Path) -> str:
    """Runs a reader over that many inputs; what became of them."""
    read, inputs = READERS[name]
    path, taken, start = folder / "f", 0, time.perf_counter()
    for data in inputs(count, seed):
        path.write_bytes(data)
        signal.alarm(SECONDS)
        try:
            read(path)
            taken += 1
        except Error:
            pass
        except BaseException:
            pathlib.Path(f"fuzz_{name}_{seed}.bin").write_bytes(data)
            raise
        finally:
            signal.alarm(0)
    return f"{name}: {count} inputs, {taken} taken, {count - taken} refused, none else, in {time.perf_counter() - start:.0f} s"


def main() -> None:
    """Runs the readers that are named, or all."""
    parser = argparse.ArgumentParser(description="Changed and invented files for every reader.")
    parser.add_argument("readers", nargs="*", default=list(READERS), metavar="READER", help=", ".join(READERS))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, too_long)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None) as folder:
        for name in options.readers:
            print(fuzz(name, options.count, options.seed, pathlib.Path(folder)), flush=True)


if __name__ == "__main__":
    main()
