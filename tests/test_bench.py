"""The bench's promises, without a clock: a wrong result is never timed, disturbed samples do not count, the report has its form."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
if not (ROOT / "bench").is_dir():
    pytest.skip("the bench lies in the repository, not in an installation", allow_module_level=True)
sys.path.insert(0, str(ROOT))
pytest.importorskip("scipy", reason="the bench's references need SciPy")

from bench import __main__ as command  # noqa: E402
from bench import harness, report, row  # noqa: E402
from bench import misses as missed_rows  # noqa: E402
from bench.check import as_arrays, deviation  # noqa: E402
from bench.peers import Gone, Peer  # noqa: E402
from bench.plain import as_bf16  # noqa: E402
from bench.worker import Worker  # noqa: E402


@dataclass(frozen=True, kw_only=True)
class Doubling(row.Row):
    """y = 2 x; `slip` is what the library adds by mistake."""

    slip: float = 0.0

    @property
    def limit(self) -> row.Stream:
        return row.Stream(16.0, 16.0)

    def inputs(self, rng: np.random.Generator) -> tuple[row.Array, ...]:
        return (rng.standard_normal(4, np.float32),)

    def reference(self, x: row.Array) -> row.Array:
        return 2.0 * x.astype(np.float64)

    def numpy(self, _: Any, x: row.Array) -> row.Call:
        return lambda: x + x + np.float32(self.slip)

    def scipy(self, _: Any, x: row.Array) -> row.Call:
        return lambda: x + x


class InProcess:
    """A peer that answers in this process, with times that are given instead of measured."""

    def __init__(self, library: str, which: row.Row, turn: dict[str, Any]) -> None:
        self.worker, self.turn = Worker(library, np, lambda family, name: which), turn
        self.asked: list[str] = []
        self.about = {"version": "0"}

    def ask(self, **message: Any) -> dict[str, Any]:
        self.asked.append(message["do"])
        if "gone" in self.turn and message["do"] != "prepare":
            raise Gone("killed")
        return self.turn if message["do"] == "turn" else self.worker.answer(message)

    def close(self) -> None:
        self.asked.append("close")


TURNS = {
    "reference": {},
    "numpy": {"seconds": [2.0, 900.0, 2.0], "clean": [True, False, True]},
    "scipy": {"seconds": [8.0, 8.0, 9.0], "clean": [True, True, True]},
}


def crew_for(which: row.Row, turns: dict[str, dict[str, Any]] = TURNS) -> harness.Crew:
    return harness.Crew(1, lambda library, threads: InProcess(library, which, turns[library]))


def measured(which: row.Row, turns: dict[str, dict[str, Any]] = TURNS) -> tuple[dict[str, Any], dict[str, InProcess]]:
    crew = crew_for(which, turns)
    crew.missing["probe"] = "not here"
    entry = harness.measure("doubling", which, crew, ["numpy", "scipy"], harness.QUICK, lambda seconds: None)
    return entry, dict(crew._peers)


# -- the check


def test_a_right_result_deviates_by_its_rounding() -> None:
    exact = np.array([1.0, -2.0, 1e-3])
    assert deviation([exact.copy()], [exact]) == 0.0
    assert deviation([exact.astype(np.float32)], [exact]) < 1e-7


@pytest.mark.parametrize(
    "got",
    [
        [np.array([1.0, 2.5])],
        [np.array([1.0, np.nan])],
        [np.array([1.0, np.inf])],
        [np.array([[1.0, 2.0]])],
        [np.array([1.0, 2.0]), np.array(0.0)],
        [],
    ],
)
def test_a_wrong_result_deviates(got: list[np.ndarray]) -> None:
    assert deviation(got, [np.array([1.0, 2.0])]) > 0.1


def test_a_small_gradient_is_held_to_its_own_size() -> None:
    """An error of a tenth in numbers of 10⁻⁴ is a tenth, not 10⁻⁵."""
    assert deviation([np.array([1.1e-4])], [np.array([1e-4])]) == pytest.approx(0.1)


def test_nan_and_infinity_are_right_where_the_reference_has_them() -> None:
    special = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert deviation([special.copy()], [special]) == 0.0
    assert deviation([-special], [special]) == math.inf


def test_random_numbers_are_held_to_their_distribution() -> None:
    which = row.find("elementwise", "normal random numbers 4M")
    reference, numbers = [which.reference()], np.random.default_rng(1).standard_normal(100_000)
    assert deviation(which.compared([numbers]), reference) < 0.02 < deviation(which.compared([1.1 * numbers]), reference)
    assert deviation(which.compared([numbers + 0.1]), reference) > 0.02


def test_bf16_is_rounded_to_the_nearest() -> None:
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    x[:4] = 1.00390625, 1.01171875, -1.00390625, 0.0  # ties, to the even one
    assert np.array_equal(as_bf16(x), x.astype(ml_dtypes.bfloat16).astype(np.float32))
    torch = pytest.importorskip("torch")
    assert np.array_equal(as_arrays(torch.from_numpy(as_bf16(x)).bfloat16())[0], as_bf16(x))


def test_nothing_compared_is_not_right() -> None:
    assert deviation([], []) == math.inf


def test_results_of_any_kind_become_arrays() -> None:
    arrays = as_arrays((1.5, [np.arange(2), np.float32(3)]))
    assert [a.tolist() for a in arrays] == [1.5, [0, 1], 3.0]


# -- a row


def test_a_right_library_is_timed_by_the_median_of_its_clean_samples() -> None:
    entry, _ = measured(Doubling(name="double"))
    got = entry["libraries"]["numpy"]
    assert got["seconds"] == 2.0
    assert got["taken"] == 3 * harness.QUICK.rounds
    assert got["clean"] == 2 * harness.QUICK.rounds


def test_a_wrong_library_is_rejected_and_never_timed() -> None:
    entry, peers = measured(Doubling(name="double", slip=1e-3))
    assert entry["libraries"]["numpy"]["rejected"] > 1e-4
    assert "seconds" not in entry["libraries"]["numpy"]
    assert "turn" not in peers["numpy"].asked
    assert "turn" in peers["scipy"].asked


def test_samples_that_were_all_disturbed_still_say_so() -> None:
    turns = {**TURNS, "numpy": {"seconds": [5.0, 7.0], "clean": [False, False]}}
    entry, peers = measured(Doubling(name="double"), turns)
    assert entry["libraries"]["numpy"]["clean"] == 0
    assert peers["numpy"].asked.count("turn") == 2 * harness.QUICK.rounds, "more turns are taken for the sake of clean samples"


def test_a_library_that_falls_over_leaves_the_others_their_times() -> None:
    entry, peers = measured(Doubling(name="double"), {**TURNS, "numpy": {"gone": True}})
    assert "killed" in entry["libraries"]["numpy"]["error"]
    assert entry["libraries"]["scipy"]["seconds"] == 8.0
    assert "numpy" not in peers, "it is started anew for the next row"


def test_a_library_without_a_method_is_absent() -> None:
    which = Doubling(name="double")
    crew = crew_for(which, {**TURNS, "jax": {}})
    crew.missing["probe"] = "not here"
    entry = harness.measure("doubling", which, crew, ["jax"], harness.QUICK)
    assert entry["libraries"]["jax"] == {"absent": "has no such operation"}


def test_a_reference_that_fails_ends_the_row() -> None:
    class Broken(Doubling):
        """Cannot say what is right."""

        def reference(self, x: row.Array) -> row.Array:
            raise ZeroDivisionError("no reference")

    with pytest.raises(RuntimeError, match="the reference of `broken` failed: ZeroDivisionError: no reference"):
        measured(Broken(name="broken"))


def test_a_missing_library_is_noted_once_with_the_reason() -> None:
    tried = []

    def launch(library: str, threads: int) -> Any:
        tried.append(library)
        raise Gone("No module named 'jax'")

    crew = harness.Crew(2, launch)
    assert crew.get("jax") is None
    assert crew.get("jax") is None
    assert tried == ["jax"]
    assert crew.missing == {"jax": "No module named 'jax'"}


def test_ratios_and_shares_come_from_one_run() -> None:
    found = {
        "probe": {"seconds": 1.0, "clean": 4},
        "cafe": {"right": True, "seconds": 2.0, "clean": 4, "taken": 4},
        "numpy": {"right": True, "seconds": 8.0, "clean": 4, "taken": 4},
    }
    entry = harness.entry_of("doubling", Doubling(name="double"), found)
    assert entry["libraries"]["numpy"]["ratio"] == 0.25
    assert entry["libraries"]["cafe"]["of_limit"] == 0.5
    assert entry["libraries"]["cafe"]["rate"] == 32.0 / 2.0 / 1e9


def test_state_that_changes_is_compared_call_by_call() -> None:
    """A training step that is right once and wrong in the second call is wrong."""

    class Counting(Doubling):
        def reference(self, x: row.Array) -> list[float]:
            return [1.0, 2.0]

        def numpy(self, _: Any, x: row.Array) -> row.Call:
            state = np.zeros(())
            return lambda: np.add(state, 1.0, out=state)

        def scipy(self, _: Any, x: row.Array) -> row.Call:
            return lambda: np.ones(())

    entry, _ = measured(Counting(name="counting", checked_calls=2))
    assert entry["libraries"]["numpy"]["deviation"] == 0.0
    assert entry["libraries"]["scipy"]["rejected"] == 0.5


# -- a process


def test_the_processes_agree_about_a_row(tmp_path: Path) -> None:
    """The protocol, end to end: the reference is written by one process, cafe's result is checked by another."""
    family, which = "matmul", row.find("matmul", "m32 k16 n8, from Python")
    crew = harness.Crew(1)
    try:
        reference, cafe = crew.get("reference"), crew.get("cafe")
        assert isinstance(reference, Peer) and isinstance(cafe, Peer)
        assert harness.prepared(reference, family, which, str(tmp_path / "reference")) == {"arrays": 1}
        assert harness.prepared(cafe, family, which, str(tmp_path / "reference"))["right"] is True
        np.save(tmp_path / "reference.0.npy", np.load(tmp_path / "reference.0.npy") + 1e-3)
        assert "rejected" in harness.prepared(cafe, family, which, str(tmp_path / "reference"))
    finally:
        crew.close()


# -- the report


def a_run() -> dict[str, Any]:
    run = report.document(["--quick"], 2, {"cpu": "any"}, {"cafe": {"version": "0"}}, {"jax": "not installed"})
    run["rows"].append(measured(Doubling(name="double"))[0])
    run["curves"].append({"name": "growth", "axis": "n", "unit": "GB/s", "points": {"cafe": [[1, 2.0], [2, 3.0]]}})
    return run


def test_a_document_survives_json_and_has_its_form() -> None:
    run = json.loads(json.dumps(a_run()))
    report.validate(run)
    assert run["missing"] == {"jax": "not installed"}


def _without(run: dict[str, Any], *path: Any) -> None:
    for step in path[:-1]:
        run = run[step]
    del run[path[-1]]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("machine",), "the document: `machine` is missing"),
        (("rows", 0, "goal"), "a row: `goal` is missing"),
        (("rows", 0, "libraries", "scipy", "clean"), "`scipy` in `double`: `clean` is missing"),
        (("rows", 0, "libraries", "scipy", "seconds"), "`scipy` in `double`: neither a time nor a reason"),
        (("curves", 0, "points", "cafe", 1, 1), "`cafe` in curve `growth`: a point is a size and a value"),
    ],
)
def test_a_document_that_lacks_something_is_refused(path: tuple[Any, ...], message: str) -> None:
    run = a_run()
    _without(run, *path)
    with pytest.raises(ValueError, match=message):
        report.validate(run)


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema 99, expected 1"):
        report.validate({**a_run(), "schema": 99})


def test_a_line_shows_ratio_goal_and_doubt() -> None:
    found = {
        "cafe": {"right": True, "seconds": 2.0e-3, "clean": 9, "taken": 9},
        "torch": {"right": True, "seconds": 4.0e-3, "clean": 9, "taken": 9},
        "numpy": {"right": True, "seconds": 8.0e-3, "clean": 0, "taken": 9},
    }
    libraries = ["cafe", "torch", "numpy"]
    reached = report.line(harness.entry_of("f", Doubling(name="double", goal=0.6), dict(found)), libraries)
    assert reached.split() == ["double", "2", "ms", "1.6e-05", "GB/s", "0.50", "0.25?", "0.60", "0/9"]
    missed = report.line(harness.entry_of("f", Doubling(name="double", goal=0.4), dict(found)), libraries)
    assert "0.40!" in missed


def test_a_wrong_result_of_ours_stands_in_the_line() -> None:
    entry = harness.entry_of("f", Doubling(name="double"), {"cafe": {"rejected": 0.25}})
    assert "WRONG: 0.25" in report.line(entry, ["cafe"])


# -- the command


def test_list_names_every_row_and_curve(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    lines = capsys.readouterr().out
    for family in row.FAMILIES:
        for each in row.rows_of(family):
            assert f"{family:<12}{each.name}\n" in lines
        for curve in row.curves_of(family):
            assert f"{curve.name} (--sweep)" in lines


def test_names_select_rows() -> None:
    assert {family for family, _ in row.select(["matmul"])} == {"matmul"}
    assert [each.name for _, each in row.select(["sgemm 1024"])] == ["sgemm 1024"]


@pytest.mark.parametrize("arguments", [["no such row"], ["--peers", "abacus", "--list"]])
def test_an_unknown_name_is_said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(arguments) == 2
    assert "no such row" in (said := capsys.readouterr().err) or "unknown peer `abacus`" in said


def test_names_are_their_rows_own() -> None:
    for family in row.FAMILIES:
        names = [each.name for each in row.rows_of(family)]
        assert len(set(names)) == len(names)
        assert all(row.find(family, name).name == name for name in names)


def test_the_table_of_misses_has_the_rows_that_miss_and_no_others() -> None:
    def one(name: str, ratio: float, kept: float) -> dict[str, Any]:
        ran = {"cafe": {"of_limit": 0.5}, "torch": {"ratio": ratio}, "torch kept": {"ratio": kept}}
        return {"name": name, "goal": 0.6, "goal_kept": 0.9, "goal_fused": None, "libraries": ran}

    lines = missed_rows.table({"rows": [one("good", 0.6, 0.9), one("bad", 0.75, 0.5), one("both", 0.7, 1.0)]}).splitlines()

    assert lines[2:] == ["| bad | 0.75 (0.60) | 50 % |", "| both | 0.70 (0.60), 1.00 kept (0.90) | 50 % |"]
