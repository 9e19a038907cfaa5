"""Kernels that take arrays and give one (csrc/door.c): whatever the layout and the type, they mean what the twins mean."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cafe import kernels, memory
from cafe.kernels import _ffi, twins

Array = np.ndarray[Any, Any]
FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "dense": lambda x: x,
    "turned": lambda x: np.ascontiguousarray(x.T).T,
    "every other": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
}
needs_c = pytest.mark.skipif(_ffi.lib is None, reason="without the extension a door gives None")


def some(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (70, 90), (0, 4)])
def test_elementwise_kernels_mean_the_twins(dtype: Any, layout: str, shape: tuple[int, int]) -> None:
    a, b = LAYOUTS[layout](some(shape, dtype)), some(shape, dtype, 1)
    before = a.copy()
    for verb in ("add", "sub", "mul", "maximum"):
        y = getattr(kernels, verb)(a, b)
        assert y.dtype == a.dtype and y.flags.c_contiguous and np.array_equal(y, getattr(twins, verb)(a, b)), verb
    assert np.array_equal(kernels.neg(a), -a) and np.array_equal(kernels.gt(a, b), twins.gt(a, b))
    assert np.array_equal(a, before)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "left, right",
    [
        ((3, 5), (5,)),
        ((3, 5), (3, 1)),
        ((3, 1), (1, 5)),
        ((), (2, 3)),
        ((2, 3), ()),
        ((1,), (2, 2)),
        ((5,), (1, 1)),
        ((2, 0), (1,)),
        ((2, 1, 4), (3, 1)),
    ],
)
def test_operands_broadcast(dtype: Any, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = some(left, dtype), some(right, dtype, 1)
    for verb in ("sub", "lt"):
        y = getattr(kernels, verb)(a, b)
        assert y.shape == np.broadcast_shapes(left, right) and np.array_equal(y, getattr(twins, verb)(a, b))
    spread = np.broadcast_to(b, y.shape)
    assert np.array_equal(kernels.sub(spread, spread), twins.sub(spread, spread))


@needs_c
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("shape", [(3, 5), (70, 90), (0, 4)])
def test_powers_and_slopes_take_any_layout_and_broadcast(dtype: Any, left: str, right: str, shape: tuple[int, int]) -> None:
    a, b = LAYOUTS[left](np.abs(some(shape, dtype))), LAYOUTS[right](some(shape, dtype, 1))
    before = a.copy(), b.copy()
    for f in (kernels.pow, lambda g, x: kernels.elu_backward(g, x, 0.5), lambda g, x: kernels.clamp_backward(g, x, -0.5, 0.5)):
        for p, q in ((a, b), (a, b[:1]), (a[:, :1], b), (a[:, :1], b[:1]), (a, b[:1, :1]), (a, np.broadcast_to(b[:1], b.shape))):
            y, wide = f(p, q), [np.ascontiguousarray(x) for x in np.broadcast_arrays(p, q)]
            assert y.dtype == a.dtype and y.flags.c_contiguous and y.tobytes() == f(*wide).tobytes()
    assert np.array_equal(a, before[0]) and np.array_equal(b, before[1])


def test_a_single_number_seen_everywhere_is_one_for_all() -> None:
    a, one = some((40, 30)), np.broadcast_to(np.float32(3.0), (40, 30))

    assert np.array_equal(kernels.sub(a, one), a - np.float32(3.0)) and np.array_equal(kernels.sub(one, a), np.float32(3.0) - a)


def test_many_dims() -> None:
    for rank in (8, 9, 32):
        a, b = some((2, *(1,) * (rank - 2), 3)), some((1,) * (rank - 1) + (3,), seed=1)
        assert np.array_equal(kernels.add(a, a), a + a) and np.array_equal(kernels.add(a, b), a + b) and np.array_equal(kernels.neg(a), -a)


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("m, k, n", [(1, 1, 1), (5, 7, 3), (33, 17, 9), (0, 3, 2), (3, 0, 2), (4, 3, 0)])
def test_products_of_any_layout(dtype: Any, layout: str, m: int, k: int, n: int) -> None:
    turn = LAYOUTS[layout]
    a, b, w, bias, g = (some(s, dtype, i) for i, s in enumerate(((m, k), (k, n), (n, k), (n,), (m, n))))
    bound = k * np.finfo(dtype).eps * 8
    assert np.allclose(kernels.matmul(turn(a), turn(b)), a.astype(np.float64) @ b.astype(np.float64), rtol=bound, atol=bound * 4)
    y = kernels.linear(turn(a), turn(w), turn(bias[None])[0], "relu")
    assert np.array_equal(y, kernels.relu(kernels.linear(a, w, bias))) and y.shape == (m, n)
    for mine, twin in zip(kernels.linear_backward(turn(g), turn(a), turn(w), (True, True, True)), (g @ w, g.T @ a, g.sum(0)), strict=True):
        assert mine.shape == twin.shape and np.allclose(mine, twin, rtol=1e-4, atol=1e-5)


def test_only_what_is_needed_is_computed_and_leading_dims_are_rows() -> None:
    x, w, g = some((2, 3, 5)), some((4, 5)), some((2, 3, 4))

    gx, gw, gb = kernels.linear_backward(g, x, w, [False, True, False])
    assert gx is None and gb is None and gw is not None and gw.shape == (4, 5)
    askew = np.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2)
    assert np.array_equal(kernels.linear(askew, w, None), kernels.linear(x, w, None))
    assert kernels.linear(x[0, 0], w, None).shape == (4,)


@needs_c
def test_what_is_not_taken_gives_none() -> None:
    a, whole, big = some((2, 3)), np.ones((2, 3), np.int64), some((2, 3)).astype(">f4")
    for name, args in (
        ("unary", (0, whole, 0.0, 0.0)),
        ("binary", (0, a, whole)),
        ("binary", (0, big, big)),
        ("binary", (0, a, some((4, 3)))),
    ):
        assert _ffi.door(name)(*args) is None, name
    assert _ffi.door("matmul")(a, a) is None and _ffi.door("linear")(a, a, None) is None and _ffi.door("unary")(0, [1.0], 0.0, 0.0) is None
    with pytest.raises(TypeError):
        _ffi.door("unary")("exp", a, 0.0, 0.0)


@needs_c
@pytest.mark.parametrize("side", [32, 512])
def test_results_of_a_page_and_more_come_from_the_pool_and_go_back(side: int) -> None:
    x = some((side, side))
    before = memory.statistics().used
    y = kernels.add(x, x)
    part = y[3:5]
    assert memory.statistics().used >= before + x.nbytes
    del y
    assert np.array_equal(part, x[3:5] * 2)
    del part
    assert memory.statistics().used == before


@needs_c
def test_a_fresh_array_lies_on_a_vectors_bound() -> None:
    fresh = _ffi.door("fresh")
    for shape, dtype in (((), np.float32), ((0, 3), np.float64), ((5, 7), np.int64), ((33, 40), np.float32), ((4096,), np.uint8)):
        y = fresh(shape, np.dtype(dtype))
        assert (y.shape, y.dtype, y.flags.c_contiguous, y.flags.writeable) == (shape, dtype, True, True)
        assert y.nbytes < 4096 or y.ctypes.data % 64 == 0
    for args in (([2, 3], _ffi.F32), ((2, -1), _ffi.F32), ((2.0,), _ffi.F32), ((2**70,), _ffi.F32), ((2,), "f4"), ((2,),)):
        assert fresh(*args) is None
    with pytest.raises(MemoryError, match=r"no memory for an array of shape \(4611686018427387904,\)"):
        fresh((1 << 62,), _ffi.F32)


def test_threads_of_python_may_call_side_by_side() -> None:
    x, y = some((300, 300)), some((300, 300), seed=1)
    expected, found = kernels.matmul(x, y), [None] * 4

    def work(i: int) -> None:
        for _ in range(20):
            found[i] = kernels.add(kernels.matmul(x, y), x)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(each, expected + x) for each in found)
