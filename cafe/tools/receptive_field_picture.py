"""Pictures of receptive fields: a stack's cone, its holes over two axes, a transposed convolution's checkerboard (above every floor).

    draw_field(receptive_field(model), "cone.png")
    draw_gridding(receptive_field([(3, 4, 1)] * 3), "gridding.png")
    draw_checkerboard(3, 2, "checkerboard.png")

They need matplotlib, which `pip install cafe-grad[examples]` brings.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from cafe.errors import Error

from .receptive_field import ReceptiveField, checkerboard

_figures: Any = importlib.import_module("matplotlib.figure") if importlib.util.find_spec("matplotlib") else None


def draw_field(field: ReceptiveField, path: str | Path) -> None:
    """One output at the top, and below it, layer by layer, the places that it reads; darker where more ways lead there.

    Raises: Error without matplotlib.
    """
    figure = _figure(8.0, 1.0 + 0.6 * (len(field.steps) + 1))
    axes = figure.add_subplot()
    names = ["input", *(step.name for step in field.steps)]
    for level, (places, ways) in enumerate(_levels(field)):
        axes.scatter(places, [level] * len(places), c=ways, cmap="Blues", vmin=0, vmax=max(ways), edgecolors="black", marker="s", s=40)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("place of the input, from the middle of the field")
    axes.set_title(f"field {field.field}, jump {field.jump}, {len(field.holes)} holes")
    _save(figure, path)


def draw_gridding(field: ReceptiveField, path: str | Path) -> None:
    """The square that an output of two axes sees, the same stack along both: in how many ways it reads each place; white ones are holes.

    Raises: Error without matplotlib.
    """
    figure = _figure(5.0, 5.0)
    axes = figure.add_subplot()
    ways = np.outer(field.paths, field.paths).astype(float)
    axes.imshow(np.where(ways > 0, np.log1p(ways), np.nan), cmap="viridis")
    seen = len(field.offsets) ** 2
    axes.set_title(f"{seen} of {field.field**2} places are read")
    _save(figure, path)


def draw_checkerboard(kernel: int, stride: int, path: str | Path, inputs: int = 6) -> None:
    """How many inputs write to each place of a transposed convolution over two axes.

    Raises: Error without matplotlib.
    """
    figure = _figure(5.0, 5.0)
    axes = figure.add_subplot()
    written = checkerboard(kernel, stride, inputs)
    image = axes.imshow(np.outer(written, written), cmap="viridis")
    figure.colorbar(image, ax=axes, label="inputs that write here")
    axes.set_title(f"kernel {kernel}, stride {stride}: {'even' if kernel % stride == 0 else 'a checkerboard'}")
    _save(figure, path)


def _levels(field: ReceptiveField) -> list[tuple[list[float], list[int]]]:
    """From the input up to the single output: where the places that it reads lie over the input, and in how many ways it reads them."""
    levels: list[tuple[list[float], list[int]]] = [([0.0], [1])]
    places = {0.0: 1}
    for step in reversed(field.steps):
        jump = step.jump // step.stride
        below: dict[float, int] = {}
        for place, ways in places.items():
            for tap in range(step.kernel):
                at = place + (tap - (step.kernel - 1) / 2.0) * step.dilation * jump
                below[at] = below.get(at, 0) + ways
        places = below
        levels.append((list(places), list(places.values())))
    return levels[::-1]


def _figure(width: float, height: float) -> Any:
    """An empty figure, which needs no display."""
    if _figures is None:
        raise Error("pictures need matplotlib").help("pip install cafe-grad[examples]")
    return _figures.Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: str | Path) -> None:
    figure.savefig(path, dpi=120)
