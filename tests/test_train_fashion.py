"""The example on photos: a run killed at any moment and taken up again ends in the same weights; options, messages, the plot."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cafe import Tensor
from cafe.io.idx import write_idx
from cafe.io.safetensors import MmapedSafetensors

PROGRAM = Path(__file__).parent.parent / "examples" / "train_fashion.py"
SMALL = ["--epochs", "2", "--batch", "16", "--widths", "2", "3", "--every", "1"]  # 96 photos: 12 steps


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten classes that can be told apart: a bright row each, and noise."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for part, count, end in (("train", 96, ""), ("t10k", 40, ".gz")):
        classes = (np.arange(count) % 10).astype(np.uint8)
        pictures = rng.integers(0, 60, (count, 28, 28)).astype(np.uint8)
        pictures[np.arange(count), 2 + 2 * classes] = 255
        write_idx(Tensor(pictures), folder / f"{part}-images-idx3-ubyte{end}")
        write_idx(Tensor(classes), folder / f"{part}-labels-idx1-ubyte{end}")
    return folder


def command(photos: Path, checkpoint: Path, *more: str) -> list[str]:
    return [sys.executable, str(PROGRAM), "--data", str(photos), "--checkpoint", str(checkpoint), *SMALL, *more]


def run(photos: Path, checkpoint: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(photos, checkpoint, *more), capture_output=True, text=True, timeout=300)


def fingerprint(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    found = re.search(r"fingerprint of the weights (\w+)", done.stdout)
    assert found is not None, done.stdout
    return found.group(1)


def step_in(checkpoint: Path) -> int:
    return int(MmapedSafetensors.new(checkpoint).metadata["step"]) if checkpoint.exists() else 0


def killed_at(photos: Path, checkpoint: Path, step: int) -> None:
    """Starts or resumes a run and kills it, without a warning, once its checkpoint has come so far."""
    process = subprocess.Popen(
        command(photos, checkpoint, "--resume"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ}
    )
    deadline = time.monotonic() + 120
    while process.poll() is None and step_in(checkpoint) < step and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_killed_twice_and_taken_up_it_ends_in_the_same_bits(photos: Path, tmp_path: Path) -> None:
    through = fingerprint(run(photos, tmp_path / "through"))
    killed_at(photos, tmp_path / "killed", 2)
    killed_at(photos, tmp_path / "killed", 7)  # in the second epoch
    assert 2 <= step_in(tmp_path / "killed") <= 12
    done = run(photos, tmp_path / "killed", "--resume")

    assert "taken up at step" in done.stdout
    assert fingerprint(done) == through


def test_a_finished_run_is_tested_again_and_not_trained_on(photos: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first = run(photos, tmp_path / "run")
    again = run(photos, tmp_path / "run", "--resume", "--plot", str(tmp_path / "loss.png"))

    assert "taken up at step 12 of 12" in again.stdout and fingerprint(first) == fingerprint(again)
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"accuracy on the test: \d\.\d{4}", again.stdout)


def test_another_runs_checkpoint_is_refused(photos: Path, tmp_path: Path) -> None:
    run(photos, tmp_path / "run")
    other = run(photos, tmp_path / "run", "--resume", "--lr", "0.5")
    assert other.returncode == 1
    assert "the checkpoint belongs to a run with other options" in other.stderr


def test_photos_that_are_not_there_are_named(tmp_path: Path) -> None:
    done = run(tmp_path, tmp_path / "run")

    assert done.returncode == 1 and "apt-get install dataset-fashion-mnist" in done.stderr
