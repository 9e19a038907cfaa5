"""Where somebody speaks: silero-vad, a spectrum, four convolutions and an LSTM, 32 milliseconds at a time.

    python examples/models/speech.py recording.wav
    python examples/models/speech.py                 # a pure tone, in which nobody speaks

Weights (1.2 MB, MIT licence): pip install --no-deps silero-vad==6.2.3
"""

from __future__ import annotations

import sys

from sounds import RATE, read_wav, sine
from weights import packaged, run

from cafe import Tensor
from cafe.nn import LSTM, Conv1dConfig, LSTMState, VarBuilder, conv1d, conv1d_no_bias, ops

STEP, CONTEXT, PAD = 512, 64, 64  # new samples a frame; samples of the frame before it; mirrored ones behind it
BINS = 129  # frequencies: the first half of the spectrum's channels are real parts, the second imaginary ones


class Speech:
    """(B, 64 + 512) samples and a state → the probability of speech (B), and the next state."""

    def __init__(self, vb: VarBuilder) -> None:
        self.spectrum = conv1d_no_bias(1, 2 * BINS, 256, Conv1dConfig(stride=128), vb.pp("stft_conv"))
        sizes = [(BINS, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1)]
        self.convs = [conv1d(n, m, 3, Conv1dConfig(padding=1, stride=s), vb.pp(f"conv{i}")) for i, (n, m, s) in enumerate(sizes, 1)]
        cell = vb.pp("lstm_cell")
        weights, biases = [cell.get((512, 128), f"weight_{w}") for w in ("ih", "hh")], [cell.get(512, f"bias_{w}") for w in ("ih", "hh")]
        self.memory = LSTM(*weights, *biases)
        self.last = conv1d(128, 1, 1, Conv1dConfig(), vb.pp("final_conv"))

    def __call__(self, xs: Tensor, state: LSTMState) -> tuple[Tensor, LSTMState]:
        waves = self.spectrum(xs.pad([(0, PAD)], "reflect").unsqueeze(1))
        ys = (waves.narrow(1, 0, BINS).sqr() + waves.narrow(1, BINS, BINS).sqr()).sqrt()
        for conv in self.convs:
            ys = conv(ys).relu()
        state = self.memory.step(ys.squeeze(2), state)
        return ops.sigmoid(self.last(state.h.unsqueeze(2).relu())).flatten_all(), state

    def listen(self, samples: Tensor) -> list[float]:
        """The probability for each 512 samples, the last ones filled up with silence."""
        count = -(-samples.dim(0) // STEP)
        padded = samples.pad([(CONTEXT, count * STEP - samples.dim(0))]).unsqueeze(0)
        state, heard = self.memory.zero_state(1), []
        for i in range(count):
            probability, state = self(padded.narrow(1, i * STEP, CONTEXT + STEP), state)
            heard.append(probability.to_vec1()[0])
        return heard


def load() -> Speech:
    """The model with its weights."""
    return Speech(VarBuilder.from_mmaped_safetensors(packaged("silero-vad==6.2.3", "silero_vad/data/silero_vad_16k.safetensors")))


def main() -> None:
    """Prints when somebody speaks."""
    samples = read_wav(sys.argv[1]) if len(sys.argv) > 1 else sine(440, 5120)
    heard = load().listen(samples)
    for i, probability in enumerate(heard):
        print(f"{i * STEP / RATE:6.2f} s  {probability:.3f}  {'#' * round(40 * probability)}")
    print(f"speech in {sum(p > 0.5 for p in heard)} of {len(heard)} frames")


if __name__ == "__main__":
    run(main)
