"""Operations that move numbers or change their type: picking by ids, joining, sorting, running sums, rounding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .differentiable import Function, OpRow
from .plain import as_bf16
from .row import Array, Stream

SIDE = 1024
NUMBERS = SIDE * SIDE


@dataclass(frozen=True, kw_only=True)
class Moved(OpRow):
    """A function of a square matrix, and of as many ids or another matrix where it takes some, as each library says it.

    words: how many arrays of the matrix's size are read and written in all, in elements of four bytes.
    """

    words: tuple[float, float]
    numpy_says: Function
    cafe_says: Function
    torch_says: Function  # of the module and the operands
    ids: bool = False
    goal: float | None = 1.0

    @property
    def limit(self) -> Stream:
        read, written = self.words
        return Stream(4.0 * NUMBERS * read, 4.0 * NUMBERS * written)

    def operands(self, rng: np.random.Generator) -> list[Array]:
        x = rng.standard_normal((SIDE, SIDE), np.float32)
        return [x, rng.integers(0, SIDE, (SIDE, SIDE))] if self.ids else [x]

    def value(self, *operands: Array) -> Array:
        return np.asarray(self.numpy_says(*operands))

    def in_cafe(self, cafe: Any) -> Function:
        return self.cafe_says

    def in_torch(self, torch: Any) -> Function:
        return partial(self.torch_says, torch)


def _added(x: Array, ids: Array) -> Array:
    y = np.zeros_like(x)
    np.add.at(y, (np.arange(SIDE)[:, None], ids), x)
    return y


ROWS = [
    Moved(
        name="gather from rows 1024 x 1024",
        ids=True,
        words=(3, 1),
        numpy_says=lambda x, i: np.take_along_axis(x, i, 1),
        cafe_says=lambda x, i: x.gather(i, 1),
        torch_says=lambda torch, x, i: x.gather(1, i),
    ),
    Moved(
        name="scatter_add into rows 1024 x 1024",
        ids=True,
        words=(3, 1),
        numpy_says=_added,
        cafe_says=lambda x, i: x.zeros_like().scatter_add(i, x, 1),
        torch_says=lambda torch, x, i: x.new_zeros(x.shape).scatter_add(1, i, x),
    ),
    Moved(
        name="joined along columns 2 x (1024 x 1024)",
        words=(2, 2),
        numpy_says=lambda x: np.concatenate([x, x], 1),
        cafe_says=lambda x: x.cat([x, x], 1),
        torch_says=lambda torch, x: torch.cat([x, x], 1),
    ),
    Moved(
        name="sort of rows 1024 x 1024",
        words=(1, 2),
        numpy_says=lambda x: np.sort(x, -1),
        cafe_says=lambda x: x.sort_last_dim(True)[0],
        torch_says=lambda torch, x: x.sort(dim=-1, stable=True)[0],
    ),
    Moved(
        name="running sums of rows 1024 x 1024",
        words=(1, 1),
        numpy_says=lambda x: np.cumsum(x, 1),
        cafe_says=lambda x: x.cumsum(1),
        torch_says=lambda torch, x: x.cumsum(1),
    ),
    Moved(
        name="to whole numbers 1024 x 1024",
        words=(1, 1),
        numpy_says=lambda x: np.rint(x),
        cafe_says=lambda x: x.round(),
        torch_says=lambda torch, x: x.round(),
    ),
    Moved(
        name="to I64 1024 x 1024",
        words=(1, 2),
        numpy_says=lambda x: np.trunc(x),
        cafe_says=lambda x: x.to_dtype("i64"),
        torch_says=lambda torch, x: x.long(),
    ),
    Moved(
        name="to BF16 1024 x 1024",
        words=(1, 0.5),
        numpy_says=as_bf16,
        cafe_says=lambda x: x.to_dtype("bf16"),
        torch_says=lambda torch, x: x.bfloat16(),
        goal=None,
    ),
]
