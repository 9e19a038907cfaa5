"""Fashion-MNIST (photos of clothes, 28 × 28 pixels, ten classes): trains a small convolutional network and tests it.

    python examples/train_fashion.py --plot loss.png
    python examples/train_fashion.py --resume                  # after it was stopped: goes on to the same bits

The photos come with Debian's package dataset-fashion-mnist, or lie as IDX files in the folder that --data names. A checkpoint is written
every so many steps; a run that was killed at any moment ends, resumed, in the weights that it would have had. tqdm shows the progress,
matplotlib draws the plot: `pip install 'cafe-grad[examples]'`.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

from terminal import Bar, positive

import cafe
from cafe import D, DType, Tensor
from cafe.io.idx import read_idx
from cafe.nn import (
    AdamW,
    BatchNorm,
    Conv2d,
    Conv2dConfig,
    ModuleT,
    ParamsAdamW,
    VarBuilder,
    VarMap,
    batch_norm,
    conv2d_no_bias,
    linear,
    load_checkpoint,
    loss,
    save_checkpoint,
)
from cafe.tools.data import Rows, batches, shuffled

try:
    from matplotlib.figure import Figure
except ImportError:
    Figure = None

DEBIAN = pathlib.Path("/usr/share/datasets/fashion-mnist")
MEAN, DEVIATION = 0.2860, 0.3530  # of the training photos, between 0 and 1


class Stage:
    """Convolution, batch norm, ReLU, and a halving by 2 × 2 maxima: (B, in, H, W) → (B, out, H/2, W/2)."""

    def __init__(self, inputs: int, outputs: int, vb: VarBuilder) -> None:
        self.conv: Conv2d = conv2d_no_bias(inputs, outputs, 3, Conv2dConfig(padding=1), vb.pp("conv"))
        self.norm: BatchNorm = batch_norm(outputs, 1e-5, vb.pp("norm"))

    def __call__(self, xs: Tensor, train: bool) -> Tensor:
        return self.norm.forward_t(self.conv(xs), train).relu().max_pool2d(2)


class SmallNet(ModuleT):
    """Two stages and a linear layer over what is left of the plane: (B, 1, 28, 28) → (B, 10)."""

    def __init__(self, widths: Sequence[int], vb: VarBuilder) -> None:
        ins = [1, *widths]
        self.stages = [Stage(a, b, vb.pp(f"stage_{i}")) for i, (a, b) in enumerate(zip(ins, widths))]
        left = 28 // 2 ** len(widths)
        self.head = linear(widths[-1] * left * left, 10, vb.pp("head"))

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        """The classes' logits."""
        for stage in self.stages:
            xs = stage(xs, train)
        return self.head(xs.flatten_from(1))


def photos(folder: pathlib.Path, part: str) -> Rows:
    """The photos (N, 1, 28, 28), normalised, and their classes (N); `part` is `train` or `t10k`."""
    found = []
    for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
        paths = [folder / f"{part}-{kind}{end}" for end in ("", ".gz")]
        path = next((p for p in paths if p.exists()), None)
        if path is None:
            raise SystemExit(f"there is no {paths[1]}: apt-get install dataset-fashion-mnist, or name a folder with --data")
        found.append(read_idx(path))
    x, y = found
    return ((x.to_dtype(DType.F32) / 255.0 - MEAN) / DEVIATION).unsqueeze(1), y.to_dtype(DType.U32)


def accuracy(model: SmallNet, x: Tensor, y: Tensor) -> float:
    """The share of photos whose likeliest class is theirs."""
    with cafe.no_grad():
        right = [
            model.forward_t(xb, False).argmax(D.Minus1).eq(yb).to_dtype(DType.F32).sum_all().item() for xb, yb in batches(x, y, size=500)
        ]
    return float(sum(right)) / x.dim(0)


class Training:
    """A run: model, optimizer, where it stands and what the loss was so far. All of it lives in the checkpoint."""

    def __init__(self, options: argparse.Namespace, x: Tensor, y: Tensor) -> None:
        self.options, self.x, self.y = options, x, y
        cafe.manual_seed(options.seed)
        self.varmap = VarMap()
        self.model = SmallNet(options.widths, VarBuilder.from_varmap(self.varmap, DType.F32))
        self.opt = AdamW(self.varmap.data(), ParamsAdamW(lr=options.lr, weight_decay=0.01))
        self.per_epoch = math.ceil(x.dim(0) / options.batch)
        self.steps = options.epochs * self.per_epoch
        self.step, self.losses = 0, Tensor.zeros(self.steps)

    def resume(self) -> None:
        """Takes up the run in the checkpoint."""
        saved = load_checkpoint(self.options.checkpoint, self.varmap, self.opt)
        if saved.extra["losses"].shape != self.losses.shape or saved.extra["options"].tolist() != self.facts():
            cafe.bail("the checkpoint belongs to a run with other options")
        self.step, self.losses = saved.step, saved.extra["losses"]

    def save(self) -> None:
        """Writes the checkpoint."""
        extra = {"losses": self.losses, "options": Tensor(self.facts(), dtype=DType.F64)}
        save_checkpoint(self.options.checkpoint, self.varmap, self.opt, self.step, extra)

    def facts(self) -> list[float]:
        """What another run must have in common with this one to be the same."""
        o = self.options
        return [float(n) for n in (o.seed, o.epochs, o.batch, o.lr, self.x.dim(0), *o.widths)]

    def rows(self, epoch: int) -> Any:
        """An epoch's batches: their order depends on seed and epoch alone, so that a run can be taken up in the middle of one."""
        cafe.manual_seed(1_000_003 * self.options.seed + epoch)
        return batches(*shuffled(self.x, self.y), size=self.options.batch)

    def run(self) -> None:
        """From where it stands to the end, with a checkpoint every so often."""
        with Bar(self.steps, self.step) as bar:
            while self.step < self.steps:
                epoch, first = divmod(self.step, self.per_epoch)
                for xb, yb in self.rows(epoch)[first:]:
                    self.opt.set_learning_rate(self.learning_rate())
                    error = loss.cross_entropy(self.model.forward_t(xb, True), yb)
                    self.opt.step(error.backward())
                    self.losses = self.losses.slice_assign([slice(self.step, self.step + 1)], error.detach().reshape(1))
                    self.step += 1
                    bar.show(f"epoch {epoch + 1}, loss {error.item():.3f}")
                    if self.step % self.options.every == 0:
                        self.save()
        self.save()

    def learning_rate(self) -> float:
        """Half a wave from the full rate to nothing."""
        return float(self.options.lr * 0.5 * (1.0 + math.cos(math.pi * self.step / self.steps)))

    def digest(self) -> str:
        """A fingerprint of all variables' bits."""
        content = hashlib.sha256()
        for var in self.varmap.all_vars():
            content.update(var.numpy().tobytes())
        return content.hexdigest()[:16]


def plot(losses: Sequence[float], path: pathlib.Path) -> None:
    """Draws the loss of each step, and its mean over fifty, into a file."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes: Any = figure.add_subplot(xlabel="step", ylabel="cross-entropy", yscale="log", title="training on Fashion-MNIST")
    axes.plot(losses, linewidth=0.4, alpha=0.5)
    axes.plot([sum(losses[max(0, i - 49) : i + 1]) / min(i + 1, 50) for i in range(len(losses))])
    figure.savefig(path)


def command_line(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the user wants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=DEBIAN, help="folder with the four IDX files, packed or not")
    parser.add_argument("--epochs", type=positive(int), default=3)
    parser.add_argument("--batch", type=positive(int), default=64, help="photos a step")
    parser.add_argument("--lr", type=float, default=3e-3, help="learning rate at the start")
    parser.add_argument("--widths", type=positive(int), nargs="+", default=[16, 32], help="channels of each stage")
    parser.add_argument("--seed", type=int, default=0, help="for the initial weights and the order of the photos")
    parser.add_argument("--limit", type=positive(int), help="train on so many photos only")
    parser.add_argument("--checkpoint", type=pathlib.Path, default=pathlib.Path("fashion.safetensors"), help="where the run is kept")
    parser.add_argument("--every", type=positive(int), default=200, help="steps between checkpoints")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint if it is there")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="draw the loss of each step")
    options = parser.parse_args(arguments)
    if options.plot and Figure is None:
        parser.error("--plot draws with matplotlib: pip install matplotlib")
    if not 1 <= len(options.widths) <= 4:
        parser.error("28 pixels can be halved four times: give one to four widths")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains, from the start or from a checkpoint, and tests."""
    options = command_line(arguments)
    x, y = photos(options.data, "train")
    if options.limit:
        x, y = x.narrow(0, 0, min(options.limit, x.dim(0))), y.narrow(0, 0, min(options.limit, x.dim(0)))
    training = Training(options, x, y)
    try:
        if options.resume and options.checkpoint.exists():
            training.resume()
            print(f"taken up at step {training.step} of {training.steps}", flush=True)
        started = time.perf_counter()
        training.run()
        took = time.perf_counter() - started
        print(f"trained in {took:.0f} s; checkpoint in {options.checkpoint}; fingerprint of the weights {training.digest()}", flush=True)
        if options.plot:
            plot(training.losses.tolist(), options.plot)
    except (cafe.Error, OSError) as error:
        print(f"train_fashion: {options.checkpoint}: {error}", file=sys.stderr)
        return 1
    print(f"accuracy on the test: {accuracy(training.model, *photos(options.data, 't10k')):.4f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
