"""Variables by name: what a model learns, saved and loaded (floor 6).

    varmap = VarMap()
    model = Mlp(VarBuilder.from_varmap(varmap, DType.F32))   # layers put their variables in
    opt = AdamW.new_lr(varmap.all_vars(), 1e-3)
    varmap.save("model.safetensors")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cafe.device import Device
from cafe.dtype import DType, DTypeLike, as_dtype, check_same
from cafe.errors import CannotSetVar, Error, ShapeMismatchBinaryOp, UnexpectedDType, near, show
from cafe.files import PathLike
from cafe.io.safetensors import MmapedSafetensors, save
from cafe.shape import ShapeLike, parse_shape, shares_memory
from cafe.tensor.base import named_tensors
from cafe.tensor.core import Tensor, Var

from .habits import VarMapHabits
from .init import Init


@dataclass(frozen=True)
class Loaded:
    """What a load did: the names that were set, those that the file lacks, and those of the file that the map lacks.

    >>> print(Loaded(["a", "b"], [], ["c"]))
    2 set, 0 missing, 1 unexpected
    """

    set: list[str]
    missing: list[str]
    unexpected: list[str]

    def __str__(self) -> str:
        return f"{len(self.set)} set, {len(self.missing)} missing, {len(self.unexpected)} unexpected"


class VarMap(VarMapHabits):
    """Variables by name, in the order in which they were made.

    Source: candle-nn/src/var_map.rs, VarMap (whose order is that of a hash map).

    >>> from cafe.nn import Init, VarMap
    >>> varmap = VarMap()
    >>> w = varmap.get((2,), "w", Init.Const(1.0))
    >>> varmap.get((2,), "w") is w, list(varmap.data()), len(varmap), "v" in varmap
    (True, ['w'], 1, False)
    """

    __slots__ = ("__weakref__", "_vars")

    def __init__(self) -> None:
        self._vars: dict[str, Var] = {}

    @classmethod
    def from_safetensors(cls, path: PathLike, dtype: DTypeLike | None = None) -> VarMap:
        """A map with a variable for each tensor of a file, in its dtype or the one given.

        Raises: Io, SafeTensor, UnsupportedSafeTensorDtype.
        """
        made = cls()
        for name, view in MmapedSafetensors.new(path).tensors():
            tensor = view.load()
            made._vars[name] = Var(tensor if dtype is None else tensor.to_dtype(dtype))
        return made

    def all_vars(self) -> list[Var]:
        """The variables, for an optimizer."""
        return list(self._vars.values())

    def data(self) -> Mapping[str, Var]:
        """The variables by name, to read: it follows what is added later."""
        return MappingProxyType(self._vars)

    def get(
        self,
        shape: ShapeLike,
        path: str,
        init: Init | None = None,
        dtype: DTypeLike = DType.F32,
        device: Device | None = None,
    ) -> Var:
        """The variable of this name, made as `init` says (zeros without) if it is not there yet.

        Raises: Error when it is there with another shape, UnexpectedDType with another dtype.
        """
        found = self._vars.get(path)
        if not isinstance(path, str):
            raise TypeError(f"VarMap.get: a name is a string, got {path!r}")
        if init is not None and not isinstance(init, Init):
            raise TypeError(f"VarMap.get: expected Init, found {type(init).__name__}")
        if found is None:  # setdefault: of two threads that make it at once, both get the first one's
            return self._vars.setdefault(path, (init or Init.default()).var(shape, dtype, device))
        wanted = parse_shape(shape)
        if found.shape != wanted:
            raise Error(f"shape mismatch on {path}: {show(wanted)} <> {show(found.shape)}")
        if found.dtype is not as_dtype(dtype):
            raise UnexpectedDType(f"dtype mismatch for {path}", as_dtype(dtype), found.dtype)
        return found

    def set_one(self, name: str, value: Tensor) -> None:
        """Copies a tensor's numbers into the variable of this name; whoever holds it sees them.

        Raises: Error with candle's texts for a name that is not there, another shape or another dtype.
        """
        self.set({name: value})

    def set(self, values: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]) -> None:
        """`set_one` for each name; nothing is set unless everything can be."""
        pairs = named_tensors("VarMap.set", values)
        for name, value in pairs:
            if name not in self._vars:
                raise _with_near(Error(f"cannot find {name} in VarMap"), name, self._vars)
            _check(self._vars[name], value, f"error setting {name}")
        for name, value in pairs:
            self._vars[name].set(value)

    def save(self, path: PathLike) -> None:
        """Writes all variables as a safetensors file, whole or not at all.

        Raises: Io; SafeTensor for a name that the format keeps for itself.

        >>> import os, tempfile
        >>> from cafe.nn import Init, VarMap
        >>> trained, fresh = VarMap(), VarMap()
        >>> w, v = trained.get(2, "w", Init.Const(3.0)), fresh.get(2, "w")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trained.save(os.path.join(folder, "model.safetensors"))
        ...     print(fresh.load(os.path.join(folder, "model.safetensors")), v.tolist())
        1 set, 0 missing, 0 unexpected [3.0, 3.0]
        """
        save(self._vars, path)

    def load(self, path: PathLike, *, strict: bool = True) -> Loaded:
        """Sets the variables that are there to the tensors of a safetensors file; nothing is set unless everything can be.

        The file may hold more. strict: whether it must hold all names of the map.

        Raises: TensorNotFound for a name that the file lacks (if strict), Error for another shape or dtype, or for an empty map,
        which has nothing that could be set; Io, SafeTensor.
        """
        file = MmapedSafetensors.new(path)
        if not self._vars and len(file):
            raise Error(f'nothing to load from "{path}": this VarMap is empty, and a load sets the variables that are there').help(
                "build the model first, or make a map from the file with `VarMap.from_safetensors(path)`"
            )
        there = [name for name in self._vars if name in file or strict]
        values = {name: file.load(name) for name in there}
        for name, value in values.items():
            _check(self._vars[name], value, f'error setting {name} using data from "{path}"')
        for name, value in values.items():
            self._vars[name].set(value)
        missing = [name for name in self._vars if name not in file]
        return Loaded(there, missing, [name for name in file.names() if name not in self._vars])

    def __len__(self) -> int:
        return len(self._vars)

    def __bool__(self) -> bool:  # an empty map is a map all the same
        return True

    def __contains__(self, name: object) -> bool:
        return name in self._vars

    def __repr__(self) -> str:
        return f"VarMap({len(self._vars)} variables)"


def _check(var: Var, value: Tensor, what: str) -> None:
    """Raises Error unless the variable can be set to this: candle's sentence, with `what` before it."""
    try:
        if var.shape != value.shape:
            raise ShapeMismatchBinaryOp("set", var.shape, value.shape)
        check_same("copy_strided", value._data, var._data)
        if shares_memory(var._data, value._data):
            raise CannotSetVar("cannot set a variable to a tensor that is derived from its value")
    except Error as error:
        raise Error(f"{what}: {error}") from error


def _with_near(error: Error, name: str, known: Iterable[str]) -> Error:
    note = near(name, known)
    return error if note is None else error.help(note)
