"""Gradients held within bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import Error, GradStore, Tensor, Var
from cafe.nn import clip_grad_norm, clip_grad_value
from cafe.testing import assert_close


def given(*pairs: tuple[Var, Any]) -> GradStore:
    """A store that holds just these gradients."""
    store = GradStore()
    for var, g in pairs:
        store.insert(var, Tensor(g, dtype=var.dtype))
    return store


def test_a_norm_is_taken_over_all_gradients_and_scaled_down() -> None:
    a, b, absent = Var([3.0]), Var([[4.0]]), Var([1.0])
    grads = given((a, [3.0]), (b, [[4.0]]))
    assert clip_grad_norm(grads, [a, b, b, absent], 10.0) == 5.0
    assert (grads[a].tolist(), grads[b].tolist()) == ([3.0], [[4.0]])
    assert clip_grad_norm(grads, [a, b], 2.5) == 5.0
    assert (grads[a].tolist(), grads[b].tolist()) == ([1.5], [[2.0]])
    assert clip_grad_norm(GradStore(), [a], 1.0) == 0.0


def test_large_numbers_have_a_norm_and_one_that_is_not_finite_scales_nothing() -> None:
    a = Var([0.0, 0.0])
    grads = given((a, [3e30, 4e30]))
    assert clip_grad_norm(grads, [a], 1.0) == pytest.approx(5e30)
    assert_close(grads[a], np.array([0.6, 0.8]), 1e-6)
    bad = given((a, [math.inf, 1.0]))
    assert clip_grad_norm(bad, [a], 1.0) == math.inf
    assert bad[a].tolist() == [math.inf, 1.0]


def test_values_are_held_within_bounds() -> None:
    a = Var([0.0, 0.0, 0.0])
    grads = given((a, [-3.0, 0.5, math.inf]))
    clip_grad_value(grads, [a], 1.0)
    assert grads[a].tolist() == [-1.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clip_grad_norm(GradStore(), [], 0.0), "clip_grad_norm: max_norm must be above 0, got 0.0"),
        (lambda: clip_grad_value(GradStore(), [], -1.0), "clip_grad_value: max_value must be at least 0, got -1.0"),
    ],
)
def test_bounds_that_make_no_sense(call: Callable[[], Any], message: str) -> None:
    with raises(Error, message):
        call()
