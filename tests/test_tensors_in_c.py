"""An op is applied in C (csrc/tensors.c) as it is on the tape: the same numbers, nodes and errors; what C does not take, Python does."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import cafe
from cafe import Tensor, Var, tape, tracing
from cafe.kernels import _ffi
from cafe.ops.base import Op, Result
from cafe.ops.binary import Add
from cafe.ops.layout import Reshape
from cafe.tensor.base import wrap

needs_c = pytest.mark.skipif(_ffi.lib is None, reason="without the extension a door gives None")
in_c = _ffi.door("apply")


def some(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


class Halves(Op):
    """Hands on what has no derivative, and what its backward may use."""

    name, keep = "halves", "0"

    def forward(self, xp: Any, x: Any) -> Result:
        return Result(xp.affine(x, 0.5, 0.0), saved="saved", const="const")


@needs_c
def test_outside_the_graph_a_result_has_no_node() -> None:
    a, b = Tensor(some(2, 3)), Tensor(some(2, 3))

    y = in_c(Add(), (a, b))
    assert type(y) is Tensor and y._node is None and y._version is None and np.array_equal(y._data, a._data + b._data)
    assert in_c(Halves(), (a,)).tolist() == (a * 0.5).tolist()


@needs_c
def test_a_node_is_the_one_of_the_tape() -> None:
    v, a = Var(some(2, 3)), Tensor(some(2, 3))

    y, (data, node, _) = in_c(Add(), (v, a)), tape.run(Add(), (v, a))
    assert node is not None and np.array_equal(y._data, data)
    assert (y._node.parents, y._node.shape, y._node.dtype) == (node.parents, node.shape, node.dtype)
    kept = in_c(Halves(), (v,))._node
    assert (kept.saved, kept.const, kept.inputs[0] is v._data, kept.versions) == ("saved", "const", True, ((v._version, 0),))
    with cafe.no_grad():
        assert in_c(Add(), (v, a))._node is None
    assert in_c(Add(), (Tensor([1]), Tensor([2]))).tolist() == [3]


@needs_c
def test_what_is_not_taken_gives_none() -> None:
    a, v = Tensor(some(2, 3)), Var(some(2, 3))

    for operands in ((), (a,) * 9, (a, 1.0), (a, a.to_dtype("f16")), (a.to_dtype("bf16"), a), (wrap(np.float32(1.0)),)):  # type: ignore[arg-type]
        assert in_c(Add(), operands) is None
    assert in_c(Add(), [a, a]) is None and in_c(Add()) is None
    assert in_c(Reshape((6,)), (v,)) is None and in_c(Reshape((6,)), (a,)).shape == (6,)
    with tracing.subscriber(tracing.Subscriber()):
        assert in_c(Add(), (a, a)) is None
    with pytest.raises(TypeError):
        _ffi.door("know")(Tensor)


def test_errors_of_a_forward_are_those_of_the_tape() -> None:
    class Fails(Op):
        name = "fails"

        def __init__(self, error: Exception) -> None:
            self.error = error

        def forward(self, xp: Any, x: Any) -> Any:
            raise self.error

    for error, said in ((KeyError("k"), KeyError), (ValueError("maximum supported dimension"), cafe.Error)):
        with pytest.raises(said):
            cafe.apply(Fails(error), Tensor([1.0]))
    with pytest.raises(TypeError, match="expected an Op, found int"):
        cafe.apply(3, Tensor([1.0]))  # type: ignore[arg-type]


@needs_c
def test_alike_and_conformable() -> None:
    alike, conformable = _ffi.door("alike"), _ffi.door("conformable")
    a, b, whole = some(2, 3), some(3, 4), np.ones((2, 3), np.int64)

    assert alike(a, a.copy()) and alike(a.T, some(3, 2)) and alike(whole, whole)
    assert not any(alike(*pair) for pair in ((a, b), (a, whole), (a, a.astype(np.float64)), (a, a[0]), (a, 1.0)))
    assert conformable(a, b) and conformable(b.T, a.T) and conformable(a.astype(np.float64), b.astype(np.float64))
    for pair in ((a, a), (a, b.astype(np.float64)), (whole, whole.T), (a, b[:, 0]), (a[None], b), (a, 1.0)):
        assert not conformable(*pair)


def test_numbers_of_tensors_are_their_own_whoever_asks_first() -> None:
    tensors, found = [Tensor([1.0]) * 2.0 for _ in range(200)], [[0]] * 4

    def ask(i: int) -> None:
        found[i] = [t.id for t in tensors]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 4 and len(set(found[0])) == len(tensors)
