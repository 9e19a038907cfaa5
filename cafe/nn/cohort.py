"""Variables that an optimizer steps together: one kernel call for all that share a dtype and a number of steps (floor 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cafe import kernels
from cafe.dtype import Array, DType
from cafe.errors import helped
from cafe.kernels.optim import Column
from cafe.tape import is_half
from cafe.tensor.core import Tensor, Var
from cafe.tensor.grads import GradStore

_F32 = DType.F32.numpy


class Slot:
    """A variable, what takes its steps (its own array, or the F32 master of a half), and its moments."""

    __slots__ = ("master", "moments", "name", "seen", "var")

    def __init__(self, name: str, var: Var, moments: int) -> None:
        self.name, self.var = name, var
        data = var._data
        self.master = kernels.cast(data, _F32) if is_half(data.dtype) else data
        self.moments = [np.zeros_like(self.master) for _ in range(moments)]
        self.seen = -1  # the version of the variable that the master knows

    def refresh(self) -> None:
        """Takes over what was set since the last step, wherever it is not just the master, rounded."""
        data, version = self.var._data, self.var._version
        if version is not None and version.count != self.seen:
            changed = kernels.cast(self.master, data.dtype) != data
            np.copyto(self.master, kernels.cast(data, _F32), where=changed)

    def publish(self) -> None:
        """Rounds the master into the variable."""
        self.var._data[...] = kernels.cast(self.master, self.var._data.dtype)
        self.var._touch()
        assert self.var._version is not None
        self.seen = self.var._version.count


class Cohort:
    """Slots of one dtype whose variables have made `t` steps each, as the lists that a kernel takes."""

    __slots__ = ("dtype", "halves", "ids", "moments", "ps", "slots", "t", "vars", "versions")

    def __init__(self, slots: list[Slot], t: int) -> None:
        self.slots, self.t = slots, t
        self.vars = [s.var for s in slots]
        self.ids = [v.id for v in self.vars]
        self.versions = [v._version for v in self.vars if v._version is not None]  # every variable has one
        self.ps = Column(s.master for s in slots)
        self.moments = [Column(column) for column in zip(*(s.moments for s in slots))]
        self.dtype = self.ps[0].dtype
        self.halves = is_half(self.vars[0]._data.dtype)

    def gradients(self, grads: GradStore) -> list[Array] | None:
        """The gradients in the masters' dtype; nothing if no variable has one, None if only some have."""
        found, dtype = grads._arrays(self.ids), self.dtype
        if found and len(found) != len(self.ids):
            return None
        for g in found:
            if g.dtype is not dtype:
                return [kernels.cast(g, dtype) for g in found]
        return found

    def split(self, grads: GradStore) -> list[Cohort]:
        """Those with a gradient, and those without."""
        parts: dict[bool, list[Slot]] = {}
        for slot in self.slots:
            parts.setdefault(slot.var in grads, []).append(slot)
        return [Cohort(slots, self.t) for slots in parts.values()]


def cohorts(pairs: Iterable[tuple[Slot, int]]) -> list[Cohort]:
    """Slots with their numbers of steps, sorted into cohorts."""
    groups: dict[tuple[Any, int], list[Slot]] = {}
    for slot, t in pairs:
        groups.setdefault((slot.var._data.dtype, t), []).append(slot)
    return [Cohort(slots, t) for (_, t), slots in groups.items()]


def named(vars: Any) -> Iterable[tuple[str | None, Var]]:
    """The variables with the names they have in a mapping.

    Raises: TypeError for what is neither a mapping nor a list of variables.
    """
    if isinstance(vars, Mapping):
        return list(vars.items())
    if isinstance(vars, Iterable) and not isinstance(vars, Tensor):
        return [(None, var) for var in vars]
    kind, cure = type(vars).__name__, None
    if hasattr(vars, "all_vars"):
        cure = f"the variables of a {kind} are its `all_vars()`, with their names `data()`"
    elif hasattr(vars, "forward_t"):
        cure = "a model's variables are those of the VarMap it was made from, `varmap.all_vars()`"
    raise helped(TypeError(f"expected a list of Vars, or a mapping to them, found {kind}"), cure)
