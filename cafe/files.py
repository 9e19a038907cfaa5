"""Files that are written whole or not at all (floor 0).

`with replacing("model.safetensors") as file:` gives a new file beside the old one. When the block ends, it is flushed
to the disk and takes the old one's name in one step; when the block fails, it is removed and the old one stands as it
was.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

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
        target = os.path.realpath(os.fspath(path))
        temporary = os.path.join(os.path.dirname(target), f".cafe-{secrets.token_hex(8)}.tmp")
        mode = _mode_of(target)
        with _removed_on_failure(temporary), open(temporary, "xb") as file:
            if mode is not None:
                os.chmod(temporary, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()  # Windows renames closed files only
            os.replace(temporary, target)
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        if isinstance(error, Io):
            raise
        raise Io(path, error) from error


def _mode_of(target: str) -> int | None:
    """The permissions of the file that is to be replaced, None where there is none yet."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):  # a rename onto /dev/null would take it away
        raise OSError(errno.EINVAL, "not a regular file")
    return stat.S_IMODE(mode)


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
