"""The table of op cases: a row for each op, by family (above the tensor floor).

An op without a row fails the test suite. A new family gets a module here, with a list `CASES`, and a line in the tuple below.
"""

from __future__ import annotations

from ..case import Case
from . import (
    activation,
    assign,
    attention,
    binary,
    conv,
    indexing,
    layout,
    loss,
    matmul,
    norm,
    pool,
    prod,
    reduce,
    resample,
    rnn,
    rotary,
    softmax,
    sort,
    unary,
    unfold,
)

CASES: tuple[Case, ...] = (
    *activation.CASES,
    *assign.CASES,
    *attention.CASES,
    *binary.CASES,
    *conv.CASES,
    *indexing.CASES,
    *layout.CASES,
    *loss.CASES,
    *matmul.CASES,
    *norm.CASES,
    *pool.CASES,
    *prod.CASES,
    *reduce.CASES,
    *resample.CASES,
    *rnn.CASES,
    *rotary.CASES,
    *softmax.CASES,
    *sort.CASES,
    *unary.CASES,
    *unfold.CASES,
)
