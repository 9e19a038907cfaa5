"""Where faces are: the first network of MTCNN, which looks at every 12 × 12 window of a picture in many sizes.

    python examples/models/faces.py photo.jpg          # needs Pillow
    python examples/models/faces.py                    # a pattern of numbers

Weights (28 kB, MIT licence): pip install --no-deps facenet-pytorch==2.6.0
"""

from __future__ import annotations

import sys

import numpy as np
from weights import packaged, run

from cafe import Tensor
from cafe.nn import Conv2dConfig, VarBuilder, conv2d, ops, prelu

try:
    from PIL import Image
except ImportError:
    Image = None

WINDOW, STRIDE, SHRINK, SMALLEST = 12, 2, 0.709, 24  # pixels a window, a step; from one size to the next; the smallest face looked for


class PNet:
    """(B, 3, H, W), pixels from −1 to 1 → for each window the probabilities of no face and of one (B, 2, h, w), and how its box is to be
    moved, in windows (B, 4, h, w)."""

    def __init__(self, vb: VarBuilder) -> None:
        plain = Conv2dConfig()
        self.convs = [conv2d(n, m, 3, plain, vb.pp(f"conv{i}")) for i, n, m in ((1, 3, 10), (2, 10, 16), (3, 16, 32))]
        self.prelus = [prelu(n, vb.pp(f"prelu{i}")) for i, n in ((1, 10), (2, 16), (3, 32))]
        self.face, self.box = conv2d(32, 2, 1, plain, vb.pp("conv4_1")), conv2d(32, 4, 1, plain, vb.pp("conv4_2"))

    def __call__(self, xs: Tensor) -> tuple[Tensor, Tensor]:
        for i, (conv, activation) in enumerate(zip(self.convs, self.prelus)):
            xs = activation(conv(xs))
            if i == 0:
                xs = xs.max_pool2d(2, ceil_mode=True)
        return ops.softmax(self.face(xs), 1), self.box(xs)


def load() -> PNet:
    """The network with its weights, from a PyTorch file of the format before zip."""
    return PNet(VarBuilder.from_pth(packaged("facenet-pytorch==2.6.0", "facenet_pytorch/data/pnet.pt")))


def find(net: PNet, picture: Image.Image, surely: float = 0.95) -> list[tuple[float, list[int]]]:
    """Probabilities and boxes (left, top, right, bottom) in many sizes, the likeliest first, without those that lie on a likelier one."""
    found = []
    scale = WINDOW / SMALLEST
    while min(picture.size) * scale >= WINDOW:
        width, height = (max(WINDOW, int(side * scale)) for side in picture.size)
        pixels = np.asarray(picture.convert("RGB").resize((width, height)), np.float32)
        xs = Tensor(((pixels - 127.5) / 128).transpose(2, 0, 1)).unsqueeze(0)
        probability, move = (t.i(0).numpy() for t in net(xs))
        for y, x in np.argwhere(probability[1] > surely):
            corners = np.array([x * STRIDE, y * STRIDE, x * STRIDE + WINDOW, y * STRIDE + WINDOW])
            box = (corners + WINDOW * move[:, y, x]) / scale
            found.append((float(probability[1, y, x]), [round(float(side)) for side in box]))
        scale *= SHRINK
    kept: list[tuple[float, list[int]]] = []
    for probability_and_box in sorted(found, reverse=True):
        if all(overlap(probability_and_box[1], box) < 0.5 for _, box in kept):
            kept.append(probability_and_box)
    return kept


def overlap(a: list[int], b: list[int]) -> float:
    """The part that two boxes share of what they cover together."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(0, width) * max(0, height)
    return both / max(1, sum((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)) - both)


def pattern() -> Tensor:
    """Numbers from −1 to 1 in the shape of a small picture."""
    return Tensor([(i % 7 - 3) / 3 for i in range(585)]).reshape((1, 3, 15, 13))


def main() -> None:
    """Prints the boxes in a picture, or what the network makes of a pattern."""
    net = load()
    if len(sys.argv) < 2:
        probability, box = net(pattern())
        print(probability, box, sep="\n")
        return
    if Image is None:
        raise SystemExit("pictures are read with Pillow: pip install pillow")
    for probable, box in find(net, Image.open(sys.argv[1]))[:10]:
        print(f"{probable:.3f}  {box}")


if __name__ == "__main__":
    run(main)
