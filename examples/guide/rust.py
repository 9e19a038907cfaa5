"""Python values in Rust's notation, for the guide's programs, whose outputs were printed by Rust.

`rust_debug(x)` is `{x:?}`, `rust_display(x)` is `{x}`, `rust_fixed(x, 3)` is `{x:.3}`. A float is taken for an f32, as
`to_vec1` and its like give Python floats of f32 values; `width=64` says that it is an f64. `unwrap_err(call, …)` is the error
of a call that must fail.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

_FLOATS: dict[int, type[np.floating[Any]]] = {32: np.float32, 64: np.float64}
_ESCAPES = {"\0": "\\0", "\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def rust_debug(value: Any, width: int = 32) -> str:
    """What `{value:?}` prints.

    >>> print(rust_debug([1.0, 0.006377461, 1e-5]), rust_debug((True, None, "a\\n")), rust_debug(0.1, width=64))
    [1.0, 0.006377461, 1e-5] (true, None, "a\\n") 0.1
    """
    match value:
        case bool() | np.bool_() | None:
            return rust_display(value)
        case float() | np.floating():
            return _float_debug(_sized(value, width))
        case str():
            return '"' + "".join(map(_escaped, value)) + '"'
        case list():
            return "[" + ", ".join(rust_debug(item, width) for item in value) + "]"
        case tuple():
            items = [rust_debug(item, width) for item in value]
            return f"({items[0]},)" if len(items) == 1 else "(" + ", ".join(items) + ")"
        case dict():
            pairs = (f"{rust_debug(key, width)}: {rust_debug(item, width)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
    return _struct(value, width) if _is_plain_dataclass(value) else str(value) if _is_int(value) else repr(value)


def rust_display(value: Any, width: int = 32) -> str:
    """What `{value}` prints: a float in its shortest decimal digits, never with an exponent.

    >>> rust_display(3.0), rust_display(2.5), rust_display(1e-7), rust_display(float("nan")), rust_display(True)
    ('3', '2.5', '0.0000001', 'NaN', 'true')
    """
    match value:
        case bool() | np.bool_():
            return "true" if value else "false"
        case float() | np.floating():
            if not math.isfinite(value):
                return _not_finite(float(value))
            return np.format_float_positional(_sized(value, width), unique=True, trim="-")
    return str(value)


def rust_fixed(value: float, decimals: int) -> str:
    """What `{value:.decimals}` prints; pad it with Python's own `{…:>6}`.

    >>> rust_fixed(0.3333, 2), rust_fixed(float("nan"), 2), f"{rust_fixed(-0.5, 3):>8}"
    ('0.33', 'NaN', '  -0.500')
    """
    return f"{value:.{decimals}f}" if math.isfinite(value) else _not_finite(value)


def _sized(value: float | np.floating[Any], width: int) -> np.floating[Any]:
    """The value as the float that Rust would hold; an np.float32 says so itself."""
    if isinstance(value, np.float32):
        return value
    with np.errstate(over="ignore"):
        return _FLOATS[width](value)


def _float_debug(value: np.floating[Any]) -> str:
    """Decimals with at least one digit behind the point, an exponent for what is very small or very large."""
    if not np.isfinite(value):
        return _not_finite(float(value))
    size = abs(value)
    if size != 0 and (size < type(value)(1e-4) or size >= type(value)(1e16)):
        return np.format_float_scientific(value, unique=True, trim="-", exp_digits=1).replace("e+", "e")
    return np.format_float_positional(value, unique=True, trim="0")


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _escaped(char: str) -> str:
    return _ESCAPES.get(char) or (char if char.isprintable() else f"\\u{{{ord(char):x}}}")


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer)


def _is_plain_dataclass(value: object) -> bool:
    """A dataclass with the `repr` that Python wrote for it; one with its own knows better how it prints."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return False
    fields = (f"{name}={item!r}" for name, item in _shown_fields(value))
    return repr(value) == f"{type(value).__qualname__}({', '.join(fields)})"


def _shown_fields(value: Any) -> list[tuple[str, Any]]:
    return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value) if field.repr]


def _struct(value: Any, width: int) -> str:
    fields = ", ".join(f"{name}: {rust_debug(item, width)}" for name, item in _shown_fields(value))
    return f"{type(value).__name__} {{ {fields} }}" if fields else type(value).__name__


def unwrap_err(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Exception:
    """The error that the call raises; a call that succeeds is an AssertionError.

    >>> str(unwrap_err(int, "x"))
    "invalid literal for int() with base 10: 'x'"
    """
    try:
        value = function(*args, **kwargs)
    except Exception as error:
        return error
    raise AssertionError(f"an error was expected, got {value!r}")


def with_help(error: BaseException) -> str:
    """The error's own sentence, and below it the notes that a traceback would show."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])
