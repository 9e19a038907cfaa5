"""Layers one after the other (floor 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cafe.errors import helped
from cafe.tensor.core import Tensor

from .activation import Activation
from .conv import Conv1d, Conv2d
from .linear import Linear
from .module import Func, Module, ModuleT
from .norm import BatchNorm


class _Activated(Module):
    """A linear layer and the activation that follows it."""

    __slots__ = ("activation", "linear")

    def __init__(self, linear: Linear, activation: Activation) -> None:
        self.linear, self.activation = linear, activation

    def forward(self, xs: Tensor) -> Tensor:
        return self.activation.of_linear(self.linear, xs)

    __call__ = forward  # type: ignore[assignment]  # of_linear says what is wrong with xs


class _Normed(ModuleT):
    """A convolution, the batch norm that follows it, and the activation after that if there is one."""

    __slots__ = ("activation", "conv", "norm")

    def __init__(self, conv: Conv1d | Conv2d, norm: BatchNorm, activation: Activation | None = None) -> None:
        self.conv, self.norm, self.activation = conv, norm, activation

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        if not train:
            return self.conv.normed(xs, self.norm, self.activation)
        ys = self.norm.forward_t(self.conv(xs), True)
        return ys if self.activation is None else self.activation(ys)


class Sequential(Module):
    """Layers applied in order; `seq()` makes an empty one, which gives its input back.

    It takes a ModuleT too; then it must be told whether this is training, by `forward_t(xs, train)`. An `Activation` after a `Linear` is
    computed with it, to the same bits (`Activation.of_linear`), and so in use is a `BatchNorm` after a convolution (`Conv2d.normed`).

    Source: candle-nn/src/sequential.rs, Sequential.

    >>> from cafe import Tensor, nn
    >>> net = nn.seq().add(nn.Linear(Tensor([[1.0, -1.0]]))).add_fn(lambda xs: xs.relu())
    >>> net(Tensor([[3.0, 1.0], [1.0, 3.0]])).tolist(), len(net)
    ([[2.0], [0.0]], 2)
    """

    __slots__ = ("_layers", "_modal", "_steps")

    def __init__(self, *layers: ModuleT | Callable[[Tensor], Tensor]) -> None:
        self._layers: list[ModuleT] = []
        self._steps: list[ModuleT] = []  # the layers, those that are computed together as one
        self._modal: ModuleT | None = None  # the first layer that differs between training and use
        for layer in layers:
            self.add(layer)

    def add(self, layer: ModuleT | Callable[[Tensor], Tensor]) -> Sequential:
        """Puts a layer (or a function of one tensor) at the end; gives this Sequential.

        Raises: TypeError for what is neither.
        """
        if not isinstance(layer, ModuleT):
            if not callable(layer) or isinstance(layer, type):
                several = "`Sequential(*layers)` takes the layers of a list" if hasattr(layer, "__iter__") else None
                raise helped(TypeError(f"add: expected a Module or a function, found {_named(layer)}"), several)
            layer = Func(layer)
        if self._modal is None and not isinstance(layer, Module):
            self._modal = layer
        self._layers.append(layer)
        both = _together(self._steps[-1], layer) if self._steps else None
        if both is None:
            self._steps.append(layer)
        else:
            self._steps[-1] = both
        return self

    def add_fn(self, f: Callable[[Tensor], Tensor]) -> Sequential:
        """Puts a function of one tensor at the end; gives this Sequential."""
        return self.add(Func(f))

    def forward(self, xs: Tensor) -> Tensor:
        """Each layer's output goes into the next.

        Raises: TypeError if a layer has to be told whether this is training.
        """
        if self._modal is not None:
            raise self._must_know()
        for step in self._steps:
            xs = step(xs)
        return xs

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        """As `forward`, with every layer told whether this is training."""
        for step in self._steps:
            xs = step.forward_t(xs, train)
        return xs

    def forward_all(self, xs: Tensor, train: bool | None = None) -> list[Tensor]:
        """The output of every layer, in order.

        Raises: TypeError if a layer has to be told whether this is training, and `train` is not given.

        >>> from cafe import Tensor, nn
        >>> [y.tolist() for y in nn.seq(lambda x: x + 1.0, lambda x: x * 2.0).forward_all(Tensor([1.0]))]
        [[2.0], [4.0]]
        """
        if train is None and self._modal is not None:
            raise self._must_know()
        out = []
        for layer in self._layers:
            xs = layer(xs, train)
            out.append(xs)
        return out

    def is_empty(self) -> bool:
        """Whether there is no layer."""
        return not self._layers

    def __call__(self, xs: Tensor, train: bool | None = None) -> Tensor:
        return self.forward(xs) if train is None else self.forward_t(xs, train)

    def __len__(self) -> int:
        return len(self._layers)

    def __bool__(self) -> bool:  # an empty one is a layer all the same
        return True

    def __iter__(self) -> Iterator[ModuleT]:
        return iter(self._layers)

    def __getitem__(self, index: int) -> ModuleT:
        return self._layers[index]

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(repr, self._layers))})"

    def _must_know(self) -> TypeError:
        kind = type(self._modal).__name__
        return TypeError(f"this Sequential holds a {kind}, which differs between training and use: call `forward_t(xs, train)`")


def _together(before: ModuleT, layer: ModuleT) -> ModuleT | None:
    """What computes the two as one, if anything does."""
    if isinstance(before, Linear) and type(layer) is Activation:
        return _Activated(before, layer)
    if isinstance(before, Conv1d | Conv2d) and type(layer) is BatchNorm:
        return _Normed(before, layer)
    if isinstance(before, _Normed) and before.activation is None and type(layer) is Activation:
        return _Normed(before.conv, before.norm, layer)
    return None


def seq(*layers: ModuleT | Callable[[Tensor], Tensor]) -> Sequential:
    """Layers one after the other: `seq().add(a).add(b)`, or `seq(a, b)`.

    Source: candle-nn/src/sequential.rs, seq.

    >>> from cafe import Tensor, nn
    >>> nn.seq()(Tensor([1.0])).tolist()
    [1.0]
    """
    return Sequential(*layers)


def _named(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
