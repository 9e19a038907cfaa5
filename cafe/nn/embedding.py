"""Rows of a table by id (floor 6)."""

from __future__ import annotations

from math import prod

from cafe.tensor.core import Tensor

from .building import builds
from .init import Init
from .module import Module
from .var_builder import VarBuilder


class Embedding(Module):
    """The rows of a table (n, h) for ids of any shape.

    Shape: ids (…), of any integer dtype → (…, h). The largest U8, U32 or I64 gives a row of zeros.
    Raises: InvalidIndex for an id that the table has no row for; UnsupportedDTypeForOp for float ids.
    Gradient: g, added up for each row in the order of the ids.
    Source: candle-nn/src/embedding.rs, Embedding.

    >>> from cafe import Tensor
    >>> table = Embedding(Tensor([[1.0, 2.0], [3.0, 4.0]]), 2)
    >>> table(Tensor([[1, 0, 1]])).tolist()
    [[[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]]
    """

    __slots__ = ("embeddings", "hidden_size")

    @builds
    def __init__(self, embeddings: Tensor, hidden_size: int) -> None:
        self.embeddings, self.hidden_size = embeddings, hidden_size

    def forward(self, xs: Tensor) -> Tensor:
        """The rows for these ids."""
        flat = self.embeddings.index_select(xs.reshape((prod(xs.shape),)), 0)
        return flat if xs.rank == 1 else flat.reshape((*xs.shape, self.hidden_size))

    def __repr__(self) -> str:
        return f"Embedding({self.embeddings.dim(0)}, {self.hidden_size})"


@builds
def embedding(in_size: int, out_size: int, vb: VarBuilder) -> Embedding:
    """A table of in_size rows with the variable `weight` (in_size, out_size), normal with deviation 1.

    Source: candle-nn/src/embedding.rs, embedding.
    """
    return Embedding(vb.get_with_hints((in_size, out_size), "weight", Init.Randn(0.0, 1.0)), out_size)
