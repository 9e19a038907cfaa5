"""`python -m cafe`: the configuration; `--version`: the version alone; `inspect FILE`: what is in a file of weights (above every floor)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from cafe.config import __version__, show_config
from cafe.errors import Error
from cafe.tools.inspect import inspect, printable


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cafe", description="Prints which kernels run here, and on what.")
    parser.add_argument("--version", action="version", version=f"cafe {__version__}")
    parser.set_defaults(run=lambda options: show_config())
    commands = parser.add_subparsers(metavar="COMMAND")
    look = commands.add_parser("inspect", help="what is in a file of weights: safetensors, npy, npz, .pth, GGUF; nothing in it is run")
    look.add_argument("file", metavar="FILE")
    look.add_argument("--json", action="store_true", help="as JSON")
    look.add_argument("--no-statistics", action="store_true", help="without reading the numbers")
    look.set_defaults(run=_inspect)
    return parser


def _inspect(options: argparse.Namespace) -> None:
    """Prints what is in a file; status 1 where that could not be found out of all its tensors, or where it asks for more than tensors."""
    try:
        found = inspect(options.file, statistics=not options.no_statistics)
    except Error as error:
        notes = [f"  {printable(note)}" for note in getattr(error, "__notes__", []) if note != f"in {options.file}"]
        sys.exit("\n".join([f"python -m cafe inspect: {options.file}: {printable(str(error).removeprefix(f'{options.file}: '))}", *notes]))
    print(found.to_json() if options.json else found)
    if found.refused or any(entry.problem is not None for entry in found.entries):
        sys.exit(1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Does what the command line asks for."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # `… | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
