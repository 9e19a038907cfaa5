"""The model of examples/train_shakespeare.py in PyTorch, trained from the same weights on the same batches by the same schedule.

    python tests/shakespeare_in_torch.py --steps 1000

trains both and prints what each says of the held-out text; the options are the example's.
"""

from __future__ import annotations

import argparse
import importlib
import pathlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def example() -> ModuleType:
    """The example as a module."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module("train_shakespeare")


def packed(ours: Mapping[str, Any], name: str, kind: str) -> Any:
    """The three projections that PyTorch holds one below the other."""
    return importlib.import_module("torch").cat([ours[f"{name}.attention.{part}_proj.{kind}"] for part in "qkv"])


def state(ours: Mapping[str, Any], layers: int) -> dict[str, Any]:
    """Our variables under PyTorch's names."""
    renamed = {"attention.o_proj": "self_attn.out_proj", "feed_forward.fc1": "linear1", "feed_forward.fc2": "linear2"}
    renamed |= {"ln1": "norm1", "ln2": "norm2"}
    out = {"letters.weight": ours["letters.weight"]}
    for kind in ("weight", "bias"):
        out |= {f"head.{kind}": ours[f"head.{kind}"], f"layers.norm.{kind}": ours[f"encoder.norm.{kind}"]}
        for i in range(layers):
            mine = f"encoder.layers.{i}"
            out[f"layers.layers.{i}.self_attn.in_proj_{kind}"] = packed(ours, mine, kind)
            out |= {f"layers.layers.{i}.{b}.{kind}": ours[f"{mine}.{a}.{kind}"] for a, b in renamed.items()}
    return out


def loss_in_torch(text: Any, options: argparse.Namespace) -> float:
    """The loss on the held-out text after the same training."""
    torch, ts = importlib.import_module("torch"), example()
    nn, functional = torch.nn, torch.nn.functional
    varmap, _ = ts.fresh(text, options)
    ours = {name: torch.from_numpy(var.numpy().copy()) for name, var in varmap.data().items()}

    class Writer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.letters = nn.Embedding(len(text.letters), options.dim)
            layer = nn.TransformerEncoderLayer(options.dim, options.heads, 4 * options.dim, 0.0, "gelu", batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, options.layers, nn.LayerNorm(options.dim), enable_nested_tensor=False)
            self.places = torch.from_numpy(ts.sinusoidal_positions(options.length, options.dim).numpy().copy())
            self.head = nn.Linear(options.dim, len(text.letters))

        def forward(self, ids: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
            return self.head(self.layers(self.letters(ids) + self.places, mask=mask, is_causal=True))

    model = Writer()
    model.load_state_dict(state(ours, options.layers))
    opt, rate = torch.optim.AdamW(model.parameters(), weight_decay=options.decay), ts.schedule(options)

    def error_of(xb: Any, yb: Any) -> Any:
        x, y = (torch.from_numpy(t.numpy().astype("int64")) for t in (xb, yb))
        return functional.cross_entropy(model(x).flatten(0, 1), y.flatten())

    model.train()
    for step, (xb, yb) in enumerate(ts.training_rows(text, options)):
        opt.zero_grad()
        error_of(xb, yb).backward()
        nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        opt.param_groups[0]["lr"] = rate(step)
        opt.step()
    x, y = ts.looked_at(text)
    with torch.no_grad():
        return sum(error_of(xb, yb).item() * xb.dim(0) for xb, yb in ts.batches(x, y, size=options.batch)) / float(x.dim(0))


def loss_in_cafe(text: Any, options: argparse.Namespace) -> float:
    """The example's own."""
    ts = example()
    varmap, model = ts.fresh(text, options)
    ts.train(varmap, model, text, options)
    return float(ts.validation(model, text, options.batch))


def main() -> None:
    """Trains both."""
    ts = example()
    options = ts.command_line()
    text = ts.Text(options.text.read_text("utf8") if options.text else ts.plays(), options.length)
    theirs, ours = loss_in_torch(text, options), loss_in_cafe(text, options)
    print(f"after {options.steps} steps on held-out text: cafe {ours:.5f}, PyTorch {theirs:.5f}, difference {ours - theirs:+.1e}")


if __name__ == "__main__":
    main()
