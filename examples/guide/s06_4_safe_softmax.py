"""6.4 Softmax with the largest logit taken off first cannot overflow; the textbook formula can.
In f64, as ten digits are printed, and with the limits of exp in both widths.
"""

from __future__ import annotations

import math

from rust import rust_debug, rust_display, rust_fixed

from cafe import DType, Tensor


def safe_softmax(z: Tensor) -> Tensor:
    if z.elem_count() == 0:
        return z
    exps = z.broadcast_sub(z.max_keepdim(0)).exp()
    return exps.broadcast_div(exps.sum_keepdim(0))


def naive_softmax(z: Tensor) -> Tensor:
    exps = z.exp()
    return exps.broadcast_div(exps.sum_keepdim(0))


def show(t: Tensor) -> str:
    return " ".join(rust_fixed(v, 10) for v in t.to_vec1())


def exp_is_finite(x: float, dtype: DType) -> str:
    return rust_display(math.isfinite(Tensor(x, dtype=dtype).exp().to_scalar()))


cases = [
    [1.0, 5.0, 2.0],
    [1000.0, 1005.0, 1002.0],
    [-1000.0, -1005.0, -1002.0],
    [0.0, 1.0],
    [5.0, 5.0, 5.0, 5.0],
    [math.inf, 1.0],
]
for case in cases:
    z = Tensor(case, dtype=DType.F64)
    safe = safe_softmax(z)
    print(rust_debug(case))
    print(f"  safe : {show(safe)}  (sum {rust_fixed(safe.sum_all().to_scalar(), 6)})")
    print(f"  naive: {show(naive_softmax(z))}")
print(f"empty: {safe_softmax(Tensor.zeros(0, dtype=DType.F64)).to_vec1()}")
print(f"f64 exp(709.7) finite: {exp_is_finite(709.7, DType.F64)}, exp(709.8) finite: {exp_is_finite(709.8, DType.F64)}")
print(f"f32 exp(88.7) finite: {exp_is_finite(88.7, DType.F32)}, exp(88.8) finite: {exp_is_finite(88.8, DType.F32)}")
print(f"f64 exp(-745.2) = {rust_display(Tensor(-745.2, dtype=DType.F64).exp().to_scalar(), width=64)}")
