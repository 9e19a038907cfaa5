"""2.1 Reading numbers of a given width, and collecting them into a list.
Python's int has no width, so the dtype of a tensor is what 300 does not fit in.
"""

from __future__ import annotations

from cafe import DType, Tensor, errors


def parse(text: str, dtype: DType) -> str:
    """The number in `text` if it fits the dtype; else Rust's words for what is wrong."""
    try:
        return str(Tensor(int(text), dtype=dtype).to_scalar())
    except errors.IntegerOverflow:
        return "Err(ParseIntError { kind: PosOverflow })"
    except ValueError:
        return "Err(ParseIntError { kind: InvalidDigit })"


a = parse("42", DType.I32)
b = int("42")
c = parse("42", DType.U8)
d = parse("300", DType.U8)
e = parse("x", DType.I32)
v = [i * 10 for i in range(1, 5)]
w = list(map(lambda i: i * 10, range(1, 5)))
print(a, b, c, d, e, v, w)
