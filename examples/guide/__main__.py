"""Runs the guide's programs side by side and compares what they print with expected/.

    python examples/guide                  all of them
    python examples/guide s06 s14_2        those whose names begin so
    CAFE_KERNELS=numpy python examples/guide

A program without a file in expected/ prints what differs from machine to machine: it must run and print something.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import cafe
from cafe import config

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 60


@dataclass(frozen=True)
class Outcome:
    """What became of a program: `wrong` is empty if nothing is."""

    name: str
    word: str  # right, ran, wrong
    wrong: tuple[str, ...]
    seconds: float


def programs(beginnings: Sequence[str] = ()) -> list[pathlib.Path]:
    """The programs whose names begin with one of these; all, if none are given."""
    return [p for p in sorted(HERE.glob("s[0-9]*.py")) if not beginnings or p.stem.startswith(tuple(beginnings))]


def expected(program: pathlib.Path) -> pathlib.Path:
    """Where a program's output is written down."""
    return HERE / "expected" / f"{program.stem}.txt"


def differences(want: Sequence[str], got: Sequence[str]) -> Iterator[str]:
    """The lines that are not the same, each with its number.

    >>> print(*differences(["a", "b"], ["a", "c", "d"]), sep="\\n")
    line 2: expected b
                 got c
    line 3: expected nothing
                 got d
    """
    for number, (w, g) in enumerate(itertools.zip_longest(want, got), start=1):
        if w != g:
            label = f"line {number}: expected"
            yield f"{label} {'nothing' if w is None else w}\n{'got':>{len(label)}} {'nothing' if g is None else g}"


def run(program: pathlib.Path) -> Outcome:
    """Runs a program in a process of its own, from the root of the project, and judges it."""
    started = time.perf_counter()
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONIOENCODING": "utf8"}
    try:
        ran = subprocess.run(
            [sys.executable, str(program)], cwd=ROOT, env=environment, capture_output=True, encoding="utf8", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return Outcome(program.stem, "wrong", (f"no end in {SECONDS} s",), SECONDS)
    word, wrong = judge(program, ran)
    return Outcome(program.stem, word, wrong, time.perf_counter() - started)


def judge(program: pathlib.Path, ran: subprocess.CompletedProcess[str]) -> tuple[str, tuple[str, ...]]:
    """Whether what was printed is right, and what is wrong with it."""
    if ran.returncode:
        return "wrong", (f"exit status {ran.returncode}\n{ran.stderr.strip()}",)
    got = ran.stdout.splitlines()
    if not expected(program).exists():
        return ("ran", ()) if got else ("wrong", ("it printed nothing",))
    wrong = tuple(differences(expected(program).read_text("utf8").splitlines(), got))
    return ("wrong" if wrong else "right"), wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what the command line asks for; 0 if nothing was wrong."""
    parser = argparse.ArgumentParser(prog="python examples/guide", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="how the wanted programs' names begin")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many run at a time (default: the cores)")
    options = parser.parse_args(arguments)
    wanted = programs(options.names)
    if not wanted:
        parser.error(f"no program's name begins with {' or '.join(options.names)}")
    cafe.show_config()
    print()
    started = time.perf_counter()
    outcomes = []
    width = max(len(p.stem) for p in wanted)
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for number, outcome in enumerate(pool.map(run, wanted), start=1):
            outcomes.append(outcome)
            print(f"{number:>3}/{len(wanted)}  {outcome.name:<{width}}  {outcome.word:<5}  {outcome.seconds:5.2f} s", flush=True)
    return report(outcomes, time.perf_counter() - started)


def report(outcomes: Sequence[Outcome], seconds: float) -> int:
    """Prints what differs and the counts; 1 if anything does."""
    wrong = [o for o in outcomes if o.word == "wrong"]
    for outcome in wrong:
        print(f"\n{outcome.name}", *outcome.wrong, sep="\n")
    words = [o.word for o in outcomes]
    counts = f"{words.count('right')} right, {words.count('ran')} ran (their output varies), {len(wrong)} wrong"
    print(f"\n{counts}; {seconds:.1f} s, kernels: {config.current().backend}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
