"""What a run gives: lines for people, a JSON document for programs, and the check that a document has the promised form."""

from __future__ import annotations

from typing import Any

SCHEMA = 1
_SHORT = {"torch": "torch", "torch kept": "kept", "torch fused": "fused", "numpy": "numpy", "scipy": "scipy", "jax": "jax"}


def document(command: list[str], threads: int, machine: dict[str, Any], about: dict[str, Any], missing: dict[str, str]) -> dict[str, Any]:
    """A run without its rows and curves yet."""
    return {
        "schema": SCHEMA,
        "command": command,
        "threads": threads,
        "machine": machine,
        "libraries": about,
        "missing": missing,
        "rows": [],
        "curves": [],
    }


_NUMBER = (int, float)
_MAYBE = (int, float, type(None))
_FORM: dict[str, Any] = {
    "schema": int, "command": list, "threads": int, "machine": dict, "libraries": dict, "missing": dict, "rows": list, "curves": list,
}  # fmt: skip
_ROW: dict[str, Any] = {
    "family": str, "name": str, "goal": _MAYBE, "goal_kept": _MAYBE, "goal_fused": _MAYBE, "unit": (str, type(None)),
    "work": _MAYBE, "limit_seconds": _MAYBE, "limit_clean": int, "libraries": dict,
}  # fmt: skip
_TIMED: dict[str, Any] = {"seconds": _NUMBER, "low": _NUMBER, "high": _NUMBER, "clean": int, "taken": int}
_CURVE: dict[str, Any] = {"name": str, "axis": str, "unit": str, "points": dict}


def validate(run: Any) -> None:
    """Raises ValueError, saying where, for a document that has not the form of SCHEMA."""
    _fields("the document", run, _FORM)
    if run["schema"] != SCHEMA:
        raise ValueError(f"schema {run['schema']}, expected {SCHEMA}")
    for row in run["rows"]:
        _fields("a row", row, _ROW)
        for library, got in row["libraries"].items():
            where = f"`{library}` in `{row['name']}`"
            _fields(where, got, _TIMED if "seconds" in got else {})
            if not {"seconds", "absent", "error", "rejected"} & set(got):
                raise ValueError(f"{where}: neither a time nor a reason")
    for curve in run["curves"]:
        _fields("a curve", curve, _CURVE)
        for library, points in curve["points"].items():
            if not all(len(point) == 2 and all(isinstance(v, _NUMBER) for v in point) for point in points):
                raise ValueError(f"`{library}` in curve `{curve['name']}`: a point is a size and a value")


def _fields(where: str, value: Any, form: dict[str, Any]) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected an object, got {value!r}")
    for name, kind in form.items():
        if name not in value:
            raise ValueError(f"{where}: `{name}` is missing")
        if not isinstance(value[name], kind):
            raise ValueError(f"{where}: `{name}` is {value[name]!r}")


def heading(libraries: list[str]) -> str:
    """The names of the columns."""
    peers = "".join(f"{_SHORT[name]:>7}" for name in libraries if name != "cafe")
    return f"{'':<44}{'cafe':>10}{'rate':>14}{'limit':>7} {peers}{'goal':>12}{'clean':>9}"


def line(row: dict[str, Any], libraries: list[str]) -> str:
    """A row for people: cafe's time, its rate, its share of the limit, its time over each peer's, the goal, clean samples of all."""
    ours = row["libraries"].get("cafe", {})
    if "seconds" not in ours:
        return f"{row['name']:<44}  {why_not(ours)}"
    rate = f"{ours['rate']:.3g} {row['unit']}" if row["unit"] else ""
    share = f"{100 * ours['of_limit']:.0f}{_doubt(ours['clean'], row['limit_clean'])} %" if ours["of_limit"] else ""
    peers = "".join(f"{_ratio(row['libraries'].get(name), ours['clean']):>7}" for name in libraries if name != "cafe")
    clean = min((got["clean"], got["taken"]) for got in row["libraries"].values() if "seconds" in got)
    marks = f"{_goal(row):>12}{f'{clean[0]}/{clean[1]}':>9}"
    return f"{row['name']:<44}{duration(ours['seconds']):>10}{rate:>14}{share:>7} {peers}{marks}"


def why_not(got: dict[str, Any]) -> str:
    """Why a library has no time in a row."""
    if "rejected" in got:
        return f"WRONG: {got['rejected']:.2g} from the float64 reference; not timed"
    return str(got.get("error") or got.get("absent") or "not measured")


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _doubt(*clean: int) -> str:
    """A question mark where a number rests on disturbed samples alone."""
    return "" if all(clean) else "?"


def _ratio(got: dict[str, Any] | None, our_clean: int) -> str:
    if got is None or "absent" in got:
        return ""
    if "ratio" not in got:
        return "wrong" if "rejected" in got else "error"
    return f"{got['ratio']:.2f}{_doubt(got['clean'], our_clean)}"


_GOALS = {"goal": "torch", "goal_kept": "torch kept", "goal_fused": "torch fused"}


def missed(row: dict[str, Any]) -> bool:
    """Whether cafe was timed and a goal of the row is not reached."""
    return bool(misses(row))


def misses(row: dict[str, Any]) -> list[tuple[str, float, float]]:
    """The goals of the row that are not reached: beside which peer, cafe's time over that one's, and what it may be at most."""
    ratios = [(peer, row["libraries"].get(peer, {}).get("ratio"), row[goal]) for goal, peer in _GOALS.items()]
    return [(peer, ratio, goal) for peer, ratio, goal in ratios if goal is not None and ratio is not None and ratio > goal]


def _goal(row: dict[str, Any]) -> str:
    if row["goal"] is None:
        return ""
    others = "".join(f" ({row[goal]:.2f})" for goal in ("goal_kept", "goal_fused") if row[goal] is not None)
    return f"{row['goal']:.2f}{others}{'!' if missed(row) else ''}"
