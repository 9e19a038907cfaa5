"""The guide's programs print as Rust did: the helper that writes Python values in Rust's notation."""

from __future__ import annotations

import importlib.util
import math
import pathlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from cafe.dtype import DType

_path = pathlib.Path(__file__).parent.parent / "examples" / "guide" / "rust.py"
_spec = importlib.util.spec_from_file_location("guide_rust", _path)
assert _spec is not None and _spec.loader is not None
rust = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(rust)


@dataclass
class BatchNormConfig:
    eps: float = 1e-5
    remove_mean: bool = True
    momentum: float = 0.1
    ours: int = field(default=3, repr=False)


@dataclass(repr=False)
class Const:
    value: float

    def __repr__(self) -> str:
        return f"Const({self.value})"


class Unit:
    def __repr__(self) -> str:
        return "Cpu"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (float(np.float32(0.1)), "0.1"),
        (float(np.float32(0.006377461)), "0.006377461"),
        (float(np.float32(10.900001)), "10.900001"),
        (1e-5, "1e-5"),
        (1.5e-5, "1.5e-5"),
        (1e-4, "0.0001"),
        (9.999e-5, "9.999e-5"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e16"),
        (1e-45, "1e-45"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (np.float32(2.5), "2.5"),
        (7, "7"),
        (np.int64(-7), "-7"),
        (True, "true"),
        (np.False_, "false"),
        (None, "None"),
        ("", '""'),
        ("it's", '"it\'s"'),
        ('a"b\\c\n\t\r\0', '"a\\"b\\\\c\\n\\t\\r\\0"'),
        ("θ日\x07", '"θ日\\u{7}"'),
        ([], "[]"),
        ([[1.0, 2.0], [3.0, math.nan]], "[[1.0, 2.0], [3.0, NaN]]"),
        ((3, 2), "(3, 2)"),
        ((3,), "(3,)"),
        ((), "()"),
        ({"a": 1.0}, '{"a": 1.0}'),
        (DType.F32, "F32"),
        (Unit(), "Cpu"),
        (Const(0.0), "Const(0.0)"),
        (BatchNormConfig(), "BatchNormConfig { eps: 1e-5, remove_mean: true, momentum: 0.1 }"),
    ],
)
def test_debug(value: Any, expected: str) -> None:
    assert rust.rust_debug(value) == expected


def test_debug_of_doubles() -> None:
    assert rust.rust_debug([0.1 + 0.2, 1000.0, math.inf], width=64) == "[0.30000000000000004, 1000.0, inf]"
    assert rust.rust_debug(0.1 + 0.2) == "0.3"
    assert rust.rust_debug(np.float32(0.1), width=64) == "0.1", "an np.float32 stays one"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3.0, "3"),
        (2.5, "2.5"),
        (1e-7, "0.0000001"),
        (1e20, "1" + "0" * 20),
        (-0.0, "-0"),
        (math.nan, "NaN"),
        (-math.inf, "-inf"),
        (True, "true"),
        (3, "3"),
        ("text", "text"),
        (DType.F32, "f32"),
    ],
)
def test_display(value: Any, expected: str) -> None:
    assert rust.rust_display(value) == expected


def test_fixed() -> None:
    assert rust.rust_fixed(0.0171478255, 10) == "0.0171478255"
    assert rust.rust_fixed(math.nan, 6) == "NaN" and rust.rust_fixed(-math.inf, 6) == "-inf"
