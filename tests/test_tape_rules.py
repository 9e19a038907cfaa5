"""What the walk asks of a rule: a tuple with one gradient an input, each of its input's shape."""

from __future__ import annotations

from typing import Any

import pytest

import cafe
from cafe import Var


class Summed(cafe.Op):
    """A rule that forgets to give its gradient the input's shape."""

    name, keep = "summed", ""

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.sum(x, (0,), False)

    def backward(self, xp: Any, g: Any, r: Any, x: Any) -> Any:
        return (g,)


class Bare(Summed):
    """A rule that gives an array instead of a tuple of one."""

    name = "bare"

    def backward(self, xp: Any, g: Any, r: Any, x: Any) -> Any:
        return g


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_of_another_shape_is_refused_in_the_walk(create_graph: bool) -> None:
    with pytest.raises(cafe.Error, match=r"gradient in the backward of summed, expected: \[3\], got: \[\]"):
        cafe.apply(Summed(), Var([1.0, 2.0, 3.0])).backward(create_graph=create_graph)


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_is_no_tuple_of_gradients_is_refused(create_graph: bool) -> None:
    with pytest.raises(cafe.Error, match="backward of bare: a tuple with a gradient or None for each of 1 inputs is wanted, got"):
        cafe.apply(Bare(), Var([1.0, 2.0, 3.0])).backward(create_graph=create_graph)
