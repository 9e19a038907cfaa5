"""The examples do what they say: training, weights in a file, evaluation in a fresh process, clear errors."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIGITS = ROOT / "examples" / "train_digits.py"


def run(folder: pathlib.Path, *arguments: str, without: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Runs the program on the digits in a folder, as if the packages named were not installed."""
    hidden = folder / "hidden"
    hidden.mkdir(exist_ok=True)
    for name in without:
        (hidden / f"{name}.py").write_text(f"raise ImportError('No module named {name}')\n")
    environment = {**os.environ, "PYTHONPATH": str(hidden), "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf8"}
    return subprocess.run([sys.executable, str(DIGITS), *arguments], cwd=folder, env=environment, capture_output=True, encoding="utf8")


def reported(printed: str, where: str) -> float:
    """The accuracy that a program says."""
    found = re.search(rf"accuracy {where}: ([\d.]+)", printed)
    assert found is not None, printed
    return float(found[1])


def test_digits_are_learnt_saved_and_evaluated_in_a_fresh_process(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("sklearn")
    trained = run(tmp_path, "--weights", "w.safetensors", without=("tqdm",))
    assert trained.returncode == 0, trained.stderr
    assert reported(trained.stdout, "on the test") > 0.97
    assert reported(trained.stdout, "in training") > 0.99
    lines = [line for line in trained.stdout.splitlines() if line.startswith("epoch ")]
    losses = [float(line.rpartition(" ")[2]) for line in lines]
    assert lines[0].startswith("epoch 1/30: loss ") and len(lines) == 30
    assert losses[-1] < 0.05 < losses[0]
    again = run(tmp_path, "--evaluate", "w.safetensors")
    assert again.stdout == trained.stdout[trained.stdout.index("accuracy on the test") :]


def test_digits_follow_the_seed_and_draw_the_loss(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    short = ("--epochs", "1", "--hidden", "16", "--batch", "128")
    files = {}
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        ran = run(tmp_path, *short, "--seed", seed, "--weights", f"{name}.safetensors", "--plot", "loss.png")
        assert ran.returncode == 0, ran.stderr
        files[name] = (tmp_path / f"{name}.safetensors").read_bytes()
    assert files["a"] == files["b"] != files["c"]
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_a_bar_shows_the_progress_where_there_is_one(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    ran = run(tmp_path, "--epochs", "2", "--hidden", "8")
    assert ran.returncode == 0, ran.stderr
    assert "2/2" in ran.stderr and "loss" in ran.stderr
    assert not ran.stdout.startswith("epoch")


def test_a_missing_package_is_one_line_that_says_what_to_install(tmp_path: pathlib.Path) -> None:
    ran = run(tmp_path, without=("sklearn",))
    assert (ran.returncode, ran.stderr.splitlines()) == (1, ["the digits come with scikit-learn: pip install scikit-learn"])
    ran = run(tmp_path, "--plot", "loss.png", without=("matplotlib",))
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[-1].endswith("--plot draws with matplotlib: pip install matplotlib")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epochs", "0"), "argument --epochs: a number above 0 is wanted, got 0"),
        (("--lr", "fast"), "argument --lr: invalid float value: 'fast'"),
        (("--evaluate", "no.safetensors"), 'train_digits: no.safetensors: path: "no.safetensors" No such file or directory (os error 2)'),
        (("--evaluate", "damaged"), "train_digits: damaged: header too small"),
        (("--evaluate", "empty"), "train_digits: empty: it holds no layer_0.weight, so it was not written by this program"),
    ],
)
def test_wrong_arguments_and_files_are_named(tmp_path: pathlib.Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "damaged").write_bytes(b"?")
    (tmp_path / "empty").write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    ran = run(tmp_path, *arguments)
    assert ran.returncode != 0
    assert message in ran.stderr.splitlines()[-1]
    assert "Traceback" not in ran.stderr
