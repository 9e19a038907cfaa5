"""The tape: what is recorded, how it is walked, what it lets go of."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from expect import raises

import cafe
from cafe import DType, Tensor, Var, no_grad
from cafe.errors import BackwardNotSupported, Error, GraphReleased, UnsupportedDTypeForOp, VersionMismatch
from cafe.testing import assert_close, assert_owned

# -- what is recorded


def test_only_what_descends_from_a_variable_is_recorded() -> None:
    x, constant = Var([1.0, 2.0]), Tensor([3.0, 4.0])

    assert (x * constant).track_op() and x.track_op()
    assert not constant.track_op() and not (constant * constant).track_op()
    assert not (x.detach() * constant).track_op()


def test_an_untracked_loss_has_no_gradients() -> None:
    grads = (Tensor([1.0]) * 2.0).backward()

    assert len(grads) == 0 and grads.get_ids() == []


def test_what_has_no_derivative_is_not_recorded() -> None:
    x = Var([1.5, -2.5])

    for y in (x.gt(0.0), x.argmax(0), x.floor(), x.round(), x.sign(), x.to_dtype("i64"), x.round_to(1)):
        assert not y.track_op()


def test_integer_variables_are_not_recorded() -> None:
    n = Var([1, 2])

    assert not n.track_op() and not (n + n).track_op()


def test_no_grad_records_nothing_and_ends() -> None:
    x = Var([1.0])
    with no_grad():
        assert not (x * 2.0).track_op()
        with no_grad():
            pass
        assert not (x * 2.0).track_op()
    assert (x * 2.0).track_op()


def test_no_grad_ends_after_an_error() -> None:
    x = Var([1.0])
    with pytest.raises(ZeroDivisionError), no_grad():
        raise ZeroDivisionError
    assert (x * 2.0).track_op()


def test_no_grad_holds_for_its_thread_alone() -> None:
    x, tracked = Var([1.0]), []
    with no_grad():
        thread = threading.Thread(target=lambda: tracked.append((x * 2.0).track_op()))
        thread.start()
        thread.join()
    assert tracked == [True]


# -- gradients


def test_a_node_that_is_used_twice_gets_both_contributions() -> None:
    a = Var(1.0)
    b = a + a
    c = b + b
    assert c.backward()[a].to_scalar() == 4.0

    a = Var(3.0)
    b = a * a
    c = b * a + b
    assert c.backward()[a].to_scalar() == 33.0


def test_many_contributions_add_up() -> None:
    x = Var(np.ones((2, 3)))
    y = x * 1.0
    for _ in range(9):
        y = y + x
    grads = y.backward()

    assert_close(grads[x], np.full((2, 3), 10.0), 0.0)


def test_the_loss_may_be_any_tensor() -> None:
    x = Var([[1.0, 2.0], [3.0, 4.0]])

    assert x.sqr().backward()[x].tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_a_variable_is_its_own_loss() -> None:
    x = Var([1.0, 2.0])

    assert x.backward()[x].tolist() == [1.0, 1.0]


def test_a_variable_the_loss_does_not_need_has_no_entry() -> None:
    a, b = Var([2.0]), Var([5.0])
    grads = a.sqr().backward()

    assert grads.get(b) is None and b not in grads and a in grads
    with raises(KeyError, "no gradient for this tensor of shape [1]", "`get` gives None") as caught:
        grads[b]
    assert isinstance(caught.value, Error)


def test_a_constant_has_no_entry() -> None:
    x, data = Var([1.0]), Tensor([2.0])
    grads = (x * data).backward()

    assert grads.get(data) is None and len(grads) == 1


def test_a_product_with_nought_gives_zeros() -> None:
    x = Var([1.0, 2.0])
    y = x * 0.0

    assert y.tolist() == [0.0, 0.0] and y.backward()[x].tolist() == [0.0, 0.0]


def test_a_shared_variable_under_two_names_gets_one_gradient() -> None:
    w = Var(2.0)
    names = {"encoder": w, "decoder": Var.from_tensor(w)}
    loss = (names["encoder"] * names["decoder"]).broadcast_mul(Tensor([1.0, 2.0, 3.0])).sum_all()
    grads = loss.backward()

    assert len(grads) == 1 and grads[w].to_scalar() == 24.0


def test_gradients_keep_the_dtype_of_their_variable() -> None:
    for dtype in (DType.F16, DType.BF16, DType.F32, DType.F64):
        x = Var([1.0, 2.0], dtype)
        g = (x.sqr() * 3.0).sum_all().backward()[x]
        assert g.dtype is dtype and g.to_dtype("f64").tolist() == [6.0, 12.0]


def test_gradients_of_halves_are_added_in_f32() -> None:
    """4096 ones, each too small for the half beside it: added in F16 they would stop at 2048."""
    x = Var(1.0, "f16")
    total = x.broadcast_as((4096,)).sum_all()

    assert total.to_scalar() == 4096.0 and total.backward()[x].to_scalar() == 4096.0


def test_a_gradient_passes_between_dtypes() -> None:
    x = Var([1.0, 2.0], "f64")
    y = x.to_dtype("f32").to_dtype("bf16").sqr().to_dtype("f64").sum_all()
    g = y.backward()[x]

    assert g.dtype is DType.F64 and g.tolist() == [2.0, 4.0]


def test_integer_losses_are_refused() -> None:
    with raises(UnsupportedDTypeForOp, "unsupported dtype I64 for op backward"):
        Tensor([1, 2]).sum_all().backward()


def test_gradients_own_their_memory() -> None:
    a, b = Var(np.ones((3, 2))), Var(np.ones((3, 2)))
    y = a + b
    z = (y.t() + y.t()).sum_all() + a.t().contiguous().sum_all()
    grads = z.backward(retain=[y])

    found = [grads[a]._data, grads[b]._data, grads[y]._data]
    for i, g in enumerate(found):
        assert_owned(g, [a._data, b._data, y._data, *found[:i], *found[i + 1 :]], f"gradient {i}")


def test_a_backward_that_is_missing_says_so() -> None:
    class Halfway(cafe.Op):
        name = "halfway"

        def forward(self, xp: Any, x: Any) -> Any:
            return xp.copy(x)

    x = Var([1.0])
    with raises(BackwardNotSupported, "backward is not supported for halfway"):
        cafe.apply(Halfway(), x).backward()


def test_a_custom_op_may_pass_no_gradient() -> None:
    class Stop(cafe.Op):
        name = "stop"

        def forward(self, xp: Any, x: Any) -> Any:
            return xp.copy(x)

        def backward(self, xp: Any, g: Any, r: Any, x: Any) -> Any:
            return (None,)

    x = Var([1.0])
    y = x * 2.0
    assert (cafe.apply(Stop(), y) + y).backward()[x].tolist() == [2.0]
    assert cafe.apply(Stop(), y).backward().get(x) is None


# -- the graph's end


def test_a_second_walk_is_refused_with_the_cure() -> None:
    x = Var([3.0])
    y = x.sqr()
    y.backward()
    with raises(GraphReleased, "graph already released", "retain_graph=True"):
        y.backward()


def test_a_shared_part_is_released_too() -> None:
    x = Var([3.0])
    shared = x.sqr()
    one, other = shared * 2.0, shared * 3.0
    one.backward()
    with pytest.raises(GraphReleased):
        other.backward()


def test_retain_graph_allows_a_second_walk() -> None:
    x = Var([3.0])
    y = x.sqr().sqr()

    first = y.backward(retain_graph=True)
    assert first[x].tolist() == y.backward(retain_graph=True)[x].tolist() == y.backward()[x].tolist() == [108.0]
    with pytest.raises(GraphReleased):
        y.backward()


def test_retain_gives_gradients_on_the_way() -> None:
    x = Var([1.0, 2.0])
    y = x * 3.0
    z = y.sqr().sum_all()
    grads = z.backward(retain=[y])

    assert grads[y].tolist() == [6.0, 12.0] and grads[x].tolist() == [18.0, 36.0] and len(grads) == 2


def test_retain_of_the_loss_and_of_a_variable() -> None:
    x = Var([1.0])
    y = x * 3.0
    grads = y.backward(retain=[y, x])

    assert grads[y].tolist() == [1.0] and grads[x].tolist() == [3.0]


def test_retain_of_what_descends_from_no_variable_is_refused() -> None:
    x = Var([1.0])
    with raises(Error, "retain: a tensor that descends from no variable has no gradient"):
        (x * 2.0).backward(retain=[Tensor([1.0])])


def test_retain_of_what_the_loss_does_not_need_gives_none() -> None:
    x = Var([1.0])
    aside = x * 5.0
    grads = (x * 2.0).backward(retain=[aside])

    assert grads.get(aside) is None and grads[x].tolist() == [2.0]


def test_kept_arrays_go_as_the_walk_passes() -> None:
    x = Var(np.ones(1000))
    y = x.exp()
    kept = weakref.ref(y._data)
    loss = y.sum_all()
    del y
    assert kept() is not None
    loss.backward()
    assert kept() is None


def test_a_loss_that_is_kept_holds_no_graph() -> None:
    x = Var([1.0])
    y = x.exp()
    loss = (y * x).exp().sum_all()
    inside = weakref.ref(y)
    del y
    loss.backward()

    assert inside() is None and loss._node is not None and loss._node.parents == ()


# -- second and third derivatives


def test_derivatives_of_a_cube() -> None:
    x = Var([2.0], "f64")
    first = (x * x * x).backward(create_graph=True)[x]
    second = first.backward(create_graph=True)[x]
    third = second.backward()[x]

    assert (first.tolist(), second.tolist(), third.tolist()) == ([12.0], [12.0], [6.0])


def test_three_derivatives_of_many_functions() -> None:
    at = np.array([0.3, 1.1, -0.7])
    s = 1.0 / (1.0 + np.exp(-at))
    t = np.tanh(at)
    cases: dict[str, tuple[Any, Any]] = {
        "exp": (lambda x: x.exp(), np.exp(at)),
        "sin": (lambda x: x.sin(), -np.cos(at)),
        "tanh": (lambda x: x.tanh(), (1 - t**2) * (6 * t**2 - 2)),
        "softplus": (lambda x: (x.exp() + 1.0).log(), s * (1 - s) * (1 - 2 * s)),
        "fifth power": (lambda x: x.powf(5.0), 60 * at**2),
    }
    for name, (f, expected) in cases.items():
        x = Var(at)
        y = f(x)
        for _ in range(2):
            y = y.backward(create_graph=True)[x]
        assert_close(y.backward()[x], expected, 1e-12, name)


def test_create_graph_keeps_the_graph() -> None:
    x = Var([2.0])
    y = x.sqr()
    y.backward(create_graph=True)

    assert y.backward()[x].tolist() == [4.0]


def test_a_gradient_penalty() -> None:
    """loss = (∂f/∂x)² with f = w x²: 4 w² x², so ∂/∂w = 8 w x² and ∂/∂x = 8 w² x."""
    w, x = Var(3.0, "f64"), Var(0.5, "f64")
    slope = (w * x * x).backward(create_graph=True)[x]
    grads = slope.sqr().backward()

    assert grads[w].to_scalar() == 8 * 3 * 0.25 and grads[x].to_scalar() == 8 * 9 * 0.5


def test_gradients_without_create_graph_are_constants() -> None:
    x = Var([2.0])

    assert not x.sqr().backward()[x].track_op()
    assert x.sqr().backward(create_graph=True)[x].track_op()


def test_halves_have_second_derivatives() -> None:
    x = Var([2.0], "f16")
    first = (x * x * x).backward(create_graph=True)[x]

    assert first.dtype is DType.F16 and first.tolist() == [12.0]
    assert first.backward()[x].tolist() == [12.0]


# -- versions


def test_a_set_between_forward_and_backward_is_noticed() -> None:
    w = Var([1.0, 2.0])
    y = w.sqr().sum_all()
    w.set(Tensor([5.0, 6.0]))
    text = "backward of sqr needs a variable's value from before it was set: version 0 was recorded, it is at 1"
    with raises(VersionMismatch, text, "before `Var.set`"):
        y.backward()


def test_a_set_is_noticed_through_views() -> None:
    w = Var([[1.0, 2.0], [3.0, 4.0]])
    for view in (w[0], w.t(), w.reshape((4,)), w.narrow(1, 0, 1), w[1, 0], w.detach(), w.as_detached_tensor(), w[:, ::-1]):
        other = Var(view)
        y = (view * other).sum_all()
        w.set(w.copy() * 2.0)
        with pytest.raises(VersionMismatch):
            y.backward()


def test_a_backward_that_does_not_need_the_value_goes_on() -> None:
    w = Var([1.0, 2.0])
    y = (w + w).sum_all()
    w.set(Tensor([5.0, 6.0]))

    assert y.backward()[w].tolist() == [2.0, 2.0]


def test_a_copy_is_no_view() -> None:
    w = Var([1.0, 2.0])
    y = (w.copy() * w.copy()).sum_all()
    w.set(Tensor([5.0, 6.0]))

    assert y.backward()[w].tolist() == [2.0, 4.0]


# -- size


def test_a_chain_of_100_000_runs_back_and_is_freed() -> None:
    gc.disable()
    try:
        x = Var([0.0])
        y = x
        for _ in range(100_000):
            y = y + 0.001
        middle = weakref.ref(y)
        assert y.backward()[x].tolist() == [1.0]
        y = x
        for _ in range(100_000):
            y = y * 1.0
        del y  # a graph that is dropped without a walk
        assert middle() is None
    finally:
        gc.enable()


def test_doublings_are_walked_once() -> None:
    x = Var([1.0], "f64")
    y = x
    for _ in range(60):
        y = y + y

    assert y.backward()[x].tolist() == [2.0**60]


def test_memory_is_flat_over_many_steps() -> None:
    x, w = Tensor(np.ones((8, 16), np.float32)), Var(np.full((16, 4), 0.1, np.float32))
    gc.disable()
    try:

        def step() -> None:
            loss = x.matmul(w).tanh().sqr().mean_all()
            w.set((w - loss.backward()[w] * 0.01).detach())

        tracemalloc.start()
        for _ in range(3000):  # until Python's own free lists are full
            step()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(200):
            step()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    finally:
        gc.enable()
    assert after - before < 1_000  # nothing waits for the collector


def test_threads_record_and_walk_by_themselves() -> None:
    w = Var(np.arange(6.0).reshape(2, 3))
    results: dict[int, list[Any]] = {}

    def work(k: int) -> None:
        for _ in range(50):
            y = w * float(k)
            for _ in range(10):
                y = y + w
            results.setdefault(k, []).append(y.sum_all().backward()[w].tolist())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        assert results[k] == [[[k + 10.0] * 3] * 2] * 50


# -- the store


def test_the_store_is_a_small_mapping() -> None:
    a, b = Var([1.0]), Var([2.0])
    grads = (a * b).backward()

    assert grads.get_id(a.id) is grads[a] and set(grads.get_ids()) == {a.id, b.id} == set(grads)
    assert len(grads) == 2 and repr(grads) == "GradStore(2 gradients)"
    removed = grads.remove(a)
    assert removed is not None and removed.tolist() == [2.0] and grads.get(a) is None and grads.remove(a) is None
    assert grads.insert(a, Tensor([7.0])) is None and grads[a].tolist() == [7.0]
    before = grads.insert(a, Tensor([8.0]))
    assert before is not None and before.tolist() == [7.0]
    with raises(Error, "shape mismatch in insert, lhs: [1], rhs: [2]"):
        grads.insert(a, Tensor([1.0, 2.0]))
