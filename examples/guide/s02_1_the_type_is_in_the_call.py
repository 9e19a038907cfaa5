"""2.1 Rust must be told which type to read text as; in Python the name of the type is the call.
What neither language does is to guess: text and a number do not add.
"""

from __future__ import annotations

import operator

from rust import unwrap_err

x = int("42")
print(x + 1)
print(f"without it: {unwrap_err(operator.add, '42', 1)}")
