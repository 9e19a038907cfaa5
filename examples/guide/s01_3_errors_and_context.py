"""1.3 What an error says, how a layer above adds what it was doing, and what lies behind it.
An error in Python is passed by reference, whatever it holds.
"""

from __future__ import annotations

import struct

from rust import unwrap_err

import cafe
from cafe import Tensor


def shape_bug() -> Tensor:
    a = Tensor.zeros((2, 3))
    b = Tensor.zeros((2, 3))
    return a.matmul(b)  # (2, 3) by (2, 3) cannot be multiplied


def checked(pence: int) -> int:
    if pence < 0:
        cafe.bail(f"takings cannot be negative, got {pence}")
    return pence


def with_context() -> Tensor:
    try:
        return shape_bug()
    except cafe.Error as error:
        raise error.context("while scoring the order slip") from error


reference = struct.calcsize("P")
print(f"sizes: reference to a cafe.Error {reference} | to a Tensor {reference} | to any exception {reference}")
print(f"candle Display : {unwrap_err(shape_bug)}")
print(f"bail!          : {unwrap_err(checked, -5)}")
outer = unwrap_err(with_context)
print(f"anyhow context : {': '.join(str(outer).splitlines())}")
print(f"boxed          : {unwrap_err(checked, -1)}")
print(f"source() of a candle error: {unwrap_err(shape_bug).__cause__}")
