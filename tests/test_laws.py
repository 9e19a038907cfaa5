"""The laws that hold for every op: each op is found by itself, and one without a row in the table fails here."""

from __future__ import annotations

import pytest

from cafe.testing import CASES, LAWS, Case


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_law(case: Case, law: str) -> None:
    LAWS[law](case)
