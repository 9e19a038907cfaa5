"""Every example in the package's docstrings runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import cafe


def modules() -> Iterator[str]:
    yield "cafe"
    for module in pkgutil.walk_packages(cafe.__path__, "cafe."):
        if not module.name.endswith(("__main__", "_cafe")):
            yield module.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    for examples in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        cafe.manual_seed(299792458)
        runner.run(examples, out=report.append)

    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_a_wrong_example_is_seen() -> None:
    report: list[str] = []
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)

    assert doctest.DocTestRunner().run(wrong, out=report.append).failed == 1 and "Expected:\n    3" in "".join(report)
