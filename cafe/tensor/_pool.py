"""Pooling over one and two axes: strided windows as candle has them, with padding and a ceiling; adaptive and global ones (floor 4).

Sizes are an int, or one an axis. Everything becomes a `Span` of windows along each axis; the kernels know nothing else.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cafe.dtype import check_float
from cafe.errors import Error, UnexpectedNumberOfDims, show
from cafe.kernels.pool import Spans, Stride, adaptive, strided
from cafe.ops import pool as ops
from cafe.ops.base import Op
from cafe.shape import PerAxis, Shape, check_rank, per_axis

from .base import Base, apply
from .habits import called

if TYPE_CHECKING:
    from .core import Tensor

_MOST = 2**24  # windows along an axis: where each lies is listed


class PoolMethods(Base):
    """Pooling. `kernel`, `stride` and `padding` take an int, or one an axis; the stride is the kernel's size where none is given.

    padding: places added on both sides, at most half of the kernel: −∞ for a maximum, zeros for an average.
    ceil_mode: a last window may hang over the end, if it starts inside the input or in the padding before it.
    count_include_pad: an average divides by the places its window covers, padding included; False leaves the padding out.
    """

    __slots__ = ()

    @called
    def max_pool1d(self, kernel: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, ceil_mode: bool = False) -> Tensor:
        """`max_pool2d` over one axis.

        Shape: (N, C, L) → (N, C, L').

        >>> import cafe
        >>> cafe.Tensor([[[1.0, 5.0, 2.0, 7.0]]]).max_pool1d(2).tolist()
        [[[5.0, 7.0]]]
        """
        return apply(ops.MaxPool(_windows("max_pool1d", self.shape, 1, kernel, stride, padding, ceil_mode)), self)

    @called
    def max_pool2d(self, kernel: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0, ceil_mode: bool = False) -> Tensor:
        """The largest of each window; NaN where there is one.

        Shape: (N, C, H, W) → (N, C, H', W'), each ⌊(size + 2 padding − kernel) / stride⌋ + 1, or one more with `ceil_mode`.
        Raises: UnexpectedNumberOfDims; Error for a kernel larger than the input, and for more padding than half of the kernel.
        Gradient: each g goes to its window's first largest element, row by row; where windows overlap they add up. A NaN is the largest.
        Source: candle-core/src/tensor.rs, max_pool2d.

        >>> import cafe
        >>> x = cafe.Var([[[[1.0, 2.0], [2.0, 2.0]]]])
        >>> y = x.max_pool2d(2)
        >>> y.tolist(), y.sum_all().backward()[x].tolist()
        ([[[[2.0]]]], [[[[0.0, 1.0], [0.0, 0.0]]]])
        """
        return apply(ops.MaxPool(_windows("max_pool2d", self.shape, 2, kernel, stride, padding, ceil_mode)), self)

    def max_pool2d_with_stride(self, kernel: PerAxis, stride: PerAxis) -> Tensor:
        """`max_pool2d`, as candle calls it with a stride.

        Source: candle-core/src/tensor.rs, max_pool2d_with_stride.
        """
        return self.max_pool2d(kernel, stride)

    @called
    def avg_pool1d(
        self,
        kernel: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        """`avg_pool2d` over one axis.

        Shape: (N, C, L) → (N, C, L').
        """
        return _average(self, _windows("avg_pool1d", self.shape, 1, kernel, stride, padding, ceil_mode, count_include_pad))

    @called
    def avg_pool2d(
        self,
        kernel: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        """The average of each window.

        Shape: (N, C, H, W) → (N, C, H', W'), as `max_pool2d`.
        Raises: UnsupportedDTypeForOp for integers; else as `max_pool2d`.
        Gradient: each g, divided as its window was, goes to all of the window.
        Source: candle-core/src/tensor.rs, avg_pool2d.

        >>> import cafe
        >>> x = cafe.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> x.avg_pool2d(2).tolist(), x.avg_pool2d(3, 2, 1, count_include_pad=False).tolist()
        ([[[[2.5]]]], [[[[2.5]]]])
        """
        return _average(self, _windows("avg_pool2d", self.shape, 2, kernel, stride, padding, ceil_mode, count_include_pad))

    def avg_pool2d_with_stride(self, kernel: PerAxis, stride: PerAxis) -> Tensor:
        """`avg_pool2d`, as candle calls it with a stride.

        Source: candle-core/src/tensor.rs, avg_pool2d_with_stride.
        """
        return self.avg_pool2d(kernel, stride)

    def adaptive_max_pool1d(self, size: PerAxis) -> Tensor:
        """`adaptive_max_pool2d` over one axis.

        Shape: (N, C, L) → (N, C, size).

        >>> import cafe
        >>> cafe.Tensor([[[1.0, 5.0, 2.0]]]).adaptive_max_pool1d(2).tolist()
        [[[5.0, 5.0]]]
        """
        return apply(ops.MaxPool(_even("adaptive_max_pool1d", self.shape, 1, size)), self)

    def adaptive_max_pool2d(self, size: PerAxis) -> Tensor:
        """The largest in each of h × w windows, whatever H and W are; windows as in `adaptive_avg_pool2d`.

        Shape: (N, C, H, W) → (N, C, h, w).
        Raises: UnexpectedNumberOfDims; Error for an empty input and for a size below 1.
        Gradient: as `max_pool2d`.

        >>> import cafe
        >>> cafe.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]).adaptive_max_pool2d((1, 2)).tolist()
        [[[[3.0, 4.0]]]]
        """
        return apply(ops.MaxPool(_even("adaptive_max_pool2d", self.shape, 2, size)), self)

    def adaptive_avg_pool1d(self, size: PerAxis) -> Tensor:
        """`adaptive_avg_pool2d` over one axis.

        Shape: (N, C, L) → (N, C, size).

        >>> import cafe
        >>> cafe.Tensor([[[1.0, 5.0, 3.0]]]).adaptive_avg_pool1d(2).tolist()
        [[[3.0, 4.0]]]
        """
        return _average(self, _even("adaptive_avg_pool1d", self.shape, 1, size))

    def adaptive_avg_pool2d(self, size: PerAxis) -> Tensor:
        """The average of each of h × w windows, whatever H and W are: window i goes from ⌊i H / h⌋ to ⌈(i + 1) H / h⌉.

        Shape: (N, C, H, W) → (N, C, h, w).
        Raises: UnexpectedNumberOfDims; Error for an empty input and for a size below 1; UnsupportedDTypeForOp for integers.
        Gradient: as `avg_pool2d`.

        >>> import cafe
        >>> cafe.Tensor([[[[1.0, 2.0, 3.0]]]]).adaptive_avg_pool2d((1, 2)).tolist()
        [[[[1.5, 2.5]]]]
        """
        return _average(self, _even("adaptive_avg_pool2d", self.shape, 2, size))

    def global_max_pool(self) -> Tensor:
        """The largest over all axes behind the channels.

        Shape: (N, C, *S) → (N, C, 1, …).
        Raises: UnexpectedNumberOfDims below rank 3; Error where there is nothing to pool.
        Gradient: as `max_pool2d`.

        >>> import cafe
        >>> cafe.Tensor([[[[1.0, 2.0], [3.0, 6.0]]]]).global_max_pool().tolist()
        [[[[6.0]]]]
        """
        return apply(ops.MaxPool(_everything("global_max_pool", self.shape)), self)

    def global_avg_pool(self) -> Tensor:
        """The average over all axes behind the channels.

        Shape: (N, C, *S) → (N, C, 1, …).
        Raises: UnexpectedNumberOfDims below rank 3; Error where there is nothing to pool; UnsupportedDTypeForOp for integers.
        Gradient: as `avg_pool2d`.

        >>> import cafe
        >>> cafe.Tensor([[[[1.0, 2.0], [3.0, 6.0]]]]).global_avg_pool().tolist()
        [[[[3.0]]]]
        """
        return _average(self, _everything("global_avg_pool", self.shape))


def _average(x: Base, spans: Spans) -> Tensor:
    op: Op = ops.AvgPool(spans)
    check_float(op.name, x._data)
    return apply(op, x)


def _windows(
    name: str,
    shape: Shape,
    axes: int,
    kernel: PerAxis,
    stride: PerAxis | None,
    padding: PerAxis,
    ceil_mode: bool,
    count_include_pad: bool = True,
) -> Spans:
    """The windows along each axis, after candle's checks and those that candle, which knows no padding, does not need."""
    each = partial(per_axis, name, axes)
    kernels = each("kernel", kernel, 1)
    steps, pads = kernels if stride is None else each("stride", stride, 1), each("padding", padding, 0)
    check_rank(shape, axes + 2)
    size = shape[2:]
    if any(n + 2 * p < k for n, p, k in zip(size, pads, kernels)):
        shown = kernels[0] if axes == 1 else kernels
        error = Error(f"kernel-size {shown} is larger than the input size {','.join(map(str, size))}")
        raise error.help(f"with a padding of {show(pads)} on both sides") if any(pads) else error
    if any(2 * p > k for p, k in zip(pads, kernels)):
        raise Error(f"{name}: padding must be at most half of the kernel, got padding {show(pads)}, kernel {show(kernels)}")
    if 0 in size:
        raise Error(f"{name}: there is nothing to pool in shape {show(shape)}")
    return tuple(strided(n, Stride(k, s, p, ceil_mode, count_include_pad)) for n, k, s, p in zip(size, kernels, steps, pads))


def _even(name: str, shape: Shape, axes: int, size: PerAxis) -> Spans:
    """So many windows along each axis."""
    places = per_axis(name, axes, "size", size, 1)
    if max(places) > _MOST:
        raise Error(f"{name}: sizes are at most {_MOST}, got {show(places)}")
    check_rank(shape, axes + 2)
    return _adapted(name, shape, places)


def _everything(name: str, shape: Shape) -> Spans:
    """One window of everything."""
    if len(shape) < 3:
        raise UnexpectedNumberOfDims(3, len(shape), shape)
    return _adapted(name, shape, (1,) * (len(shape) - 2))


def _adapted(name: str, shape: Shape, places: Shape) -> Spans:
    if 0 in shape[2:]:
        raise Error(f"{name}: there is nothing to pool in shape {show(shape)}")
    return tuple(adaptive(n, p) for n, p in zip(shape[2:], places))
