"""Handwritten digits (8 × 8 pixels, ten classes): trains a multi-layer perceptron and evaluates its weights in a fresh process.

    python examples/train_digits.py --plot loss.png
    python examples/train_digits.py --evaluate digits.safetensors

It needs scikit-learn, which holds the pictures; tqdm shows the progress, matplotlib draws the plot: `pip install 'cafe-grad[examples]'`.
"""

from __future__ import annotations

import argparse
import itertools
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from terminal import positive

import cafe
from cafe import D, DType, Tensor
from cafe.nn import AdamW, Linear, Module, VarBuilder, VarMap, linear, loss
from cafe.tools.data import Rows, batches, shuffled, split

try:
    from sklearn.datasets import load_digits
except ImportError:
    load_digits = None
try:
    from tqdm import tqdm
except ImportError:
    tqdm = None
try:
    from matplotlib.figure import Figure
except ImportError:
    Figure = None

TRAINED_ON = 1437  # of 1797 pictures; the rest is the test
SPLIT_SEED = 0  # the test is the same whatever seed trains


class Mlp(Module):
    """Linear layers of these widths, with ReLU between them."""

    def __init__(self, vb: VarBuilder, widths: Sequence[int]) -> None:
        pairs = itertools.pairwise(widths)
        self.layers: list[Linear] = [linear(a, b, vb.pp(f"layer_{i}")) for i, (a, b) in enumerate(pairs)]

    def forward(self, xs: Tensor) -> Tensor:
        """(B, first width) → (B, last width)."""
        for layer in self.layers[:-1]:
            xs = layer(xs).relu()
        return self.layers[-1](xs)


def digits() -> tuple[Rows, Rows]:
    """Pictures (N, 64) between 0 and 1 with their classes (N): for training, and for the test."""
    if load_digits is None:
        raise SystemExit("the digits come with scikit-learn: pip install scikit-learn")
    pictures, classes = load_digits(return_X_y=True)
    cafe.manual_seed(SPLIT_SEED)
    return split(*shuffled(Tensor(pictures, dtype=DType.F32) / 16.0, Tensor(classes, dtype=DType.U32)), at=TRAINED_ON)


def accuracy(model: Module, x: Tensor, y: Tensor) -> float:
    """The share of pictures whose likeliest class is theirs."""
    with cafe.no_grad():
        right = model(x).argmax(D.Minus1).eq(y).to_dtype(DType.F32)
    return float(right.mean_all().item())


def progress(epochs: int) -> Iterator[tuple[int, Callable[[str], None]]]:
    """The epochs' numbers, each with a way to show how it went: a bar where there is tqdm, plain lines elsewhere."""
    if tqdm is None:
        for epoch in range(epochs):
            yield epoch, lambda text, epoch=epoch: print(f"epoch {epoch + 1}/{epochs}: {text}", flush=True)
        return
    with tqdm(range(epochs), unit="epoch") as bar:
        for epoch in bar:
            yield epoch, bar.set_postfix_str


def train(model: Module, varmap: VarMap, x: Tensor, y: Tensor, options: argparse.Namespace) -> list[float]:
    """Trains the model; gives the mean loss of each epoch."""
    opt = AdamW.new_lr(varmap.all_vars(), options.lr)
    means = []
    for _, show in progress(options.epochs):
        losses = []
        for xb, yb in batches(*shuffled(x, y), size=options.batch):
            error = loss.cross_entropy(model(xb), yb)
            opt.step(error.backward())
            losses.append(error.item())
        means.append(sum(losses) / len(losses))
        show(f"loss {means[-1]:.4f}")
    return means


def evaluate(weights: pathlib.Path) -> float:
    """The accuracy on the test of weights from a file, whose shapes say what the model looks like."""
    vb = VarBuilder.from_mmaped_safetensors(weights, DType.F32)
    layers = itertools.takewhile(vb.contains_tensor, (f"layer_{i}.weight" for i in itertools.count()))
    shapes = [vb.get_unchecked(name).dims2() for name in layers]
    if not shapes:
        cafe.bail("it holds no layer_0.weight, so it was not written by this program")
    model = Mlp(vb, [shapes[0][1], *(outputs for outputs, _ in shapes)])
    return accuracy(model, *digits()[1])


def plot(losses: Iterable[float], path: pathlib.Path) -> None:
    """Draws the loss of each epoch into a file."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes: Any = figure.add_subplot(xlabel="epoch", ylabel="mean cross-entropy", yscale="log", title="training on the digits")
    axes.plot(list(losses))
    figure.savefig(path)


def command_line(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the user wants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=positive(int), default=30)
    parser.add_argument("--batch", type=positive(int), default=32, help="pictures a step")
    parser.add_argument("--lr", type=positive(float), default=2e-3, help="learning rate")
    parser.add_argument("--hidden", type=positive(int), nargs="*", default=[128, 64], help="widths of the hidden layers")
    parser.add_argument("--seed", type=int, default=0, help="for the initial weights and the order of the pictures")
    parser.add_argument("--weights", type=pathlib.Path, default=pathlib.Path("digits.safetensors"), help="where they go")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="draw the loss of each epoch")
    parser.add_argument("--evaluate", type=pathlib.Path, metavar="FILE", help="do not train: test the weights in this file")
    options = parser.parse_args(arguments)
    if options.plot and Figure is None:
        parser.error("--plot draws with matplotlib: pip install matplotlib")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, saves and has a fresh process evaluate; or evaluates."""
    options = command_line(arguments)
    try:
        if options.evaluate:
            print(f"accuracy on the test: {evaluate(options.evaluate):.4f}")
            return 0
        (x, y), _ = digits()
        cafe.manual_seed(options.seed)
        varmap = VarMap()
        model = Mlp(VarBuilder.from_varmap(varmap, DType.F32), [64, *options.hidden, 10])
        losses = train(model, varmap, x, y, options)
        varmap.save(options.weights)
        print(f"accuracy in training: {accuracy(model, x, y):.4f}; weights in {options.weights}", flush=True)
        if options.plot:
            plot(losses, options.plot)
    except (cafe.Error, OSError) as error:
        print(f"train_digits: {options.evaluate or options.weights}: {error}", file=sys.stderr)
        return 1
    return subprocess.run([sys.executable, __file__, "--evaluate", str(options.weights)]).returncode


if __name__ == "__main__":
    raise SystemExit(main())
