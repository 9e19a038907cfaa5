"""How an English word is spoken: g2p-en, two GRUs, one that reads the letters and one that says the phonemes.

    python examples/models/phonemes.py cappuccino espresso

Weights (3.3 MB, Apache 2.0): pip install --no-deps g2p-en==2.1.0
"""

from __future__ import annotations

import string
import sys

from weights import packaged, run

from cafe import D, Tensor
from cafe.nn import GRU, Embedding, Linear, VarBuilder

GRAPHEMES = ["<pad>", "<unk>", "</s>", *string.ascii_lowercase]
PHONEMES = [
    "<pad>", "<unk>", "<s>", "</s>", "AA0", "AA1", "AA2", "AE0", "AE1", "AE2", "AH0", "AH1", "AH2", "AO0", "AO1", "AO2", "AW0", "AW1",
    "AW2", "AY0", "AY1", "AY2", "B", "CH", "D", "DH", "EH0", "EH1", "EH2", "ER0", "ER1", "ER2", "EY0", "EY1", "EY2", "F", "G", "HH",
    "IH0", "IH1", "IH2", "IY0", "IY1", "IY2", "JH", "K", "L", "M", "N", "NG", "OW0", "OW1", "OW2", "OY0", "OY1", "OY2", "P", "R", "S",
    "SH", "T", "TH", "UH0", "UH1", "UH2", "UW", "UW0", "UW1", "UW2", "V", "W", "Y", "Z", "ZH",
]  # fmt: skip
WIDTH, LONGEST = 256, 20


class Part:
    """An embedding and a GRU over it."""

    def __init__(self, name: str, count: int, vb: VarBuilder) -> None:
        self.embedding = Embedding(vb.get((count, WIDTH), f"{name}_emb"), WIDTH)
        weights = [vb.get((3 * WIDTH, WIDTH), f"{name}_w_{w}") for w in ("ih", "hh")]
        self.gru = GRU(*weights, *(vb.get(3 * WIDTH, f"{name}_b_{w}") for w in ("ih", "hh")))


class Speller:
    """Letters → phonemes, the likeliest one each time."""

    def __init__(self, vb: VarBuilder) -> None:
        self.reader, self.speaker = Part("enc", len(GRAPHEMES), vb), Part("dec", len(PHONEMES), vb)
        self.last = Linear(vb.get((len(PHONEMES), WIDTH), "fc_w"), vb.get(len(PHONEMES), "fc_b"))

    def __call__(self, word: str) -> list[str]:
        letters = [*word.lower(), "</s>"]
        ids = [GRAPHEMES.index(letter) if letter in GRAPHEMES else GRAPHEMES.index("<unk>") for letter in letters]
        state = self.reader.gru.seq(self.reader.embedding(Tensor([ids])))[-1]
        said, token = [], PHONEMES.index("<s>")
        while len(said) < LONGEST:
            state = self.speaker.gru.step(self.speaker.embedding(Tensor([token])), state)
            token = self.last(state.h).argmax(D.Minus1).to_vec1()[0]
            if PHONEMES[token] == "</s>":
                break
            said.append(PHONEMES[token])
        return said


def load() -> Speller:
    """The model with its weights."""
    return Speller(VarBuilder.from_npz(packaged("g2p-en==2.1.0", "g2p_en/checkpoint20.npz")))


def main() -> None:
    """Prints each word and its phonemes."""
    speller = load()
    for word in sys.argv[1:] or ["latte", "cappuccino", "candle", "espresso"]:
        print(f"{word:<12}  {' '.join(speller(word))}")


if __name__ == "__main__":
    run(main)
