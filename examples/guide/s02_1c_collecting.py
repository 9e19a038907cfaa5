"""2.1 A lazy sequence becomes a collection only by name: list, set, or a tensor.
Rust refuses to collect without a type; Python would print the generator itself.
"""

from __future__ import annotations

from cafe import Tensor

print([i * 10 for i in range(1, 5)])
print(sorted({i // 2 for i in range(1, 5)}))
print(repr(Tensor([i * 10 for i in range(1, 5)])))
