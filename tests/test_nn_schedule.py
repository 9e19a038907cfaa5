"""Learning rates by the step."""

from __future__ import annotations

import pytest

from cafe.nn import Cosine, StepDecay, Warmup


def test_a_warmup_meets_its_schedule_and_a_cosine_ends_low() -> None:
    cosine = Cosine(2.0, steps=10, low=0.5)
    assert (cosine(0), cosine(10), cosine(1000)) == (2.0, 0.5, 0.5)
    assert cosine(5) == pytest.approx(1.25)
    schedule = Warmup(4, cosine)
    assert [schedule(t) for t in range(5)] == [0.5, 1.0, 1.5, 2.0, 2.0]
    assert Warmup(0, StepDecay(1.0, every=3))(0) == 1.0
    assert StepDecay(1.0, every=3)(6) == pytest.approx(0.01)
