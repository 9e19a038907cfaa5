"""Saving for others: PyTorch, candle and NumPy read what is saved, views and shared weights too; what fails leaves the old file."""

from __future__ import annotations

import json
import math
import os
import pathlib
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from cafe import nn
from cafe.dtype import DType
from cafe.errors import Io, SafeTensor
from cafe.io.safetensors import load, save
from cafe.tensor.core import Tensor, Var


def t(values: Any, dtype: Any = np.float32) -> Tensor:
    return Tensor.from_numpy(np.array(values, dtype=dtype))


def some(dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """Values that no other dtype would print alike."""
    values = np.arange(int(np.prod(shape))) % 200 + (0.5 if dtype.is_float else 0)
    return Tensor.from_numpy(values.astype(dtype.numpy).reshape(shape))


def test_views_are_saved_as_what_they_show(tmp_path: pathlib.Path) -> None:
    base = some(DType.F32, (4, 6))
    views = {
        "transposed": base.t(),
        "narrowed": base.narrow(1, 2, 3),
        "row": base.narrow(0, 3, 1),
        "broadcast": t([1.0, 2.0]).broadcast_as((3, 2)),
        "strided": Tensor.from_numpy(base.numpy()[::-2, ::3]),
        "base": base,
        "again": base,
        "bf16": base.to_dtype(DType.BF16).t(),
    }
    save(views, tmp_path / "f")
    loaded = load(tmp_path / "f")
    for name, view in views.items():
        assert loaded[name].numpy().tolist() == view.numpy().tolist(), name
        assert loaded[name].is_contiguous() and loaded[name].shape == view.shape


def test_variables_are_saved_by_value(tmp_path: pathlib.Path) -> None:
    var = Var(t([1.0, 2.0]))
    save({"v": var}, tmp_path / "f")
    loaded = load(tmp_path / "f")["v"]
    assert not loaded.is_variable() and loaded.to_vec1() == [1.0, 2.0]


# -- others read it


def shared() -> dict[str, Tensor]:
    """Weights of one storage: two names for one, a transposed one, a row, an expanded number; every dtype; nothing and a scalar."""
    base = Var(some(DType.F32, (4, 6)))
    tensors = {"tied": base, "tied_again": base, "t": base.t(), "row": base.narrow(0, 2, 1), "column": base.narrow(1, 5, 1)}
    tensors |= {"expanded": t([1.5]).broadcast_as((2, 3)), "flipped": Tensor.from_numpy(base.numpy()[::-1]), "base_t": base.t().t()}
    tensors |= {f"dtype.{d}": some(d, (3, 2)).t() for d in DType}
    return tensors | {"empty": Tensor.zeros((0, 3)), "scalar": t(2.5), "cut": base.i((slice(1, 3), slice(0, 6, 2)))}


def test_pytorch_reads_what_is_saved(tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    load_file = pytest.importorskip("safetensors.torch").load_file
    save(shared(), tmp_path / "f", {"format": "pt"})
    theirs = load_file(tmp_path / "f")
    assert theirs.keys() == shared().keys()
    for name, tensor in shared().items():
        assert tuple(theirs[name].shape) == tensor.shape, name
        assert theirs[name].to(torch.float64).tolist() == tensor.to_dtype("f64").tolist(), name
    dtypes = [torch.uint8, torch.uint32, torch.int16, torch.int32, torch.int64, torch.bfloat16, torch.float16, torch.float32, torch.float64]
    assert [theirs[f"dtype.{d}"].dtype for d in DType] == dtypes


def test_numpy_reads_what_is_saved(tmp_path: pathlib.Path) -> None:
    tensors = {name: tensor for name, tensor in shared().items() if tensor.dtype is not DType.BF16}  # NumPy has none
    save(tensors, tmp_path / "f")
    theirs = safetensors.numpy.load_file(tmp_path / "f")
    assert theirs.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert theirs[name].dtype == tensor.numpy().dtype and np.array_equal(theirs[name], tensor.numpy()), name


def test_candle_reads_what_is_saved_and_saves_the_same_bytes(tmp_path: pathlib.Path) -> None:
    candle = pytest.importorskip("candle", reason="pip install --no-deps candle-nn")  # candle itself, in Rust, with a face in Python
    tensors = {name: tensor for name, tensor in shared().items() if tensor.dtype not in (DType.I16, DType.I32)}  # it has neither
    save(tensors, tmp_path / "f")
    theirs = candle.utils.load_safetensors(str(tmp_path / "f"))
    assert theirs.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert (theirs[name].shape, str(theirs[name].dtype).lower()) == (tensor.shape, str(tensor.dtype)), name
        assert theirs[name].to_dtype(candle.f64).values() == tensor.to_dtype("f64").tolist(), name
    candle.utils.save_safetensors(str(tmp_path / "g"), theirs)
    assert (tmp_path / "g").read_bytes() == (tmp_path / "f").read_bytes()


BITS = {"U8": 8, "I16": 16, "BF16": 16, "F16": 16, "U32": 32, "I32": 32, "F32": 32, "I64": 64, "F64": 64}


def test_every_byte_of_a_saved_file_is_the_formats(tmp_path: pathlib.Path) -> None:
    save(shared(), tmp_path / "f", {"format": "pt"})
    data = (tmp_path / "f").read_bytes()
    length = int.from_bytes(data[:8], "little")
    text, body = data[8 : 8 + length], data[8 + length :]
    assert length % 8 == 0 and text[:1] == b"{" and text.rstrip(b" ")[-1:] == b"}"
    header = json.loads(text)
    assert header.pop("__metadata__") == {"format": "pt"}
    assert header.keys() == shared().keys()
    end, before = 0, 64
    for name, fields in header.items():  # in the order of their bytes: no holes, none twice, none out of line
        start, stop = fields["data_offsets"]
        bits = BITS[fields["dtype"]]
        assert start == end and start % (bits // 8) == 0 and bits <= before, name
        assert stop - start == bits // 8 * math.prod(fields["shape"]), name
        tensor = shared()[name]
        assert fields["dtype"].lower() == str(tensor.dtype) and tuple(fields["shape"]) == tensor.shape, name
        assert body[start:stop] == np.ascontiguousarray(tensor.numpy()).tobytes(), name
        end, before = stop, bits
    assert end == len(body)


def test_a_layer_goes_to_pytorch_and_back(tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    files = pytest.importorskip("safetensors.torch")
    varmap = nn.VarMap()
    ours = nn.linear(5, 3, nn.VarBuilder.from_varmap(varmap))
    varmap.save(tmp_path / "f")
    theirs = torch.nn.Linear(5, 3)
    theirs.load_state_dict(files.load_file(tmp_path / "f"))
    x = np.random.default_rng(0).standard_normal((2, 5)).astype(np.float32)
    there = theirs(torch.from_numpy(x)).detach().numpy()
    assert np.abs(ours(t(x)).numpy() - there).max() < 1e-6
    files.save_file(theirs.state_dict(), tmp_path / "g")
    back = nn.linear(5, 3, nn.VarBuilder.from_mmaped_safetensors(tmp_path / "g"))
    assert back(t(x)).tolist() == ours(t(x)).tolist()


# -- saving fails cleanly


@pytest.mark.parametrize(
    ("name", "metadata", "text"),
    [
        ("__metadata__", None, "invalid name for tensor `__metadata__`"),
        ("\ud800", None, "invalid JSON in header: a tensor's name is not Unicode: '\\ud800'"),
        ("a", {"step": 3}, "invalid JSON in header: a value of the metadata must be a string, got 3"),
        ("a", {3: "step"}, "invalid JSON in header: a key of the metadata must be a string, got 3"),
        (3, None, "invalid JSON in header: a tensor's name must be a string, got 3"),
    ],
)
def test_what_cannot_be_saved_leaves_the_old_file(tmp_path: pathlib.Path, name: Any, metadata: Any, text: str) -> None:
    save({"old": t([1.0])}, tmp_path / "f")
    with pytest.raises(SafeTensor) as caught:
        save({name: t([2.0])}, tmp_path / "f", metadata)
    assert str(caught.value) == text
    assert load(tmp_path / "f")["old"].to_vec1() == [1.0] and os.listdir(tmp_path) == ["f"]


def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save({"old": t([1.0])}, tmp_path / "f")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Io) as caught:
        save({"new": t([2.0])}, tmp_path / "f")
    assert str(caught.value) == f'path: "{tmp_path / "f"}" No space left on device (os error 28)'
    assert load(tmp_path / "f")["old"].to_vec1() == [1.0] and os.listdir(tmp_path) == ["f"]
