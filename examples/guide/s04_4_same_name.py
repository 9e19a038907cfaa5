"""4.4 The same name is the same variable; another shape under that name is an error.
A variable made from a variable is that variable, one made from a plain tensor is a copy.
"""

from __future__ import annotations

from rust import rust_debug, rust_display, unwrap_err

from cafe import DType, Tensor, Var
from cafe.nn import VarBuilder, VarMap, init

varmap = VarMap()
vb = VarBuilder.from_varmap(varmap, DType.F32)

a = vb.get_with_hints((2, 2), "shared", init.ZERO)
b = vb.get_with_hints((2, 2), "shared", init.ZERO)
print(f"entries in the map: {len(varmap.data())}")

varmap.data()["shared"].set(Tensor([[9.0, 9.0], [9.0, 9.0]]))  # in place
print(f"a now {rust_debug(a.to_vec2())}")
print(f"b now {rust_debug(b.to_vec2())}")

print(f"different shape: {unwrap_err(vb.get, (3, 3), 'shared')}")

again = Var.from_tensor(a)
again.set(Tensor.zeros((2, 2)))
print(f"a after zeroing through a Var made from it: {rust_debug(a.to_vec2())}")

plain = Tensor([1.0, 2.0])
copy = Var.from_tensor(plain)
copy.set(Tensor([7.0, 7.0]))
variable = f"{rust_display(plain.is_variable())} / {rust_display(copy.is_variable())}"
print(f"plain tensor after zeroing its copy: {rust_debug(plain.to_vec1())}; variable? {variable}")
