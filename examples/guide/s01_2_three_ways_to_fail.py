"""1.2 One function, three kinds of failure: the caller tells them apart by class.
What `?` does in Rust, an exception does by itself: it leaves the function and keeps its type.
"""

from __future__ import annotations

from dataclasses import dataclass

from rust import rust_debug

import cafe


@dataclass
class TillError(Exception):
    code: int

    def __str__(self) -> str:
        return f"till error code {self.code}"


def parse_takings(line: str) -> int:
    """Reads one line of takings in pence."""
    pence = int(line)  # ValueError; it ignores spaces around the number
    if pence < 0:
        cafe.bail("takings cannot be negative")  # a plain cafe.Error
    if pence > 1_000_000:
        raise TillError(code=7)
    return pence


def describe(error: Exception) -> str:
    match error:
        case TillError():
            return f"Err({error}) [till] {rust_debug(error)}"
        case cafe.Error():
            return f"Err({error}) [other] {rust_debug(str(error))}"
        case _:  # Rust's words for what int() refuses
            return "Err(invalid digit found in string) [parse] ParseIntError { kind: InvalidDigit }"


for line in ["1250", " 42 ", "-5", "abc", "9999999"]:
    try:
        outcome = f"Ok({parse_takings(line)})"
    except (ValueError, TillError, cafe.Error) as error:
        outcome = describe(error)
    print(f"{rust_debug(line)} -> {outcome}")
print(f"total {parse_takings('1250') + parse_takings('42')}")
