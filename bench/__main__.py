"""The command line: `python -m bench [family or name …]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from . import machine, report
from .harness import QUICK, Crew, Plan, measure, takes_part
from .peers import PEERS
from .row import FAMILIES, Curve, Row, curves_of, matches, select


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = argparse.ArgumentParser("python -m bench", description="Times cafe beside its peers; bench/README.md says how to read it.")
    made.add_argument("wanted", nargs="*", metavar="NAME", help=f"families ({', '.join(FAMILIES)}) or parts of a row's name; all without")
    cpus = len(os.sched_getaffinity(0))
    made.add_argument("--threads", type=int, default=cpus, help="threads of every library (default: the CPUs there are)")
    made.add_argument("--peers", help=f"comma-separated from {', '.join(PEERS)} (default: all; with --quick torch)")
    made.add_argument("--quick", action="store_true", help="a minute or two: fewer rounds, PyTorch alone, without names the cheaper rows")
    made.add_argument("--sweep", action="store_true", help="growth curves instead of rows")
    made.add_argument("--list", action="store_true", help="what there is, without measuring")
    made.add_argument("--json", type=Path, metavar="FILE", help="writes everything that was measured")
    made.add_argument("--plot", type=Path, metavar="FILE", help="draws ratios and curves (needs matplotlib)")
    return made


def main(arguments: list[str]) -> int:
    """Runs the bench; 1 when a result of cafe's was wrong or failed."""
    options = parser().parse_args(arguments)
    try:
        peers = libraries_of(options.peers or ("torch" if options.quick else ",".join(PEERS)))
        rows = list(select([] if options.sweep else options.wanted))
        if options.quick and not options.wanted:
            rows = [(family, row) for family, row in rows if row.quick]
        curves = [(family, curve) for family in FAMILIES for curve in curves_of(family) if _wanted(options.wanted, family, curve)]
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(listing(rows, curves)))
        return 0
    drawer = importlib.import_module("bench.plot") if options.plot else None  # a missing matplotlib is said before an hour's measuring
    run = measured(options, peers, rows, curves)
    if options.json:
        options.json.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    if drawer is not None:
        drawer.draw(run, options.plot)
    return int(any({"rejected", "error"} & set(row["libraries"].get("cafe", {})) for row in run["rows"]))


def _wanted(words: list[str], family: str, curve: Curve) -> bool:
    return not words or any(matches(word, family, curve.name) for word in words)


def libraries_of(peers: str) -> list[str]:
    """The libraries, cafe first. Raises ValueError for a peer that is not known."""
    names = [name.strip() for name in peers.split(",") if name.strip()]
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise ValueError(f"unknown peer `{unknown[0]}`; there are {', '.join(PEERS)}")
    return ["cafe", *(library for name in names for library in PEERS[name])]


def listing(rows: list[tuple[str, Row]], curves: list[tuple[str, Curve]]) -> list[str]:
    """A line for each row and curve."""
    return [f"{family:<12}{row.name}" for family, row in rows] + [f"{family:<12}{curve.name} (--sweep)" for family, curve in curves]


def measured(options: argparse.Namespace, peers: list[str], rows: list[tuple[str, Row]], curves: list[tuple[str, Curve]]) -> dict[str, Any]:
    """The whole run, printed as it goes."""
    crew = Crew(options.threads)
    described = machine.describe()
    try:
        chosen = [row for _, row in rows] if not options.sweep else [row for _, curve in curves for _, row in curve.rows]
        present = [library for library in peers if any(takes_part(library, row) for row in chosen) and crew.get(library) is not None]
        run = report.document(sys.argv[1:], options.threads, described, crew.about, crew.missing)
        print(introduction(run), flush=True)
        plan = QUICK if options.quick else Plan()
        if options.sweep:
            _sweep(run, crew, present, curves, QUICK)
        else:
            _rows(run, crew, present, rows, plan)
    finally:
        crew.close()
    report.validate(run)
    return run


def introduction(run: dict[str, Any]) -> str:
    """The machine, the libraries, and who is missing."""
    m = run["machine"]
    caches = ", ".join(f"{name} {size}" for name, size in m["caches"].items())
    lines = [f"{m['cpu']}, {m['cpus']} CPUs, {run['threads']} threads; {caches}"]
    lines += [f"{m['system']}, {m['libc']}, Python {m['python']}, load {m['load_average'][0]}"]
    lines += [", ".join(f"{name} {about['version']}" for name, about in run["libraries"].items() if about.get("version"))]
    cafe = run["libraries"].get("cafe", {})
    lines += [f"cafe: kernels {cafe.get('backend')}, {cafe.get('isa')}, {cafe.get('compiler', '')}"]
    lines += [f"left out: {name} ({reason})" for name, reason in run["missing"].items()]
    return "\n".join([*lines, "numbers under a peer's name are cafe's time over its; `kept`: PyTorch with glibc told to keep memory"])


def _rows(run: dict[str, Any], crew: Crew, libraries: list[str], rows: list[tuple[str, Row]], plan: Plan) -> None:
    before, begun = "", time.monotonic()
    for i, (family, row) in enumerate(rows):
        if family != before:
            print(f"\n{family}\n{report.heading(libraries)}", flush=True)
            before = family
        progress(f"[{i + 1}/{len(rows)}, {time.monotonic() - begun:.0f} s] {row.name}")
        entry = measure(family, row, crew, libraries, plan)
        run["rows"].append(entry)
        progress("")
        print(report.line(entry, libraries), flush=True)


def _sweep(run: dict[str, Any], crew: Crew, libraries: list[str], curves: list[tuple[str, Curve]], plan: Plan) -> None:
    for family, curve in curves:
        print(f"\n{curve.name} [{curve.unit}]\n{curve.axis:>12}" + "".join(f"{name:>13}" for name in libraries), flush=True)
        points: dict[str, list[list[float]]] = {}
        for size, row in curve.rows:
            progress(f"{curve.name}: {size}")
            entry = measure(family, row, crew, libraries, plan)
            timed = {name: curve.value(size, row, got["seconds"]) for name, got in entry["libraries"].items() if "seconds" in got}
            if entry["limit_seconds"]:
                timed["limit"] = curve.value(size, row, entry["limit_seconds"])
            for name, value in timed.items():
                points.setdefault(name, []).append([size, value])
            progress("")
            print(f"{size:>12}" + "".join(f"{timed.get(name, float('nan')):>13.4g}" for name in libraries), flush=True)
        run["curves"].append({"name": curve.name, "axis": curve.axis, "unit": curve.unit, "points": points})


def progress(text: str) -> None:
    """Shows on a terminal what is being measured; an empty text takes it away."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
