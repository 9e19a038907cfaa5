"""The physical limit beside a row: the same arithmetic in registers, or the same bytes as a stream (csrc/probe.c)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .row import Array, Call, Flops, Limit, Stream

LEAST_ITEMS = 16  # of arithmetic in a call: a call of its own costs a microsecond, which tiny rows must not have in their limit
CHUNK = 2048  # floats a chunk of the stream reads and writes together: it stays in the nearest cache


class NoProbe(Exception):
    """There is no extension to measure with."""


def make(ffi: Any, limit: Limit) -> tuple[Call, float]:
    """A call to time, and what part of its time the row's work is. `ffi`: the module cafe.kernels._ffi.

    Raises: NoProbe without the C extension.
    """
    if ffi.lib is None:
        raise NoProbe("the C extension was not built")
    return _fma(ffi, limit) if isinstance(limit, Flops) else (_stream(ffi, limit), 1.0)


def _fma(ffi: Any, limit: Flops) -> tuple[Call, float]:
    item = 2 * ffi.lib.CAFE_PROBE_FMAS
    items = max(LEAST_ITEMS, round(limit.count / item))
    f = ffi.kernel("probe_fma")[ffi.F32 if limit.dtype == "f32" else ffi.F64]
    y = np.zeros(items, np.float32 if limit.dtype == "f32" else np.float64)
    return lambda: f(y, items), limit.count / (items * item)


def _stream(ffi: Any, limit: Stream) -> Call:
    """The faster of plain stores and stores past the caches."""
    floats = limit.work / 4
    chunks = max(1, round(floats / CHUNK))
    reads, writes = (max(64 if part else 0, round(part / 4 / chunks / 64) * 64) for part in (limit.read, limit.written))
    x, sums = _aligned(chunks * reads), np.zeros(chunks, np.float32)
    y = x if limit.in_place else _aligned(max(64, chunks * writes))
    calls = [_bound(ffi, name, y, sums, x, chunks, reads, writes) for name in ("probe_store", "probe_stream")]
    return min(calls, key=_best) if writes else calls[0]


def _bound(ffi: Any, name: str, y: Array, sums: Array, x: Array, *sizes: int) -> Call:
    f = ffi.kernel(name)[ffi.F32]
    return lambda: f(y, sums, x, *sizes)


def _best(call: Call) -> float:
    """The shortest of a few calls, to choose between two ways; what is reported is measured in turn with the others."""
    def once(_: Any) -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    call()
    return min(map(once, range(7)))


def _aligned(n: int) -> Array:
    """n floats, written once (so that their pages are there), on a 64-byte bound."""
    space = np.ones(n + 16, np.float32)
    skip = -space.ctypes.data % 64 // 4
    return space[skip : skip + n]
