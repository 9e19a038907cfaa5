"""Variables: set, views of the same storage, what is refused, and steps of descent by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from expect import raises

from cafe import DType, Tensor, Var
from cafe.errors import CannotSetVar, DTypeMismatchBinaryOp, ShapeMismatchBinaryOp, VersionMismatch
from cafe.testing import assert_close


def test_a_variable_is_a_tensor() -> None:
    v = Var([1.0, 2.0])

    assert isinstance(v, Tensor) and v.is_variable() and v.as_tensor() is v and repr(v) == "Var(Tensor[1, 2; f32])"
    assert (v + v).tolist() == [2.0, 4.0] and v.sum_all().to_scalar() == 3.0
    d = v.as_detached_tensor()
    assert not d.is_variable() and not d.track_op() and np.shares_memory(d.numpy(), v.numpy())


def test_from_tensor_copies_except_a_variable() -> None:
    t = Tensor([1.0, 2.0])
    v = Var.from_tensor(t)
    v.set(Tensor([5.0, 5.0]))

    assert t.tolist() == [1.0, 2.0] and Var.from_tensor(v) is v
    computed = Var.from_tensor(v * 2.0)
    assert computed.tolist() == [10.0, 10.0] and computed.is_variable()


def test_every_view_sees_a_set() -> None:
    v = Var(np.arange(6.0).reshape(2, 3))
    views = {
        "t": v.t(), "row": v[1], "place": v[1, 2], "column": v.narrow(1, 0, 1), "flat": v.reshape((6,)), "back": v[:, ::-1],
        "repeated": v[0].broadcast_as((2, 3)), "detached": v.detach(), "parts": v.chunk(2, 0)[1], "array": v.numpy(),
    }  # fmt: skip
    v.set(Tensor(np.arange(10.0, 16.0).reshape(2, 3)))
    new = np.arange(10.0, 16.0).reshape(2, 3)

    wanted = {
        "t": new.T, "row": new[1], "place": new[1, 2], "column": new[:, :1], "flat": new.reshape(-1), "back": new[:, ::-1],
        "repeated": new[[0, 0]], "detached": new, "parts": new[1:], "array": new,
    }  # fmt: skip
    assert {name: np.asarray(view).tolist() for name, view in views.items()} == {name: w.tolist() for name, w in wanted.items()}


def test_what_was_computed_before_stays() -> None:
    v = Var([1.0, 2.0])
    product, copy = v * 2.0, v.copy()
    v.set(Tensor([9.0, 9.0]))

    assert product.tolist() == [2.0, 4.0] and copy.tolist() == [1.0, 2.0]


def test_set_takes_any_strides_and_computed_values() -> None:
    v = Var(np.zeros((2, 3)))
    v.set(Tensor(np.arange(6.0).reshape(3, 2)).t())
    assert v.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    v.set(Tensor([1.0, 2.0, 3.0], "f64").broadcast_as((2, 3)))
    assert v.tolist() == [[1.0, 2.0, 3.0]] * 2
    v.set(v * 2.0 + v)
    assert v.tolist() == [[3.0, 6.0, 9.0]] * 2 and v.track_op() and v.is_variable()


def test_set_refuses() -> None:
    v = Var([1.0, 2.0])
    for derived in (v, v.detach(), v.narrow(0, 0, 2), v.flip(0), v.reshape((2,))):
        with raises(CannotSetVar, "cannot set variable cannot set a variable to a tensor that is derived from its value"):
            v.set(derived)
    with raises(ShapeMismatchBinaryOp, "shape mismatch in set, lhs: [2], rhs: [3]"):
        v.set(Tensor([1.0, 2.0, 3.0]))
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in copy_strided, lhs: F64, rhs: F32"):
        v.set(Tensor([1.0, 2.0], "f64"))
    assert v.tolist() == [1.0, 2.0]


def test_set_of_nothing() -> None:
    v = Var(np.zeros((0, 2)))
    v.set(Tensor.zeros((0, 2), "f64"))

    assert v.dims() == [0, 2]


def test_variables_of_integers_and_halves_can_be_set() -> None:
    for dtype in DType:
        v = Var([1, 2], dtype)
        v.set(Tensor([3, 4], dtype))
        assert v.tolist() == [3, 4]


def test_a_view_of_numpys_memory_is_seen_from_both_sides() -> None:
    array = np.zeros(3, np.float32)
    t = Tensor.from_numpy(array)
    v = Var.from_tensor(t)
    v.set(Tensor([1.0, 2.0, 3.0]))

    assert array.tolist() == [0.0, 0.0, 0.0]  # a variable owns its storage


def test_a_hundred_steps_of_descent() -> None:
    """(x − 4.2)² from 0 with steps of 0.1: in float32 the hundredth x is 4.199999."""
    x = Var(0.0)
    for _ in range(100):
        loss = (x - 4.2) * (x - 4.2)
        grads = loss.backward()
        x.set(x - grads[x] * 0.1)

    assert x.to_scalar() == np.float32(4.199999)


def test_a_parabola() -> None:
    x = Var([3.0, 1.0, 4.0])
    y = x * x + x * 5.0 + 4.0
    grads = y.backward()

    assert y.tolist() == [28.0, 10.0, 40.0] and grads[x].tolist() == [11.0, 7.0, 13.0]


def test_known_gradients() -> None:
    """The calculus beside the numbers."""
    at = [3.0, 1.0, 4.0, 0.15]
    cases = {
        "log": (lambda x: x.log(), lambda v: 1 / v),
        "exp of a square": (lambda x: x.sqr().exp(), lambda v: 2 * v * np.exp(v * v)),
        "a number over x": (lambda x: 2.0 / x, lambda v: -2 / v**2),
        "x over a number": (lambda x: x / 2.0, lambda v: 0.5 + 0 * v),
        "root of a square": (lambda x: x.sqr().sqrt(), lambda v: 1.0 + 0 * v),
        "power": (lambda x: x.powf(2.5), lambda v: 2.5 * v**1.5),
        "sine of a cosine": (lambda x: x.cos().sin(), lambda v: -np.cos(np.cos(v)) * np.sin(v)),
        "affine": (lambda x: x.affine(0.2, 1.0), lambda v: 0.2 + 0 * v),
    }
    for name, (f, slope) in cases.items():
        x = Var(at, "f64")
        assert_close(f(x).sum_all().backward()[x], slope(np.array(at)), 1e-14, name)


# -- a variable's memory seen from outside


@pytest.mark.parametrize(
    "through",
    [
        lambda v: v.detach(),
        lambda v: Tensor.from_numpy(v.numpy()),
        lambda v: Tensor.from_numpy(v.detach().numpy()[::-1][::-1]),
        lambda v: Tensor.from_numpy(np.asarray(v)),
        lambda v: Tensor.from_numpy(Tensor.from_numpy(v.numpy()).numpy()),
        lambda v: Tensor.from_dlpack(v),
        lambda v: Tensor.from_dlpack(Tensor.from_numpy(v.numpy())),
        lambda v: v.as_detached_tensor().reshape((1, 2)).squeeze(0),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
def test_every_view_of_a_variable_follows_set_and_is_watched(through: Callable[[Var], Tensor], dtype: str) -> None:
    v, x = Var([1.0, 2.0], dtype=dtype), Var([3.0, 4.0], dtype=dtype)
    seen = through(v)
    assert not seen.track_op()
    y = (x * seen).sum_all()
    v.set(Tensor([5.0, 6.0], dtype=dtype))
    assert seen.tolist() == [5.0, 6.0]
    with pytest.raises(VersionMismatch):
        y.backward()
    assert (x * seen).sum_all().backward()[x].tolist() == [5.0, 6.0]


def test_a_copy_is_nobodys_memory() -> None:
    v, x = Var([1.0, 2.0]), Var([3.0, 4.0])
    for copied in (Tensor.from_numpy(v.numpy().copy()), Tensor.from_numpy(v.numpy() * 1.0), Tensor(v.numpy()), Var.from_numpy(v.numpy())):
        y = (x * copied.detach()).sum_all()
        v.set(v * 2.0)
        assert y.backward()[x].tolist() == copied.tolist()


def test_what_a_variable_shows_cannot_be_written() -> None:
    for v in (Var([[1.0, 2.0]]), Var([[1.0, 2.0]], dtype="bf16"), Var(np.zeros((2, 0), np.float32)), Var(1.0)):
        shown = v.t().numpy() if v.rank == 2 else v.numpy()
        assert not shown.flags.writeable and shown.dtype == v.dtype.numpy and shown.shape == (v.t().shape if v.rank == 2 else ())
        assert shown.size == 0 or np.shares_memory(shown, v._data)
        assert type(shown) is np.ndarray and shown.tolist() == (v.t() if v.rank == 2 else v)._data.tolist()
