"""What layers ask of their arguments when they are built (floor 6)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from cafe.errors import Error, helped
from cafe.shape import whole
from cafe.tensor.base import check_tensors
from cafe.tensor.convert import real

from .habits import BUILDERS, CALLS
from .var_map import VarMap

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


def builds(f: Callable[P, T]) -> Callable[P, T]:
    """f, a function that builds a layer or the layer's `__init__`, which first asks of its arguments what their annotations say: a
    VarBuilder, tensors, ints of at least 0, the configuration of this layer.

    A layer is built once, so this costs nothing; and it is said in one place for all of them.

    Raises: TypeError for an argument of another kind, Error for a negative int.
    """
    signature = inspect.signature(f)
    kinds = {name: str(p.annotation).removesuffix(" | None") for name, p in signature.parameters.items()}

    @functools.wraps(f)
    def build(*args: P.args, **kwargs: P.kwargs) -> T:
        op = type(args[0]).__name__ if f.__name__ == "__init__" else f.__name__
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise helped(TypeError(f"{op}: {error}"), _how(op, signature)) from None
        try:
            for name, value in given.items():
                if value is not None or not str(signature.parameters[name].annotation).endswith("None"):
                    _check(f, op, name, kinds[name], value)
        except TypeError as error:
            if op in BUILDERS and isinstance(args[1] if len(args) > 1 else None, int):
                error.__notes__ = [f"help: {_how(op, signature)}"]
            raise
        return f(*args, **kwargs)

    return build


def _how(op: str, signature: inspect.Signature) -> str:
    """How a layer is built that was built in another way."""
    if op in BUILDERS:
        return f"`{op}` is made of tensors; `nn.{BUILDERS[op]}` makes one with variables of its own"
    parameters = [name for name in signature.parameters if name != "self"]
    return f"it is `{op}({', '.join(parameters)})`" + (f"; {CALLS[op]}" if op in CALLS else "")


def _check(f: Callable[..., Any], op: str, name: str, kind: str, value: Any) -> None:
    if kind == "int":
        if whole(op, name, value) < 0:
            raise Error(f"{op}: {name} must be at least 0, got {value}")
    elif kind == "Tensor":
        check_tensors(op, value)
    elif (kind == "VarBuilder" or kind.endswith("Config")) and not isinstance(value, f.__globals__[kind]):
        error = TypeError(f"{op}: expected {kind}, found {type(value).__name__}")
        if isinstance(value, VarMap) and kind == "VarBuilder":
            error.add_note("help: `VarBuilder.from_varmap(varmap)` makes one of a VarMap")
        raise error


def configured(kind: Callable[..., C], config: C | float) -> C:
    """A norm's configuration from one, or from its eps.

    Raises: TypeError for anything else.
    """
    if isinstance(config, kind):  # type: ignore[arg-type]
        return config  # type: ignore[return-value]
    if not isinstance(config, int | float) or isinstance(config, bool):
        raise TypeError(f"expected {getattr(kind, '__name__', kind)}, found {type(config).__name__}")
    return kind(eps=real("eps", config))
