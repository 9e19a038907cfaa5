"""Receptive fields: which inputs one output of a stack of convolutions and poolings reads (above every floor).

    field = receptive_field([(3, 1, 1), (3, 2, 1), (3, 4, 1)])     # kernel, dilation, stride, layer by layer
    field.field, field.jump, field.holes                           # 15 inputs wide, neighbours 1 apart, none left out
    print(receptive_field(model, size=224))                        # a Sequential: a table, with the sizes on the way

`cafe.tools.receptive_field_picture` draws them. One axis at a time; along the others the same arithmetic holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cafe.errors import Error
from cafe.nn.activation import Activation, PReLU
from cafe.nn.conv import Conv1d, Conv2d
from cafe.nn.dropout import Dropout
from cafe.nn.module import Func, FuncT
from cafe.nn.norm import BatchNorm
from cafe.nn.ops import Identity
from cafe.nn.pool import AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d
from cafe.nn.sequential import Sequential
from cafe.nn.snake import Snake1d
from cafe.nn.weight_norm import WeightNorm
from cafe.shape import conv_out

Walk: TypeAlias = tuple[int, int, int, int, int]  # kernel, dilation, stride, padding in front and behind

# layers whose outputs each read one place; a function is taken for one
_POINTWISE = (Activation, PReLU, Dropout, BatchNorm, Identity, Snake1d, Func, FuncT)


@dataclass(frozen=True)
class Step:
    """A layer along one axis, and what an output behind it sees of the input.

    field: the width of the stretch it sees, holes included. jump: how far the stretches of neighbouring outputs are apart.
    start: where the first output's stretch begins, negative inside the padding. paths: for each place of the stretch, in how many ways
    the output reads it; a 0 is a hole. size: how many outputs there are, where the input's size is known.
    """

    name: str
    kernel: int
    dilation: int
    stride: int
    padding: int
    field: int
    jump: int
    start: int
    paths: tuple[int, ...]
    size: int | None

    @property
    def offsets(self) -> tuple[int, ...]:
        """The places of the stretch that are read, counted from its first."""
        return tuple(i for i, n in enumerate(self.paths) if n)

    @property
    def holes(self) -> tuple[int, ...]:
        """The places of the stretch that are not."""
        return tuple(i for i, n in enumerate(self.paths) if not n)


@dataclass(frozen=True)
class ReceptiveField:
    """The steps of a stack; its own field, jump, start, offsets, holes and size are those of the last."""

    steps: tuple[Step, ...]
    input_size: int | None = None

    @property
    def field(self) -> int:
        """The width of the stretch of the input that an output sees."""
        return self.steps[-1].field if self.steps else 1

    @property
    def jump(self) -> int:
        """How far the stretches of neighbouring outputs are apart: the product of the strides."""
        return self.steps[-1].jump if self.steps else 1

    @property
    def start(self) -> int:
        """Where the first output's stretch begins; negative inside the padding."""
        return self.steps[-1].start if self.steps else 0

    @property
    def paths(self) -> tuple[int, ...]:
        """For each place of the stretch, in how many ways the output reads it."""
        return self.steps[-1].paths if self.steps else (1,)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The places of the stretch that are read, counted from its first."""
        return self.steps[-1].offsets if self.steps else (0,)

    @property
    def holes(self) -> tuple[int, ...]:
        """The places of the stretch that are not: dilations that share a factor leave them (gridding)."""
        return self.steps[-1].holes if self.steps else ()

    @property
    def size(self) -> int | None:
        """How many outputs there are, where the input's size is known."""
        return self.steps[-1].size if self.steps else self.input_size

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("layer", "kernel", "dilation", "stride", "padding", "field", "jump", "holes", "size")]
        rows += [
            tuple(map(str, (s.name, s.kernel, s.dilation, s.stride, s.padding, s.field, s.jump, len(s.holes), s.size or "")))
            for s in self.steps
        ]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join(
            "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
            for row in rows
        )


def receptive_field(layers: Any, size: int | None = None, axis: int = -1) -> ReceptiveField:
    """What an output behind these layers sees of their input, along one axis.

    layers: a Sequential, or any sequence of layers and of tuples (kernel, dilation, stride) or (kernel, dilation, stride, padding);
    convolutions and poolings count, activations, norms of single places and functions do not.
    size: the input's, to have the sizes on the way, rounded down as convolutions do (a pooling's ceil_mode is not followed).
    axis: which of a layer's axes: −1 the last, −2 the one before.

    With jump j before a layer of kernel k, dilation d, stride s: the field grows by (k − 1) d j, the jump becomes j s.

    Raises: Error for a layer that it does not know, and where a kernel is larger than what it is given.

    >>> field = receptive_field([(3, 4, 1), (3, 4, 1), (3, 4, 1)])
    >>> field.field, len(field.offsets), field.holes[:3]
    (25, 7, (1, 2, 3))
    >>> receptive_field([(3, 1, 1, 1), (3, 1, 2, 1)], size=32).size
    16
    """
    steps: list[Step] = []
    for name, walk in _walks(layers, axis):
        steps.append(_next(steps[-1] if steps else None, name, walk, steps[-1].size if steps else size))
    return ReceptiveField(tuple(steps), size)


def checkerboard(kernel: int, stride: int, inputs: int = 3) -> tuple[int, ...]:
    """How many inputs write to each output of a transposed convolution along one axis; uneven unless the stride divides the kernel.

    >>> checkerboard(3, 2), checkerboard(4, 2)
    ((1, 1, 2, 1, 2, 1, 1), (1, 1, 2, 2, 2, 2, 1, 1))
    """
    written = Counter(i * stride + k for i in range(inputs) for k in range(kernel))
    return tuple(written[place] for place in range((inputs - 1) * stride + kernel))


def _next(before: Step | None, name: str, walk: Walk, size: int | None) -> Step:
    """The step behind another."""
    kernel, dilation, stride, padding, behind = walk
    jump, start, paths = (before.jump, before.start, before.paths) if before else (1, 0, (1,))
    if min(kernel, dilation, stride) < 1 or padding < 0:
        raise Error(f"receptive_field: {name}: kernel, dilation and stride are at least 1 and padding at least 0, got {walk[:4]}")
    spread = [0] * (len(paths) + (kernel - 1) * dilation * jump)
    for tap in range(kernel):
        for place, ways in enumerate(paths):
            spread[place + tap * dilation * jump] += ways
    outputs = None
    if size is not None:
        given = size + padding + behind
        (outputs,) = conv_out((given,), (kernel,), (stride,), (0,), (dilation,))
        if outputs < 1:
            raise Error(f"receptive_field: {name}: a kernel of {kernel}, dilation {dilation}, is larger than the {given} it is given")
    return Step(name, kernel, dilation, stride, padding, len(spread), jump * stride, start - padding * jump, tuple(spread), outputs)


def _walks(layers: Any, axis: int) -> Iterable[tuple[str, Walk]]:
    """Name and walk of each layer that reads more than one place or skips some."""
    for layer in layers if isinstance(layers, Sequential | Sequence) else [layers]:
        if isinstance(layer, Sequential):
            yield from _walks(layer, axis)
        elif isinstance(layer, tuple):
            kernel, dilation, stride, padding = (*layer, 0) if len(layer) == 3 else layer
            yield f"{kernel} taps", (kernel, dilation, stride, padding, padding)
        elif not isinstance(layer, _POINTWISE):
            yield type(layer).__name__, _walk(layer, axis)


def _walk(layer: Any, axis: int) -> Walk:
    """A layer along one axis."""
    if isinstance(layer, Conv1d | Conv2d | WeightNorm):
        config, kernel = layer.config, layer.weight.shape[2:][axis]
        dilation, stride = _along(config.dilation, axis), _along(config.stride, axis)
        if config.padding == "same":
            total = dilation * (kernel - 1)
            return kernel, dilation, stride, total // 2, total - total // 2
        padding = _along(config.padding, axis)
        return kernel, dilation, stride, padding, padding
    if isinstance(layer, MaxPool1d | MaxPool2d | AvgPool1d | AvgPool2d):
        kernel = _along(layer.kernel, axis)
        stride = kernel if layer.stride is None else _along(layer.stride, axis)
        padding = _along(layer.padding, axis)
        return kernel, 1, stride, padding, padding
    raise Error(f"receptive_field: {type(layer).__name__} is no convolution, pooling or layer of single places").help(
        "give its (kernel, dilation, stride) instead"
    )


def _along(value: Any, axis: int) -> int:
    return value if isinstance(value, int) else int(value[axis])
