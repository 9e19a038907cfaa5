"""10.4 Dilations that share a factor leave holes in what is seen.
Shown by the positions that are read, and by one bright pixel sent through the layers.
"""

from __future__ import annotations

from rust import rust_display

from cafe import Tensor


def offsets(dilations: list[int]) -> list[int]:
    """The positions that one output reads through 3-tap layers with these dilations."""
    found = {0}
    for d in dilations:
        found = {o + step for o in found for step in (-d, 0, d)}
    return sorted(found)


for dilations in ([4, 4, 4], [2, 4, 8], [1, 2, 9], [1, 2, 5], [1, 2, 4], [1, 2, 3]):
    seen = offsets(dilations)
    reach = seen[-1]
    whole = 2 * reach + 1
    print(f"dilations {dilations}: reach ±{reach}, sees {len(seen)} of {whole} positions, no holes: {rust_display(len(seen) == whole)}")

ones = Tensor.ones((1, 1, 3, 3))
for dilations in ([1, 2, 4], [4, 4, 4]):
    t = Tensor.ones((1, 1, 1, 1)).pad_with_zeros(2, 16, 16).pad_with_zeros(3, 16, 16)  # one bright pixel in the middle
    for d in dilations:
        t = t.conv2d(ones, padding=d, stride=1, dilation=d, groups=1)  # this padding keeps the size
    lit = [(r, c) for r, row in enumerate(t.squeeze(0).squeeze(0).to_vec2()) for c, v in enumerate(row) if v != 0.0]
    side = max(r for r, _ in lit) - min(r for r, _ in lit) + 1
    print(f"impulse through dilations {dilations}: {len(lit)} pixels lit inside a {side}x{side} box of {side * side} pixels")
