"""What is in force here: the backend and why, instruction set, threads, compiler and flags, versions (floor 2: it looks at the kernels)."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from cafe.kernels import _ffi

__version__ = "0.1.0"


@dataclass(frozen=True)
class Config:
    """A look at the configuration; `str` of it is what `show_config` prints.

    backend: "c" or "numpy", and reason: why.
    isa: the instruction set of the C kernels; isas: all that `CAFE_ISA` can name here.
    threads: how many the C kernels use.
    build: what was found when the extension was built (compiler, flags, openmp, isas); empty without one.
    versions: of Python and of what computes.
    """

    version: str
    backend: str
    reason: str
    isa: str
    isas: tuple[str, ...]
    threads: int
    build: dict[str, str]
    versions: dict[str, str]
    machine: str

    def __str__(self) -> str:
        rows = {"kernels": f"{self.backend}: {self.reason}"}
        if self.backend == "c":
            rows["instructions"] = f"{self.isa} (CAFE_ISA chooses among {', '.join(self.isas)})"
            rows["threads"] = str(self.threads)
            rows |= {name: self.build[name] for name in ("compiler", "flags", "openmp") if name in self.build}
        rows |= {"machine": self.machine, "versions": ", ".join(f"{name} {v}" for name, v in self.versions.items())}
        return "\n".join([f"cafe {self.version}", *(f"  {name:<12}  {row}" for name, row in rows.items())])


def current() -> Config:
    """The configuration of this process.

    >>> current().backend in ("c", "numpy")
    True
    """
    return Config(
        version=__version__,
        backend=_ffi.BACKEND,
        reason=_ffi.REASON,
        isa=_ffi.isa(),
        isas=tuple(_ffi.isas()),
        threads=_ffi.num_threads(),
        build=_ffi.build_info(),
        versions={"Python": platform.python_version(), "NumPy": np.__version__, "ml_dtypes": ml_dtypes.__version__},
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
    )


def get_num_threads() -> int:
    """How many threads the C kernels use: `OMP_NUM_THREADS` at the start, or the CPUs this process may use; 1 on NumPy.

    >>> import cafe
    >>> cafe.get_num_threads() >= 1
    True
    """
    return _ffi.num_threads()


def set_num_threads(n: int) -> None:
    """Has the C kernels use n threads from now on, in the whole process. Results have the same bits on any number of them.

    More threads than CPUs only cost time. In a child after a fork everything runs on one thread, whatever is set.

    Raises: Error for n < 1.

    >>> import cafe
    >>> before = cafe.get_num_threads()
    >>> cafe.set_num_threads(1)
    >>> cafe.set_num_threads(before)
    """
    _ffi.set_num_threads(n)


def get_matmul_algorithm() -> str:
    """The way that products of F32 go: what `set_matmul_algorithm` has set; `fma` without the C kernels, whatever was.

    >>> import cafe
    >>> cafe.get_matmul_algorithm() in ("auto", "fma", "split")
    True
    """
    return _ffi.matmul_algorithm()


def set_matmul_algorithm(name: str) -> None:
    """Has products of F32, of matrices and of linear layers, go this way from here on, in the whole process.

    name: one of

    - `fma`: an element is a sum of chains of fused multiply-adds.
    - `split`: where k and n of `(m, k) × (k, n)` are 64 or more, elements of both sides are split into three bfloat16 each, exactly, and
      the six largest products of these are summed in F32: CPUs with AMX do that in hardware. What is left out is at most 2⁻²³ of each
      |a b|, a tenth of it as a rule; the error (root mean square) is about half of that of `fma`. Many rows take 0.6 to 0.7 of the time,
      few rows longer, up to four and a half times (two rows, k = n = 512). Without AMX it is slow, and there for comparison.
    - `auto`, the default: with AMX `split` where B has 196,608 elements or more, but for layers (`nn.Linear` and its input's gradient),
      whose batch may be one row; else, and always without AMX, `fma`.

    The choice never looks at m, so a row has the same bits alone and among others. Where pieces would lose something `split` computes a
    row by `fma` again: operands that are not finite, results that overflow, rows or columns whose largest is below 2⁻⁸⁰, or two of them
    that multiply to less than 2⁻⁹⁰. Beside a larger one in its row, an element below 2⁻¹⁰² may be off by 2⁻¹²⁶.

    F16 and BF16 are multiplied as F32 and follow. Convolutions, attention and what a recurrent layer does at a step keep to `fma`. Without
    the C kernels there is one way, and this changes nothing.

    On a CPU with AMX (`cafe.show_config()` says `amx`) `split` trains layers that see many rows faster than `auto`.

    Raises: Error for an unknown name.

    >>> import cafe
    >>> before = cafe.get_matmul_algorithm()
    >>> cafe.set_matmul_algorithm("fma")
    >>> cafe.get_matmul_algorithm()
    'fma'
    >>> cafe.set_matmul_algorithm(before)
    """
    _ffi.set_matmul_algorithm(name)


def show_config() -> None:
    """Prints the configuration: what to look at first when numbers or times surprise, and what a report of a fault needs.

    `CAFE_KERNELS=c|numpy` chooses the backend, `CAFE_ISA` the instruction set, `OMP_NUM_THREADS` or `cafe.set_num_threads` the threads.
    """
    print(current())
