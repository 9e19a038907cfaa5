"""Writes conv.safetensors and cnn1d.safetensors beside this script: numbers of PyTorch 2.13.0 (CPU, one thread).

    python tests/golden/make_conv.py FOLDER      (needs torch and safetensors)

All draws are float64, rounded to float32 once. conv: for case i the inputs `i.x`, `i.w`, the output `i.y`, an upstream gradient `i.c`
and the gradients `i.gx`, `i.gw` of Σ y c; the metadata's `cases` says kind and arguments. cnn1d: Conv1d(1→4, 5), ReLU, Linear(48→3),
cross-entropy, Adam 0.01, six batches in turn: initial values, batches, and for f32 and f64 the loss before and all parameters (in the
metadata's `order`) after each of 100 steps.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

NAMES = ("conv.weight", "conv.bias", "fc.weight", "fc.bias")
CONV = (
    {},
    {"padding": 2},
    {"stride": 2},
    {"stride": 3, "padding": 1},
    {"dilation": 2, "padding": 1},
    {"groups": 2},
    {"groups": 4, "padding": 1, "stride": 2},
)
TRANSPOSED = (
    {},
    {"stride": 2},
    {"stride": 2, "padding": 1, "output_padding": 1},
    {"stride": 3, "dilation": 2},
    {"groups": 2, "stride": 2},
)


class Draws:
    """Normal numbers from one seed."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(*shape, generator=self.generator, dtype=torch.float64) * scale).float()


def all_cases() -> list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, int]]]:
    """Kind, x's shape, w's shape, arguments."""
    cases: list[Any] = []
    for kw in CONV:
        deep = 4 // kw.get("groups", 1)
        cases += [("conv1d", (2, 4, 13), (8, deep, 3), kw), ("conv2d", (2, 4, 9, 11), (8, deep, 3, 3), kw)]
    cases += [
        ("conv2d", (2, 3, 8, 8), (5, 3, 1, 1), {}),
        ("conv2d", (1, 3, 12, 12), (4, 3, 5, 5), {"padding": 2, "stride": 2, "dilation": 2}),
        ("conv2d", (3, 6, 7, 7), (6, 1, 3, 3), {"groups": 6, "padding": 1}),
    ]
    for kw in TRANSPOSED:
        deep = 6 // kw.get("groups", 1)
        cases += [("conv_transpose1d", (2, 4, 7), (4, deep, 3), kw), ("conv_transpose2d", (2, 4, 5, 6), (4, deep, 3, 3), kw)]
    return cases


def conv(folder: Path) -> None:
    """Writes conv.safetensors."""
    draw, tensors, rows = Draws(7), {}, []
    for i, (kind, x_shape, w_shape, kw) in enumerate(all_cases()):
        x, w = draw(*x_shape).requires_grad_(), draw(*w_shape).requires_grad_()
        y = getattr(F, kind)(x, w, **kw)
        c = draw(*y.shape)
        (y * c).sum().backward()
        rows.append({"kind": kind, "x": list(x_shape), "w": list(w_shape), **kw})
        parts = {"x": x, "w": w, "y": y, "c": c, "gx": x.grad, "gw": w.grad}
        tensors.update({f"{i}.{name}": t.detach().contiguous() for name, t in parts.items()})
    save_file(tensors, folder / "conv.safetensors", {"cases": json.dumps(rows)})


def cnn1d(folder: Path) -> None:
    """Writes cnn1d.safetensors."""
    draw = Draws(2)
    start = {
        "conv.weight": draw(4, 1, 5, scale=0.4),
        "conv.bias": draw(4, scale=0.1),
        "fc.weight": draw(3, 48, scale=1 / math.sqrt(48)),
        "fc.bias": draw(3, scale=0.1),
    }
    xs, ys = draw(6, 16, 1, 16), torch.randint(0, 3, (6, 16), generator=draw.generator)
    out = {**start, "xs": xs, "ys": ys}
    for dtype, tag in ((torch.float32, "f32"), (torch.float64, "f64")):
        out[f"adam.{tag}.loss"], out[f"adam.{tag}.params"] = train(start, xs.to(dtype), ys, dtype)
    save_file(out, folder / "cnn1d.safetensors", {"order": json.dumps(NAMES)})


def train(start: dict[str, Any], xs: torch.Tensor, ys: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Losses and parameters of 100 steps."""
    p = {n: start[n].to(dtype).clone().requires_grad_() for n in NAMES}
    optimizer, losses, params = torch.optim.Adam(p.values(), lr=0.01), [], []
    for step in range(100):
        h = torch.relu(F.conv1d(xs[step % 6], p["conv.weight"], p["conv.bias"])).flatten(1)
        loss = F.cross_entropy(F.linear(h, p["fc.weight"], p["fc.bias"]), ys[step % 6])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().clone())
        params.append(torch.cat([p[n].detach().reshape(-1) for n in NAMES]))
    return torch.stack(losses), torch.stack(params)


if __name__ == "__main__":
    torch.set_num_threads(1)
    where = Path(sys.argv[1])
    conv(where)
    cnn1d(where)
