"""10.2 How far a pixel of the output sees, layer by layer.
A layer adds (kernel − 1) · dilation steps, each as wide as the strides before it make it.
"""

from __future__ import annotations


def receptive_fields(*layers: tuple[int, int, int]) -> list[int]:
    """The field after each (kernel, dilation, stride)."""
    field, jump, fields = 1, 1, []
    for k, d, s in layers:
        field += (k - 1) * d * jump
        jump *= s
        fields.append(field)
    return fields


def dilated(*dilations: int) -> list[int]:
    return receptive_fields(*((3, d, 1) for d in dilations))


print(f"plain 3x3 stack, stride 1          {dilated(1, 1, 1)}")
print(f"3x3 with dilations 1,2,4,8,16      {dilated(1, 2, 4, 8, 16)}")
print(f"3x3 with strides 1,2,2,2           {receptive_fields((3, 1, 1), (3, 1, 2), (3, 1, 2), (3, 1, 2))}")
print(f"mixed: d1 s1, d2 s2, d4 s1, d8 s1  {receptive_fields((3, 1, 1), (3, 2, 2), (3, 4, 1), (3, 8, 1))}")
print(f"Yu & Koltun 1,1,2,4,8,16,1         {dilated(1, 1, 2, 4, 8, 16, 1)}")
