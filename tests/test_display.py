"""What `str` and `repr` of a tensor show, to the letter."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cafe.errors import Error
from cafe.tensor import display as printing
from cafe.tensor.display import PrinterOptions, debug, display, shortest

f32 = np.float32


def show(values: Any, dtype: Any = f32) -> str:
    """The body alone."""
    body, _, foot = display(np.asarray(values, dtype=dtype), "f32").rpartition("\n")
    assert foot.startswith("Tensor[[")
    return body


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    printing.set_print_options_default()


# -- candle's own strings (candle-core/tests/display_tests.rs: scalar, vector, multi_dim)


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        (np.uint32(1234), "u32", "[1234]\nTensor[[], u32]"),
        (f32(-1234) / f32(10), "f32", "[-123.4000]\nTensor[[], f32]"),
        (f32(-1234) / f32(1e8), "f32", "[-1.2340e-5]\nTensor[[], f32]"),
        (f32(-1234) * f32(1e8), "f32", "[-1.2340e11]\nTensor[[], f32]"),
        (f32(0), "f32", "[0.]\nTensor[[], f32]"),
        (np.zeros(0, np.uint32), "u32", "[]\nTensor[[0], u32]"),
        (
            np.array([0.1234567, 1.0, -1.2, 4.1, np.nan]),
            "f64",
            "[ 0.1235,  1.0000, -1.2000,  4.1000,     NaN]\nTensor[[5], f64]",
        ),
        (np.full(11000, 42, f32), "f32", "[42., 42., 42., ..., 42., 42., 42.]\nTensor[[11000], f32]"),
    ],
)
def test_candle_scalars_and_vectors(array: Any, dtype: str, expected: str) -> None:
    assert display(np.asarray(array), dtype) == expected


def test_candle_wraps_fifty_values_at_sixteen() -> None:
    line = ", ".join(["42."] * 16)
    assert display(np.full(50, 42, f32), "f32") == f"[{line},\n {line},\n {line},\n 42., 42.]\nTensor[[50], f32]"


def test_candle_shortens_both_dims_of_a_matrix() -> None:
    row = "[42., 42., 42., ..., 42., 42., 42.]"
    rows = f"{row},\n {row},\n {row}"
    expected = f"[{rows},\n ...\n {rows}]\nTensor[[200, 100], f32]"
    assert display(np.full((200, 100), 42, f32), "f32") == expected


def test_candle_shortens_the_long_dims_of_rank_five() -> None:
    row = "[42., 42., 42., ..., 42., 42., 42.]"
    rows = f"{row},\n    {row},\n    {row}"
    block = f"[[[{rows},\n    ...\n    {rows}]]]"
    expected = f"[{block},\n {block}]\nTensor[[2, 1, 1, 100, 100], f32]"
    assert display(np.full((2, 1, 1, 100, 100), 42, f32), "f32") == expected


# -- integers


def test_integers_are_right_aligned_to_the_widest() -> None:
    assert show([[1, 20], [-300, 4]], np.int64) == "[[   1,   20],\n [-300,    4]]"


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int16, np.int32, np.int64])
def test_every_integer_dtype_prints_its_extremes(dtype: Any) -> None:
    lo, hi = np.iinfo(dtype).min, np.iinfo(dtype).max
    width = max(len(str(lo)), len(str(hi)))
    assert show([lo, hi], dtype) == f"[{lo:>{width}}, {hi:>{width}}]"


# -- the notation of floats


def test_whole_values_print_with_a_point_only() -> None:
    assert show([[0, 1], [10, -1]]) == "[[ 0.,  1.],\n [10., -1.]]"


def test_in_whole_notation_what_is_not_finite_has_no_point() -> None:
    assert show([1, 100, np.nan, np.inf, -np.inf]) == "[  1., 100.,  NaN,  inf, -inf]"


def test_only_what_is_not_finite() -> None:
    assert show([np.nan, -np.inf]) == "[ NaN, -inf]"


def test_negative_zero_keeps_its_sign() -> None:
    assert show([-0.0, 0.0]) == "[-0.,  0.]"


def test_zeros_do_not_count_for_the_notation() -> None:
    assert show([0, 0.5]) == "[0.0000, 0.5000]"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 1000], "[   1., 1000.]"),
        ([1, 1001], "[1.0000e0, 1.0010e3]"),
        ([0, 1, 1001], "[0.0000e0, 1.0000e0, 1.0010e3]"),
        ([1e8], "[100000000.]"),
        ([1.1e8], "[1.1000e8]"),
        ([1.0001e-4], "[0.0001]"),
        ([9.9e-5], "[9.9000e-5]"),
        ([-1, 1001, np.nan, np.inf], "[-1.0000e0,  1.0010e3,       NaN,       inf]"),
    ],
)
def test_where_the_exponent_begins(values: list[float], expected: str) -> None:
    assert show(values, np.float64) == expected


def test_exponents_of_three_digits() -> None:
    assert show([1.5e300, -1.5e-300], np.float64) == "[  1.5000e300, -1.5000e-300]"


def test_ties_go_to_the_even_digit_of_the_exact_value() -> None:
    printing.set_precision(1)
    assert show([0.25, 0.75, 0.35], np.float64) == "[0.2, 0.8, 0.3]"
    printing.set_precision(0)
    assert show([0.5, 1.5, 2.5], np.float64) == "[0, 2, 2]"


def test_f16_never_passes_the_upper_bound() -> None:
    assert show([60000], np.float16) == "[60000.]"
    assert show([60, 60000], np.float16) == "[   60., 60000.]"
    assert show([59.5, 60000], np.float16) == "[5.9500e1, 6.0000e4]"


def test_bf16_prints_through_f32() -> None:
    assert display(np.array([[0.1]], dtype=ml_dtypes.bfloat16), "bf16") == "[[0.1001]]\nTensor[[1, 1], bf16]"
    assert show([0.1, -3], ml_dtypes.bfloat16) == "[ 0.1001, -3.0000]"
    assert show([3e38], ml_dtypes.bfloat16) == "[3.0041e38]"
    assert show([np.nan, 1], ml_dtypes.bfloat16) == "[NaN,  1.]"


# -- layout


def test_empty_dims() -> None:
    assert show(np.zeros((2, 0))) == "[[],\n []]"
    assert show(np.zeros((0, 2))) == "[]"
    assert show(np.zeros((2, 0, 3))) == "[[],\n []]"
    assert show(np.zeros((1, 2, 0))) == "[[[],\n  []]]"


def test_blocks_follow_each_other_without_a_blank_line() -> None:
    assert show(np.arange(8).reshape(2, 2, 2)) == "[[[0., 1.],\n  [2., 3.]],\n [[4., 5.],\n  [6., 7.]]]"


def test_a_wrapped_row_is_indented_by_its_depth() -> None:
    printing.set_line_width(11)
    assert show([[0, 1, 2], [3, 4, 5]]) == "[[0., 1.,\n  2.],\n [3., 4.,\n  5.]]"


def test_a_line_too_narrow_for_one_value_holds_one() -> None:
    printing.set_line_width(0)
    assert show([1, 2]) == "[1.,\n 2.]"


def test_a_tensor_of_exactly_the_threshold_is_whole() -> None:
    assert "..." not in show(np.ones(1000))
    assert show(np.ones(1001)) == "[1., 1., 1., ..., 1., 1., 1.]"


def test_a_dim_of_twice_the_edge_items_is_not_shortened() -> None:
    body = show(np.ones((6, 200)))
    assert body.count("\n") == 5 and body.count("...") == 6
    body = show(np.ones((7, 200)))
    assert body.count("\n") == 6 and body.count("...") == 7


def test_a_short_row_of_a_shortened_tensor_still_wraps() -> None:
    printing.set_line_width(8)
    printing.set_edge_items(1)
    assert show(np.ones((600, 2))) == "[[1., 1.],\n ...\n [1., 1.]]"
    printing.set_line_width(7)
    assert show(np.ones((600, 2))) == "[[1.,\n  1.],\n ...\n [1.,\n  1.]]"


def test_the_notation_and_width_come_from_the_values_shown() -> None:
    values = np.ones(2000)
    values[1000] = 123456.5
    assert show(values) == "[1., 1., 1., ..., 1., 1., 1.]"
    values[-1] = 0.5
    assert show(values) == "[1.0000, 1.0000, 1.0000, ..., 1.0000, 1.0000, 0.5000]"


def test_a_huge_tensor_prints_from_its_ends_alone() -> None:
    huge = np.broadcast_to(f32(42), (10**6, 10**6))
    tracemalloc.start()
    text = display(huge, "f32")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.endswith("Tensor[[1000000, 1000000], f32]") and text.count("42.") == 36
    assert peak < 1_000_000


def test_views_print_their_own_order() -> None:
    base = np.arange(6, dtype=f32).reshape(2, 3)
    assert show(base.T) == show(np.ascontiguousarray(base.T)) == "[[0., 3.],\n [1., 4.],\n [2., 5.]]"
    assert show(base[::-1, ::2]) == "[[3., 5.],\n [0., 2.]]"


# -- options


def test_short_and_full_and_default() -> None:
    printing.set_print_options_short()
    assert show(np.full(1001, 0.5)) == "[0.50, 0.50, ..., 0.50, 0.50]"
    printing.set_print_options_full()
    assert show(np.full(1001, 0.5)).count("0.5000") == 1001
    printing.set_print_options_default()
    assert show(np.full(1001, 0.5)) == "[0.5000, 0.5000, 0.5000, ..., 0.5000, 0.5000, 0.5000]"


def test_each_option_alone() -> None:
    printing.set_threshold(3)
    printing.set_edge_items(1)
    printing.set_precision(2)
    assert show([0.5, 1, 2, 3]) == "[0.50, ..., 3.00]"
    printing.set_sci_mode(True)
    assert show([0.5, 1]) == "[5.00e-1,  1.00e0]"
    printing.set_sci_mode(False)
    assert show([0.5, 1e9]) == "[         0.50, 1000000000.00]"
    printing.set_sci_mode(None)
    assert show([0.5, 1e9]) == "[5.00e-1,  1.00e9]"
    printing.set_print_options(PrinterOptions(precision=1))
    assert show([0.5, 1, 2, 3]) == "[0.5, 1.0, 2.0, 3.0]"


def test_no_edge_items_leave_the_dots() -> None:
    printing.set_print_options(PrinterOptions(threshold=0, edge_items=0))
    assert show([1, 2]) == "[...]"
    assert show([[1, 2]]) == "[...\n ]"
    assert show(5) == "[5.]"


@pytest.mark.parametrize("name", ["precision", "threshold", "edge_items", "line_width"])
@pytest.mark.parametrize("value", [-1, 2.5, "3"])
def test_options_must_be_counts(name: str, value: Any) -> None:
    with pytest.raises(Error, match=rf"^print option {name} must be a whole number that is not negative, got "):
        PrinterOptions(**{name: value})


# -- repr


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        (f32(3), "f32", "Tensor[3; f32]"),
        (f32(7.5), "f32", "Tensor[7.5; f32]"),
        (np.array([1, 2, 3], np.uint8), "u8", "Tensor[1, 2, 3; u8]"),
        (np.zeros(0, f32), "f32", "Tensor[; f32]"),
        (np.zeros(9, np.int64), "i64", "Tensor[0, 0, 0, 0, 0, 0, 0, 0, 0; i64]"),
        (np.zeros(10, np.int64), "i64", "Tensor[dims 10; i64]"),
        (np.zeros((2, 3)), "f64", "Tensor[dims 2, 3; f64]"),
        (np.zeros((0, 3)), "f64", "Tensor[dims 0, 3; f64]"),
        (np.array([0.1, 1e-7, -0.0], f32), "f32", "Tensor[0.1, 0.0000001, -0; f32]"),
        (np.array([np.nan, np.inf, -np.inf]), "f64", "Tensor[NaN, inf, -inf; f64]"),
        (np.array([0.1, 3], np.float16), "f16", "Tensor[0.099975586, 3; f16]"),
        (np.array([0.1, 3], ml_dtypes.bfloat16), "bf16", "Tensor[0.100097656, 3; bf16]"),
    ],
)
def test_debug(array: Any, dtype: str, expected: str) -> None:
    assert debug(np.asarray(array), dtype, False) == expected
    assert debug(np.asarray(array), dtype, True) == f"Var({expected})"


def test_shortest_reads_back_and_nothing_shorter_does() -> None:
    rng = np.random.default_rng(0)
    for value in rng.integers(1, 0x7F800000, 500, dtype=np.uint32).view(f32):
        text = shortest(value)
        digits = text.replace(".", "").strip("0")
        assert f32(text) == value and "e" not in text
        assert all(f32(f"{value:.{n}e}") != value for n in range(len(digits) - 1)), text
