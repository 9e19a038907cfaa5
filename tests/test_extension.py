"""The C kernels, every instance of them: bounds, edges, the same bits always, threads, fork, the pool (tests/extension_checks.py)."""

from __future__ import annotations

import ast
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import extension_checks
import numpy as np
import pytest

from cafe.kernels import _ffi

HERE = pathlib.Path(__file__).resolve().parent
ISAS = ["generic", "avx2", "avx2x2", "avx512", "amx"]
CHECKS = list(extension_checks.CHECKS)

needs_c = pytest.mark.skipif(_ffi.BACKEND != "c", reason="there is no extension")


def run(code: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(HERE.parent), str(HERE)])
    everything = {**os.environ, "PYTHONPATH": paths, **environment}
    return subprocess.run([sys.executable, *code], env=everything, capture_output=True, text=True, timeout=600)


@functools.cache
def report(isa: str) -> dict[str, Any]:
    """What the checks said under an instance."""
    if isa not in _ffi.isas():
        pytest.skip(f"this machine or this build has no {isa}")
    done = run([str(HERE / "extension_checks.py")], CAFE_ISA=isa, CAFE_KERNELS="c")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert said["isa"] == isa
    return said


@needs_c
@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("isa", ISAS)
def test_instance(isa: str, name: str) -> None:
    assert report(isa)["checks"][name] == ""


@needs_c
def test_two_halves_have_the_bits_of_sixteen_lanes() -> None:
    pair, wide = report("avx2x2")["digests"], report("avx512")["digests"]
    assert len(pair) > 100
    assert pair == wide


@needs_c
def test_sums_have_the_same_bits_in_every_instance() -> None:
    reports = [report(isa)["digests"] for isa in ISAS if isa in _ffi.isas()]
    names = [name for name in reports[0] if name.startswith("sums")]
    assert len(names) > 50
    for name in names:
        assert len({digests[name] for digests in reports}) == 1, name


@needs_c
def test_a_digest_tells_results_apart() -> None:
    digests = report("generic")["digests"]
    assert digests["rows float32 9"] != digests["rows float32 10"]


def test_ulps_see_a_wrong_value() -> None:
    expected = np.linspace(1, 2, 1000).astype(np.longdouble)
    y = expected.astype(np.float32)
    assert extension_checks.ulps(y, expected) <= 0.5
    y[500] = np.nextafter(np.nextafter(y[500], np.float32(3)), np.float32(3))
    assert extension_checks.ulps(y, expected) > 1


def test_the_twins_can_be_asked_for() -> None:
    done = run(
        ["-c", "from cafe.kernels import _ffi; print(_ffi.BACKEND, _ffi.isa(), _ffi.num_threads(), _ffi.isas())"], CAFE_KERNELS="numpy"
    )
    assert done.stdout.split(maxsplit=3)[:3] == ["numpy", "numpy", "1"], done.stderr


def test_demanding_c_without_an_extension_is_an_error() -> None:
    code = "import sys; sys.modules['cafe.kernels._cafe'] = None; import cafe"
    done = run(["-c", code], CAFE_KERNELS="c")
    assert done.returncode != 0 and "there is no extension" in done.stderr
    assert run(["-c", code], CAFE_KERNELS="").returncode == 0


@needs_c
def test_an_extension_that_is_there_but_of_no_use_is_warned_of(tmp_path: pathlib.Path) -> None:
    """Older than the headers, or not to be loaded; where none was built, or NumPy is asked for, nothing is said."""
    package = tmp_path / "cafe"
    shutil.copytree(HERE.parent / "cafe", package, ignore=shutil.ignore_patterns("__pycache__"))
    library = next((package / "kernels").glob("_cafe.*"))
    shutil.copytree(HERE.parent / "csrc", tmp_path / "csrc")
    (tmp_path / "csrc" / "api" / "rows.h").write_text("/* another day's */", encoding="utf-8")

    def said(**environment: str) -> str:
        code = ["-P", "-c", "import cafe; print(cafe.config.current().backend)"]
        done = run(code, **{"PYTHONPATH": str(tmp_path), "CAFE_KERNELS": "", **environment})
        assert done.stdout.strip() == "numpy", done.stderr
        return done.stderr

    assert "RuntimeWarning: cafe runs on NumPy, slower, as its extension is of no use: it was built from other headers" in said()
    assert said(CAFE_KERNELS="numpy") == ""
    library.write_bytes(b"no library")
    assert "RuntimeWarning: cafe runs on NumPy" in said()
    library.unlink()
    assert said() == ""


@needs_c
def test_an_unknown_instruction_set_names_the_known() -> None:
    done = run(["-c", "import cafe"], CAFE_ISA="sse9")
    assert done.returncode != 0 and "sse9" in done.stderr and "generic" in done.stderr


def test_an_unknown_backend_is_an_error() -> None:
    done = run(["-c", "import cafe"], CAFE_KERNELS="fortran")
    assert done.returncode != 0 and "fortran" in done.stderr


@needs_c
def test_omp_num_threads_is_honoured() -> None:
    code = "from cafe.kernels import _ffi; print(_ffi.num_threads())"
    openmp = _ffi.build_info()["openmp"] != "none"
    assert run(["-c", code], OMP_NUM_THREADS="3").stdout.strip() == ("3" if openmp else "1")


@needs_c
def test_what_was_found_when_building_is_told() -> None:
    assert set(_ffi.build_info()) >= {"compiler", "flags", "openmp", "isas"}


@needs_c
def test_a_wrong_array_is_refused() -> None:
    f = _ffi.kernel("softmax")[_ffi.F32]
    x = np.zeros((4, 4), np.float32)
    with pytest.raises(ValueError, match="not C-contiguous"):
        f(x, x[:, 1:], 1, 4, 1)
    for other in (np.float64, np.int32, np.float16, np.dtype(np.float32).newbyteorder()):
        with pytest.raises(TypeError, match=r"an array of .* where a `float \*` is wanted"):
            f(x, x.astype(other), 1, 4, 1)
    with pytest.raises(TypeError, match="to something else"):
        _ffi.lib.cafe_sgd_f32(x, x, x, x, 1, 0.1, 0.0, 0.0, 0.0, 0, 0)
    for nothing in (None, 0, [x]):
        with pytest.raises(TypeError):
            f(x, nothing, 1, 4, 1)


@needs_c
def test_an_array_may_lie_anyhow_where_strides_are_walked() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for view in (x, x.T, x[:, ::-1], x[::-1, 1:, ::2], x[:, :0], x[0, 0, 0], np.broadcast_to(x[0, 0, 2], (3, 5))):
        first = _ffi.strided(view)
        assert first.flags.c_contiguous
        assert first.__array_interface__["data"] == view.__array_interface__["data"]


def test_checks_of_the_instances_are_all_run() -> None:
    """A check without its decorator would never run."""
    tree = ast.parse((HERE / "extension_checks.py").read_text(encoding="utf-8"))
    decorated = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list]
    assert decorated == CHECKS
