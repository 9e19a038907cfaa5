"""Makes a3.safetensors, a1.safetensors and losses.safetensors in this folder: what PyTorch gives for small trainings and for losses.

    pip install torch==2.13.0 safetensors
    python tests/golden/make_training.py

The files were made on an AMD EPYC; another CPU may give other last digits (seen: 3e-7 in float32, 7e-16 in float64, after 100 steps).

Starts and data are drawn in float64 and rounded to float32 once, so that a training in either width starts from the same numbers.

a3      an MLP 8 → 16 → 4 with ReLU, mean squared error, 32 rows, 100 steps of six optimizers; `grad.*` is the first step's gradient
a1      an MLP 4 → 6 → 3, cross-entropy, 24 rows, 10 steps of Adam
        both: `{optimizer}.{width}.loss` before each step, `{optimizer}.{width}.first` and `.last`: the parameters, flat in the order of
        the metadata's `names`, after the first and the last step
losses  inputs, and value and gradient of each loss in float32
"""

import functools
import json
import math
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

NAMES = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
WIDTHS = {"f32": torch.float32, "f64": torch.float64}
OPTIMIZERS = {
    "adamw": functools.partial(torch.optim.AdamW, lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01),
    "adamw_wd0": functools.partial(torch.optim.AdamW, lr=1e-2, weight_decay=0.0),
    "adam_l2": functools.partial(torch.optim.Adam, lr=1e-2, weight_decay=0.01),
    "sgd": functools.partial(torch.optim.SGD, lr=0.1),
    "sgd_momentum": functools.partial(torch.optim.SGD, lr=0.02, momentum=0.9),
    "sgd_nesterov_wd": functools.partial(torch.optim.SGD, lr=0.02, momentum=0.9, nesterov=True, weight_decay=0.01),
}


def draw(seed):
    """A function that draws normal numbers of a shape and a scale from this seed."""
    source = torch.Generator().manual_seed(seed)
    return source, lambda *shape, scale=1.0: (torch.randn(*shape, generator=source, dtype=torch.float64) * scale).float()


def write(name, tensors, **metadata):
    path = pathlib.Path(__file__).parent / f"{name}.safetensors"
    said = {"made_by": f"make_training.py, torch {torch.__version__}", **{k: json.dumps(v) for k, v in metadata.items()}}
    save_file({k: v.detach().contiguous() for k, v in tensors.items()}, path, metadata=said)


def mlp(p, x):
    return F.linear(torch.relu(F.linear(x, p["fc1.weight"], p["fc1.bias"])), p["fc2.weight"], p["fc2.bias"])


def train(start, x, y, loss_of, optimizer, steps, width):
    """Losses before each step, and the flat parameters after the first and after the last."""
    p = {name: start[name].to(width).clone().requires_grad_() for name in NAMES}
    x, y = x.to(width), y.to(width) if y.is_floating_point() else y
    opt = optimizer(p.values())
    losses, flat = [], []
    for _ in range(steps):
        opt.zero_grad()
        loss = loss_of(mlp(p, x), y)
        loss.backward()
        opt.step()
        losses.append(loss.detach().clone())
        flat.append(torch.cat([p[name].detach().reshape(-1) for name in NAMES]))
    return {"loss": torch.stack(losses), "first": flat[0], "last": flat[-1]}


def trainings(start, x, y, loss_of, optimizers, steps):
    out = {**start, "x": x, "y": y}
    for tag, width in WIDTHS.items():
        for name, optimizer in optimizers.items():
            found = train(start, x, y, loss_of, optimizer, steps, width)
            out |= {f"{name}.{tag}.{what}": value for what, value in found.items()}
    return out


def a3():
    _, rnd = draw(3)
    shapes = [((16, 8), 1 / math.sqrt(8)), ((16,), 0.1), ((4, 16), 1 / math.sqrt(16)), ((4,), 0.1)]
    start = {name: rnd(*shape, scale=scale) for name, (shape, scale) in zip(NAMES, shapes)}
    x, y = rnd(32, 8), rnd(32, 4)
    out = trainings(start, x, y, F.mse_loss, OPTIMIZERS, 100)
    p = {name: start[name].clone().requires_grad_() for name in NAMES}
    F.mse_loss(mlp(p, x), y).backward()
    write("a3", out | {f"grad.{name}": p[name].grad for name in NAMES}, names=NAMES)


def a1():
    source, rnd = draw(1)
    shapes = [((6, 4), 0.5), ((6,), 0.1), ((3, 6), 0.4), ((3,), 0.1)]
    start = {name: rnd(*shape, scale=scale) for name, (shape, scale) in zip(NAMES, shapes)}
    x, y = rnd(24, 4), torch.randint(0, 3, (24,), generator=source)
    write("a1", trainings(start, x, y, F.cross_entropy, {"adam": functools.partial(torch.optim.Adam, lr=0.01)}, 10), names=NAMES)


def losses():
    _, rnd = draw(17)
    z, t = rnd(6, 5), torch.tensor([0, 4, 2, 1, 3, 2])
    b, bt = rnd(6, 5), (rnd(6, 5) > 0).float()
    m, mt = rnd(6, 5), rnd(6, 5)
    found = {
        "cross_entropy": (z, lambda v: F.cross_entropy(v, t)),
        "cross_entropy_smooth": (z, lambda v: F.cross_entropy(v, t, label_smoothing=0.1)),
        "cross_entropy_ignore": (z, lambda v: F.cross_entropy(v, t, ignore_index=2)),
        "nll": (z, lambda v: F.nll_loss(F.log_softmax(v, 1), t)),
        "bce_with_logits": (b, lambda v: F.binary_cross_entropy_with_logits(v, bt)),
        "mse": (m, lambda v: F.mse_loss(v, mt)),
        "l1": (m, lambda v: F.l1_loss(v, mt)),
        "huber": (m, lambda v: F.huber_loss(v, mt, delta=0.7)),
        "smooth_l1": (m, lambda v: F.smooth_l1_loss(v, mt)),
    }
    out = {"z": z, "t": t, "b": b, "bt": bt, "m": m, "mt": mt}
    for name, (value, function) in found.items():
        leaf = value.clone().requires_grad_()
        loss = function(leaf)
        loss.backward()
        out |= {f"{name}.loss": loss, f"{name}.grad": leaf.grad}
    write("losses", out)


if __name__ == "__main__":
    torch.set_num_threads(1)
    a3()
    a1()
    losses()
