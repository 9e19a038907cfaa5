"""The laws that hold for every op. Ops, rows of the unary table and verbs are found by themselves: one without a case fails here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from math import prod

import pytest

import cafe
from cafe import Op, kernels
from cafe.ops import unary
from cafe.tensor.verbs import GRAPH
from cafe.testing import CASES, LAWS, Case

# kernels that no rule uses: they write in place, draw random numbers or find a key's ids, and have tests of their own
BESIDE_THE_RULES = {"accumulate", "adam_step", "dequantize", "ids_where", "keep_mask", "normal", "permutation", "sgd_step", "uniform"}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_law(case: Case, law: str) -> None:
    LAWS[law](case)


def import_everything() -> None:
    for module in pkgutil.walk_packages(cafe.__path__, "cafe."):
        if not module.name.endswith(("__main__", "_cafe")):
            importlib.import_module(module.name)


def subclasses(parent: type) -> Iterator[type]:
    for child in parent.__subclasses__():
        yield child
        yield from subclasses(child)


def ops_of_cafe() -> set[type]:
    """Every Op class in the package; a leading underscore marks what classes share."""
    import_everything()
    return {c for c in subclasses(Op) if c.__module__.startswith("cafe.") and not c.__name__.startswith("_")}


def test_every_op_has_a_case() -> None:
    missing = ops_of_cafe() - {type(case.rule()) for case in CASES}

    assert not missing, f"no row in cafe/testing/cases for {sorted(c.__qualname__ for c in missing)}"


def test_every_row_of_the_unary_table_has_a_case() -> None:
    missing = {row.name for row in unary.TABLE} - {op.name for case in CASES if isinstance(op := case.rule(), unary.Unary)}

    assert not missing


def test_every_verb_is_used_by_a_case() -> None:
    """Then `kernels_are_their_twins` has compared it with its twin on every dtype of the case."""
    used = frozenset().union(*(LAWS["kernels_are_their_twins"](case) for case in CASES))  # type: ignore[arg-type]

    assert set(kernels.__all__) - {"twins"} - BESIDE_THE_RULES - used == set()


def test_kernels_and_twins_have_the_same_names() -> None:
    public = set(kernels.__all__) - {"twins"}

    assert set(kernels.twins.verbs) - public == set(), "a twin without a kernel"
    assert public - set(kernels.twins.verbs) - BESIDE_THE_RULES == set(), "a kernel without a twin"
    assert public >= BESIDE_THE_RULES


def test_verbs_on_tensors_are_kernels() -> None:
    verbs = {name for name in dir(GRAPH.xp) if not name.startswith("_")}

    assert verbs - set(kernels.__all__) == set()


def test_names_of_cases_are_unique() -> None:
    names = [case.name for case in CASES]

    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_row_samples_the_edges(case: Case) -> None:
    """One element, a tail that fills no vector, and nothing at all."""
    shapes_of_inputs = [shape for shapes in case.shapes for shape in shapes]

    assert any(prod(shape) <= 3 for shape in shapes_of_inputs), "an input of one element (two for a variance, three for a window)"
    assert any(n >= 17 and n % 2 for shape in shapes_of_inputs for n in shape), "an odd dim of 17 or more"
    assert case.empty, "what happens on nothing"
