"""2.2 Rust must know the element type before it reads numbers out; Python takes what the tensor holds.
Naming a dtype is then a check, and the error says what to do instead.
"""

from __future__ import annotations

from rust import unwrap_err, with_help

from cafe import DType, Tensor

t = Tensor([[1.0, 2.0], [3.0, 4.0]])
v = t.to_vec2()
print(f"{len(v)} rows of {t.dtype!r}")
print(with_help(unwrap_err(t.to_vec2, DType.F64)))
