"""show_config and `python -m cafe` tell which kernels run and why."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import cafe
from cafe import config
from cafe.__main__ import main
from cafe.kernels import _ffi

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m cafe` under these variables."""
    names = {name: value for name, value in os.environ.items() if name not in ("CAFE_KERNELS", "CAFE_ISA", "OMP_NUM_THREADS")}
    return subprocess.run(
        [sys.executable, "-m", "cafe", *arguments], cwd=ROOT, env={**names, **environment}, capture_output=True, encoding="utf8"
    )


def row(printed: str, name: str) -> str:
    """What a line of the configuration says."""
    [found] = [line for line in printed.splitlines() if line.split()[0] == name]
    return found.split(maxsplit=1)[1]


def test_show_config_prints_what_current_knows(capsys: pytest.CaptureFixture[str]) -> None:
    cafe.show_config()
    printed = capsys.readouterr().out
    known = config.current()
    assert printed == f"{known}\n"
    assert printed.startswith(f"cafe {cafe.__version__}\n")
    assert row(printed, "kernels") == f"{_ffi.BACKEND}: {_ffi.REASON}"
    assert f"NumPy {np.__version__}" in row(printed, "versions")


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cafe.__version__ == project["version"]


def test_python_m_cafe_is_show_config_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert capsys.readouterr().out == f"{config.current()}\n"
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"cafe {cafe.__version__}\n"


def test_without_c_only_what_matters_is_said() -> None:
    printed = run({"CAFE_KERNELS": "numpy"}).stdout
    assert row(printed, "kernels") == "numpy: CAFE_KERNELS=numpy"
    assert [line.split()[0] for line in printed.splitlines()] == ["cafe", "kernels", "machine", "versions"]


@pytest.mark.skipif(_ffi._cafe is None, reason="no extension")
def test_with_c_the_build_and_the_instruction_set_are_said() -> None:
    printed = run({"CAFE_ISA": "generic", "OMP_NUM_THREADS": "1"}).stdout
    assert row(printed, "kernels") == "c: the extension is there"
    assert row(printed, "instructions").startswith("generic (CAFE_ISA chooses among ")
    assert row(printed, "threads") == "1"
    assert "-ffp-contract=off" in row(printed, "flags")


def test_a_wrong_wish_is_refused() -> None:
    refused = run({"CAFE_KERNELS": "fortran"})
    assert refused.returncode == 1
    assert "CAFE_KERNELS: expected `c`, `numpy` or nothing, got `fortran`" in refused.stderr
