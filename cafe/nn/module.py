"""What a layer is: `Module`, and `ModuleT` for one that differs between training and use; and functions as layers (floor 6).

    class Twice(Module):
        def forward(self, xs):
            return xs * 2.0

    Twice()(x)                       # calls forward
    Twice().forward_t(x, True)       # every Module is a ModuleT that does not care

A module has no registry of its parts: variables live in the `VarMap`, under the names that the `VarBuilder` gave them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from cafe.tensor.base import check_tensors
from cafe.tensor.core import Tensor

from .habits import ModuleHabits

F = TypeVar("F")


class _NoForward:
    """Stands where `forward` would be and says what to call. (A `__getattr__` could, too, and would slow every other attribute.)"""

    def __get__(self, module: object, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__} differs between training and use: call `forward_t(xs, train)`")


class ModuleT(ModuleHabits):
    """A layer that is told whether it is being trained: subclass it and write `forward_t(xs, train)`.

    `module(xs, train)` calls it.

    Source: candle-core/src/lib.rs, ModuleT.

    >>> from cafe import Tensor, nn
    >>> class Noisy(nn.ModuleT):
    ...     def forward_t(self, xs, train):
    ...         return xs + 1.0 if train else xs
    >>> Noisy()(Tensor([1.0]), True).tolist()
    [2.0]
    >>> Noisy()(Tensor([1.0]))
    Traceback (most recent call last):
    TypeError: Noisy differs between training and use: call `forward_t(xs, train)`
    """

    __slots__ = ()

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        """The output, in training or in use."""
        raise NotImplementedError(f"{type(self).__name__} has no `forward_t`")

    def __call__(self, xs: Tensor, train: bool | None = None) -> Tensor:
        if train is None:
            raise TypeError(f"{type(self).__name__} differs between training and use: call `forward_t(xs, train)`")
        return self.forward_t(xs, train)

    if not TYPE_CHECKING:
        forward = _NoForward()


class Module(ModuleT):
    """A layer: subclass it and write `forward(xs)`. `module(xs)` calls it; as a ModuleT it ignores `train`.

    Source: candle-core/src/lib.rs, Module.

    >>> from cafe import Tensor, nn
    >>> class Twice(nn.Module):
    ...     def forward(self, xs):
    ...         return xs * 2.0
    >>> Twice()(Tensor([1.5])).tolist(), Twice().forward_t(Tensor([2.5]), True).tolist()
    ([3.0], [5.0])
    """

    __slots__ = ()

    def forward(self, xs: Tensor) -> Tensor:
        """The output."""
        raise NotImplementedError(f"{type(self).__name__} has no `forward`")

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        """`forward(xs)`, in training and in use."""
        return self.forward(xs)

    def __call__(self, xs: Tensor, train: bool | None = None) -> Tensor:
        try:
            return self.forward(xs)
        except AttributeError as error:
            if error.obj is xs:  # it was taken for a Tensor
                check_tensors(type(self).__name__, xs)
            raise


class Func(Module):
    """A function of one tensor as a layer; `func(f)` makes one.

    >>> from cafe import Tensor
    >>> Func(Tensor.relu)(Tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    __slots__ = ("f",)

    def __init__(self, f: Callable[[Tensor], Tensor]) -> None:
        self.f = _called(f)

    def forward(self, xs: Tensor) -> Tensor:
        """f(xs)."""
        return self.f(xs)

    def __repr__(self) -> str:
        return "func"


class FuncT(ModuleT):
    """A function of a tensor and of whether this is training, as a layer; `func_t(f)` makes one.

    >>> from cafe import Tensor
    >>> FuncT(lambda xs, train: xs.neg() if train else xs)(Tensor([2.0]), True).tolist()
    [-2.0]
    """

    __slots__ = ("f",)

    def __init__(self, f: Callable[[Tensor, bool], Tensor]) -> None:
        self.f = _called(f)

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        """f(xs, train)."""
        return self.f(xs, train)

    def __repr__(self) -> str:
        return "func"


def func(f: Callable[[Tensor], Tensor]) -> Func:
    """A layer that computes f.

    Source: candle-nn/src/func.rs, func.

    >>> from cafe import Tensor, nn
    >>> half = nn.func(lambda xs: xs * 0.5)
    >>> half(Tensor([3.0])).tolist(), half
    ([1.5], func)
    """
    return Func(f)


def func_t(f: Callable[[Tensor, bool], Tensor]) -> FuncT:
    """A layer that computes f(xs, train).

    Source: candle-nn/src/func.rs, func_t.

    >>> from cafe import Tensor, nn
    >>> nn.func_t(lambda xs, train: xs.neg() if train else xs).forward_t(Tensor([3.0]), True).tolist()
    [-3.0]
    """
    return FuncT(f)


def _called(f: F) -> F:
    if not callable(f):
        raise TypeError(f"a layer of a function: expected a function, found {type(f).__name__}")
    return f
