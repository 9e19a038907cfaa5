"""Convolutions and transposed convolutions over one and two axes, with candle's argument orders (floor 4).

Friendly arguments (one int for every axis, `"same"`) are parsed here into a `Geometry`; candle's checks come first, in candle's order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from cafe.dtype import check_float, check_same
from cafe.errors import Conv1dInvalidArgs, Error, ShapeMismatchBinaryOp, bail, show
from cafe.kernels.conv import ALGORITHMS, Geometry
from cafe.ops import conv as ops
from cafe.ops.base import Op
from cafe.shape import Shape, check_rank, conv_out, conv_transpose_out, ints_per_axis, whole

from .base import Base, apply
from .habits import called

if TYPE_CHECKING:
    from .core import Tensor

PerAxis: TypeAlias = "int | Sequence[int]"
Padding: TypeAlias = "PerAxis | str"

_MOST_PLACES = 2**40  # of a padded image: terabytes, and far from where sizes in bytes overflow


class _Chosen(threading.local):
    """The algorithm that `conv_algorithm` has set in this thread; None outside of one."""

    name: str | None = None


_here, _everywhere = _Chosen(), ["auto"]


def set_conv_algorithm(name: str) -> None:
    """Has every convolution from here on, in every thread, computed by this algorithm, so that they can be compared.

    name: one of

    - `auto`, the default: `winograd2` where it pays (F32, 16 channels a group in and out or more, 36 places or more; other kernels than
      3 × 3 without a stride where it saves more products than its transforms cost), the direct sum for one channel a group, else the
      implicit product. It looks at an image's sizes, never at how many images there are.
    - `im2col`: the patches written to memory, then a matrix product.
    - `implicit`: the same product and the same bits; patches are packed as they are needed, never in memory.
    - `winograd2`, `winograd4`: Winograd's F(2 × 2, 3 × 3) and F(4 × 4, 3 × 3), for 3 × 3 kernels without stride or dilation and more than
      one channel a group: 2.25 and 4 times fewer multiplications. In F32 the relative error (root mean square) is at most 6e-7 and 4e-6.
      Kernels of 3 to 6 taps along one axis (1.6 to 2.2 times fewer), and with stride 2 of 3 or 4 taps an axis or of 5 or 6 (1.7 to 2.25
      times fewer), transposed ones too, have kin of the first, within its error; both names stand for these.
    - `direct`: every output runs over what it sees, without a product; the bits of `implicit`.

    What an algorithm cannot do is done as `auto` does it: other kernels than Winograd's, half of the gradients. Gradients are computed by
    the algorithm that was in force when the convolution was recorded. Without the C kernels there is one, and this changes nothing.

    Winograd's algorithms compute a tile of outputs from sums over all that the tile sees. So an error is relative to the largest of those,
    not to each output's own operands. An infinity or a NaN does not spread: elements that come out not finite are computed again by the
    plain sum.

    Raises: Error for an unknown name.

    >>> import cafe
    >>> cafe.set_conv_algorithm("implicit")
    >>> cafe.get_conv_algorithm()
    'implicit'
    >>> cafe.set_conv_algorithm("auto")
    """
    _everywhere[0] = _known("set_conv_algorithm", name)


def get_conv_algorithm() -> str:
    """The algorithm that convolutions are computed by here and now: that of the innermost `conv_algorithm`, or the one that was set."""
    return _here.name or _everywhere[0]


@contextmanager
def conv_algorithm(name: str) -> Iterator[None]:
    """Convolutions inside are computed by this algorithm (in this thread); `set_conv_algorithm` says which there are.

    Raises: Error for an unknown name.

    >>> import cafe
    >>> with cafe.conv_algorithm("winograd4"):
    ...     cafe.get_conv_algorithm()
    'winograd4'
    >>> cafe.get_conv_algorithm()
    'auto'
    """
    before, _here.name = _here.name, _known("conv_algorithm", name)
    try:
        yield
    finally:
        _here.name = before


def _known(function: str, name: str) -> str:
    if name not in ALGORITHMS:
        raise Error(f"{function}: unknown algorithm {name!r}").help("one of " + ", ".join(ALGORITHMS))
    return name


_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class ConvMethods(Base):
    """Convolutions. `padding`, `stride`, `dilation` and `output_padding` take an int, or one an axis."""

    __slots__ = ()

    @called
    def conv1d(
        self,
        kernel: Tensor,
        padding: Padding = 0,
        stride: PerAxis = 1,
        dilation: PerAxis = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
    ) -> Tensor:
        """y[n, o, l] = Σ_c Σ_k w[o, c, k] x[n, c, l · stride + k · dilation − padding], each group of outputs seeing its group of inputs.

        padding: places added on both sides, or "same": as many as keep the size (stride 1), an odd one behind.
        padding_mode: what they hold: zeros, reflect, replicate or circular (see `pad`).

        Shape: (N, C, L), kernel (O, C / groups, k) → (N, O, ⌊(L + 2 padding − dilation (k − 1) − 1) / stride⌋ + 1). Any strides in memory.

        Raises: UnexpectedNumberOfDims, Conv1dInvalidArgs, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for integers, Error for arguments
        out of range and for a kernel larger than the padded input.

        Gradient: in x the transposed convolution of g, in the kernel the correlation of x with g.

        >>> import cafe
        >>> x, k = cafe.Tensor([[[1.0, 2.0, 3.0, 4.0]]]), cafe.Tensor([[[1.0, 10.0]]])
        >>> x.conv1d(k, 0, 2).tolist()
        [[[21.0, 43.0]]]
        """
        return convolve(1, self, kernel, None, padding, stride, dilation, groups, padding_mode)

    @called
    def conv2d(
        self,
        kernel: Tensor,
        padding: Padding = 0,
        stride: PerAxis = 1,
        dilation: PerAxis = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
    ) -> Tensor:
        """`conv1d` over two axes.

        Shape: (N, C, H, W), kernel (O, C / groups, kh, kw) → (N, O, H', W'), each axis as in `conv1d`. Any strides in memory.

        Raises: UnexpectedNumberOfDims, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for integers, Error where the channels do not match,
        for arguments out of range and for a kernel larger than the padded input.

        Gradient: in x the transposed convolution of g, in the kernel the correlation of x with g.

        >>> import cafe
        >>> x, k = cafe.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), cafe.Tensor([[[[1.0, 1.0]]]])
        >>> x.conv2d(k, padding=(0, 1)).tolist()
        [[[[1.0, 3.0, 2.0], [3.0, 7.0, 4.0]]]]
        """
        return convolve(2, self, kernel, None, padding, stride, dilation, groups, padding_mode)

    @called
    def conv_transpose1d(
        self,
        kernel: Tensor,
        padding: PerAxis = 0,
        output_padding: PerAxis = 0,
        stride: PerAxis = 1,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        """The adjoint of `conv1d`: each x spreads the kernel over the places that a convolution would have read for it.

        output_padding: places more at the end, less than the larger of stride and dilation.

        Shape: (N, C, L), kernel (C, O / groups, k) → (N, O, (L − 1) stride + dilation (k − 1) + output_padding + 1 − 2 padding).

        Raises: UnexpectedNumberOfDims, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for integers, Error where the channels do not match and
        for arguments out of range.

        Gradient: in x the convolution of g, in the kernel the correlation of g with x.

        >>> import cafe
        >>> x, k = cafe.Tensor([[[1.0, 2.0]]]), cafe.Tensor([[[1.0, 10.0, 100.0]]])
        >>> x.conv_transpose1d(k, stride=2).tolist()
        [[[1.0, 10.0, 102.0, 20.0, 200.0]]]
        """
        return convolve_transpose(1, self, kernel, padding, output_padding, stride, dilation, groups)

    @called
    def conv_transpose2d(
        self,
        kernel: Tensor,
        padding: PerAxis = 0,
        output_padding: PerAxis = 0,
        stride: PerAxis = 1,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        """`conv_transpose1d` over two axes; `groups` is cafe's own.

        Shape: (N, C, H, W), kernel (C, O / groups, kh, kw) → (N, O, H', W'), each axis as in `conv_transpose1d`.

        Raises: UnexpectedNumberOfDims, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for integers, Error where the channels do not match and
        for arguments out of range.

        Gradient: in x the convolution of g, in the kernel the correlation of g with x.
        """
        return convolve_transpose(2, self, kernel, padding, output_padding, stride, dilation, groups)

    def conv1d_with_algo(
        self, kernel: Tensor, padding: Padding, stride: PerAxis, dilation: PerAxis, groups: int, cudnn_fwd_algo: Any = None
    ) -> Tensor:
        """`conv1d`; the algorithm is a GPU's and changes nothing here."""
        return self.conv1d(kernel, padding, stride, dilation, groups)

    def conv2d_with_algo(
        self, kernel: Tensor, padding: Padding, stride: PerAxis, dilation: PerAxis, groups: int, cudnn_fwd_algo: Any = None
    ) -> Tensor:
        """`conv2d`; the algorithm is a GPU's and changes nothing here."""
        return self.conv2d(kernel, padding, stride, dilation, groups)


def convolve(
    axes: int,
    x: Base,
    w: Base,
    b: Base | None,
    padding: Padding,
    stride: PerAxis,
    dilation: PerAxis,
    groups: int,
    padding_mode: str = "zeros",
    rule: Callable[[Geometry], Op] = ops.Conv,
    more: Sequence[Base] = (),
) -> Tensor:
    """`conv1d` or `conv2d`, with a bias (O) in the same pass: what the layers call. Another rule may take more tensors, after these."""
    name = f"conv{axes}d"
    _check_conv(name, axes, x, w, padding, stride, groups)
    steps, spread = _per_axis(name, "stride", stride, axes, 1), _per_axis(name, "dilation", dilation, axes, 1)
    pairs = _pairs(name, padding, w.shape[2:], steps, spread)
    _check_extent(name, "padded input", [n + before + after for n, (before, after) in zip(x.shape[2:], pairs)])
    if padding_mode not in _MODES:
        raise Error(f"{name}: unknown padding mode {padding_mode!r}").help("one of " + ", ".join(_MODES))
    if padding_mode != "zeros" or any(before != after for before, after in pairs):
        x, pairs = _padded(x, pairs, _MODES[padding_mode]), ((0, 0),) * axes
    geometry = Geometry(steps, tuple(before for before, _ in pairs), spread, groups, get_conv_algorithm())
    places = conv_out(x.shape[2:], w.shape[2:], *geometry.walk)
    if min(places) < 1:
        grown = tuple(n + 2 * p for n, p in zip(x.shape[2:], geometry.padding))
        raise Error(f"{name}: kernel size {show(w.shape[2:])}, dilation {show(spread)} is larger than the padded input {show(grown)}")
    if b is None:
        return apply(rule(geometry), x, w, *more)
    if b.shape != w.shape[:1]:
        raise ShapeMismatchBinaryOp("broadcast_add", (x.shape[0], w.shape[0], *places), (1, *b.shape, *(1,) * axes))
    check_same("broadcast_add", x._data, b._data)
    return apply(rule(geometry), x, w, b, *more)


def convolve_transpose(
    axes: int, x: Base, w: Base, padding: PerAxis, output_padding: PerAxis, stride: PerAxis, dilation: PerAxis, groups: int
) -> Tensor:
    """`conv_transpose1d` or `conv_transpose2d`."""
    name = f"conv_transpose{axes}d"
    _check_transpose(name, axes, x, w, groups)
    geometry = Geometry(
        _per_axis(name, "stride", stride, axes, 1),
        _per_axis(name, "padding", padding, axes, 0),
        _per_axis(name, "dilation", dilation, axes, 1),
        groups,
        get_conv_algorithm(),
    )
    extra = _per_axis(name, "output_padding", output_padding, axes, 0)
    if any(e >= max(s, d) for e, s, d in zip(extra, geometry.stride, geometry.dilation)):
        raise Error(
            f"{name}: output_padding must be smaller than stride or dilation, "
            f"got output_padding {show(extra)}, stride {show(geometry.stride)}, dilation {show(geometry.dilation)}"
        )
    size = conv_transpose_out(x.shape[2:], w.shape[2:], geometry.stride, geometry.padding, extra, geometry.dilation)
    if min(size) < 1:
        raise Error(f"{name}: input {show(x.shape)} and kernel {show(w.shape)} leave an output of size {show(size)}")
    _check_extent(name, "output", [n + 2 * p for n, p in zip(size, geometry.padding)])
    return apply(ops.ConvInputGrad(size, geometry), x, w)


def _check_extent(name: str, what: str, sizes: Sequence[int]) -> None:
    """Refuses what no machine can hold before anything is laid out by it."""
    if prod(sizes) > _MOST_PLACES:
        raise Error(f"{name}: stride, padding and dilation make the {what} {show(tuple(sizes))}, more than {_MOST_PLACES} places")


def _check_conv(name: str, axes: int, x: Base, w: Base, padding: Padding, stride: PerAxis, groups: int) -> None:
    """candle's checks, each with its text, then those that candle lacks."""
    for shape in (w.shape, x.shape) if axes == 1 else (x.shape, w.shape):
        check_rank(shape, axes + 2)
    if whole(name, "groups", groups) < 1:
        raise Error(f"{name}: groups must be at least 1, got {groups}")
    channels, wanted = x.shape[1], w.shape[1]
    if channels != wanted * groups and axes == 1:
        msg = "the number of in-channels on the input doesn't match the kernel size"
        raise Conv1dInvalidArgs(x.shape, w.shape, padding, stride, msg)  # type: ignore[arg-type]
    if channels != wanted * groups:
        bail(f"in_channel mismatch between input ({channels}, groups {groups}) and kernel ({wanted})")
    if w.shape[0] % groups:
        raise Error(f"{name}: out_channel {w.shape[0]} is not divisible by the number of groups {groups}")
    _check_kernel(name, name, x, w)


def _check_transpose(name: str, axes: int, x: Base, w: Base, groups: int) -> None:
    """candle's checks, each with its text, then those that candle lacks."""
    for shape in (w.shape, x.shape) if axes == 1 else (x.shape, w.shape):
        check_rank(shape, axes + 2)
    if x.shape[1] != w.shape[0]:
        bail(f"in_channel mismatch between input ({x.shape[1]}) and kernel ({w.shape[0]})")
    if whole(name, "groups", groups) < 1:
        raise Error(f"{name}: groups must be at least 1, got {groups}")
    if x.shape[1] % groups:
        bail(f"in_channel {x.shape[1]} is not divisible by the number of groups")
    _check_kernel(name, "conv-transpose1d" if axes == 1 else name, x, w)


def _check_kernel(name: str, dtype_name: str, x: Base, w: Base) -> None:
    if min(w.shape[2:]) < 1:
        raise Error(f"{name}: a kernel has sizes of at least 1, got {show(w.shape)}")
    check_same(dtype_name, x._data, w._data)
    check_float(dtype_name, x._data)


def _per_axis(name: str, what: str, value: PerAxis, axes: int, least: int) -> Shape:
    """One number an axis, each at least `least`."""
    given = ints_per_axis(name, axes, what, value)
    if min(given) < least:
        raise Error(f"{name}: {what} must be at least {least}, got {value}")
    return given


def _pairs(name: str, padding: Padding, kernel: Shape, stride: Shape, dilation: Shape) -> tuple[tuple[int, int], ...]:
    """Places before and after along each axis."""
    if not isinstance(padding, str):
        return tuple((p, p) for p in _per_axis(name, "padding", padding, len(kernel), 0))
    if padding != "same":
        raise Error(f'{name}: padding is an int, one an axis, or "same", got {padding!r}')
    if any(s != 1 for s in stride):
        raise Error(f'{name}: padding "same" takes a stride of 1, got {show(stride)}')
    totals = [d * (k - 1) for d, k in zip(dilation, kernel)]
    return tuple((t // 2, t - t // 2) for t in totals)


def _padded(x: Any, pairs: tuple[tuple[int, int], ...], mode: str) -> Base:
    out: Base = x.pad(pairs, mode)
    return out
