"""Checkpoints: a training that is stopped anywhere and taken up again ends in the same bits; what does not fit changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cafe
from cafe import DType, Tensor, nn
from cafe.errors import CannotFindTensor, Error, FormatError, Io, SafeTensor, UnexpectedDType, UnexpectedShape
from cafe.io import safetensors
from cafe.nn import SGD, Adam, AdamW, ParamsAdamW, VarBuilder, VarMap, load_checkpoint, save_checkpoint


class Run:
    """A small model with dropout and a batch norm, so that generator and running statistics matter."""

    def __init__(self, optimizer: Callable[[Any], Any], dtype: DType = DType.F32) -> None:
        cafe.manual_seed(5)
        self.varmap = VarMap()
        vb = VarBuilder.from_varmap(self.varmap, dtype)
        self.first, self.norm = nn.linear(4, 8, vb.pp("first")), nn.batch_norm(8, 1e-5, vb.pp("norm"))
        self.last = nn.linear(8, 2, vb.pp("last"))
        self.opt = optimizer(self.varmap.data())
        self.dtype = dtype

    def step(self, _: int) -> None:
        x = Tensor.randn(0.0, 1.0, (6, 4)).to_dtype(self.dtype)
        hidden = nn.ops.dropout(self.norm.forward_train(self.first(x)).relu(), 0.25)
        self.opt.backward_step(self.last(hidden).sqr().mean_all())

    def bits(self) -> dict[str, bytes]:
        return {name: var.numpy().tobytes() for name, var in self.varmap.data().items()}


OPTIMIZERS: list[Callable[[Any], Any]] = [
    lambda v: SGD(v, 0.05),
    lambda v: SGD(v, 0.05, momentum=0.9, nesterov=True),
    lambda v: Adam(v, 0.01, weight_decay=0.01),
    lambda v: AdamW(v, ParamsAdamW(lr=0.01)),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16])
def test_a_run_that_was_stopped_ends_in_the_same_bits(tmp_path: Path, optimizer: Callable[[Any], Any], dtype: DType) -> None:
    through = Run(optimizer, dtype)
    for step in range(9):
        through.step(step)
    for stop in (0, 1, 4):
        run = Run(optimizer, dtype)
        for step in range(stop):
            run.step(step)
        save_checkpoint(tmp_path / "run", run.varmap, run.opt, stop)
        again = Run(optimizer, dtype)
        again.step(0)  # what it did before does not matter
        saved = load_checkpoint(tmp_path / "run", again.varmap, again.opt)
        for step in range(saved.step, 9):
            again.step(step)
        assert again.bits() == through.bits()


def test_saving_changes_nothing(tmp_path: Path) -> None:
    one, other = Run(OPTIMIZERS[3]), Run(OPTIMIZERS[3])
    for run in (one, other):
        cafe.manual_seed(5)
        for step in range(4):
            if run is one:
                save_checkpoint(tmp_path / "run", run.varmap, run.opt, step)
            run.step(step)

    assert one.bits() == other.bits()


def test_the_callers_own_tensors_come_back(tmp_path: Path) -> None:
    run = Run(OPTIMIZERS[0])
    save_checkpoint(tmp_path / "run", run.varmap, run.opt, 3, {"losses": Tensor([1.0, 0.5]), "best": Tensor([7])})
    saved = load_checkpoint(tmp_path / "run", run.varmap, run.opt)

    assert saved.step == 3
    assert {name: t.tolist() for name, t in saved.extra.items()} == {"best": [7], "losses": [1.0, 0.5]}


def test_a_checkpoint_is_a_safetensors_file(tmp_path: Path) -> None:
    run = Run(OPTIMIZERS[0])
    save_checkpoint(tmp_path / "run.safetensors", run.varmap, run.opt, 3)

    assert "model.first.weight" in safetensors.load(tmp_path / "run.safetensors")


def other_model() -> VarMap:
    varmap = VarMap()
    nn.linear(4, 8, VarBuilder.from_varmap(varmap).pp("first"))
    return varmap


def wider_model() -> VarMap:
    varmap = Run(OPTIMIZERS[0]).varmap
    varmap._vars["first.weight"] = cafe.Var(np.zeros((9, 4), np.float32))
    return varmap


def double_model() -> VarMap:
    return Run(OPTIMIZERS[0], DType.F64).varmap


def larger_model() -> VarMap:
    varmap = Run(OPTIMIZERS[0]).varmap
    nn.linear(2, 2, VarBuilder.from_varmap(varmap).pp("more"))
    return varmap


@pytest.mark.parametrize(
    "make, kind",
    [(other_model, Error), (wider_model, UnexpectedShape), (double_model, UnexpectedDType), (larger_model, CannotFindTensor)],
)
def test_another_model_is_refused_and_left_alone(tmp_path: Path, make: Callable[[], VarMap], kind: type[Error]) -> None:
    run = Run(OPTIMIZERS[3])
    save_checkpoint(tmp_path / "run", run.varmap, run.opt, 3)
    varmap = make()
    opt = OPTIMIZERS[3](varmap.data())
    before = {name: var.numpy().tobytes() for name, var in varmap.data().items()}
    cafe.manual_seed(1)

    with pytest.raises(kind):
        load_checkpoint(tmp_path / "run", varmap, opt)
    assert {name: var.numpy().tobytes() for name, var in varmap.data().items()} == before
    assert cafe.get_rng_state() == (1, 0)


def test_another_optimizer_is_refused_and_the_model_left_alone(tmp_path: Path) -> None:
    run = Run(OPTIMIZERS[3])
    save_checkpoint(tmp_path / "run", run.varmap, run.opt, 3)
    other = Run(OPTIMIZERS[1])
    other.step(0)
    before = other.bits()

    with pytest.raises(Error):
        load_checkpoint(tmp_path / "run", other.varmap, other.opt)
    assert other.bits() == before


def test_other_files_are_refused(tmp_path: Path) -> None:
    run = Run(OPTIMIZERS[0])
    run.varmap.save(tmp_path / "weights")
    with pytest.raises(FormatError, match="checkpoint: this file is none, its format is 'not said', not 'cafe checkpoint 1'"):
        load_checkpoint(tmp_path / "weights", run.varmap, run.opt)
    for metadata, text in (
        ({"format": "cafe checkpoint 1", "step": "x", "generator": "1 2"}, "step or generator are damaged"),
        ({"format": "cafe checkpoint 1", "step": "1"}, "step or generator are damaged"),
        ({"format": "cafe checkpoint 1", "step": "1", "generator": "1"}, "step or generator are damaged"),
    ):
        safetensors.save(run.varmap.data(), tmp_path / "bad", metadata)
        with pytest.raises(FormatError, match=text):
            load_checkpoint(tmp_path / "bad", run.varmap, run.opt)
    safetensors.save({"elsewhere.w": Tensor([1.0])}, tmp_path / "bad", {"format": "cafe checkpoint 1", "step": "1", "generator": "1 2"})
    with pytest.raises(FormatError, match=r"there is no place for elsewhere\.w"):
        load_checkpoint(tmp_path / "bad", run.varmap, run.opt)
    (tmp_path / "bad").write_bytes(b"nothing")
    with pytest.raises(SafeTensor):
        load_checkpoint(tmp_path / "bad", run.varmap, run.opt)
    with pytest.raises(Io):
        load_checkpoint(tmp_path / "missing", run.varmap, run.opt)


def test_a_save_that_fails_leaves_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(OPTIMIZERS[3])
    save_checkpoint(tmp_path / "run", run.varmap, run.opt, 3)
    before = (tmp_path / "run").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Io, match="No space left"):
        save_checkpoint(tmp_path / "run", run.varmap, run.opt, 4)
    assert (tmp_path / "run").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
