"""What a row of the bench is: one piece of work with a named shape, and how each library does it.

A family's file (bench_<family>.py) lists its rows in ROWS, and growth curves in CURVES. A row is a small class:

    @dataclass(frozen=True, kw_only=True)
    class Exp(Row):
        n: int
        def inputs(self, rng): return (rng.standard_normal(self.n, np.float32),)
        def reference(self, x): return np.exp(x.astype(np.float64))
        def cafe(self, cafe, x):                       # the library's module comes in; what is prepared here is not timed
            t = cafe.Tensor(x)
            return lambda: t.exp()                     # this is

A library without a method of its name has no part in the row. A library's module comes in as an argument because a process has one library.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Call: TypeAlias = Callable[[], Any]


class Absent(Exception):
    """A library has no part in a row; the text says why."""


@dataclass(frozen=True)
class Flops:
    """Work that arithmetic bounds: this many floating-point operations."""

    count: float
    dtype: str = "f32"

    unit = "GFLOP/s"

    @property
    def work(self) -> float:
        """What the rate counts."""
        return self.count


@dataclass(frozen=True)
class Stream:
    """Work that memory bounds: bytes read and written, each once; `in_place` where what is written was read."""

    read: float
    written: float
    in_place: bool = False

    unit = "GB/s"

    @property
    def work(self) -> float:
        """What the rate counts."""
        return self.read + self.written


Limit: TypeAlias = Flops | Stream


@dataclass(frozen=True, kw_only=True)
class Row:
    """One piece of work.

    goal: cafe's time over PyTorch's as users get it, at most; goal_kept: over PyTorch with memory kept; goal_fused: over fused AdamW.
    quick: whether a quick run without names takes it.
    tolerance: the largest deviation (check.py) from the float64 reference.
    checked_calls: how many calls the check compares; more than one for what changes its state, such as a training step.
    """

    name: str
    goal: float | None = None
    goal_kept: float | None = None
    goal_fused: float | None = None
    quick: bool = True
    tolerance: float = 2e-6
    checked_calls: int = 1

    @property
    def limit(self) -> Limit | None:
        """What bounds the work physically, or None where nothing meaningful does."""
        return None

    def inputs(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """The arrays that every library starts from."""
        raise NotImplementedError

    def compared(self, results: list[Array]) -> list[Array]:
        """What of a call's results is held to the reference: all, unless they are random and only their distribution is known."""
        return results

    def reference(self, *inputs: Any, **_: Any) -> Any:  # Any, so that a row may name its inputs
        """What the calls must give, from float64 arithmetic: an array or a tuple; a list with one for each of several checked calls."""
        raise NotImplementedError


@dataclass(frozen=True)
class Curve:
    """How a row grows: rows by size, and what is drawn: the rate, or nanoseconds per unit of the size."""

    name: str
    axis: str
    unit: str
    rows: tuple[tuple[int, Row], ...]

    def value(self, size: int, row: Row, seconds: float) -> float:
        """The height of the curve."""
        if self.unit == "ns":
            return seconds * 1e9 / size
        assert row.limit is not None
        return row.limit.work / seconds / 1e9


FAMILIES = tuple(sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")))


def rows_of(family: str) -> list[Row]:
    """A family's rows, in their order."""
    return list(importlib.import_module(f"bench.bench_{family}").ROWS)


def curves_of(family: str) -> list[Curve]:
    """A family's growth curves; most have none."""
    return list(getattr(importlib.import_module(f"bench.bench_{family}"), "CURVES", []))


def select(wanted: list[str]) -> Iterator[tuple[str, Row]]:
    """Rows by family, or by a part of their name; all where nothing is named. Raises ValueError for a word that names nothing."""
    everything = [(family, row) for family in FAMILIES for row in rows_of(family)]
    for word in wanted:
        if not any(matches(word, family, row.name) for family, row in everything):
            raise ValueError(f"no family and no row is named `{word}`; families: {', '.join(FAMILIES)}; --list shows the rows")
    return (pair for pair in everything if not wanted or any(matches(word, pair[0], pair[1].name) for word in wanted))


def matches(word: str, family: str, name: str) -> bool:
    """Whether a word of the command line means this row or curve."""
    return word == family or word.lower() in name.lower()


def find(family: str, name: str) -> Row:
    """The row of this name, from the family's rows or its curves."""
    grown = (row for curve in curves_of(family) for _, row in curve.rows)
    return next(row for row in (*rows_of(family), *grown) if row.name == name)
