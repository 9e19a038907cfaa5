"""What each instance of the C kernels must keep.

Run as a program, under CAFE_ISA, this prints what every check said and a digest of results; tests/test_extension.py runs it once an
instance and reads that.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from scipy import special

from cafe import kernels
from cafe.kernels import _ffi, memory, optim, twins

Array = np.ndarray[Any, Any]
DTYPES = (np.float32, np.float64)
WIDEST = 16
LENGTHS = range(1, 2 * WIDEST + 2)
CHECKS: dict[str, Callable[[], None]] = {}
DIGESTS: dict[str, str] = {}


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS[function.__name__] = function
    return function


def digest(name: str, *arrays: Array) -> str:
    """The bits of some results, remembered under a name."""
    total = hashlib.sha256()
    for a in arrays:
        total.update(np.ascontiguousarray(a).tobytes())
    DIGESTS[name] = total.hexdigest()
    return DIGESTS[name]


def normal(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def ulps(y: Array, expected: Array) -> float:
    """The largest distance of y from the expected (longdouble) values, in units of their last place in y's type."""
    info = np.finfo(y.dtype)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.abs(expected))), info.minexp)
        distance = np.abs(y.astype(np.longdouble) - expected) / np.exp2(exponent - info.nmant)
    keep = np.isfinite(expected) & (np.abs(expected) < info.max) & (np.abs(expected) > 0)
    assert keep.sum() > 100, "a test on next to nothing"
    return float(distance[keep].max())


# -- functions


REFERENCES: dict[str, tuple[Callable[[Array], Array], float]] = {
    "exp": (np.exp, 1.0),
    "log": (np.log, 1.0),
    "tanh": (np.tanh, 2.0),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 2.5),
    "softplus": (lambda x: np.logaddexp(np.longdouble(0), x), 2.0),
    "sqrt": (np.sqrt, 0.5001),
    "recip": (lambda x: 1 / x, 0.5001),
    "sqr": (lambda x: x * x, 0.5001),
}


def samples(name: str, dtype: Any) -> Array:
    rng = np.random.default_rng(5)
    edge = 85 if dtype == np.float32 else 700
    tiny = 10.0 ** rng.uniform(-30, 0, 20000)
    x = np.concatenate([rng.uniform(-6, 6, 60000), rng.uniform(-edge, edge, 60000), tiny, -tiny]).astype(dtype)
    return np.abs(x) if name in ("log", "sqrt") else x


@check
def functions_keep_their_bounds() -> None:
    for dtype in DTYPES:
        for name, (reference, bound) in REFERENCES.items():
            x = samples(name, dtype)
            y = getattr(kernels, name)(x)
            with np.errstate(all="ignore"):
                found = ulps(y, reference(x.astype(np.longdouble)))
            assert found <= bound, f"{name} {np.dtype(dtype)}: {found} ulp"
            digest(f"{name} {np.dtype(dtype)}", y)


@check
def erf_and_gelu_are_close() -> None:
    x = np.concatenate([np.linspace(-6, 6, 100_001), np.linspace(-1e-3, 1e-3, 1001)])
    for dtype, bound in ((np.float32, 3e-7), (np.float64, 1.5e-15)):
        z = x.astype(dtype)
        wide = z.astype(np.float64)
        assert np.abs(kernels.erf(z) - special.erf(wide)).max() <= bound / 3
        assert np.abs(kernels.gelu_erf(z) - wide * special.ndtr(wide)).max() <= bound
        below = z[(z < -0.5) & (z > -5)]
        exact = below.astype(np.float64) * special.ndtr(below.astype(np.float64))
        # without a fused multiply-add the tail loses a² / 2 ulp; in float64 it is SciPy that is 20 off
        limit = 6 if dtype == np.float32 and _ffi.isa() != "generic" else 30
        assert np.abs(kernels.gelu_erf(below) / exact - 1).max() <= limit * np.finfo(dtype).eps


@check
def the_guides_points_are_exact() -> None:
    x = np.array([0, -1, -3, -4, -5], np.float32)
    assert np.array_equal(kernels.exp(x), np.exp(x.astype(np.float64)).astype(np.float32))


@check
def subnormals_and_edges_come_out() -> None:
    x = np.array([-87.5, -95.0, -103.0, -103.9, -104.5, 88.7, 88.8, np.inf, -np.inf, np.nan], np.float32)
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64)).astype(np.float32)
    y = kernels.exp(x)
    assert np.array_equal(np.isnan(y), np.isnan(exact)) and y[4] == 0 and y[3] > 0
    assert np.allclose(y[:5], exact[:5], rtol=2e-7, atol=1.5e-45) and np.array_equal(y[5:9], exact[5:9])
    d = kernels.exp(np.array([-745.0, -746.5, -708.5, 709.9], np.float64))
    assert d[0] == 5e-324 and d[1] == 0 and 0 < d[2] < 2.3e-308 and d[3] == np.inf
    for dtype in DTYPES:
        least = np.finfo(dtype).smallest_subnormal
        assert np.allclose(kernels.log(np.array([least, 1.0, np.inf], dtype)), [math.log(float(least)), 0, np.inf])
        special_values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
        expected = {
            "log": [np.nan, np.inf, np.nan, -np.inf, -np.inf],
            "tanh": [np.nan, 1, -1, 0.0, -0.0],
            "erf": [np.nan, 1, -1, 0.0, -0.0],
            "sigmoid": [np.nan, 1, 0, 0.5, 0.5],
            "softplus": [np.nan, np.inf, 0, math.log(2), math.log(2)],
            "relu": [np.nan, np.inf, 0, 0, 0],
            "sqrt": [np.nan, np.inf, np.nan, 0.0, -0.0],
            "recip": [np.nan, 0.0, -0.0, np.inf, -np.inf],
            "silu": [np.nan, np.inf, np.nan, 0.0, -0.0],
        }
        for name, values in expected.items():
            assert np.allclose(getattr(kernels, name)(special_values), np.array(values, dtype), equal_nan=True), name
        signs = np.signbit(kernels.tanh(special_values)[3:])
        assert list(signs) == [False, True]


# -- place, tails, poison


CHEAP = ["NEG", "ABS", "SIGN", "SQR", "SQRT", "RECIP", "RELU", "AFFINE", "CLAMP"]
UNARY = [*CHEAP, "EXP", "LOG", "SIN", "COS", "TANH", "ERF", "SIGMOID", "SOFTPLUS", "SILU", "GELU", "GELU_ERF", "ELU"]
BACKWARD = [f"{name}_BACKWARD" for name in ["RELU", "TANH", "SIGMOID", "SILU", "GELU", "GELU_ERF"]]
BINARY = ["ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", *BACKWARD]
COMPARE = ["EQ", "NE", "LT", "LE", "GT", "GE"]


def flat_calls(dtype: Any) -> Iterator[tuple[str, Any, int]]:
    """Every flat kernel: its name, a call (y, a, b, n), and the size of y's elements."""
    size = np.dtype(dtype).itemsize
    for table, names, wide in (("binary", BINARY, size), ("compare", COMPARE, 1)):
        f = _ffi.kernel(table)[np.dtype(dtype)]
        for name in names:
            for fixed in (0, 1, 2):
                yield f"{name} {fixed}", functools.partial(call_two, f, _ffi.code(name), fixed), wide
    f = _ffi.kernel("unary")[np.dtype(dtype)]
    for name in UNARY:
        yield name, functools.partial(call_one, f, _ffi.code(name)), size


def call_one(f: Any, op: int, y: Any, a: Any, b: Any, n: int) -> None:
    f(op, y, a, n, 0.7, 1.3)


def call_two(f: Any, op: int, fixed: int, y: Any, a: Any, b: Any, n: int) -> None:
    f(op, y, a, b, n, fixed)


@check
def an_elements_place_makes_no_difference() -> None:
    """Alone, in a tail or in the middle, at any alignment: the same bits; nothing before or behind is read into them or written."""
    for dtype in DTYPES:
        a, b = normal((200,), dtype, 1), normal((200,), dtype, 2)
        b[::7] = a[::7]
        for name, call, size in flat_calls(dtype):
            kind = np.uint8 if size == 1 else dtype
            whole = np.empty(200, kind)
            call(whole, a, b, 200)
            for n in LENGTHS:
                start = n % 5
                poisoned_a, poisoned_b = np.full(200, np.nan, dtype), np.full(200, np.nan, dtype)
                poisoned_a[start : start + n], poisoned_b[start : start + n] = a[:n], b[:n]
                y = np.full(200, 77, kind)
                call(y[start:], poisoned_a[start:], poisoned_b[start:], n)
                assert y[start : start + n].tobytes() == whole[:n].tobytes(), (name, n)
                assert (y[:start] == 77).all() and (y[start + n :] == 77).all(), (name, n)


@check
def a_row_has_the_same_bits_alone_and_in_a_batch() -> None:
    for dtype in DTYPES:
        for n in (*LENGTHS, 63, 64, 65, 127, 130, 500, 4096, 4097, 9001):
            x, g = normal((5, n), dtype, n), normal((5, n), dtype, n + 1)
            for name in ("softmax", "log_softmax"):
                forward, backward = getattr(kernels, name), getattr(kernels, f"{name}_backward")
                y = forward(x, 1)
                gx = backward(g, y, 1)
                for row in (0, 4):
                    assert np.array_equal(forward(x[row : row + 1].copy(), 1)[0], y[row])
                    assert np.array_equal(backward(g[row].copy(), y[row].copy(), 0), gx[row])
                assert np.array_equal(forward(x.T.copy(), 0).T, y), (name, n)  # along another axis too
                assert np.array_equal(backward(g.T.copy(), y.T.copy(), 0).T, gx), (name, n)
            sums = kernels.sum(x, (1,), False)
            assert kernels.sum(x[3].copy(), (0,), False) == sums[3]
            assert np.array_equal(kernels.sum(x.T.copy(), (0,), False), sums), n
            digest(f"rows {np.dtype(dtype)} {n}", kernels.softmax(x, 1), kernels.log_softmax(x, 1))
            digest(f"sums {np.dtype(dtype)} {n}", sums)


@check
def short_rows_are_summed_from_left_to_right() -> None:
    for n in range(1, 9):
        x = normal((50, n), np.float32, n)
        total = x[:, 0].copy()
        for i in range(1, n):
            total += x[:, i]
        assert np.array_equal(kernels.sum(x, (1,), False), total)
        e = kernels.exp(x - x.max(1, keepdims=True))
        s = e[:, :1].copy()
        for i in range(1, n):
            s += e[:, i : i + 1]
        assert np.allclose(kernels.softmax(x, 1), e / s, rtol=0, atol=0)


@check
def sums_and_extremes_are_right() -> None:
    for dtype in DTYPES:
        for shape in ((3, 4, 5), (5000, 3), (3, 5000), (9000, 70), (2, 130, 7), (20001,), (33, 65, 17)):
            x = normal(shape, dtype, 3)
            for dims in [(d,) for d in range(len(shape))] + [tuple(range(len(shape)))] + ([(0, 2)] if len(shape) == 3 else []):
                y, size = kernels.sum(x, dims, False), np.abs(x).astype(np.float64).sum(dims)
                assert np.all(np.abs(y - x.astype(np.longdouble).sum(dims)) <= 4 * np.finfo(dtype).eps * size)
            x.reshape(-1)[7] = np.nan
            for d in range(len(shape)):
                assert np.array_equal(kernels.max(x, d, False), x.max(d), equal_nan=True)
                assert np.array_equal(kernels.min(x, d, True), x.min(d, keepdims=True), equal_nan=True)
    tenths = np.full(1_000_000, 0.1, np.float32)
    assert kernels.sum(tenths, (0,), False) == np.float32(tenths.astype(np.float64).sum())


# -- strides


SHAPES = [(), (1,), (5,), (33,), (1, 33), (4, 33), (4, 1), (7, 4, 33), (7, 1, 1), (1, 4, 1), (70, 33), (1, 70, 33), (3, 70, 1)]


@check
def broadcasting_is_numpys() -> None:
    rng = np.random.default_rng(7)
    names = ["add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"]
    for s in SHAPES:
        for t in SHAPES:
            try:
                np.broadcast_shapes(s, t)
            except ValueError:
                continue
            a, b = rng.integers(-3, 4, (*s, 2)).astype(np.float32)[..., 0], rng.integers(-3, 4, t[::-1]).astype(np.float32).T
            for name in names:
                assert np.array_equal(getattr(kernels, name)(a, b), getattr(twins, name)(a, b), equal_nan=True), (name, s, t)
            c = rng.integers(0, 2, s).astype(np.uint8)
            assert np.array_equal(kernels.where(c, a, b), twins.where(c, a, b))


@check
def copies_are_numpys() -> None:
    for dtype in (np.uint8, np.float16, ml_dtypes.bfloat16, np.int32, np.float32, np.int64, np.float64):
        x = (np.arange(60 * 70 * 33) % 30011).reshape(60, 70, 33).astype(dtype)
        views = [x.transpose(p) for p in ((0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1))]
        for v in (*views, x[::2, :, ::-1], x[:, 3:, 1:].transpose(2, 1, 0), np.broadcast_to(x[:1], x.shape)):
            y = memory.copy(v)
            assert y.flags.c_contiguous and y.dtype == v.dtype and np.array_equal(y, v)


@check
def casts_round_to_nearest_even() -> None:
    rng = np.random.default_rng(9)
    edges = [np.inf, -np.inf, 0, -0.0, 65519, 65520, 6e-8, 3e-8, 2.98e-8]
    x = np.concatenate([rng.standard_normal(5000) * 10.0 ** rng.integers(-9, 9, 5000), edges])
    half = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
    for narrow in half:
        wide = x.astype(np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.array_equal(kernels.cast(wide, narrow).view(np.uint16), wide.astype(narrow).view(np.uint16))
        every = np.arange(65536, dtype=np.uint16).view(narrow)
        assert np.array_equal(kernels.cast(every, _ffi.F32), every.astype(np.float32), equal_nan=True)
        assert np.isnan(kernels.cast(np.full(2000, np.nan, np.float32), narrow).astype(np.float32)).all()
    assert np.array_equal(kernels.cast(x, _ffi.F32), x.astype(np.float32))
    assert np.array_equal(kernels.cast(x.astype(np.float32), _ffi.F64), x.astype(np.float32).astype(np.float64))


# -- optimizers


def trained(step: Callable[..., None], dtype: Any, sizes: tuple[int, ...]) -> list[Array]:
    ps, ms, vs = [normal((n,), dtype, n) for n in sizes], [np.zeros(n, dtype) for n in sizes], [np.zeros(n, dtype) for n in sizes]
    for t in range(1, 101):
        step(ps, [(p * 0.5 + normal(p.shape, dtype, t)).astype(dtype) for p in ps], ms, vs, t)
    return ps


@check
def steps_are_their_twins() -> None:
    adam, sgd = (kernels.adam_step, optim.adam_step_ref), (kernels.sgd_step, optim.sgd_step_ref)
    cases: dict[str, tuple[tuple[Any, Any], Callable[..., tuple[Any, ...]]]] = {
        "adamw": (adam, lambda ps, gs, ms, vs, t: (ps, gs, ms, vs, 1e-2, 0.9, 0.999, 1e-8, 0.05, True, t)),
        "adam": (adam, lambda ps, gs, ms, vs, t: (ps, gs, ms, vs, 1e-2, 0.9, 0.999, 1e-8, 0.05, False, t)),
        "sgd": (sgd, lambda ps, gs, ms, vs, t: (ps, gs, [], 1e-2, 0.0, 0.0, False, 0.1, t == 1)),
        "momentum": (sgd, lambda ps, gs, ms, vs, t: (ps, gs, ms, 1e-2, 0.9, 0.1, False, 0.1, t == 1)),
        "nesterov": (sgd, lambda ps, gs, ms, vs, t: (ps, gs, ms, 1e-2, 0.9, 0.0, True, 0.0, t == 1)),
    }
    for dtype, bound in ((np.float32, 5e-7), (np.float64, 5e-15)):
        for name, ((fast, twin), arguments) in cases.items():
            ours = trained(lambda *a, f=fast, g=arguments: f(*g(*a)), dtype, (3, 1, 0, 4097, 85))
            theirs = trained(lambda *a, f=twin, g=arguments: f(*g(*a)), dtype, (3, 1, 0, 4097, 85))
            for p, q in zip(ours, theirs):
                assert p.size == 0 or np.abs(p - q).max() <= bound * max(1.0, float(np.abs(q).max())), (name, dtype)
            digest(f"{name} {np.dtype(dtype)}", *ours)


# -- threads


def large_results() -> list[Array]:
    """Of every kind of kernel one result that is split over threads."""
    out: list[Array] = []
    for dtype in DTYPES:
        x, g = normal((300, 700), dtype, 1), normal((300, 700), dtype, 2)
        y = kernels.softmax(x, 1)
        out += [y, kernels.softmax(x, 0), kernels.log_softmax(x, 1), kernels.softmax_backward(g, y, 1), kernels.softmax_backward(g, y, 0)]
        out += [kernels.exp(x), kernels.gelu_erf(x), kernels.add(x, g), kernels.add(x, g[0]), kernels.mul(x, g[:, :1]), kernels.lt(x, g)]
        out += [kernels.sum(x, (0,), False), kernels.sum(x, (1,), False), kernels.sum(x, (0, 1), False), kernels.max(x, 0, False)]
        out += [memory.copy(x.T), kernels.sum(normal((20000, 9), dtype, 3), (0,), False), kernels.where(kernels.lt(x, g), x, g)]
        p, m, v = normal((150_000,), dtype, 4), np.zeros(150_000, dtype), np.zeros(150_000, dtype)
        kernels.adam_step([p], [normal((150_000,), dtype, 5)], [m], [v], 1e-2, 0.9, 0.999, 1e-8, 0.1, True, 1)
        out += [p, m, v]
    return out


def bits(arrays: list[Array]) -> list[bytes]:
    return [np.ascontiguousarray(a).tobytes() for a in arrays]


@check
def threads_make_no_difference() -> None:
    before = _ffi.num_threads()
    seen = []
    for n in (1, 2, 3, 8):
        _ffi.set_num_threads(n)
        assert _ffi.num_threads() == n
        seen.append(bits(large_results()))
    _ffi.set_num_threads(before)
    assert seen[0] == seen[1] == seen[2] == seen[3]
    digest("large results", *large_results())


@check
def eight_python_threads_compute_the_same() -> None:
    _ffi.set_num_threads(2)
    expected = bits(large_results())
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(2):
            if bits(large_results()) != expected:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    idle = os_threads()
    for t in threads:
        t.start()
    most = os_threads()
    for t in threads:
        t.join()
    assert not wrong
    assert most <= idle + 8 + 4, "a team for each thread"


def os_threads() -> int:
    """How many threads this process has."""
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0


@check
def a_child_after_fork_computes_alone() -> None:
    _ffi.set_num_threads(2)
    expected = bits(large_results())  # the parent has a team now
    child = os.fork()
    if child == 0:
        os._exit(0 if _ffi.num_threads() == 1 and bits(large_results()) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert _ffi.num_threads() == 2 and bits(large_results()) == expected


# -- the pool


@check
def large_results_come_back_to_the_pool() -> None:
    memory.empty_cache()
    start = memory.statistics()
    x = memory.empty((1024, 1024), _ffi.F32)
    view, address = x[3:5].T, x.ctypes.data
    assert address % 64 == 0 and memory.statistics().used >= start.used + x.nbytes
    del x
    other = memory.empty((1024, 1024), _ffi.F32)
    assert other.ctypes.data != address  # a view is alive
    del view
    again = memory.empty((1000, 1024), _ffi.F32)  # a size of the same class
    assert again.ctypes.data == address and memory.statistics().reused == start.reused + 1
    del again, other
    assert memory.statistics().cached >= 2 * 4 * 1024 * 1024
    memory.empty_cache()
    end = memory.statistics()
    assert end.cached == 0 and end.used == start.used and end.peak >= end.used


@check
def the_pool_keeps_its_limit() -> None:
    memory.empty_cache()
    limit = memory.statistics().limit
    memory.set_limit(8 * 1024 * 1024)
    arrays = [memory.empty((1024, 1024), _ffi.F32) for _ in range(5)]
    del arrays
    assert memory.statistics().cached <= 8 * 1024 * 1024
    memory.set_limit(limit)
    assert memory.statistics().limit == limit


@check
def sizes_just_fit() -> None:
    """Every element of a block can be written, whatever its size: neighbours stay whole."""
    kept = []
    for size in (262_144, 262_145, 300_001, 2_097_151, 2_097_152, 2_097_153, 3_000_000, 5_000_011):
        a = memory.empty((size,), np.dtype(np.uint8))
        a[:] = size % 251
        kept.append(a)
    assert all((a == a.size % 251).all() for a in kept)


def main() -> None:
    said: dict[str, str] = {}
    for name, function in CHECKS.items():
        try:
            function()
            said[name] = ""
        except Exception:  # the parent shows it
            said[name] = traceback.format_exc()
    print(json.dumps({"isa": _ffi.isa(), "checks": said, "digests": DIGESTS}))


if __name__ == "__main__":
    main()
