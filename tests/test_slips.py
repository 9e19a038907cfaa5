"""Slips that are easy to make, and what they are told."""

from __future__ import annotations

import pytest

from cafe import Error, Tensor, Var, nn


def test_a_loss_in_place_of_its_gradients() -> None:
    w = Var([1.0])
    with pytest.raises(TypeError, match=r"expected GradStore, found Tensor: give `loss.backward\(\)`, or call `backward_step\(loss\)`"):
        nn.SGD([w], 0.1).step(w.sqr().sum_all())  # type: ignore[arg-type]


@pytest.mark.parametrize("lr", [float("nan"), float("inf")])
def test_a_learning_rate_that_is_no_number(lr: float) -> None:
    with pytest.raises(Error, match="expected a finite learning rate, got"):
        nn.SGD([Var([1.0])], lr)


@pytest.mark.parametrize(("low", "high"), [(float("nan"), 1.0), (0.0, float("nan")), (2.0, 1.0)])
def test_bounds_that_hold_nothing(low: float, high: float) -> None:
    with pytest.raises(Error, match="clamp: low must be at most high"):
        Tensor([1.0]).clamp(low, high)
