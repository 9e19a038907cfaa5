"""Writes weights_zip.pth and weights_legacy.pth, with PyTorch 2.13.0 (CPU): `python tests/golden/make_pth.py`.

Their numbers count up, so that tests/test_io_pth.py knows them without these files' help: a tensor of n numbers out of a storage holds its
places in the storage, cast to its dtype.
"""

from __future__ import annotations

import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent
DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool"),
    *("uint16", "uint32", "float8_e4m3fn", "float8_e5m2", "complex64", "uint64"),
)


def weights() -> dict[str, object]:
    """Every dtype, shared and offset storages, odd strides, nested containers, a module's own dict."""
    storage = torch.arange(60, dtype=torch.float32)
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for value in layer.state_dict().values():
            value.copy_(torch.arange(value.numel()).reshape(value.shape))
    return {
        "shared": {
            "whole": storage.view(3, 4, 5),
            "transposed": storage.view(3, 4, 5).permute(2, 0, 1),
            "offset": storage[7:13].view(2, 3),
            "stepped": storage.view(12, 5)[1::4, ::2],
            "expanded": storage[3:5].view(2, 1).expand(2, 3),
        },
        "dtypes": {name: torch.arange(4).to(getattr(torch, name)) for name in DTYPES},
        "empty": torch.zeros(2, 0, 3),
        "scalar": torch.tensor(7),
        "model": layer.state_dict(),
        "parameter": torch.nn.Parameter(torch.arange(3.0)),
        "list": [torch.arange(2.0), {"deep": torch.arange(1.0)}, "text"],
        "step": 10,
        "rates": [0.5, 0.25],
    }


if __name__ == "__main__":
    torch.save(weights(), HERE / "weights_zip.pth")
    torch.save(weights(), HERE / "weights_legacy.pth", _use_new_zipfile_serialization=False)
