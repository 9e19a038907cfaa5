"""6.5 `log_softmax` is a function of `nn.ops`, not a method of Tensor.
Asking for the method says where the function is.
"""

from __future__ import annotations

from rust import unwrap_err, with_help

from cafe import Tensor
from cafe.nn import ops

t = Tensor([[1.0, 2.0]])
print(with_help(unwrap_err(lambda: t.log_softmax(1))))
print(ops.log_softmax(t, 1))
