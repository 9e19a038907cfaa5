"""Files that are written whole or not at all (floor 0).

`with replacing("model.safetensors") as file:` gives a new file beside the old one. When the block ends, it is flushed
to the disk and takes the old one's name in one step; when the block fails, it is removed and the old one stands as it
was. Where the system has files without a name (Linux), it has none until then: a process that is killed leaves nothing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeAlias

from cafe.errors import Io

PathLike: TypeAlias = "str | os.PathLike[str]"


@contextlib.contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """A file to write, which becomes `path` once the block has ended well; an older file's mode and links are kept.

    Raises: Io, with the path, for what the operating system refuses; a device or a directory is not replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/note.txt") as file:
    ...         _ = file.write(b"all of it")
    ...     os.listdir(folder)
    ['note.txt']
    """
    try:
        target = os.path.realpath(as_path(path))
        folder, mode = os.path.dirname(target), _mode_of(target)
        temporary = os.path.join(folder, f".cafe-{secrets.token_hex(8)}.tmp")
        with _removed_on_failure(temporary), _new_file(folder, temporary) as file:
            if mode is not None:
                os.chmod(file.fileno() if os.chmod in os.supports_fd else temporary, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if isinstance(file.name, int):
                _give_name(file, temporary)
            file.close()  # Windows renames closed files only
            os.replace(temporary, target)
        _sync_folder(folder)
    except OSError as error:
        if isinstance(error, Io):
            raise
        raise Io(path, error) from error


def as_path(path: Any) -> str:
    """A path as a string.

    Raises: TypeError for what is none: a number would be taken for an open file.
    """
    found = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(found, str):
        raise TypeError(f"expected a path, found {type(path).__name__}")
    return found


def _mode_of(target: str) -> int | None:
    """The permissions of the file that is to be replaced, None where there is none yet."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):  # a rename onto /dev/null would take it away
        raise OSError(errno.EINVAL, "not a regular file")
    return stat.S_IMODE(mode)


_DESCRIPTORS = "/proc/self/fd"


def _new_file(folder: str, temporary: str) -> BinaryIO:
    """A file without a name in this folder, or where there are none, one with this name."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir(_DESCRIPTORS):
        with contextlib.suppress(OSError):  # not every file system has them
            return open(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    return open(temporary, "x+b")


def _give_name(file: BinaryIO, temporary: str) -> None:
    """Gives a file without a name this one. (Only a rename can replace the old file, and a rename needs a name.)"""
    descriptors = os.open(_DESCRIPTORS, os.O_RDONLY)
    try:
        os.link(str(file.fileno()), temporary, src_dir_fd=descriptors)  # without src_dir_fd Python would link to the link in /proc
    except OSError:  # Android forbids second names
        file.seek(0)
        with open(temporary, "xb") as named:
            os.chmod(temporary, stat.S_IMODE(os.fstat(file.fileno()).st_mode))
            shutil.copyfileobj(file, named)
            named.flush()
            os.fsync(named.fileno())
    finally:
        os.close(descriptors)


@contextlib.contextmanager
def _removed_on_failure(temporary: str) -> Iterator[None]:
    try:
        yield
    except BaseException:  # an interrupt, too, must leave nothing behind
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _sync_folder(folder: str) -> None:
    """Makes the new name itself survive a power cut, where folders can be opened (not on Windows)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
