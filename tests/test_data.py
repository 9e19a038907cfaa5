"""Rows that belong together stay together: shuffled, split, in batches."""

from __future__ import annotations

import pytest

import cafe
from cafe import Tensor
from cafe.tools.data import batches, shuffled, split


def pair(count: int) -> tuple[Tensor, Tensor]:
    """Rows of two numbers, and the first of each as a whole number."""
    ids = Tensor.arange(0, count)
    return Tensor.stack([ids, ids], 1).to_dtype("f32"), ids


def test_shuffled_keeps_rows_together_and_loses_none() -> None:
    x, y = shuffled(*pair(50))
    assert x.to_dtype("i64").tolist() == [[i, i] for i in y.tolist()]
    assert sorted(y.tolist()) == list(range(50))
    assert y.tolist() != list(range(50))


def test_shuffled_follows_the_seed_and_differs_from_one_call_to_the_next() -> None:
    def orders() -> list[list[int]]:
        cafe.manual_seed(3)
        return [shuffled(Tensor.arange(0, 20))[0].tolist() for _ in range(2)]

    first, second = orders()
    assert first != second
    assert orders() == [first, second]


def test_shuffled_leaves_its_input() -> None:
    x = Tensor.arange(0, 9)
    shuffled(x)
    assert x.tolist() == list(range(9))


@pytest.mark.parametrize(("count", "size", "lengths"), [(10, 4, [4, 4, 2]), (8, 4, [4, 4]), (3, 5, [3]), (1, 1, [1]), (0, 4, [])])
def test_batches_are_runs_of_the_size_and_a_rest(count: int, size: int, lengths: list[int]) -> None:
    runs = batches(*pair(count), size=size)
    assert [x.dim(0) for x, _ in runs] == lengths
    assert len(runs) == len(lengths)
    assert [i for _, y in runs for i in y.tolist()] == list(range(count))
    assert [i for _, y in runs for i in y.tolist()] == list(range(count)), "a second time"


def test_batches_by_number_and_by_slice() -> None:
    runs = batches(Tensor.arange(0, 10), size=4)
    assert runs[-1][0].tolist() == [8, 9]
    assert [y.tolist() for (y,) in runs[1:]] == [[4, 5, 6, 7], [8, 9]]
    with pytest.raises(IndexError):
        runs[3]


def test_split_gives_the_first_rows_and_the_rest() -> None:
    (ax, ay), (bx, by) = split(*pair(5), at=3)
    assert (ay.tolist(), by.tolist()) == ([0, 1, 2], [3, 4])
    assert (ax.dims(), bx.dims()) == ([3, 2], [2, 2])
    assert split(Tensor.arange(0, 5), at=0)[0][0].dims() == [0]
    assert split(Tensor.arange(0, 5), at=5)[1][0].dims() == [0]


def test_what_is_refused() -> None:
    with pytest.raises(cafe.Error, match=r"batches: rows belong together, expected 3 in each, got \[3, 4\]"):
        batches(Tensor.zeros(3), Tensor.zeros(4), size=1)
    with pytest.raises(cafe.Error, match="batches: expected a size of at least 1, got 0"):
        batches(Tensor.zeros(3), size=0)
    with pytest.raises(cafe.Error, match="shuffled: expected at least one tensor"):
        shuffled()
    with pytest.raises(cafe.Error, match="split: expected 0 to 3 rows, got 4"):
        split(Tensor.zeros(3), at=4)
