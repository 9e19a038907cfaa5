"""The linear layer, x wᵀ + b (floor 6)."""

from __future__ import annotations

import math

from cafe import tape
from cafe.errors import ShapeMismatchBinaryOp
from cafe.ops import matmul as ops
from cafe.tensor.base import apply
from cafe.tensor.core import Tensor

from .building import builds
from .init import DEFAULT_KAIMING_NORMAL, Init
from .module import Module
from .norm import BatchNorm, absorbed
from .var_builder import VarBuilder

_LINEAR = ops.Linear()


class Linear(Module):
    """y = x wᵀ + b, in one op.

    Shape: x (…, k), weight (n, k), bias (n) → (…, n).
    Raises: ShapeMismatchBinaryOp and DTypeMismatchBinaryOp, as the product with wᵀ would; an input of rank 1 is refused.
    Gradient: g w, gᵀ x, and g summed over the rows.
    Source: candle-nn/src/linear.rs, Linear.

    >>> from cafe import Tensor, nn
    >>> layer = nn.Linear(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([0.5, 0.0]))
    >>> layer(Tensor([[10.0, 100.0]])).tolist(), layer
    ([[210.5, 430.0]], Linear(2, 2))
    """

    __slots__ = ("bias", "weight")

    @builds
    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight = weight
        self.bias = bias

    def forward(self, xs: Tensor) -> Tensor:
        """xs wᵀ + b."""
        ys = self._in_one(_LINEAR, xs)
        return self._in_parts(xs) if ys is None else ys

    def then(self, op: ops.LinearThen, xs: Tensor) -> Tensor | None:
        """What the op makes of this layer of xs (`Activation.of_linear`); None where it takes more than the op: integers, F16 and BF16,
        which are rounded between, other ranks, a graph that needs what goes into the function, and layers that are not just this one."""
        w, b = self.weight, self.bias
        if w._data.dtype.itemsize == 2 or type(self).forward is not Linear.forward:
            return None
        if not op.differentiable and (tape.records(xs, w) if b is None else tape.records(xs, w, b)):
            return None
        return self._in_one(op, xs)

    def _in_one(self, op: ops.Linear, xs: Tensor) -> Tensor | None:
        """The op of xs, the weight and the bias; None where candle's two steps have more to say."""
        w, b, x_ = self.weight, self.bias, xs._data
        dtype = w._data.dtype
        if x_.dtype is not dtype or x_.ndim < 2 or dtype.kind in "iu" or (b is not None and b._data.dtype is not dtype):
            return None
        try:
            return apply(op, xs, w) if b is None else apply(op, xs, w, b)
        except ShapeMismatchBinaryOp:
            return None

    def _in_parts(self, xs: Tensor) -> Tensor:
        """Product and sum as candle takes them: with the errors of each, and with a bias that has to be broadcast."""
        if xs.rank < 3:
            ys = xs.matmul(self.weight.t())
        elif xs.is_contiguous():  # the leading dims fold into rows
            rows = xs.reshape((math.prod(xs.shape[:-1]), xs.shape[-1]))
            ys = rows.matmul(self.weight.t()).reshape((*xs.shape[:-1], self.weight.dim(0)))
        else:
            ys = xs.matmul(self.weight.broadcast_left(xs.shape[:-2]).t())
        return ys if self.bias is None else ys.broadcast_add(self.bias)

    def for_few_rows(self) -> Linear:
        """The same layer for inputs of few rows, which then take less time: its weight is a copy that lies input by input.

        For use, not for training: the copy is no variable, and what is trained later does not show in it. With the C kernels the results
        are the same to the bit.

        >>> from cafe import Tensor, nn
        >>> layer = nn.Linear(Tensor([[1.0, 2.0], [3.0, 4.0]])).for_few_rows()
        >>> layer.weight.tolist(), layer.weight.stride, layer(Tensor([[10.0, 100.0]])).tolist()
        ([[1.0, 2.0], [3.0, 4.0]], (1, 2), [[210.0, 430.0]])
        """
        return Linear(self.weight.detach().t().contiguous().t(), None if self.bias is None else self.bias.detach())

    def absorb_bn(self, bn: BatchNorm) -> Linear:
        """A layer that does what this one and then the batch norm in use do.

        Raises: Error for a batch norm without weight and bias.
        """
        return Linear(*absorbed(bn, self.weight, self.bias, 0))

    def __repr__(self) -> str:
        n, k = self.weight.dims2()
        return f"Linear({k}, {n})" if self.bias is not None else f"Linear({k}, {n}, no bias)"


@builds
def linear(in_dim: int, out_dim: int, vb: VarBuilder) -> Linear:
    """A linear layer with the variables `weight` (out, in), normal with deviation √(2 / in), and `bias` (out), uniform in ± 1/√in.

    Source: candle-nn/src/linear.rs, linear.

    >>> from cafe.nn import VarBuilder, VarMap, linear
    >>> varmap = VarMap()
    >>> layer = linear(4, 3, VarBuilder.from_varmap(varmap).pp("fc"))
    >>> [(name, v.dims()) for name, v in varmap.data().items()]
    [('fc.weight', [3, 4]), ('fc.bias', [3])]
    """
    weight = vb.get_with_hints((out_dim, in_dim), "weight", DEFAULT_KAIMING_NORMAL)
    bound = 1.0 / math.sqrt(in_dim) if in_dim else 0.0
    return Linear(weight, vb.get_with_hints(out_dim, "bias", Init.Uniform(-bound, bound)))


@builds
def linear_no_bias(in_dim: int, out_dim: int, vb: VarBuilder) -> Linear:
    """A linear layer with the variable `weight` (out, in) alone.

    Source: candle-nn/src/linear.rs, linear_no_bias.

    >>> from cafe.nn import VarBuilder, linear_no_bias
    >>> linear_no_bias(4, 3, VarBuilder.zeros()).bias is None
    True
    """
    return Linear(vb.get_with_hints((out_dim, in_dim), "weight", DEFAULT_KAIMING_NORMAL))


@builds
def linear_b(in_dim: int, out_dim: int, bias: bool, vb: VarBuilder) -> Linear:
    """`linear` or `linear_no_bias`, as a configuration says.

    Source: candle-nn/src/linear.rs, linear_b.

    >>> from cafe.nn import VarBuilder, linear_b
    >>> linear_b(4, 3, True, VarBuilder.zeros())
    Linear(4, 3)
    """
    return linear(in_dim, out_dim, vb) if bias else linear_no_bias(in_dim, out_dim, vb)
