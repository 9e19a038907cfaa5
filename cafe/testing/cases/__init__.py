"""The table of op cases: a row for each op, by family (above the tensor floor).

An op without a row fails the test suite. A new family gets a module here, with a list `CASES`, and a line in the tuple below.
"""

from __future__ import annotations

from ..case import Case
from . import binary, conv, indexing, layout, matmul, reduce, softmax, unary

CASES: tuple[Case, ...] = (
    *binary.CASES,
    *conv.CASES,
    *indexing.CASES,
    *layout.CASES,
    *matmul.CASES,
    *reduce.CASES,
    *softmax.CASES,
    *unary.CASES,
)
