"""Every program of the guide prints what examples/guide/expected/ holds; the runner says so, and says what differs."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

GUIDE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "guide"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"guide_{name.strip('_')}", GUIDE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


runner = _load("__main__")
rust = _load("rust")


@pytest.fixture(scope="module")
def outcomes() -> Iterator[dict[str, Any]]:
    """What became of each program, all run once, side by side."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {outcome.name: outcome for outcome in pool.map(runner.run, runner.programs())}


@pytest.mark.parametrize("name", [program.stem for program in runner.programs()])
def test_program_prints_what_the_guide_prints(name: str, outcomes: dict[str, Any]) -> None:
    assert outcomes[name].wrong == ()


def test_every_expected_output_has_its_program_and_only_one_program_has_none() -> None:
    programs, outputs = {p.stem for p in runner.programs()}, {p.stem for p in (GUIDE / "expected").glob("*.txt")}
    assert outputs <= programs
    assert programs - outputs == {"s05_4b_training"}


def test_every_program_opens_with_two_lines_on_what_it_shows() -> None:
    for program in runner.programs():
        lines = program.read_text("utf8").splitlines()
        section = program.stem[1:].split("_")
        assert lines[0].startswith(f'"""{int(section[0])}.{section[1].rstrip("bc")} '), program.name
        assert lines[2] == '"""', program.name


@pytest.fixture
def program(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A program that prints two lines, in a guide of its own."""
    (tmp_path / "expected").mkdir()
    monkeypatch.setattr(runner, "HERE", tmp_path)
    made = tmp_path / "s99_1_two_lines.py"
    made.write_text("print('one')\nprint('two')\n")
    return made


@pytest.mark.parametrize(
    ("want", "word", "wrong"),
    [
        ("one\ntwo\n", "right", ()),
        ("one\n2\n", "wrong", ("line 2: expected 2\n             got two",)),
        ("one\ntwo\nthree\n", "wrong", ("line 3: expected three\n             got nothing",)),
        ("one\n", "wrong", ("line 2: expected nothing\n             got two",)),
        (None, "ran", ()),
    ],
)
def test_runner_compares_line_by_line(program: pathlib.Path, want: str | None, word: str, wrong: tuple[str, ...]) -> None:
    if want is not None:
        runner.expected(program).write_text(want)
    outcome = runner.run(program)
    assert (outcome.name, outcome.word, outcome.wrong) == ("s99_1_two_lines", word, wrong)


def test_runner_reports_a_program_that_fails_or_prints_nothing_or_hangs(
    program: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text("raise SystemExit('no beans')")
    assert runner.run(program).wrong == ("exit status 1\nno beans",)
    program.write_text("")
    assert runner.run(program).wrong == ("it printed nothing",)
    monkeypatch.setattr(runner, "SECONDS", 0.2)
    program.write_text("import time\ntime.sleep(30)")
    assert runner.run(program).wrong == ("no end in 0.2 s",)


def test_runner_exits_with_1_when_a_program_is_wrong(program: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    runner.expected(program).write_text("one\nzwei\n")
    assert runner.main([]) == 1
    printed = capsys.readouterr().out
    assert "1/1  s99_1_two_lines  wrong" in printed
    assert "line 2: expected zwei" in printed
    assert "0 right, 0 ran (their output varies), 1 wrong" in printed
    runner.expected(program).write_text("one\ntwo\n")
    assert runner.main(["s99"]) == 0


def test_runner_refuses_a_name_that_no_program_has(program: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        runner.main(["s42"])
    assert left.value.code == 2
    assert "no program's name begins with s42" in capsys.readouterr().err


def test_unwrap_err_wants_an_error() -> None:
    assert str(rust.unwrap_err(int, "x")) == "invalid literal for int() with base 10: 'x'"
    with pytest.raises(AssertionError, match="an error was expected, got 7"):
        rust.unwrap_err(int, "7")


def test_with_help_shows_the_notes() -> None:
    error = ValueError("no beans")
    error.add_note("help: order some")
    assert rust.with_help(error) == "no beans\nhelp: order some"
