"""13.2 Squeeze-and-excitation: each channel's mean goes through two small layers and becomes its gate.
The block scales every channel by one number between 0 and 1.
"""

from __future__ import annotations

import operator

from rust import rust_display, unwrap_err

import cafe
from cafe import DType, Tensor
from cafe.nn import Module, VarBuilder, VarMap, linear, ops

cafe.manual_seed(42)


class SeBlock(Module):
    """For inputs of shape (B, C, H, W)."""

    def __init__(self, channels: int, reduction: int, vb: VarBuilder) -> None:
        if reduction == 0 or channels % reduction:
            cafe.bail(f"channels {channels} must be divisible by reduction {reduction}")
        self.fc1 = linear(channels, channels // reduction, vb.pp("fc1"))
        self.fc2 = linear(channels // reduction, channels, vb.pp("fc2"))
        self.channels = channels

    def gate(self, xs: Tensor) -> Tensor:
        """A number in (0, 1) for each channel: (B, C)."""
        b, c, _, _ = xs.dims4()
        if c != self.channels:
            cafe.bail(f"expected {self.channels} channels, got {c}")
        squeezed = xs.mean_keepdim((2, 3)).reshape((b, c))
        return ops.sigmoid(self.fc2(self.fc1(squeezed).relu()))

    def forward(self, xs: Tensor) -> Tensor:
        b, c, _, _ = xs.dims4()
        return xs.broadcast_mul(self.gate(xs).reshape((b, c, 1, 1)))


varmap = VarMap()
vb = VarBuilder.from_varmap(varmap, DType.F32)
se = SeBlock(64, 16, vb.pp("se"))

xs = Tensor.randn(0.0, 1.0, (2, 64, 32, 32))  # 2 photos, 64 channels
ys = se(xs)
z = se.gate(xs)
inside = rust_display(all(0.0 < g < 1.0 for g in z.flatten_all().to_vec1()))
print(f"in {xs.dims()} out {ys.dims()} gate {z.dims()}; every gate in (0,1): {inside}")

n = sum(var.elem_count() for var in varmap.all_vars())
print(f"parameters {n} = 2*64*64/16 weights + (4 + 64) biases = {2 * 64 * 64 // 16 + 4 + 64}")

ratio = (ys[0, 5] / xs[0, 5]).flatten_all()
low, high = ratio.min_all().to_scalar(), ratio.max_all().to_scalar()
one_number = high - low < 1e-5 and abs(low - z[0, 5].to_scalar()) < 1e-5
print(f"channel 5 of photo 0 is scaled by one number: {rust_display(one_number)}")

print(f"plain multiply: {unwrap_err(operator.mul, xs, z.reshape((2, 64, 1, 1)))}")
print(f"wrong channel count: {unwrap_err(se, Tensor.zeros((1, 32, 4, 4)))}")
print(f"bad reduction: {unwrap_err(SeBlock, 64, 12, vb.pp('bad'))}")
