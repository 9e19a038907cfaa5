"""Checkpoints: all that a training depends on in one file, so that it goes on to the same bits (floor 6).

    save_checkpoint("run.safetensors", varmap, opt, step)          # at any time; an older one is replaced in one step
    …
    saved = load_checkpoint("run.safetensors", varmap, opt)        # after building the same model and optimizer
    for step in range(saved.step, steps):

A file that is there is whole: it is written beside the old one and renamed. It is a safetensors file: `model.…` are the variables,
`optimizer.…` what the optimizer remembers, `extra.…` the caller's own tensors; step and generator stand in its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from cafe.device import get_rng_state, set_rng_state
from cafe.errors import CannotFindTensor, Error, FormatError, UnexpectedDType, UnexpectedShape
from cafe.files import PathLike
from cafe.io.safetensors import MmapedSafetensors, save
from cafe.tensor.core import Tensor

from .var_map import VarMap

FORMAT = "cafe checkpoint 1"


class Stateful(Protocol):
    """What a checkpoint asks of an optimizer."""

    def state_dict(self) -> dict[str, Tensor]:
        """All that the next step depends on."""

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from there; nothing is changed unless everything fits."""


@dataclass(frozen=True)
class Checkpoint:
    """What `load_checkpoint` found besides what it put back: the number of steps taken, and the caller's own tensors."""

    step: int
    extra: dict[str, Tensor]


def save_checkpoint(path: PathLike, varmap: VarMap, optimizer: Stateful, step: int, extra: Mapping[str, Tensor] | None = None) -> None:
    """Writes variables, optimizer, the generator's state and the step, whole or not at all.

    extra: tensors of the caller's own: losses so far, the best weights, the place in an epoch.

    Raises: Io.

    >>> import tempfile
    >>> import cafe
    >>> from cafe.nn import Init, SGD, VarMap
    >>> varmap = VarMap()
    >>> w = varmap.get(2, "w", Init.Const(1.0))
    >>> opt = SGD(varmap.data(), 0.1, momentum=0.9)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/run.safetensors", varmap, opt, 7, {"losses": cafe.Tensor([3.0])})
    ...     w.set(cafe.Tensor([5.0, 5.0]))
    ...     load_checkpoint(f"{folder}/run.safetensors", varmap, opt).step, w.tolist()
    (7, [1.0, 1.0])
    """
    parts: dict[str, Mapping[str, Tensor]] = {"model": varmap.data(), "optimizer": optimizer.state_dict(), "extra": extra or {}}
    tensors = {f"{part}.{name}": tensor for part, found in parts.items() for name, tensor in found.items()}
    key, counter = get_rng_state()
    save(tensors, path, {"format": FORMAT, "step": str(step), "generator": f"{key} {counter}"})


def load_checkpoint(path: PathLike, varmap: VarMap, optimizer: Stateful) -> Checkpoint:
    """Puts variables, optimizer and generator back to where `save_checkpoint` found them; nothing is changed unless everything fits.

    Raises: Io, SafeTensor; FormatError for a file that is no checkpoint; CannotFindTensor, UnexpectedShape, UnexpectedDType or Error for
    one of another model or optimizer.
    """
    file = MmapedSafetensors.new(path)
    step, generator = _facts(file.metadata)
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "extra": {}}
    for name, view in file.tensors():
        part, _, rest = name.partition(".")
        if part not in parts:
            raise FormatError(f"checkpoint: there is no place for {name}")
        parts[part][rest] = view.load()
    _check_model(varmap, parts["model"])
    optimizer.load_state_dict(parts["optimizer"])  # changes nothing unless it fits
    varmap.set(parts["model"])
    optimizer.load_state_dict(parts["optimizer"])  # once more: copies in F32 follow a variable that is set
    set_rng_state(generator)
    return Checkpoint(step, parts["extra"])


def _facts(metadata: Mapping[str, str]) -> tuple[int, tuple[int, int]]:
    """The step and the generator's state."""
    if metadata.get("format") != FORMAT:
        raise FormatError(f"checkpoint: this file is none, its format is {metadata.get('format', 'not said')!r}, not {FORMAT!r}")
    try:
        key, counter = map(int, metadata["generator"].split())
        return int(metadata["step"]), (key, counter)
    except (KeyError, ValueError) as error:
        raise FormatError(f"checkpoint: step or generator are damaged: {error}") from error


def _check_model(varmap: VarMap, saved: Mapping[str, Tensor]) -> None:
    """Raises unless there is a tensor for each variable, of its shape and dtype, and no other."""
    for name, var in varmap.data().items():
        if name not in saved:
            raise CannotFindTensor(name, saved)
        if saved[name].shape != var.shape:
            raise UnexpectedShape(f"shape mismatch for {name}", var.shape, saved[name].shape)
        if saved[name].dtype is not var.dtype:
            raise UnexpectedDType(f"dtype mismatch for {name}", var.dtype, saved[name].dtype)
    unexpected = [name for name in saved if name not in varmap]
    if unexpected:
        raise Error(f"checkpoint: this model has no variable {', '.join(unexpected)}")
