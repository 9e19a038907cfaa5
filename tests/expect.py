"""Errors to the letter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def raises(kind: type[Exception], text: str, note: str = "") -> Iterator[pytest.ExceptionInfo[Exception]]:
    """The block raises just this class (or one below it) with just this text, and a note that contains `note` where one is given."""
    with pytest.raises(kind) as caught:
        yield caught
    assert str(caught.value) == text
    assert not note or any(note in n for n in getattr(caught.value, "__notes__", [])), getattr(caught.value, "__notes__", [])
