"""Pooling and resizing as layers, for a `Sequential`: each calls the method of Tensor that it is named after (floor 6).

seq().add(conv2d(1, 16, 3, cfg, vb.pp("c1"))).add(MaxPool2d(2)).add(GlobalAvgPool())
"""

from __future__ import annotations

from dataclasses import dataclass

from cafe.shape import PerAxis
from cafe.tensor.core import Tensor

from .habits import called
from .module import Module


@called
@dataclass(frozen=True)
class MaxPool1d(Module):
    """`Tensor.max_pool1d`: (N, C, L) → (N, C, L')."""

    kernel: PerAxis
    stride: PerAxis | None = None
    padding: PerAxis = 0
    ceil_mode: bool = False

    def forward(self, xs: Tensor) -> Tensor:
        """The largest of each window."""
        return xs.max_pool1d(self.kernel, self.stride, self.padding, self.ceil_mode)


@called
@dataclass(frozen=True)
class MaxPool2d(Module):
    """`Tensor.max_pool2d`: (N, C, H, W) → (N, C, H', W').

    >>> from cafe import Tensor
    >>> MaxPool2d(2), MaxPool2d(2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
    (MaxPool2d(kernel=2, stride=None, padding=0, ceil_mode=False), [[[[4.0]]]])
    """

    kernel: PerAxis
    stride: PerAxis | None = None
    padding: PerAxis = 0
    ceil_mode: bool = False

    def forward(self, xs: Tensor) -> Tensor:
        """The largest of each window."""
        return xs.max_pool2d(self.kernel, self.stride, self.padding, self.ceil_mode)


@called
@dataclass(frozen=True)
class AvgPool1d(Module):
    """`Tensor.avg_pool1d`: (N, C, L) → (N, C, L')."""

    kernel: PerAxis
    stride: PerAxis | None = None
    padding: PerAxis = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def forward(self, xs: Tensor) -> Tensor:
        """The average of each window."""
        return xs.avg_pool1d(self.kernel, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


@called
@dataclass(frozen=True)
class AvgPool2d(Module):
    """`Tensor.avg_pool2d`: (N, C, H, W) → (N, C, H', W')."""

    kernel: PerAxis
    stride: PerAxis | None = None
    padding: PerAxis = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def forward(self, xs: Tensor) -> Tensor:
        """The average of each window."""
        return xs.avg_pool2d(self.kernel, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


@dataclass(frozen=True)
class AdaptiveMaxPool2d(Module):
    """`Tensor.adaptive_max_pool2d`: (N, C, H, W) → (N, C, *size)."""

    size: PerAxis

    def forward(self, xs: Tensor) -> Tensor:
        """The largest of each window."""
        return xs.adaptive_max_pool2d(self.size)


@dataclass(frozen=True)
class AdaptiveAvgPool2d(Module):
    """`Tensor.adaptive_avg_pool2d`: (N, C, H, W) → (N, C, *size)."""

    size: PerAxis

    def forward(self, xs: Tensor) -> Tensor:
        """The average of each window."""
        return xs.adaptive_avg_pool2d(self.size)


@dataclass(frozen=True)
class GlobalMaxPool(Module):
    """`Tensor.global_max_pool`: (N, C, *S) → (N, C, 1, …)."""

    def forward(self, xs: Tensor) -> Tensor:
        """The largest of each channel."""
        return xs.global_max_pool()


@dataclass(frozen=True)
class GlobalAvgPool(Module):
    """`Tensor.global_avg_pool`: (N, C, *S) → (N, C, 1, …)."""

    def forward(self, xs: Tensor) -> Tensor:
        """The average of each channel."""
        return xs.global_avg_pool()


@dataclass(frozen=True)
class UpsampleNearest2d(Module):
    """`Tensor.upsample_nearest2d` by a whole factor: (N, C, H, W) → (N, C, factor H, factor W)."""

    factor: int = 2

    def forward(self, xs: Tensor) -> Tensor:
        """Each place factor² times."""
        _, _, h, w = xs.dims4()
        return xs.upsample_nearest2d(h * self.factor, w * self.factor)


@dataclass(frozen=True)
class UpsampleBilinear2d(Module):
    """`Tensor.upsample_bilinear2d` by a whole factor: (N, C, H, W) → (N, C, factor H, factor W)."""

    factor: int = 2
    align_corners: bool = False

    def forward(self, xs: Tensor) -> Tensor:
        """Between the four neighbours of each place."""
        _, _, h, w = xs.dims4()
        return xs.upsample_bilinear2d(h * self.factor, w * self.factor, self.align_corners)
