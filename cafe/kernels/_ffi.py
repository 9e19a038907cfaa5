"""The door to the C kernels: which backend runs, how arrays get in, status → error (floor 1).

The only file that touches the extension. A family asks once, when it is imported, and looks the function up by dtype in each call:

    _SOFTMAX = _ffi.kernel("softmax")                  # {float32: lib.cafe_softmax_f32, float64: …}, or {} without C
    …
    f = _SOFTMAX.get(x.dtype)
    if f is None:
        return twins.softmax(x, dim)
    f(y, x, outer, n, inner)

C functions take arrays where the API has a pointer (csrc/arrays.h). One that is not C-contiguous is refused (ValueError), and so is one
whose elements are not the pointer's (TypeError), so a wrong array cannot be read as something else.

Environment: `CAFE_KERNELS=numpy` runs everything on the twins, `CAFE_KERNELS=c` demands the extension; `CAFE_ISA` names the
instruction set (`isas()` says which there are).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cafe.dtype import Array, DType
from cafe.errors import Error

_NAME = "cafe.kernels._cafe"
_AGAIN = "install a C compiler if there is none, and install cafe again: pip install -e ."
_REBUILD = "build it again: python setup.py build_ext --inplace, or pip install -e ."


def _import_extension() -> tuple[Any, str]:
    """The extension, or None and why there is none that can be used."""
    try:
        found = importlib.import_module(_NAME)
    except ImportError as missing:
        return None, f"{missing}; {_AGAIN}"
    return (None, f"it was built from other headers than csrc has; {_REBUILD}") if _is_stale(found) else (found, "")


def _is_stale(extension: Any) -> bool:
    """Whether this is a source tree whose API has changed since the extension was built: its functions may take other arguments."""
    csrc = Path(__file__).parents[2] / "csrc"
    headers = sorted((csrc / "api").glob("*.h"))
    if not headers:
        return False
    text = b"".join(path.read_bytes() for path in [*headers, *(csrc / name for name in ("arrays.h", "door.c", "tensors.c"))])
    return _info(extension).get("api", "") != hashlib.sha256(text).hexdigest()[:16]


def _info(extension: Any) -> dict[str, str]:
    lines = extension.ffi.string(extension.lib.cafe_build_info()).decode().splitlines()
    return dict(line.split(": ", 1) for line in lines)


_cafe, _missing = _import_extension()

Kernel: TypeAlias = Callable[..., Any]

_MATMUL = ("auto", "fma", "split")  # as csrc/api/layers.h counts them

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
F16, BF16 = DType.F16.numpy, DType.BF16.numpy


def _backend() -> tuple[str, str]:
    """The backend in force, and why."""
    wish = os.environ.get("CAFE_KERNELS", "")
    if wish not in ("", "c", "numpy"):
        raise Error(f"CAFE_KERNELS: expected `c`, `numpy` or nothing, got `{wish}`")
    if wish == "numpy":
        return "numpy", "CAFE_KERNELS=numpy"
    if _cafe is not None:
        return "c", "CAFE_KERNELS=c" if wish else "the extension is there"
    if wish == "c":
        raise Error(f"CAFE_KERNELS=c, but there is no extension: {_missing}")
    if importlib.util.find_spec(_NAME) is not None:  # one was built, so NumPy is not what is expected
        warnings.warn(f"cafe runs on NumPy, slower, as its extension is of no use: {_missing}", RuntimeWarning, stacklevel=2)
    return "numpy", f"there is no extension: {_missing}"


BACKEND, REASON = _backend()
lib: Any = _cafe.lib if BACKEND == "c" else None
ffi: Any = _cafe.ffi if BACKEND == "c" else None
NULL: Any = ffi.NULL if ffi is not None else None


def _pointers() -> dict[np.dtype[Any], Callable[[Array], Any]]:
    # bound like a method: a call of functools.partial takes 25 ns more, and a step makes dozens
    if ffi is None:
        return {}
    return {F32: types.MethodType(ffi.from_buffer, ffi.typeof("float[]")), F64: types.MethodType(ffi.from_buffer, ffi.typeof("double[]"))}


POINTERS = _pointers()
"""By dtype, what makes a pointer of a contiguous array, for lists of them; a single array goes to a kernel as it is. Empty without C."""

_MOST_DIMS = 64
_CORNERS = [(slice(0, 1),) * rank for rank in range(_MOST_DIMS + 1)]


def strided(array: Array) -> Array:
    """What a kernel that walks by strides takes for an array, which may lie anyhow: itself, or its first element, seen as an array."""
    return array if array.flags.c_contiguous else array[_CORNERS[array.ndim]]


def code(name: str) -> int:
    """The constant CAFE_<name> of the API; without the extension a number that nothing takes."""
    return int(getattr(lib, f"CAFE_{name}")) if lib is not None else -1


MAX_DIMS = code("MAX_DIMS")  # axes that C walks by strides
REFUSED = code("REFUSED")
SIZES = (1, 2, 4, 8)  # bytes of the elements that C moves, whatever they are


def _id_kinds() -> dict[np.dtype[Any], int]:
    kinds = {np.uint8: "ID_U8", np.uint32: "ID_U32", np.int16: "ID_I16", np.int32: "ID_I32", np.int64: "ID_I64"}
    return {np.dtype(t): code(name) for t, name in kinds.items()} if lib is not None else {}


HALF_KINDS = {F16: code("KIND_F16"), BF16: code("KIND_BF16")} if lib is not None else {}
FLOAT_KINDS = {**HALF_KINDS, F32: code("KIND_F32"), F64: code("KIND_F64")} if lib is not None else {}
ID_KINDS = _id_kinds()  # how C is told the type of ids; empty without the extension


def ready(*arrays: Array) -> bool:
    """Whether C can take these together: there is an extension, and all are F32 or all F64."""
    first = arrays[0].dtype
    return lib is not None and (first is F32 or first is F64) and all(a.dtype is first for a in arrays)


def kernel(name: str) -> dict[np.dtype[Any], Kernel]:
    """`cafe_<name>_f32` and `cafe_<name>_f64` by dtype; empty without the extension."""
    return {F32: getattr(lib, f"cafe_{name}_f32"), F64: getattr(lib, f"cafe_{name}_f64")} if lib is not None else {}


def of_halves(name: str) -> dict[np.dtype[Any], Kernel]:
    """The same for `cafe_<name>_f16` and `cafe_<name>_bf16`."""
    return {F16: getattr(lib, f"cafe_{name}_f16"), BF16: getattr(lib, f"cafe_{name}_bf16")} if lib is not None else {}


def of_small(name: str) -> dict[np.dtype[Any], Kernel]:
    """`cafe_<name>` by dtype for the elements of one and two bytes, whose size it takes first."""
    sizes: dict[np.dtype[Any], int] = {np.dtype(np.uint8): 1, np.dtype(np.int16): 2, F16: 2, BF16: 2}
    return {dtype: functools.partial(getattr(lib, f"cafe_{name}"), size) for dtype, size in sizes.items()} if lib is not None else {}


def of_integers(name: str) -> dict[np.dtype[Any], Kernel]:
    """`cafe_integers_<name>` by dtype, whose kind it takes first."""
    return {dtype: functools.partial(getattr(lib, f"cafe_integers_{name}"), kind) for dtype, kind in ID_KINDS.items()}


def door(name: str) -> Kernel:
    """The kernel of that name that takes arrays as they are and gives a new one (csrc/door.c): it checks and allocates as well, where that
    would cost more than the work. It gives None for what it does not take; without the extension for everything.
    """
    return getattr(_cafe, name) if lib is not None else _nothing


def _nothing(*_: Any) -> None:
    pass


def check(status: int) -> None:
    """Raises what a kernel's status says.

    Raises: MemoryError when there was no memory for scratch.
    """
    if status == 0:
        return
    if status == lib.CAFE_NO_MEMORY:
        raise MemoryError("no memory for a kernel's scratch")
    raise Error(f"a kernel gave status {status}")


def build_info() -> dict[str, str]:
    """What was found when the extension was built: compiler, flags, openmp, isas, api; empty without the extension."""
    return _info(_cafe) if lib is not None else {}


def isa() -> str:
    """The instruction set in use; "numpy" without the extension."""
    return str(ffi.string(lib.cafe_isa()).decode()) if lib is not None else "numpy"


def isas() -> list[str]:
    """What CAFE_ISA can name here."""
    return str(ffi.string(lib.cafe_isas()).decode()).split() if lib is not None else []


def num_threads() -> int:
    """How many threads the C kernels use: OMP_NUM_THREADS at the start, or the CPUs there are; 1 without the extension."""
    return int(lib.cafe_get_num_threads()) if lib is not None else 1


def set_num_threads(n: int) -> None:
    """Has the C kernels use n threads. Results do not depend on it.

    Raises: Error for n < 1.
    """
    if n < 1:
        raise Error(f"set_num_threads: expected at least 1, got {n}")
    if lib is not None:
        lib.cafe_set_num_threads(n)


def matmul_algorithm() -> str:
    """What `set_matmul_algorithm` has set; `fma` without the extension, whatever was."""
    return _MATMUL[lib.cafe_get_matmul_algorithm()] if lib is not None else "fma"


def set_matmul_algorithm(name: str) -> None:
    """Has products of F32 go this way, in the whole process.

    Raises: Error for an unknown name.
    """
    if name not in _MATMUL:
        raise Error(f"set_matmul_algorithm: unknown algorithm `{name}`").help("one of " + ", ".join(_MATMUL))
    if lib is not None:
        lib.cafe_set_matmul_algorithm(_MATMUL.index(name))


def _select_isa() -> None:
    """Fills the table of kernels. Raises Error when CAFE_ISA names what is not here."""
    wish = os.environ.get("CAFE_ISA", "")
    if lib.cafe_select_isa(wish.encode()) != 0:
        raise Error(f"CAFE_ISA: `{wish}` was not built or this CPU lacks it").help("one of " + ", ".join(isas()))


if lib is not None:
    _select_isa()
