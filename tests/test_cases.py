"""Small cases that frameworks got wrong and that belong to no single family: mixes of ops, dtypes that drift, processes and threads."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from expect import raises

import cafe
from cafe import DType, Tensor, Var, nn
from cafe.errors import DTypeMismatchBinaryOp, EmptyTensor, Error, ShapeMismatchBinaryOp, UnsupportedDTypeForOp
from cafe.kernels import _ffi
from cafe.testing import assert_close

# -- gradients of mixes


def test_an_upsampled_branch_beside_another_adds_up() -> None:
    """A rule that overwrites what others have contributed gives 2 or 10, by the order of the walk."""
    x = Var([[[1.0, 2.0]]])
    for loss in (
        lambda: x.upsample_nearest1d(4).sum_all() + (x * 10.0).sum_all(),
        lambda: (x * 10.0).sum_all() + x.upsample_nearest1d(4).sum_all(),
    ):
        assert loss().backward()[x].tolist() == [[[12.0, 12.0]]]
    one = Var([[[[1.0]]]])
    assert (one.upsample_nearest2d(2, 2).sum_all() + (one * 3.0).sum_all()).backward()[one].tolist() == [[[[7.0]]]]


def test_the_guard_of_a_root_goes_inside() -> None:
    """Σ max(‖row‖, ½ → 1): outside the root NaN comes through from the zero row, inside it does not."""
    x = Var([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], "f64")
    squares = x.sqr().sum(1)
    ones = squares.ones_like()

    outside = squares.sqrt()
    outside = outside.gt(0.5).where_cond(outside, ones).sum_all()
    naive = outside.backward()[x].tolist()
    assert_close(naive[:2], [[0.4472136, 0.8944272], [0.6, 0.8]], 1e-7)
    assert all(map(math.isnan, naive[2]))

    squares = x.sqr().sum(1)
    inside = squares.gt(0.25).where_cond(squares, ones).sqrt().sum_all()
    assert_close(inside.backward()[x], [[0.4472136, 0.8944272], [0.6, 0.8], [0.0, 0.0]], 1e-7)


def test_a_root_held_from_below_is_still_nan_at_zero() -> None:
    x, y = Var(0.0), Var(0.0)
    grads = (x.sqr() + y.sqr()).sqrt().maximum(1e-10).backward()

    assert math.isnan(grads[x].to_scalar())


def test_where_does_not_hide_an_infinite_slope() -> None:
    x = Var([0.0])
    y = x.lt(1.0).where_cond(x, x.sqrt())

    assert math.isnan(y.backward()[x].item())


def test_activations_far_out() -> None:
    """Values and slopes at ±1000: no NaN, no overflow (warnings are errors here)."""
    for dtype in ("f32", "f64"):
        x = Var([-1000.0, 1000.0], dtype)
        for f, values, slopes in (
            (nn.ops.sigmoid, [0.0, 1.0], [0.0, 0.0]),
            (lambda x: nn.ops.leaky_relu(x, 0.1), [-100.0, 1000.0], [0.1, 1.0]),
            (lambda x: x.silu(), [0.0, 1000.0], [0.0, 1.0]),
            (nn.ops.mish, [0.0, 1000.0], [0.0, 1.0]),
        ):
            y = f(x)
            assert_close(y, values, 1e-7)
            assert_close(y.sum_all().backward()[x], slopes, 1e-7)


def test_slopes_at_nought() -> None:
    for f, slope in (
        (lambda x: x.silu(), 0.5), (lambda x: x.gelu(), 0.5), (lambda x: x.elu(1.0), 1.0), (nn.ops.sigmoid, 0.25),
        (lambda x: nn.ops.leaky_relu(x, 0.1), 0.1), (lambda x: x.relu(), 0.0), (lambda x: x.abs(), 0.0),
    ):  # fmt: skip
        x = Var([0.0])
        assert_close(f(x).sum_all().backward()[x], [slope], 1e-7)


# -- dtypes that drift


def test_gradients_of_f32_stay_f32() -> None:
    x = Var([1.0, 2.0, 3.0])
    loss = sum([x[0], x[1] * 2.0, x[2] * np.float64(3.0)])  # Python's sum starts from the integer 0
    assert isinstance(loss, Tensor) and loss.dtype is DType.F32
    g = (loss / 3).backward()[x]
    assert g.dtype is DType.F32 and g.numpy().dtype == np.float32
    assert_close(g, [1 / 3, 2 / 3, 1.0], 1e-7)
    with raises(DTypeMismatchBinaryOp, "dtype mismatch in div, lhs: F32, rhs: I64"):
        x / np.array([1, 2, 3])


def test_a_batch_and_its_labels_do_not_broadcast() -> None:
    with raises(ShapeMismatchBinaryOp, "shape mismatch in sub, lhs: [3], rhs: [3, 1]"):
        Tensor([1.0, 2.0, 3.0]) - Tensor([[1.0], [2.0], [3.0]])


def test_an_integer_tensor_has_no_gradient_and_says_so() -> None:
    with raises(UnsupportedDTypeForOp, "unsupported dtype I64 for op backward"):
        Var([1, 2]).sum_all().backward()
    x = Var([1.0, 2.0])
    assert x.to_dtype("i64").to_dtype("f32").sum_all().backward().get(x) is None


def test_what_is_detached_is_absent() -> None:
    x, y = Var([1.0]), Var([2.0])
    grads = (x.detach() * y).backward()

    assert grads.get(x) is None and grads[y].tolist() == [1.0]


# -- nothing at all


def test_nothing_has_a_sum_and_a_mean_but_no_largest() -> None:
    nothing = Tensor.zeros((2, 0))

    assert nothing.sum_all().to_scalar() == 0.0 and math.isnan(nothing.mean_all().to_scalar())
    assert nothing.matmul(Tensor.zeros((0, 3))).tolist() == [[0.0] * 3] * 2
    assert Tensor.cat([Tensor.zeros((0, 3)), Tensor.ones((1, 3)), Tensor.zeros((0, 3))], 0).tolist() == [[1.0] * 3]
    with raises(EmptyTensor, "empty tensor for reduce"):
        nothing.max_all()


def test_a_tensor_with_an_empty_dim_goes_through_everything() -> None:
    x = Var(np.zeros((4, 0, 1)))
    y = Tensor.cat([x, x.sqrt() + 1.0], 1).reshape((0, 4)).t().exp()
    grads = (y.matmul(Tensor.zeros((0, 2), "f64")).sum_all() + y.sum_all()).backward()

    assert y.dims() == [4, 0] and grads[x].dims() == [4, 0, 1]


# -- writing


def test_a_variable_of_a_repeated_view_has_its_own_elements() -> None:
    """Its storage is written in place: with stride 0 one write would show everywhere."""
    v = Var(Tensor([1.0, 2.0]).broadcast_as((3, 2)))
    assert v.stride == (2, 1)
    v.set(Tensor(np.arange(6.0, dtype=np.float32).reshape(3, 2)))
    assert v.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_a_variable_set_from_a_tensor_computed_of_its_own_views() -> None:
    v = Var(np.arange(10.0))
    v.set(Tensor.cat([v.narrow(0, 0, 2), v.narrow(0, 0, 8) * 1.0], 0))

    assert v.tolist() == [0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


# -- numbers out of one tensor


def test_only_one_element_is_a_number() -> None:
    for convert in (bool, int, float):
        with pytest.raises(Error):
            convert(Tensor([1.0, 2.0]))
        assert convert(Tensor([[3.0]])) == convert(3.0)


# -- processes, threads, flags


def run(program: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=120, env={**os.environ, **environment}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PARALLEL = """
    import numpy as np, cafe
    from cafe import Tensor
    rng = np.random.default_rng(0)
    x = Tensor(rng.standard_normal((400, 1000)).astype(np.float32))
    w = Tensor(rng.standard_normal((1000, 300)).astype(np.float32))
    def work():
        return float(x.matmul(w).exp().tanh().sum_all().to_scalar())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_after_a_fork_computes() -> None:
    """A team of threads does not survive a fork: a parallel region in the child would wait for it for ever."""
    program = PARALLEL + """
    import os, signal
    before = work()
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        os._exit(0 if work() == before else 1)
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), work() == before)
    """
    assert run(program, OMP_NUM_THREADS="2") == "0 True"


@pytest.mark.parametrize("order", ["numpy cafe torch", "torch cafe numpy", "cafe numpy torch"])
def test_many_threads_beside_other_libraries(order: str) -> None:
    if "torch" in order and importlib.util.find_spec("torch") is None:
        pytest.skip("no torch here")
    program = "".join(f"\n    import {name}" for name in order.split()) + PARALLEL + """
    import threading
    wanted, found = work(), []
    def both():
        for _ in range(3):
            found.append(work())
            np.ones((300, 300)) @ np.ones((300, 300))
            torch.ones(300, 300) @ torch.ones(300, 300)
    threads = [threading.Thread(target=both) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(found == [wanted] * 24)
    """
    assert run(program) == "True"


@pytest.mark.skipif(_ffi.BACKEND != "c", reason="NumPy's sums have an order of their own")
def test_the_number_of_threads_changes_no_bit() -> None:
    program = PARALLEL + """
    from cafe import Var
    import hashlib
    v, u = Var(x), Var(w)
    image, kernel = Var(rng.standard_normal((4, 8, 33, 31)).astype(np.float32)), Var(rng.standard_normal((8, 8, 3, 3)).astype(np.float32))
    long = Tensor(rng.standard_normal(1_000_003).astype(np.float32))
    y = image.conv2d(kernel, 1, 1, 1, 1)
    grads = (v.matmul(u).tanh().sum_all() + (y * y).sum_all()).backward()
    parts = [grads[v], grads[u], grads[image], grads[kernel], long.sum_all(), long.dot(long), long.exp(), long.cumsum(0)]
    print(hashlib.sha256(b"".join(np.ascontiguousarray(p.numpy()).tobytes() for p in parts)).hexdigest())
    """
    assert len({run(program, OMP_NUM_THREADS=n) for n in ("1", "2", "3", "8")}) == 1


def test_subnormals_and_nans_survive_the_import() -> None:
    """A library linked with -ffast-math switches the whole process to flushing subnormals."""
    program = """
    import cafe, sys, math
    import numpy as np
    from cafe import Tensor
    small = Tensor([1e-40, -1e-44])
    print(sys.float_info.min / 2 != 0, np.finfo(np.float32).smallest_subnormal > 0, (small * 1.0).tolist() == small.tolist(),
          (small + small)[0].to_scalar() != 0, math.isnan(Tensor([math.nan]).relu().item()), Tensor([math.inf]).exp().item() == math.inf)
    """
    assert run(program) == "True True True True True True"


def test_the_same_seed_gives_the_same_numbers_on_any_threads_and_backend() -> None:
    program = """
    import cafe
    from cafe import Tensor, Var, nn
    cafe.manual_seed(1)
    vm = nn.VarMap()
    layer = nn.linear(30, 40, nn.VarBuilder.from_varmap(vm, cafe.DType.F32, cafe.Device.Cpu))
    dropped = nn.Dropout(0.25).forward(Tensor.ones((50, 50)), True)
    print([round(float(t.to_dtype("f64").sum_all().to_scalar()), 9) for t in (layer.weight, layer.bias, dropped)], cafe.get_rng_state())
    """
    settings = [{"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "3"}, {"CAFE_KERNELS": "numpy"}]
    assert len({run(program, **s) for s in settings}) == 1


def test_a_dropouts_kept_values_are_scaled() -> None:
    cafe.manual_seed(3)
    y = nn.Dropout(0.25).forward(Tensor.ones((10000,)), True)
    kept = y[y.gt(0.0)]

    assert set(kept.tolist()) == {float(np.float32(4.0 / 3.0))} and abs(kept.elem_count() - 7500) < 200
