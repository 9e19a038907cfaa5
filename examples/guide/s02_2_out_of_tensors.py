"""2.2 Numbers out of a tensor: the rank must match, and the dtype where one is named.
`to_vec1(DType.F32)` is candle's `to_vec1::<f32>()`; without a dtype it gives what is there.
"""

from __future__ import annotations

from rust import rust_debug, rust_display, unwrap_err

from cafe import DType, Tensor

t1 = Tensor([1.0, 2.0, 3.0, 4.0])
t2 = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
t0 = Tensor(7.5)

v1 = t1.to_vec1(DType.F32)
v2 = t2.to_vec2()
s0 = t0.to_scalar()
print(f"ranks {t1.rank} {t2.rank} {t0.rank}: {rust_debug(v1)} {rust_debug(v2)} {rust_display(s0)}")

print(f"wrong dtype: {unwrap_err(t1.to_vec1, DType.I64)}")
print(f"wrong rank : {unwrap_err(t2.to_vec1)}")
print(f"scalar of a 1-D tensor: {unwrap_err(t1.to_scalar)}")

ti = Tensor([[1, 2], [3, 4]])
print(f"{ti.dtype!r} {ti.to_vec2(DType.I64)}")
print(f"cast first: {rust_debug(t2.to_dtype(DType.F64).to_vec2(DType.F64))}")
