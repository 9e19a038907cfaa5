"""Optimizers, schedules and training's other tools given what they cannot use, and what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from cafe import Error, nn


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: nn.Adam([], 0.1, 1.0), "expected two numbers for betas, got 1.0"),  # type: ignore[arg-type]
        (lambda: nn.Adam([], 0.1, "ab"), "expected two numbers for betas, got 'ab'"),  # type: ignore[arg-type]
        (lambda: nn.Adam([], 0.1, (0.9, 0.99, 0.999)), "expected two numbers for betas, got (0.9, 0.99, 0.999)"),  # type: ignore[arg-type]
        (lambda: nn.Adam([], 0.1, ("a", 0.9)), "expected a number for beta1, found str"),  # type: ignore[arg-type]
        (lambda: nn.Adam([], 0.1, (0.9, True)), "expected a number for beta2, found bool"),
        (lambda: nn.Adam([], 0.1, eps="a"), "expected a number for eps, found str"),  # type: ignore[arg-type]
        (lambda: nn.Adam([], True), "expected a number for the learning rate, found bool"),
        (lambda: nn.SGD([], True), "expected a number for the learning rate, found bool"),
        (lambda: nn.SGD([], 0.1, True), "expected a number for momentum, found bool"),
        (lambda: nn.SGD([], 0.1, dampening="a"), "expected a number for dampening, found str"),  # type: ignore[arg-type]
        (lambda: nn.SGD([], 0.1, 0.9, 0.0, 1e-4), "expected a bool for nesterov, found float"),  # type: ignore[arg-type]
        (lambda: nn.AdamW.new_lr([], None), "expected a number for the learning rate, found NoneType"),  # type: ignore[arg-type]
        (lambda: nn.ParamsAdamW(lr=0.1, weight_decay=[0.1]), "expected a number for weight_decay, found list"),  # type: ignore[arg-type]
    ],
)
def test_a_parameter_of_another_kind(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        slip()


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: nn.Adam([], 0.1, (1.0, 0.9)), "beta1 must be in [0, 1), got 1.0"),
        (lambda: nn.Adam([], 0.1, (0.9, float("nan"))), "beta2 must be in [0, 1), got nan"),
        (lambda: nn.Adam([], 0.1, weight_decay=-0.1), "weight_decay must be at least 0, got -0.1"),
        (lambda: nn.ParamsAdamW(weight_decay=-0.1), "weight_decay must be at least 0, got -0.1"),
        (lambda: nn.SGD([], 10**400), "expected a finite number for the learning rate, got 1000"),
    ],
)
def test_a_parameter_out_of_its_range(slip: Callable[[], Any], said: str) -> None:
    with pytest.raises(Error, match=re.escape(said)):
        slip()
