"""Writes layers.safetensors beside this script: nine layers of PyTorch 2.13.0 (CPU, one thread) with their inputs and outputs.

    python tests/golden/make_layers.py FOLDER      (needs torch and safetensors)

All draws are float64, rounded to float32 once. `NAME.weight` and so on is a layer's state, `in.NAME` its input, `out.NAME` its output; of
the batch norm `bn` that is the one in training, `after.bn.…` are the running statistics it left, and `out_eval.bn` is the output by them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

GENERATOR = torch.Generator().manual_seed(11)
SHAPES = {
    "lin": (2, 5, 4),
    "emb": (2, 3),
    "ln": (2, 5, 4),
    "rms": (2, 5, 4),
    "c1": (2, 2, 7),
    "c2": (2, 2, 5, 6),
    "gn": (2, 4, 3, 3),
    "bn": (4, 2, 3, 3),
    "ct": (1, 2, 4, 5),
}


def draw(*shape: int, scale: float = 1.0) -> torch.Tensor:
    return (torch.randn(*shape, generator=GENERATOR, dtype=torch.float64) * scale).float()


def layers() -> nn.ModuleDict:
    """The layers with drawn weights; the last two are drawn and not used, so that the inputs after them are those of the full list."""
    made = nn.ModuleDict(
        {
            "lin": nn.Linear(4, 3),
            "emb": nn.Embedding(10, 4),
            "ln": nn.LayerNorm(4),
            "rms": nn.RMSNorm(4, eps=1e-5),
            "c1": nn.Conv1d(2, 3, 3, padding=1),
            "c2": nn.Conv2d(2, 3, 3, padding=1),
            "gn": nn.GroupNorm(2, 4),
            "bn": nn.BatchNorm2d(2),
            "ct": nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1),
            "lstm": nn.LSTM(4, 5, batch_first=True),
            "gru": nn.GRU(4, 5, batch_first=True),
        }
    )
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(draw(*parameter.shape, scale=0.5))
    del made["lstm"], made["gru"]
    return made


def tensors() -> dict[str, torch.Tensor]:
    made = layers()
    out = {name: value.clone() for name, value in made.state_dict().items() if value.is_floating_point()}
    for name, shape in SHAPES.items():
        x = torch.randint(0, 10, shape, generator=GENERATOR) if name == "emb" else draw(*shape)
        out |= {f"in.{name}": x, f"out.{name}": made[name](x).detach()}
    bn = made["bn"]
    out |= {"after.bn.running_mean": bn.running_mean.clone(), "after.bn.running_var": bn.running_var.clone()}
    out["out_eval.bn"] = bn.eval()(out["in.bn"]).detach()
    return out


if __name__ == "__main__":
    torch.set_num_threads(1)
    save_file({name: value.contiguous() for name, value in tensors().items()}, Path(sys.argv[1]) / "layers.safetensors")
