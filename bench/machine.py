"""What was measured on: processor, caches, kernel, versions of the libraries."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import Any

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_HUGE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile")


def describe() -> dict[str, Any]:
    """The machine, without what could name its owner."""
    info = _cpuinfo()
    flags = info.get("flags", "").split()
    return {
        "cpu": info.get("model name", platform.processor() or platform.machine()),
        "family_model_stepping": "/".join(info.get(key, "?") for key in ("cpu family", "model", "stepping")),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "vector_extensions": [flag for flag in _FLAGS if flag in flags],
        "virtual": "hypervisor" in flags,
        "caches": _caches(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "huge_pages": _HUGE.read_text().strip() if _HUGE.exists() else "unknown",
        "system": f"{platform.system()} {platform.release()}",
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def about(library: str, module: Any) -> dict[str, Any]:
    """A library's version and settings, told by its own process."""
    if library == "cafe":
        version, ffi = importlib.metadata.version("cafe-grad"), sys.modules["cafe.kernels._ffi"]
        return {"version": version, "backend": ffi.BACKEND, "isa": ffi.isa(), "threads": ffi.num_threads(), **ffi.build_info()}
    if library.startswith("torch"):
        return {"version": module.__version__, "threads": module.get_num_threads(), "cpu": module.backends.cpu.get_cpu_capability()}
    return {"version": getattr(module, "__version__", "")}


def _cpuinfo() -> dict[str, str]:
    """The first processor's entries in /proc/cpuinfo; empty elsewhere."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    lines = path.read_text().split("\n\n")[0].splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _caches() -> dict[str, str]:
    """"L1 data" → "48K" and so on."""
    found = {}
    for index in sorted(_CACHES.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        found[f"L{level} {kind.lower()}"] = size
    return found
