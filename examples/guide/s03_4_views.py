"""3.4 From an image (b, c, h, w) to a sequence (b, h·w, c), by views of the same numbers.
A transposed view is not contiguous until it is copied.
"""

from __future__ import annotations

from rust import rust_debug, rust_display, unwrap_err

from cafe import Tensor

xs = Tensor.arange(0.0, 24.0).reshape((1, 2, 3, 4))  # (b, c, h, w)
b, c, h, w = xs.dims4()
long = xs.reshape((b, c, h * w)).transpose(1, 2)
short = xs.flatten_from(2).transpose(1, 2)
same = (long - short).abs().max_all().to_scalar() == 0.0
print(f"{xs.dims()} -> {long.dims()}; identical: {rust_display(same)}")
before, after = long.is_contiguous(), long.contiguous().is_contiguous()
print(f"contiguous before: {rust_display(before)}, after .contiguous(): {rust_display(after)}")
print(f"token 0 = pixel (0,0) of every channel: {rust_debug(long.to_vec3()[0][0])}")
print(f"dims4 on a 3-D tensor: {unwrap_err(long.dims4)}")
