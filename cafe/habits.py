"""What hands used to PyTorch and NumPy write, and what there is instead: how such a name answers (floor 0).

The tables stand in one place a class: `cafe.tensor.habits`, `cafe.nn.habits`, and below for the package. A name in a table raises the
AttributeError that any missing name raises, so `hasattr` is false; what is there costs nothing more than without the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from cafe.errors import near


class Unlike:
    """Stands in a class where others have something, and says what there is instead.

    >>> class Cup:
    ...     saucer = Unlike("a mug needs none")
    >>> Cup().saucer
    Traceback (most recent call last):
    AttributeError: a Cup has no `saucer`: a mug needs none
    """

    def __init__(self, instead: str) -> None:
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, value: object, owner: type) -> NoReturn:
        raise AttributeError(f"{_a(owner.__name__)} has no `{self.name}`: {self.instead}")


class Elsewhere(Unlike):
    """Stands where a method would be and says which function it is: `Elsewhere("cafe.nn.ops")`."""

    def __get__(self, tensor: object, owner: type) -> NoReturn:
        raise AttributeError(f"a Tensor has no method `{self.name}`: it is the function `{self.instead}.{self.name}`")


def missing(module: str, known: list[str], table: Mapping[str, str], methods: type | None = None) -> Callable[[str], Any]:
    """A module's `__getattr__`: the AttributeError for a name that it lacks, with what the table has instead, the method of that name,
    or the name of its own that is most like it.

    >>> missing("tea", ["green"], {"coffee": "`tea.black` wakes as well"})("coffee")
    Traceback (most recent call last):
    AttributeError: module `tea` has no `coffee`: `tea.black` wakes as well
    """

    def find(name: str) -> NoReturn:
        instead = table.get(name)
        if instead is None and methods is not None and not name.startswith("_") and hasattr(methods, name):
            instead = f"it is a method, `{methods.__name__}.{name}`"
        if instead is not None:
            raise AttributeError(f"module `{module}` has no `{name}`: {instead}", name=name)
        error = AttributeError(f"module `{module}` has no attribute `{name}`", name=name)
        if not name.startswith("_") and (help := near(name, known)) is not None:
            error.add_note(f"help: {help}")
        raise error

    return find


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOU" else f"a {name}"


_DTYPES = {"float": "F32", "double": "F64", "half": "F16", "long": "I64", "int": "I32", "short": "I16", "bool": "U8"}
_LONG = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16"}
_LONG |= {"int64": "I64", "int32": "I32", "int16": "I16", "uint32": "U32", "uint8": "U8"}
_DROPPED = "nothing is recorded within `with cafe.no_grad():`"

PACKAGE = {
    **{name: f"it is `DType.{dtype}`" for name, dtype in {**_DTYPES, **_LONG}.items()},
    "array": "`Tensor(data)` makes a tensor",
    "as_tensor": "`Tensor(data)` makes a tensor, `Tensor.from_numpy(array)` one over an array's own memory",
    "where": "it is a method of the condition, `mask.where_cond(a, b)`",
    "sigmoid": "it is `cafe.nn.ops.sigmoid`",
    "softmax": "it is `cafe.nn.ops.softmax`",
    "save": "`cafe.io.safetensors.save(tensors, path)` and `VarMap.save(path)` write files",
    "load": "`cafe.io.safetensors.load(path)`, `VarMap.load(path)` and `VarBuilder.from_pth(path)` read files",
    "optim": "optimizers are in `cafe.nn`",
    "functional": "functions are in `cafe.nn.ops`, losses in `cafe.nn.loss`",
    "autograd": "`loss.backward()` gives the gradients",
    "cuda": "there is one device, `Device.Cpu`",
    "enable_grad": _DROPPED,
    "inference_mode": _DROPPED,
    "set_grad_enabled": _DROPPED,
    "randint": "`Tensor(numpy.random.default_rng().integers(…))` draws whole numbers",
    "randperm": "`cafe.tools.data` shuffles rows",
    "empty": "`Tensor.zeros(shape)`: no memory is given out unwritten",
    "einsum": "`matmul`, `permute` and `reshape` make such products",
}
