"""Makes sdpa.safetensors, recurrent.safetensors and activations.safetensors with PyTorch 2.13.0 (CPU, one thread) and transformers 5.22.0.

    pip install torch==2.13.0 transformers==5.22.0 safetensors && python make_attention.py

The files that lie here were cut from a longer run of the same recipe (other layers came before these in one stream of random numbers, and
activations had sixteen times the points), so a new run gives other draws and the same relations.
"""

import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from transformers.activations import ACT2CLS, ACT2FN

HERE = pathlib.Path(__file__).parent
torch.set_num_threads(1)
generator = torch.Generator()


def draw(*shape: int, scale: float = 1.0) -> torch.Tensor:
    """Normal numbers drawn in float64 and rounded to float32 once."""
    return (torch.randn(*shape, generator=generator, dtype=torch.float64) * scale).float()


def attention() -> dict[str, torch.Tensor]:
    """Outputs and gradients of (out · c).sum(), plain, causal, padded (the last three keys of item 0 forbidden) and scaled."""
    generator.manual_seed(13)
    q, k, v = (draw(2, 4, 9, 8).requires_grad_() for _ in range(3))
    c = draw(2, 4, 9, 8)
    forbidden = torch.zeros(2, 1, 1, 9, dtype=torch.bool)
    forbidden[0, ..., 6:] = True
    out = {"q": q, "k": k, "v": v, "c": c, "pad_forbidden": forbidden.to(torch.uint8)}
    for tag, kw in {"plain": {}, "causal": {"is_causal": True}, "padded": {"attn_mask": ~forbidden}, "scaled": {"scale": 0.25}}.items():
        for t in (q, k, v):
            t.grad = None
        y = F.scaled_dot_product_attention(q, k, v, **kw)
        (y * c).sum().backward()
        out |= {f"{tag}.out": y, f"{tag}.gq": q.grad.clone(), f"{tag}.gk": k.grad.clone(), f"{tag}.gv": v.grad.clone()}
    return {name: t.detach().contiguous() for name, t in out.items()}


def recurrent() -> dict[str, torch.Tensor]:
    """An embedding, an LSTM and a GRU with weights of deviation ½, and what they make of a sequence."""
    generator.manual_seed(11)
    layers = nn.ModuleDict(
        {"emb": nn.Embedding(10, 4), "lstm": nn.LSTM(4, 5, batch_first=True), "gru": nn.GRU(4, 5, batch_first=True)}
    )
    with torch.no_grad():
        for p in layers.parameters():
            p.copy_(draw(*p.shape, scale=0.5))
    inputs = {"emb": torch.randint(0, 10, (2, 3), generator=generator), "lstm": draw(2, 6, 4), "gru": draw(2, 6, 4)}
    out = dict(layers.state_dict())
    for name, x in inputs.items():
        y = layers[name](x)
        out |= {f"in.{name}": x, f"out.{name}": y[0] if isinstance(y, tuple) else y}
    return {name: t.detach().contiguous() for name, t in out.items()}


def activations() -> dict[str, torch.Tensor]:
    """Every activation of transformers on 1,001 points from −8 to 8, and both GELUs in float64."""
    x = torch.linspace(-8, 8, 16001, dtype=torch.float32)[::16]
    out = {"x": x, "gelu_erf.f64": F.gelu(x.double()), "gelu_tanh.f64": F.gelu(x.double(), approximate="tanh")}
    out |= {f"act.{name}": ACT2FN[name](x.clone()).detach().float() for name in ACT2CLS}
    return {name: t.contiguous() for name, t in out.items()}


for make in (attention, recurrent, activations):
    name = {"attention": "sdpa"}.get(make.__name__, make.__name__)
    save_file(make(), HERE / f"{name}.safetensors")
