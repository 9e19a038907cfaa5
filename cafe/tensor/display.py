"""How a tensor prints: `str` is candle's Display, `repr` its Debug (floor 4; arrays in, text out).

    [[0., 1.],
     [0., 0.]]
    Tensor[[2, 2], f32]

The rules, for `display`:
- integers and floats are right-aligned to the widest value shown;
- floats look at the finite values other than zero. All whole: `42.`; the largest more than 1000 times the smallest, or
  above 1e8, or the smallest below 1e-4: `1.2340e-5`; else `precision` decimals. Scientific wins over whole;
- more than `threshold` elements: of each dim longer than twice `edge_items` only its ends are shown, and only these are
  read and formatted;
- rows of the last dim wrap at `line_width`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from cafe.dtype import Array
from cafe.errors import Error


@dataclass(frozen=True)
class PrinterOptions:
    """How `str(tensor)` shows values; `sci_mode=None` lets the values decide.

    Raises: Error for a count that is negative or no integer.
    """

    precision: int = 4
    threshold: int = 1000
    edge_items: int = 3
    line_width: int = 80
    sci_mode: bool | None = None

    def __post_init__(self) -> None:
        for name in ("precision", "threshold", "edge_items", "line_width"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise Error(f"print option {name} must be a whole number that is not negative, got {value!r}")


_options = PrinterOptions()


def set_print_options(options: PrinterOptions) -> None:
    """Prints tensors this way from now on, in all threads.

    >>> set_print_options(PrinterOptions(precision=2))
    >>> print(display(np.array([0.125, 2.0]), "f64"))
    [0.12, 2.00]
    Tensor[[2], f64]
    >>> set_print_options_default()
    """
    global _options
    _options = options


def set_print_options_default() -> None:
    """Precision 4, threshold 1000, edge items 3, line width 80, scientific where the values ask for it."""
    set_print_options(PrinterOptions())


def set_print_options_short() -> None:
    """Precision 2 and edge items 2, the rest as by default."""
    set_print_options(PrinterOptions(precision=2, edge_items=2))


def set_print_options_full() -> None:
    """Never shortens a tensor, the rest as by default."""
    set_print_options(PrinterOptions(threshold=sys.maxsize))


def set_line_width(width: int) -> None:
    """The length of a line at which a row wraps."""
    set_print_options(replace(_options, line_width=width))


def set_precision(precision: int) -> None:
    """The decimals of a float."""
    set_print_options(replace(_options, precision=precision))


def set_edge_items(edge_items: int) -> None:
    """How many items are shown at each end of a dim that is shortened."""
    set_print_options(replace(_options, edge_items=edge_items))


def set_threshold(threshold: int) -> None:
    """A tensor with more elements than this is shortened."""
    set_print_options(replace(_options, threshold=threshold))


def set_sci_mode(sci_mode: bool | None) -> None:
    """Floats always (True) or never (False) in scientific notation, or as the values ask for (None)."""
    set_print_options(replace(_options, sci_mode=sci_mode))


def display(array: Array, dtype: str) -> str:
    """What `print(tensor)` shows: the values, and below them `Tensor[shape, dtype]`.

    Source: candle-core/src/display.rs, Display.

    >>> print(display(np.array([[1, 20], [3, 4]], dtype=np.uint32), "u32"))
    [[ 1, 20],
     [ 3,  4]]
    Tensor[[2, 2], u32]
    """
    options = _options
    edge = options.edge_items
    cut = [array.size > options.threshold and size > 2 * edge for size in array.shape]
    shown = _ends(array, cut, edge)
    values = _numbers(shown)
    write = _float_format(shown, options) if _is_float(shown) else str
    texts = [write(value) for value in values]
    width = max(1, max(map(len, texts), default=1))
    cells = np.array([text.rjust(width) for text in texts], dtype=object).reshape(shown.shape)
    per_line = max(1, options.line_width // (width + 2))
    return f"{_body(cells, cut, edge, per_line, 1)}\nTensor[{list(array.shape)}, {dtype}]"


def debug(array: Array, dtype: str, is_var: bool) -> str:
    """What `repr(tensor)` shows: the value, fewer than ten values, or the dims; a variable says so.

    Source: candle-core/src/display.rs, Debug.

    >>> debug(np.array([3.0, 7.5, 1e-7], dtype=np.float32), "f32", False)
    'Tensor[3, 7.5, 0.0000001; f32]'
    >>> debug(np.zeros((2, 3), dtype=np.float32), "f32", True)
    'Var(Tensor[dims 2, 3; f32])'
    """
    if array.ndim == 0 or (array.ndim == 1 and array.size < 10):
        content = ", ".join(shortest(value) for value in _widened(array).reshape(-1))
    else:
        content = "dims " + ", ".join(map(str, array.shape))
    text = f"Tensor[{content}; {dtype}]"
    return f"Var({text})" if is_var else text


def shortest(value: np.generic) -> str:
    """The shortest decimal that reads back as this f32 or f64, without an exponent: `7.5`, `3`, `0.0000001`, `NaN`.

    >>> shortest(np.float32(0.1)), shortest(np.float64(1e21)), shortest(np.int64(-4))
    ('0.1', '1000000000000000000000', '-4')
    """
    if isinstance(value, np.floating):
        if not np.isfinite(value):
            return _not_finite(float(value))
        return np.format_float_positional(value, unique=True, trim="-")
    return str(value)


# -- which values are shown


def _ends(array: Array, cut: list[bool], edge: int) -> Array:
    """The two ends of each dim that is cut; nothing else is read."""
    if not any(cut):
        return array
    picks = [[*range(edge), *range(n - edge, n)] if c else [*range(n)] for n, c in zip(array.shape, cut)]
    picked: Array = array[np.ix_(*(np.array(p, dtype=np.intp) for p in picks))]
    return picked


def _is_float(array: Array) -> bool:
    return array.dtype.kind not in "iu"  # bfloat16 is of kind "V"


def _widened(array: Array) -> Array:
    """F16 and BF16 as F32, where each of their values is exact; the rest as it is."""
    return array.astype(np.float32) if _is_float(array) and array.dtype.itemsize == 2 else array


def _numbers(array: Array) -> list[float]:
    """The values as Python's ints and floats, in row-major order."""
    flat: list[float] = _widened(array).reshape(-1).tolist()
    return flat


# -- how a value is written


def _float_format(shown: Array, options: PrinterOptions) -> Callable[[float], str]:
    """The one notation that all the shown floats get."""
    values = np.abs(shown[np.isfinite(shown) & (shown != 0)])
    whole = bool(np.all(np.ceil(values) == values))
    scientific = _wants_exponent(values) if options.sci_mode is None else options.sci_mode
    digits = options.precision
    if scientific:
        return _finite_or(lambda value: _exponential(value, digits))
    if whole:
        return _finite_or(lambda value: f"{value:.0f}.")
    return _finite_or(lambda value: f"{value:.{digits}f}")


def _wants_exponent(values: Array) -> bool:
    """Whether the values, all finite and above zero, spread too wide or lie too far out for plain decimals.

    The arithmetic is that of the tensor's own dtype, as in candle: in F16 the bound 1e8 is infinite and never passed.
    """
    if values.size == 0:
        return False
    kind = values.dtype.type
    with np.errstate(over="ignore"):
        return bool(
            values.max() / values.min() > kind(1000.0) or values.max() > kind(1e8) or values.min() < kind(1e-4)
        )


def _finite_or(write: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: write(value) if math.isfinite(value) else _not_finite(value)


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else str(value)


def _exponential(value: float, digits: int) -> str:
    """Rust's `{:.4e}`: `1.2340e-5`, `1.2340e11`: no plus, and no zeros before the exponent."""
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


# -- how the values are laid out


def _body(cells: Array, cut: list[bool], edge: int, per_line: int, indent: int) -> str:
    """The brackets around the cells; `cut` says which dims have lost their middle, `indent` how deep we are."""
    newline = ",\n" + " " * indent
    if cells.ndim == 0:
        return f"[{cells[()]}]"
    if cells.ndim == 1:
        if cut[-1]:
            return "[" + ", ".join([*cells[:edge], "...", *cells[edge:]]) + "]"
        lines = (cells[at : at + per_line] for at in range(0, len(cells), per_line))
        return "[" + newline.join(", ".join(line) for line in lines) + "]"
    blocks = [_body(block, cut[1:], edge, per_line, indent + 1) for block in cells]
    if cut[0]:
        blocks[edge:] = [_after_dots(blocks[edge:], newline)]
    return "[" + newline.join(blocks) + "]"


def _after_dots(blocks: Iterable[str], newline: str) -> str:
    """The dots, which no comma follows, and the blocks at the far end."""
    return "..." + newline[1:] + newline.join(blocks)
