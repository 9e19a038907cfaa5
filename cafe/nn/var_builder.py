"""Where layers get their variables from: a place in a map or a file, by name (floor 6).

    vb = VarBuilder.from_varmap(varmap, DType.F32)
    layer = linear(3, 2, vb.pp("till").pp("hidden"))      # till.hidden.weight, till.hidden.bias

A builder is a prefix over a source: `pp` goes down one name, as `cd` does. The same layer's code builds a model to train
(`from_varmap`: what is not there is made) and one to use (the others: what is not there is an error).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from cafe.device import Device
from cafe.dtype import DType, DTypeLike, as_dtype
from cafe.errors import CannotFindTensor, UnexpectedShape, bail
from cafe.files import PathLike
from cafe.io.gguf import GgufFile
from cafe.io.npy import NpzTensors
from cafe.io.pth import PthTensors
from cafe.io.safetensors import BufferedSafetensors, Bytes, MmapedSafetensors, SafeTensors
from cafe.shape import Shape, ShapeLike, parse_shape
from cafe.tensor.base import named_tensors
from cafe.tensor.convert import check_device
from cafe.tensor.core import Tensor

from .habits import called
from .init import Init
from .var_map import VarMap


class Backend(Protocol):
    """A source of tensors by full name; `VarBuilder.from_backend` takes any object with these three.

    >>> from cafe import Tensor
    >>> class Ones:
    ...     def get(self, shape, name, init, dtype):
    ...         return Tensor.ones(shape, dtype)
    ...     def get_unchecked(self, name, dtype):
    ...         raise CannotFindTensor(name)
    ...     def contains_tensor(self, name):
    ...         return True
    >>> VarBuilder.from_backend(Ones()).pp("a").get(2, "w").tolist()
    [1.0, 1.0]
    """

    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        """The tensor of this name, shape and dtype."""

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        """The tensor of this name in this dtype, whatever its shape."""

    def contains_tensor(self, name: str) -> bool:
        """Whether there is one of this name."""


@called
class VarBuilder:
    """A prefix over a source of tensors, with the dtype and device that they are wanted in.

    Source: candle-nn/src/var_builder.rs, VarBuilderArgs.

    >>> from cafe import DType
    >>> from cafe.nn import VarBuilder, VarMap, linear
    >>> varmap = VarMap()
    >>> vb = VarBuilder.from_varmap(varmap, DType.F32).pp("till")
    >>> layer = linear(3, 2, vb.pp("hidden"))
    >>> list(varmap.data()), vb.pp("hidden").prefix()
    (['till.hidden.weight', 'till.hidden.bias'], 'till.hidden')
    """

    __slots__ = ("_backend", "_dtype", "_path")

    def __init__(self, backend: Backend, dtype: DType, path: tuple[str, ...]) -> None:
        self._backend, self._dtype, self._path = backend, dtype, path

    # -- sources

    @staticmethod
    def from_backend(backend: Backend, dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """Over any source with `get`, `get_unchecked` and `contains_tensor`."""
        check_device(device)
        return VarBuilder(backend, as_dtype(dtype), ())

    @staticmethod
    def from_varmap(varmap: VarMap, dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """Over a map, in which what is not there yet is made: for a model that learns.

        Raises: TypeError for what is no VarMap.
        """
        if not isinstance(varmap, VarMap):
            raise TypeError(f"expected VarMap, found {type(varmap).__name__}")
        return VarBuilder.from_backend(_OfVarMap(varmap), dtype, device)

    @staticmethod
    def from_tensors(tensors: Mapping[str, Tensor], dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """Over tensors that are already there, converted to the dtype."""
        return VarBuilder.from_backend(_OfTensors(dict(named_tensors("VarBuilder.from_tensors", tensors))), dtype, device)

    @staticmethod
    def zeros(dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """Zeros under every name."""
        return VarBuilder.from_backend(_OfZeros(), dtype, device)

    @staticmethod
    def from_mmaped_safetensors(
        paths: PathLike | Iterable[PathLike], dtype: DTypeLike = DType.F32, device: Device | None = None
    ) -> VarBuilder:
        """Over one or several safetensors files, read tensor by tensor as they are asked for.

        Raises: Io, SafeTensor.
        """
        several = [paths] if isinstance(paths, str) or hasattr(paths, "__fspath__") else paths
        return VarBuilder.from_backend(_OfSafetensors(MmapedSafetensors.multi(several)), dtype, device)  # type: ignore[arg-type]

    @staticmethod
    def from_buffered_safetensors(data: Bytes, dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """Over the bytes of a safetensors file.

        Raises: SafeTensor.
        """
        return VarBuilder.from_backend(_OfSafetensors(BufferedSafetensors.new(data)), dtype, device)

    @staticmethod
    def from_slice_safetensors(data: Bytes, dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """`from_buffered_safetensors`: neither copies the bytes here."""
        return VarBuilder.from_buffered_safetensors(data, dtype, device)

    @staticmethod
    def from_npz(path: PathLike, dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """Over the arrays of a .npz archive, read as they are asked for.

        Raises: Io, Npy.
        """
        return VarBuilder.from_backend(_OfNpz(NpzTensors.new(path)), dtype, device)

    @staticmethod
    def from_pth(path: PathLike, dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """Over the tensors of a PyTorch file, read as they are asked for; nothing in the file is run.

        Raises: Io; FormatError for a damaged file, and for one that asks for more than tensors.
        """
        return VarBuilder.from_backend(_OfPth(PthTensors.new(path)), dtype, device)

    @staticmethod
    def from_pth_with_state(path: PathLike, dtype: DTypeLike, state_key: str, device: Device | None = None) -> VarBuilder:
        """As `from_pth`, over what lies under a key, as in `{"epoch": 3, "model_state": {…}}`; the key may be dotted.

        Raises: as `from_pth`, and FormatError `key … not found`.
        """
        return VarBuilder.from_backend(_OfPth(PthTensors.new(path, state_key)), dtype, device)

    @staticmethod
    def from_gguf(path: PathLike, dtype: DTypeLike = DType.F32, device: Device | None = None) -> VarBuilder:
        """Over the tensors of a GGUF file, unpacked as they are asked for.

        Raises: Io, FormatError.
        """
        return VarBuilder.from_backend(_OfGguf(GgufFile.new(path)), dtype, device)

    # -- the place

    def pp(self, name: object) -> VarBuilder:
        """One name further down; a number does as well.

        >>> from cafe.nn import VarBuilder
        >>> VarBuilder.zeros().pp("layers").pp(0).prefix()
        'layers.0'
        """
        return VarBuilder(self._backend, self._dtype, (*self._path, str(name)))

    def push_prefix(self, name: object) -> VarBuilder:
        """`pp`."""
        return self.pp(name)

    def set_prefix(self, name: object) -> VarBuilder:
        """At this name from the root."""
        return VarBuilder(self._backend, self._dtype, (str(name),))

    def root(self) -> VarBuilder:
        """At the root, whatever the prefix was."""
        return VarBuilder(self._backend, self._dtype, ())

    def prefix(self) -> str:
        """The names down to here, joined by dots."""
        return ".".join(self._path)

    def rename_f(self, f: Callable[[str], str]) -> VarBuilder:
        """Looks up f(name) in place of each full name, prefix included.

        >>> from cafe import Tensor
        >>> from cafe.nn import VarBuilder
        >>> vb = VarBuilder.from_tensors({"a.weight": Tensor([1.0])})
        >>> vb.pp("a").rename_f(lambda name: name.replace("gamma", "weight")).get(1, "gamma").tolist()
        [1.0]
        """
        return VarBuilder(_Renamed(self._backend, f), self._dtype, self._path)

    def rename(self, renamer: Callable[[str], str]) -> VarBuilder:
        """`rename_f`."""
        return self.rename_f(renamer)

    # -- dtype and device

    @property
    def dtype(self) -> DType:
        """The dtype that tensors are wanted in."""
        return self._dtype

    @property
    def device(self) -> Device:
        """`Device.Cpu`."""
        return Device.Cpu

    def to_dtype(self, dtype: DTypeLike) -> VarBuilder:
        """The same place with another dtype."""
        return VarBuilder(self._backend, as_dtype(dtype), self._path)

    def set_dtype(self, dtype: DTypeLike) -> VarBuilder:
        """`to_dtype`: a builder is never changed."""
        return self.to_dtype(dtype)

    def set_device(self, device: Device) -> VarBuilder:
        """This builder: there is one device."""
        check_device(device)
        return self

    # -- tensors

    def contains_tensor(self, name: str) -> bool:
        """Whether there is a tensor of just this name here; in a map, whether it has been made."""
        return self._backend.contains_tensor(self._full(name))

    def get(self, shape: ShapeLike, name: str) -> Tensor:
        """The tensor of this name and shape; from a map a variable, zeros at first.

        Raises: CannotFindTensor, UnexpectedShape; from a map Error `shape mismatch on …`.
        """
        return self.get_with_hints_dtype(shape, name, Init.default(), self._dtype)

    def get_with_hints(self, shape: ShapeLike, name: str, init: Init) -> Tensor:
        """As `get`; where it has to be made it starts as `init` says."""
        return self.get_with_hints_dtype(shape, name, init, self._dtype)

    def get_with_hints_dtype(self, shape: ShapeLike, name: str, init: Init, dtype: DTypeLike) -> Tensor:
        """As `get_with_hints`, in a dtype of its own.

        Raises: TypeError for what is no Init; else as `get`.
        """
        if not isinstance(init, Init):
            raise TypeError(f"expected Init, found {type(init).__name__}")
        return self._backend.get(parse_shape(shape), self._full(name), init, as_dtype(dtype))

    def get_unchecked(self, name: str) -> Tensor:
        """The tensor of this name, whatever its shape.

        Raises: CannotFindTensor; Error for a source that needs a shape (a map, zeros).
        """
        return self._backend.get_unchecked(self._full(name), self._dtype)

    def get_unchecked_dtype(self, name: str, dtype: DTypeLike) -> Tensor:
        """As `get_unchecked`, in a dtype of its own."""
        return self._backend.get_unchecked(self._full(name), as_dtype(dtype))

    def _full(self, name: str) -> str:
        if not isinstance(name, str):
            raise TypeError(f"VarBuilder: a name is a string, got {name!r}")
        return ".".join((*self._path, name))

    def __repr__(self) -> str:
        return f"VarBuilder(prefix={self.prefix()!r}, dtype={self._dtype!r})"


class _OfVarMap:
    def __init__(self, varmap: VarMap) -> None:
        self.varmap = varmap

    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        return self.varmap.get(shape, name, init, dtype)

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        bail("`get_unchecked` does not make sense for `VarMap`, use `get`.")

    def contains_tensor(self, name: str) -> bool:
        return name in self.varmap


class _OfZeros:
    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        return Tensor.zeros(shape, dtype)

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        bail("`Zeros` requires a shape for tensor retrieval, use `get` instead of `get_unchecked`")

    def contains_tensor(self, name: str) -> bool:
        return True


class _OfTensors:
    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.tensors = tensors

    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        found = self.get_unchecked(name, dtype)
        _check_shape(name, shape, found.shape)
        return found

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        if name not in self.tensors:
            raise CannotFindTensor(name, self.tensors)
        return self.tensors[name].to_dtype(dtype)

    def contains_tensor(self, name: str) -> bool:
        return name in self.tensors


class _OfSafetensors:
    def __init__(self, file: SafeTensors) -> None:
        self.file = file

    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        if name in self.file:
            _check_shape(name, shape, self.file.get(name).shape)
        return self.get_unchecked(name, dtype)

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        if name not in self.file:
            raise CannotFindTensor(name, self.file.names())
        return self.file.load(name).to_dtype(dtype)

    def contains_tensor(self, name: str) -> bool:
        return name in self.file


class _OfNpz:
    def __init__(self, archive: NpzTensors) -> None:
        self.archive = archive
        self.names = frozenset(archive.names())

    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        _check_shape(name, shape, self.archive.get_shape_and_dtype(name)[0])
        return self.get_unchecked(name, dtype)

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        found = self.archive.get(name)
        if found is None:
            raise CannotFindTensor(name, self.names)
        return found.to_dtype(dtype)

    def contains_tensor(self, name: str) -> bool:
        return name in self.names


class _OfPth:
    def __init__(self, file: PthTensors) -> None:
        self.file = file
        self.infos = file.tensor_infos()

    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        if name in self.infos:
            _check_shape(name, shape, self.infos[name].shape)
        return self.get_unchecked(name, dtype)

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        found = self.file.get(name)
        if found is None:
            raise CannotFindTensor(name, self.infos)
        repeats = found.elem_count() > self.infos[name].span  # a few numbers expanded to many stay few
        return (found if repeats else found.contiguous()).to_dtype(dtype)

    def contains_tensor(self, name: str) -> bool:
        return name in self.infos


class _OfGguf:
    def __init__(self, file: GgufFile) -> None:
        self.file = file

    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        _check_shape(name, shape, self.file.get(name).shape)
        return self.get_unchecked(name, dtype)

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        return self.file.load(name).to_dtype(dtype)

    def contains_tensor(self, name: str) -> bool:
        return name in self.file


class _Renamed:
    def __init__(self, backend: Backend, f: Callable[[str], str]) -> None:
        self.backend, self.f = backend, f

    def get(self, shape: Shape, name: str, init: Init, dtype: DType) -> Tensor:
        return self.backend.get(shape, self.f(name), init, dtype)

    def get_unchecked(self, name: str, dtype: DType) -> Tensor:
        return self.backend.get_unchecked(self.f(name), dtype)

    def contains_tensor(self, name: str) -> bool:
        return self.backend.contains_tensor(self.f(name))


def _check_shape(name: str, expected: Shape, got: Shape) -> None:
    """Raises UnexpectedShape unless they are one; a Linear's weight of (in, out) is recognised."""
    if expected == got:
        return
    error = UnexpectedShape(f"shape mismatch for {name}", expected, got)
    if len(got) == 2 and expected == got[::-1]:
        error.help(
            "it is stored transposed: a Linear's weight is (out, in) here, as in PyTorch; TensorFlow, Flax and GPT-2 store (in, out). "
            "Take it with `get_unchecked` and transpose it: `Linear(w.t(), bias)`"
        )
    raise error
