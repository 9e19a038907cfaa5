"""3.1 Tensors from lists, from flat numbers with a shape, and from a rule.
Floats give F32, ints I64, unless a dtype is named.
"""

from __future__ import annotations

from rust import rust_debug, rust_display

from cafe import DType, Tensor

a = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
b = Tensor.from_slice([1, 2, 3, 4, 5, 6], (3, 2), dtype=DType.U32)
c = Tensor.zeros((2, 3))
d = Tensor.arange(0.0, 6.0).reshape((2, 3))
e = Tensor.full(0.5, (1, 3))
print(f"a {a.dims()} {a.dtype!r}")
print(f"b {b.dims()} {b.dtype!r}")
print(f"c {c.dims()} elements {c.elem_count()}")
print(f"d {rust_debug(d.to_vec2())}")
print(f"e {rust_debug(e.to_vec2())}")
a2 = a  # a second name for the same numbers
print(f"clone shares storage: same dims {a2.dims()}, is a variable: {rust_display(a2.is_variable())}")
