"""2.3 Whole numbers: Python's ints become I64, and a narrower dtype is named.
In Rust the literals were i32, which candle knew as a dtype only in some versions.
"""

from __future__ import annotations

from cafe import DType, Tensor

t = Tensor([[1, 2], [3, 4]])
print(f"{t.dtype!r} {t.to_vec2()}")
narrow = Tensor([[1, 2], [3, 4]], dtype=DType.I32)
print(f"{narrow.dtype!r} {narrow.to_vec2(DType.I32)}")
