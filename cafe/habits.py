"""What hands used to PyTorch and NumPy write, and what there is instead: how such a name, or such a call, answers (floor 0).

The tables stand in one place a class: `cafe.tensor.habits`, `cafe.nn.habits`, and below for the package. A name in a table raises the
AttributeError that any missing name raises, so `hasattr` is false; what is there costs nothing more than without the table. A call that
does not fit its function raises a TypeError, and of a function in a table that says how the call is written here (`told`, `misfit`).
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn, TypeVar

from cafe.errors import helped, near

F = TypeVar("F", bound=Callable[..., Any])


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


def told(table: Mapping[str, str]) -> Callable[[F], F]:
    """Decorates a function, or a class: a call that does not fit it is helped by the row of its name, or told what it takes.

    It takes an eighth of a microsecond a call. What small tensors are made to do all day takes misfits itself, in a hundredth (`misfit`).

    >>> @told({"brew": "`brew(grams)` weighs the leaves"})
    ... def brew(grams): ...
    >>> try:
    ...     brew(spoons=2)
    ... except TypeError as error:
    ...     print(error, error.__notes__)
    brew() got an unexpected keyword argument 'spoons' ['help: `brew(grams)` weighs the leaves']
    """

    def decorate(f: F) -> F:
        row = table.get(f.__name__)
        if not isinstance(f, type):
            return _helping(f, row)
        f.__init__ = _helping(f.__init__, row)  # type: ignore[misc]
        return f

    return decorate


def _helping(f: F, row: str | None) -> F:
    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except TypeError as error:
            assert error.__traceback__ is not None
            if error.__traceback__.tb_next is None:  # of the call itself: nothing in f ran
                helped(error, row or f"it takes {', '.join(f'`{name}`' for name in inspect.signature(f).parameters if name != 'self')}")
            raise

    return call  # type: ignore[return-value]


NEEDED: Any = object()
"""The default of an argument that has none, where its absence is told by `misfit`."""


def misfit(table: Mapping[str, str]) -> Callable[..., TypeError]:
    """For functions that take what does not fit, as `*more` and `**others`: the error for it, with the row of the function's name.

    >>> wrong = misfit({"brew": "`brew(grams)` weighs the leaves"})
    >>> wrong("brew", {"spoons": 2}), wrong("brew")
    (TypeError('brew has no `spoons`: `brew(grams)` weighs the leaves'), TypeError('brew: `brew(grams)` weighs the leaves'))
    """

    def error(name: str, others: Mapping[str, object] = MappingProxyType({})) -> TypeError:
        keyword = next(iter(others), None)
        return TypeError(f"{name}: {table[name]}" if keyword is None else f"{name} has no `{keyword}`: {table[name]}")

    return error


def named(cls: type) -> type:
    """Decorates a class put together of families: its methods bear its name, so that Python's words on a wrong call do."""
    for family in cls.__mro__[:-1]:
        for value in vars(family).values():
            function = inspect.unwrap(getattr(value, "__func__", value))
            if inspect.isfunction(function):
                function.__module__, function.__qualname__ = cls.__module__, f"{cls.__name__}.{function.__name__}"
    return cls


def missing(module: str, known: list[str], table: Mapping[str, str], *others: type | ModuleType) -> Callable[[str], Any]:
    """A module's `__getattr__`: the AttributeError for a name that it lacks, with what the table has instead, where else the name is (a
    method of a class, a function of a module), or the name of its own that is most like it.

    >>> missing("tea", ["green"], {"coffee": "`tea.black` wakes as well"})("coffee")
    Traceback (most recent call last):
    AttributeError: module `tea` has no `coffee`: `tea.black` wakes as well
    """

    def find(name: str) -> NoReturn:
        instead = table.get(name)
        if instead is None and not name.startswith("_"):
            instead = next(filter(None, (_of(other, name) for other in others)), None)
        if instead is not None:
            raise AttributeError(f"module `{module}` has no `{name}`: {instead}", name=name)
        error = AttributeError(f"module `{module}` has no attribute `{name}`", name=name)
        if not name.startswith("_") and (help := near(name, known)) is not None:
            error.add_note(f"help: {help}")
        raise error

    return find


def no_function(module: str, instead: str) -> None:
    """Where others have a function and we a module of its name: has a call of it say what there is instead.

    >>> no_function("cafe.habits", "it is read")
    >>> sys.modules["cafe.habits"]()
    Traceback (most recent call last):
    TypeError: `cafe.habits` is a module: it is read
    """

    class Module(ModuleType):
        def __call__(self, *args: object, **kwargs: object) -> NoReturn:
            raise TypeError(f"`{module}` is a module: {instead}")

    sys.modules[module].__class__ = Module


def _of(other: type | ModuleType, name: str) -> str | None:
    """Where a name is that the class has, or the module defines."""
    if isinstance(other, type):
        return f"it is a method, `{other.__name__}.{name}`" if hasattr(other, name) else None
    return f"it is `{other.__name__}.{name}`" if name in defined(vars(other)) else None


def defined(names: Mapping[str, Any]) -> list[str]:
    """The public names among a module's globals that are its own, not imported.

    >>> "told" in defined(globals()), "near" in defined(globals())
    (True, False)
    """
    return [n for n, value in names.items() if not n.startswith("_") and getattr(value, "__module__", None) == names["__name__"]]


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOU" else f"a {name}"


_DTYPES = {"float": "F32", "double": "F64", "half": "F16", "long": "I64", "int": "I32", "short": "I16", "bool": "U8"}
_LONG = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16"}
_LONG |= {"int64": "I64", "int32": "I32", "int16": "I16", "uint32": "U32", "uint8": "U8"}
_DROPPED = "nothing is recorded within `with cafe.no_grad():`"

PACKAGE = {
    **{name: f"it is `DType.{dtype}`" for name, dtype in {**_DTYPES, **_LONG}.items()},
    **{dtype: f"it is `DType.{dtype}`" for dtype in _LONG.values()},
    "array": "`Tensor(data)` makes a tensor",
    "as_tensor": "`Tensor(data)` makes a tensor, `Tensor.from_numpy(array)` one over an array's own memory",
    "where": "it is a method of the condition, `mask.where_cond(a, b)`",
    **{name: f"it is `cafe.nn.ops.{name}`" for name in ("dropout", "layer_norm", "log_softmax", "sigmoid", "softmax", "softplus")},
    "concat": "it is a method, `Tensor.cat`",
    "concatenate": "it is a method, `Tensor.cat`",
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
