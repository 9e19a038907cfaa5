"""Every example in the package's docstrings runs and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator

import pytest

import cafe


def modules() -> Iterator[str]:
    yield "cafe"
    for module in pkgutil.walk_packages(cafe.__path__, "cafe."):
        if not module.name.endswith(("__main__", "_cafe")):
            yield module.name


class Finder(doctest.DocTestFinder):
    """Finds a function's examples in the module that it is written in: a Tensor's methods all say that they are of one."""

    def _from_module(self, module: types.ModuleType, found: object) -> bool:
        if inspect.isfunction(found):
            return inspect.unwrap(found).__globals__ is vars(module)
        return super()._from_module(module, found)  # type: ignore[misc, no-any-return]


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    for examples in Finder(exclude_empty=True).find(module, name):
        cafe.manual_seed(299792458)
        runner.run(examples, out=report.append)

    assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("cafe.nn.linear", "linear"),
        ("cafe.nn.loss", "mse"),
        ("cafe.tensor._unary", "UnaryMethods.exp"),
        ("cafe.tensor._unary", "UnaryMethods.clamp"),
    ],
)
def test_examples_are_found_whatever_decorates_a_function(name: str, function: str) -> None:
    assert f"{name}.{function}" in {found.name for found in Finder(exclude_empty=True).find(importlib.import_module(name), name)}


def test_a_wrong_example_is_seen() -> None:
    report: list[str] = []
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)

    assert doctest.DocTestRunner().run(wrong, out=report.append).failed == 1 and "Expected:\n    3" in "".join(report)


# -- what a docstring of a method says

FACTS = {"FactsMethods", "OutMethods"}  # what they give is no tensor
WITH_SHAPES = [c for c in cafe.Tensor.__mro__ if c.__module__.startswith("cafe.tensor._") and c.__name__ not in FACTS]
WITHOUT_A_GRADIENT = {"CompareMethods", "CreateMethods"}  # their few methods with one say so by themselves


def public(cls: type) -> Iterator[tuple[str, str]]:
    """The public methods that a class defines, with their docstrings."""
    for name, value in vars(cls).items():
        function = getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, inspect.getdoc(function) or ""


def lacks(cls: type, name: str, text: str) -> list[str]:
    """What the docstring of a method leaves out. One that begins with another's name in backticks refers to that one."""
    if text.startswith("`") or name in ("detach", "normalize_axis"):
        return []
    wanted = [">>>", "Shape:"] if cls in WITH_SHAPES else [">>>"]
    if cls in WITH_SHAPES and cls.__name__ not in WITHOUT_A_GRADIENT:
        wanted.append("Gradient:")
    return [f"{cls.__name__}.{name}: {w}" for w in wanted if w not in text]


def test_methods_say_their_shape_and_gradient_and_show_an_example() -> None:
    classes = [*(c for c in cafe.Tensor.__mro__ if c.__module__.startswith("cafe.tensor.")), cafe.Var, cafe.GradStore]

    assert len(WITH_SHAPES) > 12
    assert [found for cls in classes for name, text in public(cls) for found in lacks(cls, name, text)] == []


def test_a_docstring_that_says_too_little_is_seen() -> None:
    cls = next(c for c in WITH_SHAPES if c.__name__ == "UnaryMethods")

    assert lacks(cls, "exp", "e to the x.\n\nShape: any.") == ["UnaryMethods.exp: >>>", "UnaryMethods.exp: Gradient:"]
    assert lacks(cls, "exp", "`other`, by another name.") == []
