"""What every test of C kernels needs: other numbers of threads, other instruction sets, arrays among poison."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cafe
from cafe.dtype import Array
from cafe.kernels import _ffi

FLOATS = (np.float32, np.float64)
LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67)  # around every instance's vectors
needs_c = pytest.mark.skipif(_ffi.lib is None, reason="no extension in force")
each_isa = pytest.mark.parametrize("isa", [name for name in _ffi.isas() if name != _ffi.isa()] if "CAFE_ISA" not in os.environ else [])


def rerun(file: str, isa: str) -> None:
    """Runs a file of tests under another instruction set, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", file]
    names = {**os.environ, "CAFE_ISA": isa}
    done = subprocess.run(command, cwd=Path(__file__).parent.parent, env=names, capture_output=True, encoding="utf8")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@contextmanager
def _set(read: Callable[[], Any], write: Callable[[Any], None], value: Any) -> Iterator[None]:
    """Has a setting that value inside."""
    before = read()
    write(value)
    try:
        yield
    finally:
        write(before)


def threads(n: int) -> AbstractContextManager[None]:
    """Has the kernels use n threads inside."""
    return _set(_ffi.num_threads, _ffi.set_num_threads, n)


def products_by(name: str) -> AbstractContextManager[None]:
    """Has products of matrices go this way inside."""
    return _set(cafe.get_matmul_algorithm, cafe.set_matmul_algorithm, name)


def as_bytes(value: Any) -> list[bytes]:
    """The bits of an array, or of the arrays in a tuple."""
    return [b for v in value for b in as_bytes(v)] if isinstance(value, tuple) else [np.asarray(value).tobytes()]


def same_on_threads(compute: Callable[[], Any]) -> None:
    """Raises AssertionError unless 1, 2, 3 and 8 threads give the same bits."""
    with threads(1):
        alone = as_bytes(compute())
    for n in (2, 3, 8):
        with threads(n):
            assert as_bytes(compute()) == alone, f"{n} threads"


def assert_within(got: Array, wanted: Array, ulps: float) -> None:
    """Raises AssertionError unless got is within so many ulps of the larger of 1 and wanted's largest element, with NaN where it is NaN."""
    assert got.shape == wanted.shape
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    ends = ~np.isfinite(wanted)
    assert np.array_equal(got[ends & ~np.isnan(wanted)], wanted[ends & ~np.isnan(wanted)])
    if np.any(~ends):
        scale = max(1.0, float(np.abs(wanted[~ends]).max()))
        error = float(np.abs(got[~ends].astype(np.float64) - wanted[~ends]).max())
        bound = ulps * float(np.finfo(got.dtype).eps) * scale
        assert error <= bound, f"{error:.3g} is more than {bound:.3g}"
