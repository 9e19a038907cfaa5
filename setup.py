"""Builds the C kernels (csrc/) into `cafe.kernels._cafe`. The only place with compiler flags.

What a compiler can do is found out by trying: each flag, OpenMP, AVX2 and AVX-512 (in GCC's spelling and in Clang's). What was found
is compiled in, and `cafe.show_config()` prints it. Without a working compiler the installation still succeeds and everything runs on
NumPy, slower. Instruction sets are chosen when the program runs, so there is no -march; results are the same for any number of
threads, so there is no -ffast-math.

While working on csrc/: `python setup.py build_ext --inplace` compiles what changed.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "csrc"))

import build_cffi  # noqa: E402  (lies in csrc, which is no package)

WANTED = ["-O3", "-g0", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden"]
SANITIZED = os.environ.get("CAFE_SANITIZE", "").split()  # the instances that are built with sanitizers, and all else then
SANITIZE = ["-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
SANITIZE_ISA = ["-fno-sanitize=null,object-size,alignment"]  # the instances: minutes for GCC, and ASan sees the first two as well
DEFINES = [("_GNU_SOURCE", "1"), ("_CFFI_NO_LIMITED_API", "1")]  # madvise under -std=c11; NumPy's headers want all of Python's API
SLOWER = {"isa_generic.c": ["-O2"]}  # its arrays in structs cost GCC 46 s at -O3 and 28 s so; it is the last resort anyway
SLOWER_SANITIZED = {"isa_generic.c": ["-O0"]}  # 24 s instead of 88
NOT_SANITIZED = ["-fno-sanitize=all", "-O0"]  # an instance that is linked, but not run: avx2x2 in 14 s instead of about 100
OPENMP = [(["-fopenmp"], ["-fopenmp"]), (["-fopenmp=libomp"], ["-fopenmp=libomp"]), (["-Xpreprocessor", "-fopenmp"], ["-lomp"])]
OPENMP_PROBE = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"
ISA_PROBE = """
#include <immintrin.h>
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("{target}"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("{target}")
#endif
void probe(float *p) {{ {body} }}
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
int main(void) {{ return __builtin_cpu_supports("avx2") ? 0 : 0; }}
"""
ISAS = {
    "avx2": ("avx2,fma,f16c", "_mm256_storeu_ps(p, _mm256_fmadd_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p), _mm256_loadu_ps(p)));"),
    "avx512": ("avx512f,avx512dq,avx512bw,avx512vl", "_mm512_storeu_ps(p, _mm512_scalef_ps(_mm512_loadu_ps(p), _mm512_loadu_ps(p)));"),
    "amx": ("amx-tile,amx-bf16,avx512f", "_tile_dpbf16ps(0, 1, 2); _tile_stored(0, p, syscall(SYS_arch_prctl, 0, 0));"),
}
NO_KERNELS = """
*** cafe: the C kernels were not built: {reason}
*** cafe is installed all the same and runs on NumPy, slower. For the kernels, install a C compiler (GCC 9 or Clang 9, or newer)
*** and install cafe again; `python -c "import cafe; cafe.show_config()"` says which of the two is in use.
"""


@dataclass(frozen=True)
class Found:
    """What the compiler can do."""

    flags: list[str]
    openmp_compile: list[str]
    openmp_link: list[str]
    isas: list[str]

    def config_h(self) -> str:
        """The header that tells csrc/ about it."""
        lines = {
            "CAFE_OPENMP": int(bool(self.openmp_compile)),
            "CAFE_HAVE_AVX2": int("avx2" in self.isas),
            "CAFE_HAVE_AVX512": int("avx512" in self.isas),
            "CAFE_HAVE_AMX": int("amx" in self.isas),
            "CAFE_FLAGS": f'"{" ".join(self.flags)}"',
            "CAFE_OPENMP_FLAGS": f'"{" ".join(self.openmp_compile) or "none"}"',
            "CAFE_ISAS": f'"{" ".join(["generic", *self.isas])}"',
            "CAFE_API": f'"{build_cffi.api()}"',
        }
        return "/* Written by setup.py. */\n" + "".join(f"#define {name} {value}\n" for name, value in lines.items())


class Probe:
    """Tries small programs on a compiler."""

    def __init__(self, compiler: Any, folder: Path) -> None:
        self.compiler, self.folder = compiler, folder
        folder.mkdir(parents=True, exist_ok=True)

    def accepts(self, text: str, flags: list[str], link: list[str]) -> bool:
        """Whether this program compiles without an error and links. What it says on the way is kept off the screen."""
        source = Path(os.path.relpath(self.folder)) / "probe.c"
        source.write_text(text, encoding="utf-8")
        saved = os.dup(2)
        with open(self.folder / "probe.log", "w", encoding="utf-8") as log:
            os.dup2(log.fileno(), 2)
            try:
                objects = self.compiler.compile([str(source)], extra_postargs=flags)
                self.compiler.link_executable(objects, "probe", output_dir=str(self.folder), extra_postargs=link)
            except Exception:  # each compiler class has its own errors; any of them means no
                return False
            finally:
                os.dup2(saved, 2)
                os.close(saved)
        return True

    def find(self) -> Found:
        """Asks for everything. Raises RuntimeError when not even an empty program compiles."""
        empty = "int main(void) { return 0; }\n"
        if not self.accepts(empty, [], []):
            raise RuntimeError("no working C compiler was found")
        flags = [flag for flag in WANTED if self.accepts(empty, ["-Werror", flag], [])]
        openmp = next((pair for pair in OPENMP if self.accepts(OPENMP_PROBE, *pair)), ([], []))
        isas = [n for n, (target, body) in ISAS.items() if self.accepts(ISA_PROBE.format(name=n, target=target, body=body), flags, [])]
        return Found(flags, *openmp, isas)


class BuildKernels(build_ext):
    """build_ext that probes, compiles the sources side by side, and gives up with a message instead of an error."""

    def build_extension(self, ext: Extension) -> None:
        try:
            self.build_kernels(ext)
        except Exception as error:  # whatever went wrong, cafe works without
            print(NO_KERNELS.format(reason=error or type(error).__name__), file=sys.stderr)

    def build_kernels(self, ext: Extension) -> None:
        """Probes, writes config.h and cffi's module, compiles, links. Of two builds of one tree side by side the second waits."""
        temp = Path(self.build_temp)
        temp.mkdir(parents=True, exist_ok=True)
        with open(temp / "lock", "w", encoding="utf-8") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            self.build_in(temp, ext)

    def build_in(self, temp: Path, ext: Extension) -> None:
        """The build itself, alone in its folder."""
        found = Probe(self.compiler, temp / "probe").find()
        write_if_changed(temp / "config.h", found.config_h())
        module = temp / "_cafe.c"
        build_cffi.make_ffi().emit_c_code(str(module))
        sanitize = SANITIZE if SANITIZED else []
        flags = found.flags + found.openmp_compile + sanitize
        objects = self.compile_all([*build_cffi.sources(), module], flags, [str(temp), str(HERE / "csrc"), numpy.get_include()])
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        link = found.openmp_link + sanitize
        libraries = self.get_libraries(ext)
        self.compiler.link_shared_object(objects, str(target), libraries=libraries, library_dirs=ext.library_dirs, extra_postargs=link)

    def compile_all(self, sources: list[Path], flags: list[str], include: list[str]) -> list[str]:
        """The object files, compiled anew where a source or any header is newer."""
        newest_header = max(path.stat().st_mtime for path in [*build_cffi.headers(), Path(include[0]) / "config.h", HERE / "setup.py"])

        def compile_one(source: Path) -> str:
            relative = os.path.relpath(source)
            target = self.compiler.object_filenames([relative], output_dir=self.build_temp)[0]
            if not Path(target).exists() or Path(target).stat().st_mtime < max(newest_header, source.stat().st_mtime):
                paths = [*include, *self.compiler.include_dirs]
                own = flags + own_flags(source)
                self.compiler.compile([relative], self.build_temp, DEFINES, paths, extra_postargs=own, depends=[relative])
            return str(target)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(compile_one, sources))


def own_flags(source: Path) -> list[str]:
    """What one source is compiled with beside the flags of all."""
    if not SANITIZED:
        return SLOWER.get(source.name, [])
    if not source.name.startswith("isa_"):
        return []
    return SLOWER_SANITIZED.get(source.name, []) + SANITIZE_ISA if source.stem.removeprefix("isa_") in SANITIZED else NOT_SANITIZED


def write_if_changed(path: Path, text: str) -> None:
    """Leaves the file, and its time, alone when it says this already."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


setup(
    ext_modules=[Extension(build_cffi.MODULE, sources=["csrc/build_cffi.py"], optional=True)],
    cmdclass={"build_ext": BuildKernels},
)
