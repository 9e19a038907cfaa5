"""Measures a row: every library's result is held to a float64 reference, then those that are right are timed in turn.

How, and why (README.md says more): a process for each library; A B C, A B C, … with a rest between them; a warm-up in each turn; samples
of three milliseconds or more; a sample in which the process was pushed off its core is thrown away; the median of the clean ones counts;
a probe of the physical limit takes its turns with the rest.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .peers import LIBRARIES, Gone, Peer
from .row import Row


@dataclass(frozen=True)
class Plan:
    """How long to measure: seconds, but for rounds (turns of each library) and samples (in a turn)."""

    rounds: int = 9
    warm: float = 0.012
    sample: float = 0.003
    samples: int = 4
    budget: float = 0.060
    least_clean: int = 3


QUICK = Plan(rounds=3, samples=3, budget=0.030)


class Asked(Protocol):
    """A library's process, or a stand-in for it in tests."""

    def ask(self, **message: Any) -> dict[str, Any]:
        """The reply to a message."""
        ...


@dataclass
class Timing:
    """A library's samples, seconds a call; `clean` are those that count where there are any."""

    clean: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)

    def add(self, reply: dict[str, Any]) -> None:
        """Takes the samples of a turn."""
        for seconds, clean in zip(reply["seconds"], reply["clean"], strict=True):
            (self.clean if clean else self.disturbed).append(seconds)

    def summary(self) -> dict[str, Any]:
        """The median and the quartiles of the clean samples (of all, where none was clean) and how many there are."""
        samples = sorted(self.clean or self.disturbed)
        low, _, high = statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
        taken = len(self.clean) + len(self.disturbed)
        return {"seconds": statistics.median(samples), "low": low, "high": high, "clean": len(self.clean), "taken": taken}


class Crew:
    """The processes: started when first wanted; a missing library is noted with the reason, a fallen one started anew for the next row."""

    def __init__(self, threads: int, launch: Callable[[str, int], Peer] = Peer) -> None:
        self.threads, self._launch = threads, launch
        self._peers: dict[str, Peer] = {}
        self.about: dict[str, dict[str, Any]] = {}
        self.missing: dict[str, str] = {}

    def get(self, library: str) -> Peer | None:
        """The library's process, or None where it is not installed."""
        if library not in self._peers and library not in self.missing:
            try:
                self._peers[library] = self._launch(library, self.threads)
                self.about[library] = self._peers[library].about
            except Gone as reason:
                self.missing[library] = str(reason)
        return self._peers.get(library)

    def drop_row(self) -> None:
        """Has every process let go of its row, and forgets those that have ended."""
        for library, peer in list(self._peers.items()):
            try:
                peer.ask(do="drop")
            except Gone:
                self._peers.pop(library).close()

    def close(self) -> None:
        """Ends them all."""
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()


def measure(
    family: str, row: Row, crew: Crew, libraries: Iterable[str], plan: Plan, rest: Callable[[float], None] = time.sleep
) -> dict[str, Any]:
    """One row's entry of the report: for each library its time, or why it has none."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        reference = str(Path(folder) / "reference")
        for library in ("reference", "probe", *libraries):
            peer = crew.get(library) if takes_part(library, row) else None
            if peer is not None:
                found[library] = prepared(peer, family, row, reference)
        problem = found.pop("reference", {}).get("error")
        if problem:
            raise RuntimeError(f"the reference of `{row.name}` failed: {problem}")
        _take_turns(found, crew, plan, rest)
        crew.drop_row()
    return entry_of(family, row, found)


def takes_part(library: str, row: Row) -> bool:
    """Whether the row says anything about the library; torch fused has a process only for those that do."""
    return library != "torch fused" or hasattr(row, "torch_fused")


def prepared(peer: Asked, family: str, row: Row, reference: str) -> dict[str, Any]:
    """Has a library build the row and compares: {"right": True, "deviation": …}, or {"rejected": …}, {"absent": …}, {"error": …}."""
    try:
        reply = peer.ask(do="prepare", family=family, name=row.name, reference=reference)
    except Gone as reason:
        return {"error": str(reason)}
    if "absent" in reply or "error" in reply or "arrays" in reply:
        return reply
    deviation = reply.get("deviation")
    if deviation is not None and not deviation <= row.tolerance:
        return {"rejected": deviation}
    return {"right": True} if deviation is None else {"right": True, "deviation": deviation}


def _take_turns(found: dict[str, dict[str, Any]], crew: Crew, plan: Plan, rest: Callable[[float], None]) -> None:
    """Round after round, each time beginning with another library; up to as many again where too few samples were clean."""
    timings = {name: Timing() for name, entry in found.items() if entry.get("right")}
    for turn in range(2 * plan.rounds):
        if turn >= plan.rounds and all(len(t.clean) >= plan.least_clean for t in timings.values()):
            break
        order = list(timings)
        first = turn % max(1, len(order))
        for name in order[first:] + order[:first]:
            reply = _turn(crew.get(name), plan)
            if "error" in reply:
                found[name] = reply
                del timings[name]
            else:
                timings[name].add(reply)
            rest(LIBRARIES[name].pause)
    for name, timing in timings.items():
        found[name].update(timing.summary())


def _turn(peer: Asked | None, plan: Plan) -> dict[str, Any]:
    assert peer is not None
    try:
        return peer.ask(do="turn", warm=plan.warm, sample=plan.sample, samples=plan.samples, budget=plan.budget)
    except Gone as reason:
        return {"error": str(reason)}


def entry_of(family: str, row: Row, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the report says of a row: seconds, rates, the share of the limit, ratios of cafe's time to each peer's."""
    limit = row.limit
    probe = found.pop("probe", {})
    limit_seconds = probe.get("seconds")
    ours = found.get("cafe", {}).get("seconds")
    libraries = {}
    for name, got in found.items():
        got = {key: value for key, value in got.items() if key not in ("right", "traceback")}
        seconds = got.get("seconds")
        if seconds:
            got["rate"] = limit.work / seconds / 1e9 if limit else None
            got["of_limit"] = limit_seconds / seconds if limit_seconds else None
            got["ratio"] = ours / seconds if ours else None
        libraries[name] = got
    return {
        "family": family,
        "name": row.name,
        "goal": row.goal,
        "goal_kept": row.goal_kept,
        "goal_fused": row.goal_fused,
        "unit": limit.unit if limit else None,
        "work": limit.work if limit else None,
        "limit_seconds": limit_seconds,
        "limit_clean": probe.get("clean", 0),
        "libraries": libraries,
    }
