"""Resizing over one and two axes: nearest, and between neighbours (floor 4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cafe.dtype import check_float
from cafe.errors import Error, show
from cafe.kernels.resample import between, nearest_ids
from cafe.ops import resample as ops
from cafe.shape import Shape, check_rank, whole

from .base import Base, apply
from .convert import real

if TYPE_CHECKING:
    from .core import Tensor

_MOST = 2**24  # along an axis: where each place comes from is listed, and a longer list would take gigabytes


class ResampleMethods(Base):
    """Resizing."""

    __slots__ = ()

    def upsample_nearest1d(self, target_size: int) -> Tensor:
        """Element i is a copy of element ⌊i · L / target_size⌋, which is computed in integers. Any dtype, larger or smaller.

        Shape: (N, C, L) → (N, C, target_size).
        Raises: UnexpectedNumberOfDims; Error for an empty input and for a size below 1.
        Gradient: each element takes the sum of its copies'.
        Source: candle-core/src/tensor.rs, upsample_nearest1d.

        >>> import cafe
        >>> cafe.Tensor([[[1.0, 2.0, 3.0]]]).upsample_nearest1d(7).tolist()
        [[[1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]]]
        """
        return _nearest("upsample_nearest1d", self, (target_size,))

    def upsample_nearest2d(self, target_h: int, target_w: int) -> Tensor:
        """`upsample_nearest1d` over two axes.

        Shape: (N, C, H, W) → (N, C, target_h, target_w).
        Source: candle-core/src/tensor.rs, upsample_nearest2d.
        """
        return _nearest("upsample_nearest2d", self, (target_h, target_w))

    def interpolate1d(self, target_size: int) -> Tensor:
        """`upsample_nearest1d`."""
        return self.upsample_nearest1d(target_size)

    def interpolate2d(self, target_h: int, target_w: int) -> Tensor:
        """`upsample_nearest2d`."""
        return self.upsample_nearest2d(target_h, target_w)

    def upsample_linear1d(self, target_size: int, align_corners: bool) -> Tensor:
        """`upsample_bilinear2d` over one axis.

        Shape: (N, C, L) → (N, C, target_size).
        """
        return _linear("upsample_linear1d", self, (target_size,), align_corners)

    def upsample_bilinear2d(self, target_h: int, target_w: int, align_corners: bool) -> Tensor:
        """Between the four neighbours of each place, by its distances from them.

        align_corners: the corners of both images are the same places. Otherwise the elements are cells of equal width, and what lies
        beyond the middle of the outermost cell is that cell.

        Shape: (N, C, H, W) → (N, C, target_h, target_w), larger or smaller.
        Raises: UnexpectedNumberOfDims; UnsupportedDTypeForOp for integers; Error for an empty input and for a size below 1.
        Gradient: each g goes to the four neighbours, by the same weights.
        Source: candle-core/src/tensor.rs, upsample_bilinear2d.

        >>> import cafe
        >>> cafe.Tensor([[[[0.0, 4.0]]]]).upsample_bilinear2d(1, 4, False).tolist()
        [[[[0.0, 1.0, 3.0, 4.0]]]]
        >>> cafe.Tensor([[[[0.0, 4.0]]]]).upsample_bilinear2d(1, 5, True).tolist()
        [[[[0.0, 1.0, 2.0, 3.0, 4.0]]]]
        """
        return _linear("upsample_bilinear2d", self, (target_h, target_w), align_corners)

    def upsample_bilinear2d_with_scale(self, scale_h: float, scale_w: float, align_corners: bool) -> Tensor:
        """`upsample_bilinear2d` to ⌊size · scale⌋, with places reckoned by the scale that is given and not by the sizes' ratio.

        A tensor whose size this does not change is itself.

        Raises: Error for a scale that leaves nothing; else as `upsample_bilinear2d`.
        Source: candle-core/src/tensor.rs, upsample_bilinear2d_with_scale.
        """
        name = "upsample_bilinear2d_with_scale"
        scales = (real(name, scale_h), real(name, scale_w))
        check_rank(self.shape, 4)
        if not all(s > 0 and math.isfinite(s) for s in scales):
            raise Error(f"{name}: scales are above 0, got {scale_h}, {scale_w}")
        size = tuple(math.floor(n * s) for n, s in zip(self.shape[2:], scales))
        if size == self.shape[2:]:
            return self  # type: ignore[return-value]
        return _linear(name, self, size, align_corners, scales)


def _nearest(name: str, x: Base, size: Shape) -> Tensor:
    _check(name, x.shape, size)
    return apply(ops.Nearest(tuple(map(nearest_ids, x.shape[2:], size))), x)


def _linear(name: str, x: Base, size: Shape, align_corners: bool, scales: tuple[float | None, ...] = (None, None)) -> Tensor:
    _check(name, x.shape, size)
    check_float(name, x._data)
    return apply(ops.Linear(tuple(between(n, m, align_corners, s) for n, m, s in zip(x.shape[2:], size, scales))), x)


def _check(name: str, shape: Shape, size: Shape) -> None:
    check_rank(shape, len(size) + 2)
    for n in size:
        whole(name, "a size", n)
    if min(size) < 1:
        raise Error(f"{name}: sizes are at least 1, got {show(size)}")
    if max(size) > _MOST:
        raise Error(f"{name}: sizes are at most {_MOST}, got {show(size)}")
    if 0 in shape[2:]:
        raise Error(f"{name}: there is nothing to take from in shape {show(shape)}")
