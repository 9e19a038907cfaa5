"""What cffi needs: the API (api/*.h without their preprocessor lines) and the list of sources. setup.py does the building."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
MODULE = "cafe.kernels._cafe"


def sources() -> list[Path]:
    """Every C file, the longest compilations first."""
    return sorted(HERE.glob("*.c"), key=lambda path: (not path.name.startswith("isa_"), path.name))


def headers() -> list[Path]:
    """What the C files include."""
    return sorted(p for pattern in ("*.h", "api/*.h", "*.inc", "*.def", "bodies/*.inc") for p in HERE.glob(pattern))


def api_text() -> str:
    """What the headers of the API say, one after another; each can stand alone."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((HERE / "api").glob("*.h")))


def declarations(text: str) -> str:
    """A header's text as cffi's parser wants it: without the lines of the preprocessor."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def api() -> str:
    """A mark of what the API and the files that speak to Python say, compiled in: it tells the Python side of a stale build."""
    text = api_text() + "".join((HERE / name).read_text(encoding="utf-8") for name in ("arrays.h", "door.c", "tensors.c"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_ffi() -> FFI:
    """The builder of `cafe.kernels._cafe`, API mode, out of line."""
    ffi = FFI()
    ffi.cdef(declarations(api_text()))
    ffi.set_source(MODULE, '#include "cafe.h"\n#include "arrays.h"\n#define PyInit__cafe cafe_cffi_module')  # door.c has the module's own
    return ffi
