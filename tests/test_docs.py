"""What the docs say is so: their programs run and print what stands below them, their paths exist."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line its text begins at."""

    language: str
    text: str
    line: int


def blocks(page: pathlib.Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found, open_at, language, lines = [], 0, "", page.read_text("utf8").splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.startswith("```"):
            continue
        if open_at:
            found.append(Block(language, "".join(f"{text}\n" for text in lines[open_at : number - 1]), open_at + 1))
        open_at, language = (0, "") if open_at else (number, line.removeprefix("```"))
    assert open_at == 0, f"{page.name}: the block at line {open_at} is not closed"
    return found


def run_cell(cell: Block, page: pathlib.Path, names: dict[str, Any]) -> str:
    """Runs a block of Python among these names; gives what it printed. A traceback shows the page's own line."""
    code = compile("\n" * (cell.line - 1) + cell.text, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def cells(page: pathlib.Path) -> list[tuple[Block, str]]:
    """Each block of Python with the output it must have: that of the block of text right behind it, else none."""
    found = blocks(page)
    after = [*found[1:], Block("", "", 0)]
    return [(cell, then.text if then.language == "text" else "") for cell, then in zip(found, after) if cell.language == "python"]


@pytest.mark.parametrize("name", ["how_a_tensor_flows.md"])
def test_a_page_that_is_a_program_runs_and_prints_what_it_shows(name: str) -> None:
    page, names = DOCS / name, {"__name__": "__page__"}
    assert len(cells(page)) > 5
    for cell, output in cells(page):
        assert run_cell(cell, page, names) == output, f"{name}, line {cell.line}"


def test_the_reader_of_pages_sees_wrong_output_and_open_blocks(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n```python\nprint(1)\n```\n```text\n1\n```\n```python\nprint(2)\n```\nText.\n")
    assert [(cell.line, run_cell(cell, page, {}), output) for cell, output in cells(page)] == [(3, "1\n", "1\n"), (9, "2\n", "")]
    page.write_text("```python\nprint(1)\n")
    with pytest.raises(AssertionError, match="the block at line 1 is not closed"):
        blocks(page)


def paths_on(text: str) -> list[str]:
    """The paths of this project that a text names; not those with a placeholder, as in `cafe/ops/<family>.py`."""
    return re.findall(r"(?<![\w/.<])(?:cafe|csrc|tests|examples|docs|bench)/[\w/]*(?:\.\w+)?(?![\w<])", text)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_every_path_and_link_on_a_page_exists(page: pathlib.Path) -> None:
    text = page.read_text("utf8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert [path for path in paths_on(text) if not (ROOT / path).exists()] == []
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_paths_are_found() -> None:
    assert paths_on("in `cafe/ops/softmax.py`, csrc/bodies and docs/<x>.md, not /tmp/cafe/x.py") == ["cafe/ops/softmax.py", "csrc/bodies"]


class Edit(NamedTuple):
    """What the page on adding an op says to put into a file."""

    path: str
    where: str
    anchor: str
    text: str


EDIT = re.compile(
    r"^(?:At the end of `(?P<end>[^`]+)`|In `(?P<path>[^`]+)`, (?P<where>above the line|in place of) `(?P<anchor>[^`]+)`):\n\n"
    r"```python\n(?P<text>.*?)```$",
    re.MULTILINE | re.DOTALL,
)


def edits(page: str) -> list[Edit]:
    """The edits a page tells of, in order."""
    return [Edit(m["end"] or m["path"], m["where"] or "end", m["anchor"] or "", m["text"]) for m in EDIT.finditer(page)]


def apply_edit(edit: Edit, root: pathlib.Path) -> None:
    """Does what the page says; what it refers to must stand there once."""
    path = root / edit.path
    text = path.read_text("utf8")
    if edit.where == "end":
        path.write_text(f"{text}\n\n{edit.text}", "utf8")
        return
    above = edit.where == "above the line"
    anchor, new = (f"{edit.anchor}\n", f"{edit.text}{edit.anchor}\n") if above else (edit.anchor, edit.text.rstrip("\n"))
    assert text.count(anchor) == 1, f"{edit.path}: `{edit.anchor}` stands there {text.count(anchor)} times"
    path.write_text(text.replace(anchor, new), "utf8")


@pytest.fixture(scope="module")
def copy_with_softsign(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy of cafe and its laws, edited as the page says."""
    root = tmp_path_factory.mktemp("cafe_with_softsign")
    shutil.copytree(ROOT / "cafe", root / "cafe", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "test_laws.py", root / "tests")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nfilterwarnings = ['error']\n")
    found = edits((DOCS / "adding_an_op.md").read_text("utf8"))
    assert [edit.path for edit in found] == [
        "cafe/kernels/unary.py",
        "cafe/kernels/__init__.py",
        "cafe/kernels/__init__.py",
        "cafe/ops/unary.py",
        "cafe/tensor/_activation.py",
        "cafe/tensor/verbs.py",
        "cafe/testing/cases/unary.py",
    ]
    for edit in found:
        apply_edit(edit, root)
    return root


def _python(root: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "utf8"}
    return subprocess.run([sys.executable, *arguments], cwd=root, env=environment, capture_output=True, encoding="utf8")


def _adding() -> tuple[list[tuple[Block, str]], tuple[Block, str]]:
    """The cells on an op of one's own, and the one that uses softsign; the edits lie between."""
    runnable = [(cell, output) for cell, output in cells(DOCS / "adding_an_op.md") if output]
    return runnable[:-1], runnable[-1]


def test_an_op_of_ones_own_as_the_page_writes_it() -> None:
    page, names = DOCS / "adding_an_op.md", {"__name__": "__page__"}
    own, _ = _adding()
    assert len(own) == 2
    for cell, output in own:
        assert run_cell(cell, page, names) == output, f"line {cell.line}"


def test_the_edits_for_a_row_give_a_method_that_works(copy_with_softsign: pathlib.Path) -> None:
    cell, output = _adding()[1]
    ran = _python(copy_with_softsign, "-c", f"import cafe\nassert cafe.__file__.startswith({str(copy_with_softsign)!r})\n{cell.text}")
    assert (ran.stdout, ran.stderr) == (output, "")


def test_the_edits_for_a_row_keep_every_law(copy_with_softsign: pathlib.Path) -> None:
    ran = _python(copy_with_softsign, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_laws.py", "-k", "softsign or unary_table")
    assert ran.returncode == 0, ran.stdout
    assert int(re.findall(r"(\d+) passed", ran.stdout)[0]) > 10


def test_an_edit_wants_its_anchor_once(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\nx = 1\n")
    with pytest.raises(AssertionError, match="`x = 1` stands there 2 times"):
        apply_edit(Edit("a.py", "above the line", "x = 1", "y = 2\n"), tmp_path)
    with pytest.raises(AssertionError, match="`z` stands there 0 times"):
        apply_edit(Edit("a.py", "in place of", "z", "y\n"), tmp_path)


CHECKED = re.compile(r"`([^`]+)` → `([^`]+)`")


def checked(page: pathlib.Path) -> list[tuple[str, str]]:
    """What a page's tables say an expression gives."""
    rows = [line for line in page.read_text("utf8").splitlines() if line.startswith("|")]
    return [(m[1], m[2]) for row in rows for m in CHECKED.finditer(row)]


@pytest.fixture(scope="module")
def names_of() -> Callable[[str], dict[str, Any]]:
    """The names that a page's blocks of Python define."""
    defined: dict[str, dict[str, Any]] = {}

    def names(page: str) -> dict[str, Any]:
        if page not in defined:
            defined[page] = {"__name__": "__page__"}
            for cell, output in cells(DOCS / page):
                assert run_cell(cell, DOCS / page, defined[page]) == output
        return defined[page]

    return names


@pytest.mark.parametrize(
    ("page", "expression", "value"),
    [(name, *row) for name in ("conventions.md", "differences.md") for row in checked(DOCS / name)],
)
def test_a_table_says_what_is_so(page: str, expression: str, value: str, names_of: Callable[[str], dict[str, Any]]) -> None:
    names = names_of(page)
    assert eval(expression, names) == eval(value, names)


def test_rows_of_tables_are_found(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("| a | b |\n| --- | --- |\n| one | `1 + 1` → `2` |\nNot in a table: `1` → `2`\n| two | `3` → `3`, `4` |\n")
    assert checked(page) == [("1 + 1", "2"), ("3", "3")]


def test_the_program_of_the_readme_learns_and_saves(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cell,) = (block for block in blocks(ROOT / "README.md") if block.language == "python")
    monkeypatch.chdir(tmp_path)
    said = re.fullmatch(r"loss (.*), (.*)% of the hours right\n", run_cell(cell, ROOT / "README.md", {}))
    assert said is not None and float(said[1]) < 0.1 and float(said[2]) > 95.0
    assert (tmp_path / "busy.safetensors").is_file()
