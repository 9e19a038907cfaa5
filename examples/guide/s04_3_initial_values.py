"""4.3 How a variable starts: zeros unless a hint says otherwise.
The layers' own functions (`linear` and its like) give the hints.
"""

from __future__ import annotations

from rust import rust_display

import cafe
from cafe import DType, Tensor
from cafe.nn import Init, VarBuilder, VarMap, init

cafe.manual_seed(42)


def all_zero(t: Tensor) -> str:
    return rust_display(all(v == 0.0 for v in t.flatten_all().to_vec1()))


vb = VarBuilder.from_varmap(VarMap(), DType.F32)
w_default = vb.get((2, 3), "w_default")
w_kaiming = vb.get_with_hints((2, 3), "w_kaiming", init.DEFAULT_KAIMING_NORMAL)
b_zero = vb.get_with_hints(3, "b_zero", init.ZERO)
print(f"Init::default() = {Init.default()!r}")
print(f"vb.get                  -> all zero: {all_zero(w_default)}")
print(f"get_with_hints(Kaiming) -> all zero: {all_zero(w_kaiming)}")
print(f"get_with_hints(ZERO)    -> all zero: {all_zero(b_zero)}")
