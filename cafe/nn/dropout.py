"""Dropout: in training, some numbers are left out at random (floor 6)."""

from __future__ import annotations

from cafe.tensor.core import Tensor

from . import ops
from .habits import called
from .module import ModuleT


@called
class Dropout(ModuleT):
    """In training each number becomes 0 with probability p and is divided by 1 − p otherwise; in use nothing happens.

    p: in [0, 1).
    Raises: Error, when it is made, for another p.
    Gradient: g / (1 − p) where the number was kept, 0 elsewhere.
    Source: candle-nn/src/ops.rs, Dropout.

    >>> import cafe
    >>> from cafe import Tensor, nn
    >>> cafe.manual_seed(1)
    >>> drop = nn.Dropout(0.5)
    >>> sorted(set(drop.forward(Tensor.ones(20), True).tolist())), drop.forward(Tensor([3.0]), False).tolist()
    ([0.0, 2.0], [3.0])
    """

    __slots__ = ("p",)

    def __init__(self, p: float) -> None:
        ops.check_dropout(p)
        self.p = p

    def forward(self, xs: Tensor, train: bool) -> Tensor:
        """xs with numbers left out if this is training."""
        return ops.dropout(xs, self.p) if train else xs

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        """`forward(xs, train)`."""
        return self.forward(xs, train)

    def __repr__(self) -> str:
        return f"Dropout({self.p})"
