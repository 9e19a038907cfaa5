"""What all tests share: the generator starts from the same place in each."""

from __future__ import annotations

import pytest

import cafe


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Random tensors in tests are the same each time, whatever ran before."""
    cafe.manual_seed(299792458)
