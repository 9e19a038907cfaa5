"""Files that are written whole or not at all: whatever ends the block, the old file or the new one stands there, and nothing else."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from cafe.errors import Io
from cafe.files import replacing


def test_a_file_appears_when_the_block_ends(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.bin"
    with replacing(path) as file:
        file.write(b"all of it")
        assert not path.exists()
    assert path.read_bytes() == b"all of it" and os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_failed_block_leaves_the_old_file_and_nothing_else(tmp_path: pathlib.Path, kind: type[BaseException]) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(kind), replacing(path) as file:
        file.write(b"half")
        raise kind
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.bin"]


def test_a_failed_rename_leaves_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(src: object, dst: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(Io, match=r'path: ".*a.bin" Permission denied \(os error 13\)'), replacing(tmp_path / "a.bin"):
        pass
    assert os.listdir(tmp_path) == []


def test_mode_and_links_of_the_old_file_are_kept(tmp_path: pathlib.Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink() and real.read_bytes() == b"new" and real.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "plain").touch()
    with replacing(tmp_path / "ours"):
        pass
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def kills_itself_while_saving(path: pathlib.Path) -> None:
    program = (
        "import os, signal, sys; from cafe.files import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(bytes(100_000)); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(path)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert ran.returncode == -signal.SIGKILL


def test_a_killed_process_leaves_the_old_file_and_nothing_else(tmp_path: pathlib.Path) -> None:
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
    except (AttributeError, OSError):
        pytest.skip("this file system has no files without a name")
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    kills_itself_while_saving(path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.bin"]


def refused(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.fixture(params=["files without a name", "second names"])
def lacking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that has no such thing."""
    if request.param == "second names":
        monkeypatch.setattr(os, "link", refused)
    else:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


@pytest.mark.usefixtures("lacking")
def test_a_file_is_replaced_where_the_system_has_less(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with replacing(path) as file:
        file.write(b"all of it")
    assert path.read_bytes() == b"all of it" and path.stat().st_mode & 0o777 == 0o640 and os.listdir(tmp_path) == ["a.bin"]
    with pytest.raises(ValueError), replacing(path) as file:
        file.write(b"half")
        raise ValueError
    assert path.read_bytes() == b"all of it" and os.listdir(tmp_path) == ["a.bin"]


def test_what_is_no_file_is_not_replaced(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Io, match="not a regular file"), replacing(tmp_path):
        pass
    with pytest.raises(Io, match="not a regular file"), replacing(os.devnull):
        pass
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "no" / "a.bin"
    with pytest.raises(Io) as caught, replacing(path):
        pass
    assert str(caught.value) == f'path: "{path}" No such file or directory (os error 2)'
