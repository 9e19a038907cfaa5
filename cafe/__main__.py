"""`python -m cafe`: prints the configuration; `--version` the version alone (above every floor)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from cafe.config import __version__, show_config


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cafe", description="Prints which kernels run here, and on what.")
    parser.add_argument("--version", action="version", version=f"cafe {__version__}")
    parser.set_defaults(run=lambda options: show_config())
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Does what the command line asks for."""
    options = _parser().parse_args(arguments)
    options.run(options)


if __name__ == "__main__":
    main()
