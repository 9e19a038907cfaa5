"""Writes bert_tiny.safetensors beside this script: a 3-layer BERT of transformers 5.22.0 with PyTorch 2.13.0 (CPU, one thread).

    python tests/golden/make_bert.py      (needs torch and transformers)

A state dict of normal numbers, ids and a mask (the second row ends at 12 of 18 places), and `last_hidden_state` for three activations.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel

SIZES = {"vocab_size": 99, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96}
ACTIVATIONS = ("gelu", "gelu_pytorch_tanh", "relu")


def hidden(activation: str, weights: dict[str, torch.Tensor], ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, dict[str, Any]]:
    """What the model makes of the ids, and its configuration."""
    config = BertConfig(**SIZES, max_position_embeddings=40, hidden_act=activation)
    model = BertModel(config).eval()
    model.load_state_dict(weights, strict=False)
    with torch.no_grad():
        return model(input_ids=ids, attention_mask=mask).last_hidden_state, config.to_dict()


def main() -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(19)
    shapes = BertModel(BertConfig(**SIZES, max_position_embeddings=40)).state_dict()
    weights = {name: 0.2 * torch.randn(w.shape, generator=generator) for name, w in shapes.items() if w.is_floating_point()}
    ids, mask = torch.randint(1, 90, (2, 18), generator=generator), torch.ones(2, 18, dtype=torch.long)
    ids[1, 12:] = mask[1, 12:] = 0
    out = {**weights, "input_ids": ids, "attention_mask": mask}
    for activation in ACTIVATIONS:
        out[f"{activation}.last_hidden_state"], config = hidden(activation, weights, ids, mask)
    plain = {name: value for name, value in config.items() if isinstance(value, int | float | str)}
    save_file(out, Path(__file__).resolve().parent / "bert_tiny.safetensors", {"config": json.dumps(plain)})


if __name__ == "__main__":
    main()
