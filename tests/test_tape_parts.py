"""Gradients of a tensor that is taken apart: each piece adds to its place, and to nothing that anybody else holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cafe import Tensor, Var
from cafe.dtype import Array
from cafe.ops.layout import Slice
from cafe.testing import assert_close, assert_owned

rng = np.random.default_rng(3)
each_dtype = pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])


def values(*shape: int) -> Array:
    return rng.integers(-4, 5, shape).astype(np.float64)


@each_dtype
@pytest.mark.parametrize("shape", [(5, 3), (300, 70)], ids=str)
def test_pieces_add_up(shape: tuple[int, int], dtype: str) -> None:
    data, weights = values(*shape), values(*shape)
    x, w = Var(data, dtype), Tensor(weights, dtype)
    whole = x * 2.0
    rows = [whole[i].mul(w[i]) for i in range(shape[0])]
    overlapping = whole.narrow(0, 1, 3).mul(w.narrow(0, 1, 3))
    grads = (Tensor.stack(rows, 0).sum_all() + overlapping.sum_all() + whole.mul(w).sum_all()).backward(retain=[whole])

    wanted = 2.0 * weights
    wanted[1:4] += weights[1:4]
    assert_close(grads[whole].to_dtype("f64"), wanted, 0.0)
    assert_close(grads[x].to_dtype("f64"), 2.0 * wanted, 0.0)


def test_what_the_pieces_share_is_left_alone() -> None:
    x, y = Var(values(4, 6)), Var(values(4, 3))
    first, second = x.chunk(2, 1)
    total = first + y  # one array is the gradient of both
    loss = (total + second).sum_all() + x.narrow(1, 1, 2).sum_all() + (y * 3.0).sum_all()
    grads = loss.backward(retain=[total, first])

    assert grads[first].tolist() == grads[total].tolist() == [[1.0] * 3] * 4
    assert grads[y].tolist() == [[4.0] * 3] * 4
    assert grads[x].tolist() == [[1.0, 2.0, 2.0, 1.0, 1.0, 1.0]] * 4
    assert_owned(grads[x]._data, [grads[y]._data, grads[first]._data, x._data], "the gradient of x")
    assert_owned(grads[y]._data, [grads[first]._data, y._data], "the gradient of y")


def test_second_derivatives_of_pieces() -> None:
    x = Var(values(6))
    parts = x.chunk(3, 0)
    grad = (parts[0] * parts[1] * parts[2] + parts[1].sqr()).sum_all().backward(create_graph=True)[x]
    second = grad.mul(Tensor(values(6))).sum_all().backward()[x]
    assert second.shape == (6,) and np.isfinite(second.numpy()).all()
    slopes = parts[1] * parts[2], parts[0] * parts[2] + parts[1] * 2.0, parts[0] * parts[1]
    assert grad.tolist() == [v for slope in slopes for v in slope.tolist()]


def test_joins_of_one_and_repeats_by_one_are_copies() -> None:
    v = Var([1.0, 2.0])
    snapshots = [Tensor.cat([v], 0), Tensor.stack([v], 0), v.repeat((1,)), v.repeat((1, 1)), v.repeat((2,))]
    before = [s.tolist() for s in snapshots]
    v.set(Tensor([5.0, 6.0]))
    assert [s.tolist() for s in snapshots] == before


def test_a_variable_in_pieces_twice() -> None:
    x = Var(values(3, 4))
    loss: Any = x[0].sum_all() + x[1].sum_all() + x[0].sqr().sum_all()
    once = loss.backward(retain_graph=True)[x].numpy().copy()
    assert np.array_equal(loss.backward()[x].numpy(), once)


def test_each_piece_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many pieces of one tensor one is spread over its size."""
    spread: list[Any] = []
    backward = Slice.backward
    monkeypatch.setattr(Slice, "backward", lambda *given: spread.append(given) or backward(*given))
    x = Var(values(50, 4))
    Tensor.stack([x[i] for i in range(50)], 0).sum_all().backward()
    assert len(spread) == 1
