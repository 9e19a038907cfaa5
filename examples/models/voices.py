"""Who speaks: Resemblyzer, three LSTM layers over a mel spectrum, which give each voice a place on a sphere.

    python examples/models/voices.py one.wav other.wav     # how alike the voices are
    python examples/models/voices.py                       # two tones, which are not

Weights (17 MB, Apache 2.0): pip install --no-deps Resemblyzer==0.1.4
"""

from __future__ import annotations

import itertools
import sys

import numpy as np
from sounds import RATE, read_wav, sine
from weights import packaged, run

from cafe import DType, Tensor
from cafe.nn import Module, VarBuilder, linear, lstm_stack

MELS, WIDTH, WINDOW, HOP = 40, 256, 400, 160


class VoiceEncoder(Module):
    """(B, T, 40) mel spectra → (B, 256), of length 1 and without negative numbers."""

    def __init__(self, vb: VarBuilder) -> None:
        self.lstm, self.last = lstm_stack(MELS, WIDTH, 3, vb.pp("lstm")), linear(WIDTH, WIDTH, vb.pp("linear"))

    def forward(self, xs: Tensor) -> Tensor:
        hidden = self.lstm(xs)
        ys = self.last(hidden.narrow(1, hidden.dim(1) - 1, 1).squeeze(1)).relu()
        return ys.broadcast_div(ys.sqr().sum_keepdim(1).sqrt())


def load() -> VoiceEncoder:
    """The model with its weights, which lie beside the training's state in one file."""
    path = packaged("Resemblyzer==0.1.4", "resemblyzer/pretrained.pt")
    return VoiceEncoder(VarBuilder.from_pth_with_state(path, DType.F32, "model_state"))


def _mel(hertz: np.ndarray) -> np.ndarray:
    """Slaney's scale: linear up to 1000 Hz, then logarithmic."""
    return np.where(hertz < 1000, hertz * 3 / 200, 15 + np.log(np.maximum(hertz, 1) / 1000) * 27 / np.log(6.4))


def filters() -> np.ndarray:
    """(40, 201): triangles of one area, evenly spaced on the mel scale, over the frequencies of a spectrum."""
    frequencies = np.linspace(0, RATE / 2, WINDOW // 2 + 1)
    table = np.linspace(0, RATE / 2, 20_001)  # the scale's inverse, by interpolation
    edges = np.interp(np.linspace(0, _mel(np.array(RATE / 2)), MELS + 2), _mel(table), table)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    triangles = np.minimum((frequencies - low) / (middle - low), (high - frequencies) / (high - middle))
    return np.maximum(triangles, 0) * 2 / (high - low)


def spectrum(samples: Tensor) -> Tensor:
    """(samples) → (T, 40): the power of each band, every hundredth of a second."""
    padded = np.pad(samples.numpy(), WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    power = np.abs(np.fft.rfft(frames * window)) ** 2
    return Tensor((power @ filters().T).astype(np.float32))


def main() -> None:
    """Prints how alike each two voices are: 1 for the same."""
    sounds = {path: read_wav(path) for path in sys.argv[1:]} or {f"{hz} Hz": sine(hz, 2 * RATE) for hz in (150, 600)}
    model = load()
    voices = {name: model(spectrum(samples).unsqueeze(0)).squeeze(0) for name, samples in sounds.items()}
    for (a, one), (b, other) in itertools.combinations(voices.items(), 2):
        print(f"{a} and {b}: {one.dot(other).to_scalar():.3f}")


if __name__ == "__main__":
    run(main)
