"""The libraries: which process each gets, with which environment, and how the harness speaks to it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# glibc gives large blocks back to the kernel with every free, and each new one costs a page fault every 4 KiB: PyTorch as users get it
# pays that in every operation with a large result. These keep the memory, so that kernels are compared.
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(256 << 20)}


@dataclass(frozen=True)
class Library:
    """A library as a peer.

    method: the row's method that builds its call; modules: what is imported, the first being what the method gets.
    pause: seconds of rest after its turn, until its idle threads have stopped spinning.
    """

    method: str
    modules: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    affinity: bool = False
    pause: float = 0.020


LIBRARIES = {
    "reference": Library("reference"),
    "probe": Library("probe", ("cafe.kernels._ffi",)),
    "cafe": Library("cafe", ("cafe", "cafe.nn", "cafe.kernels._ffi")),
    "torch": Library("torch", ("torch",)),
    "torch kept": Library("torch", ("torch",), KEPT),
    "torch fused": Library("torch_fused", ("torch",)),
    "numpy": Library("numpy", ("numpy",), pause=0.030),
    "scipy": Library("scipy", ("scipy", "scipy.special", "scipy.linalg"), pause=0.030),
    "jax": Library("jax", ("jax", "jax.numpy", "jax.nn"), affinity=True, pause=0.030),
}
PEERS = {"torch": ("torch", "torch kept", "torch fused"), "numpy": ("numpy",), "scipy": ("scipy",), "jax": ("jax",)}


class Gone(Exception):
    """The process ended or could not start; the text says why."""


class Peer:
    """A library's process."""

    def __init__(self, library: str, threads: int) -> None:
        self.library = library
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  (open as long as the process)
        counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env={**os.environ, **counts, **LIBRARIES[library].environment},
            cwd=Path(__file__).parent.parent,
        )
        self.about = self._read()
        if "absent" in self.about:
            raise Gone(self.about["absent"])

    def ask(self, **message: Any) -> dict[str, Any]:
        """Sends a message and waits for the reply. Raises Gone when the process has ended."""
        assert self.process.stdin is not None
        try:
            print(json.dumps(message), file=self.process.stdin, flush=True)
        except OSError as broken:
            raise self._gone() from broken
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise self._gone()
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _gone(self) -> Gone:
        """Why, from the last line that it said."""
        status = self.process.wait()
        self._said.seek(0)
        last = self._said.read().strip().rpartition("\n")[2]
        return Gone(f"its process ended with status {status}" + (f": {last}" if last else ""))

    def close(self) -> None:
        """Lets the process end, and waits for it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(OSError):  # what could not be written to a process that has ended
            self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self._said.close()
