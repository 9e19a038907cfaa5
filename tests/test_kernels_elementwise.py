"""sin, cos, pow, the smooth activations and the places of extremes in C: bounds, edges, far arguments; on every instruction set."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from instances import FLOATS, LENGTHS, each_isa, needs_c, rerun, same_on_threads
from scipy import special

from cafe import kernels
from cafe.dtype import Array
from cafe.kernels import _ffi, memory

pytestmark = needs_c
NAN, INF = math.nan, math.inf
REAL = np.longdouble


def in_ulps(got: Array, wanted: Array) -> float:
    """The largest error in units of the last place of what is wanted."""
    unit = np.spacing(np.abs(wanted.astype(got.dtype))).astype(REAL)
    return float(np.max(np.abs(got.astype(REAL) - wanted) / unit))


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_turns_are_within_two_ulps(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    near_zeros = np.arange(1, 2000) * (math.pi / 2)
    x = np.concatenate([rng.uniform(-10, 10, 20000), rng.uniform(-9e4, 9e4, 20000), near_zeros, -near_zeros]).astype(dtype)
    assert in_ulps(getattr(kernels, name)(x), getattr(np, name)(x.astype(REAL))) <= 2.0


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_far_turns_are_those_of_the_c_library(name: str, dtype: Any) -> None:
    x = np.array([0.5, 1.0000001e5, -3.3e7, 1e9, 1.1e9, 1e15, 3e38, -INF, NAN, 2.0, 1e22], dtype)
    wanted = [getattr(math, name)(float(v)) if math.isfinite(v) else NAN for v in x]
    got = getattr(kernels, name)(x)
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    assert np.allclose(got, wanted, rtol=3 * np.finfo(dtype).eps, atol=0, equal_nan=True)
    assert list(np.signbit(kernels.sin(np.array([0.0, -0.0], dtype)))) == [False, True]


@pytest.mark.parametrize("e", [0.5, 1.5, 2.0, 2.5, 3.0, 4.0, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0, 0.1, 10.0, 0.0, 1.0, 100.0])
def test_powers_are_rounded_once(e: float) -> None:
    x = np.abs(np.random.default_rng(2).standard_normal(5000)).astype(np.float32) + np.float32(1e-3)
    with np.errstate(over="ignore", under="ignore"):
        wanted = np.power(x.astype(np.float64), e).astype(np.float32)
    far = np.abs(wanted[np.isfinite(wanted)] - kernels.powf(x, e)[np.isfinite(wanted)])
    assert np.all(far <= np.spacing(wanted[np.isfinite(wanted)])) and np.mean(far == 0) > 0.999
    assert np.array_equal(kernels.pow(x, np.float32(e) * np.ones_like(x)), kernels.powf(x, float(np.float32(e))))


def test_powers_have_cs_special_cases() -> None:
    bases = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, INF, -INF, NAN, 2.0**100, -(2.0**100)]
    exponents = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, -0.5, 16777215.0, 16777216.0, 4194304.5, 1e30, INF, -INF, NAN]
    a, b = (v.astype(np.float32) for v in np.meshgrid(bases, exponents))
    with np.errstate(all="ignore"):
        wanted = np.power(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    for got in (kernels.pow(a, b), kernels.pow(np.asfortranarray(a), np.asfortranarray(b))):
        assert np.array_equal(got, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(wanted)[~np.isnan(wanted)])
    for e in [*exponents, 1.5, -1.5, 2.5, -2.0, 4.0]:
        column, same = np.array(bases), np.full(len(bases), e)
        with np.errstate(all="ignore"):
            wanted = np.power(column, same).astype(np.float32)
        got = kernels.powf(column.astype(np.float32), e)
        assert np.array_equal(got, wanted, equal_nan=True), e
        assert np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(wanted)[~np.isnan(wanted)]), e


def bases_and_exponents(kind: str) -> tuple[Array, Array]:
    """20,000 pairs whose power is a number of F64, near the ends of its range as often as not."""
    rng, n = np.random.default_rng(11), 20000
    bases = {
        "usual": rng.uniform(0.1, 10, n),
        "wide": np.exp(rng.uniform(-700, 700, n)),
        "near 1": 1 + 1e-3 * rng.standard_normal(n),
        "nearer 1": 1 + 1e-9 * rng.standard_normal(n),
        "either side of 1": rng.uniform(0.5, 2, n),
        "subnormal": rng.integers(1, 2**52, n).view(np.float64),
    }
    a = bases[kind]
    return a, rng.uniform(-708, 709, n) / np.log(a)


@pytest.mark.parametrize("kind", ["usual", "wide", "near 1", "nearer 1", "either side of 1", "subnormal"])
def test_powers_of_f64_are_within_an_ulp(kind: str) -> None:
    a, b = bases_and_exponents(kind)
    wanted = np.power(a.astype(REAL), b.astype(REAL))
    assert in_ulps(kernels.pow(a, b), wanted) <= 1.0
    assert in_ulps(kernels.pow(a, b / 300), np.power(a.astype(REAL), (b / 300).astype(REAL))) <= 1.0
    assert np.array_equal(kernels.pow(a, np.full_like(a, 1.7)), kernels.powf(a, 1.7))


def test_powers_of_f64_at_the_ends() -> None:
    bases = [0.0, -0.0, 1.0, -1.0, 4.0, -2.0, 0.25, -0.5, INF, -INF, NAN, 5e-324, -5e-324, 1e308, -1e308, 2.0**-1022, 1 + 2.0**-52]
    exponents = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, -0.5, 2.0**53 - 1, 2.0**53, 2.0**51 + 0.5, 1e300, INF, -INF, NAN, 5e-324]
    a, b = (v.copy() for v in np.meshgrid(bases, exponents))
    wanted, got = kernels.twins.pow(a, b), kernels.pow(a, b)
    assert np.allclose(got, wanted, rtol=2.0**-52, atol=0, equal_nan=True)
    assert np.array_equal(np.isfinite(got), np.isfinite(wanted)) and np.array_equal(got == 0, wanted == 0)
    assert np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(wanted)[~np.isnan(wanted)])
    tiny = np.exp2(REAL(-1022) - np.linspace(0, 53, 1000).astype(REAL)).astype(np.float64)
    assert np.all(np.abs(kernels.powf(np.sqrt(tiny), 2.0) - np.sqrt(tiny).astype(REAL) ** 2) <= 5e-324)
    whole = np.arange(1.0, 300.0)
    assert np.array_equal(kernels.powf(whole, 3.0), whole**3) and np.array_equal(kernels.powf(whole * whole, 0.5), whole)


@pytest.mark.parametrize("e", [0.5, 2.0, 3.0, 4.0, -1.0])
def test_powers_of_f64_by_products_are_within_an_ulp(e: float) -> None:
    rng = np.random.default_rng(12)
    x = np.exp(rng.uniform(-700 / max(abs(e), 1), 700 / max(abs(e), 1), 20000)) * (1 if e == 0.5 else rng.choice([-1.0, 1.0], 20000))
    assert in_ulps(kernels.powf(x, e), np.power(x.astype(REAL), REAL(e))) <= 1.0
    ends = np.array([0.0, -0.0, INF, -INF, NAN, 5e-324, -5e-324, 1e308, -1e308, 1e-160, -1e-160, 1e160, -1e160, 2.0**-460, -1e100])
    wanted, got = kernels.twins.pow(ends, np.full_like(ends, e)), kernels.powf(ends, e)
    assert np.allclose(got, wanted, rtol=2.0**-52, atol=0, equal_nan=True)
    assert np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(wanted)[~np.isnan(wanted)])


def test_powers_broadcast() -> None:
    for dtype in FLOATS:
        a, b = np.abs(np.random.default_rng(3).standard_normal((2, 7, 1))).astype(dtype)
        assert np.array_equal(kernels.pow(a, b.T), kernels.pow(np.repeat(a, 7, 1), np.repeat(b.T, 7, 0)))
        assert np.array_equal(kernels.pow(a, b[:1, :1]), kernels.pow(a, np.repeat(b[:1], 7, 0)))
        assert kernels.pow(a[:0], b[:0]).shape == (0, 1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", LENGTHS)
def test_tails_have_the_bits_of_the_middle(n: int, dtype: Any) -> None:
    a, b = np.abs(np.random.default_rng(4).standard_normal((2, 99))).astype(dtype)
    assert np.array_equal(kernels.pow(a, b)[:n], kernels.pow(a[:n].copy(), b[:n].copy()))
    for e in (0.3, 0.5, 1.5, 3.0, 4.0, -2.0):
        assert np.array_equal(kernels.powf(a, e)[:n], kernels.powf(a[:n].copy(), e))


@pytest.mark.parametrize("dtype", FLOATS)
def test_smooth_functions_keep_the_bounds_that_they_state(dtype: Any) -> None:
    worst = 0.5180212813292043  # of F64's tanh, as far as is known: 2.02 ulp
    x = np.concatenate([np.linspace(-12.0, 12.0, 60001), np.geomspace(1e-6, 1.0, 4001), [worst]]).astype(dtype)
    wide = x.astype(REAL)
    assert in_ulps(kernels.tanh(x), np.tanh(wide)) <= 2.1
    assert in_ulps(kernels.sigmoid(x), 1 / (1 + np.exp(-wide))) <= 2.5
    assert in_ulps(kernels.silu(x), wide / (1 + np.exp(-wide))) <= 3.0
    assert in_ulps(kernels.softplus(x), np.logaddexp(REAL(0), wide)) <= 2.0
    double_u = 2 * np.sqrt(2 / REAL(math.pi)) * (wide + REAL("0.044715") * wide**3)
    wanted = wide / (1 + np.exp(-double_u))
    for part, slack in ((x > -1, np.ones_like(wide)), (x <= -1, 1 + np.abs(double_u))):
        unit = np.spacing(np.abs(wanted.astype(dtype))).astype(REAL) * slack
        seen = part & (np.abs(wanted) > np.finfo(dtype).tiny)
        assert np.max((np.abs(kernels.gelu(x).astype(REAL) - wanted) / unit)[seen]) <= 3.0
    if dtype == np.float32:  # SciPy's are no better in float64
        double = x.astype(np.float64)
        assert in_ulps(kernels.erf(x[double != 0]), special.erf(double[double != 0])) <= 2.0
        exact = double * special.erfc(-double / math.sqrt(2)) / 2
        assert in_ulps(kernels.gelu_erf(x), exact) <= (8.0 if kernels_fuse() else 100.0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gates_keep_their_digits_far_out(dtype: Any) -> None:
    edge = 100.0 if dtype == np.float32 else 735.0
    x = np.concatenate([np.linspace(-edge, 60, 20001), [1e30, 0.0, -1e-30]]).astype(dtype)
    wide = x.astype(REAL)
    assert in_ulps(kernels.silu(x), wide / (1 + np.exp(-wide))) <= 4.0
    ends = np.array([-INF, INF, NAN, -1e30, -200.0 if dtype == np.float32 else -800.0], dtype)
    for name in ("silu", "gelu", "gelu_erf"):
        assert np.array_equal(getattr(kernels, name)(ends), np.array([NAN, INF, NAN, 0.0, 0.0], dtype), equal_nan=True), name


def test_gelu_keeps_its_tail_down_to_subnormals() -> None:
    x = np.linspace(-13.0, 9.0, 40001).astype(np.float32)
    wanted = x.astype(np.float64) * special.ndtr(x.astype(np.float64))
    normal = np.abs(wanted) > 1.2e-38
    error = np.abs(kernels.gelu_erf(x)[normal] / wanted[normal] - 1)[np.abs(x[normal]) > 1e-3].max()
    assert error <= (4 if kernels_fuse() else 100) * 2.0**-23
    far = kernels.gelu_erf(np.array([-13.5, -14.0], np.float32))
    assert np.allclose(far, [-13.5 * special.ndtr(-13.5), -14.0 * special.ndtr(-14.0)], rtol=0, atol=2.9e-45)


def kernels_fuse() -> bool:
    """Whether the instruction set in force has a fused multiply-add, without which a tail loses a² / 2 ulp."""
    return _ffi.isa() != "generic"


@pytest.mark.parametrize("n", [1, 5, 40, 300, 5000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_divides(n: int, dtype: Any) -> None:
    x = (30 * np.random.default_rng(5).standard_normal((7, n))).astype(dtype)
    x[0, 0] = 200.0  # the others' quotients are subnormal or 0
    e = np.exp((x - x.max(1, keepdims=True)).astype(REAL))  # the difference rounded as the kernel's is
    wanted = e / e.sum(1, keepdims=True)
    got = kernels.softmax(x, 1)
    assert np.all(np.abs(got - wanted) <= 10 * np.spacing(wanted.astype(dtype)))  # an ulp of exp and the sum of up to 5000
    assert np.array_equal(kernels.softmax(np.ascontiguousarray(x.T), 0), got.T)


@pytest.mark.parametrize("shape", [(1,), (7,), (70, 33), (33, 70), (3, 300, 5), (5, 4, 513), (2, 3, 1000)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_places_of_extremes_are_numpys(shape: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(6)
    for x in (rng.standard_normal(shape).astype(dtype), rng.integers(0, 3, shape).astype(dtype)):
        with_nan = x.copy()
        with_nan.reshape(-1)[x.size // 2 :: 5] = NAN
        for z in (x, with_nan, np.full(shape, -INF, dtype)):
            for dim in range(len(shape)):
                assert np.array_equal(kernels.argmax(z, dim, False), z.argmax(dim))
                assert np.array_equal(kernels.argmin(z, dim, True), np.argmin(z, dim, keepdims=True))
                assert kernels.argmax(z, dim, False).dtype == np.uint32


def test_threads_do_not_show() -> None:
    x = np.random.default_rng(7).standard_normal((700, 300)).astype(np.float32)
    same_on_threads(lambda: (kernels.sin(x), kernels.cos(1e6 * x), kernels.powf(np.abs(x), 0.3), kernels.argmax(x, 0, False)))
    same_on_threads(lambda: (kernels.powf(np.abs(x).astype(np.float64), 0.3), kernels.pow(np.abs(x), x), kernels.pow(x, x[:1, :1])))
    same_on_threads(lambda: (kernels.argmin(x, 1, False), kernels.max(x, 0, False), kernels.sum(x, (0,), False), kernels.gelu_erf(x)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2049, 2100), (2048, 2304), (3, 1504, 1200)])
def test_large_transposing_copies(shape: tuple[int, ...], dtype: Any) -> None:
    """Large enough to go past the caches, on and off a line's bound."""
    x = np.arange(math.prod(shape), dtype=np.uint32).reshape(shape).astype(dtype)
    assert np.array_equal(memory.copy(x.swapaxes(-1, -2)), x.swapaxes(-1, -2))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [*LENGTHS, 5000])
def test_one_number_for_all_is_that_number_everywhere(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(8)
    x, condition, one = rng.standard_normal(n).astype(dtype), rng.integers(0, 2, n).astype(np.uint8), np.array(0.5, dtype)
    seen, filled = np.broadcast_to(one, (n,)), np.full(n, one)
    for a in (x, seen):
        for b in (x[::-1], seen, x):
            same = [np.where(v is seen, filled, v).astype(dtype) for v in (a, b)]
            assert np.array_equal(kernels.where(condition, a, b), np.where(condition != 0, *same))
            assert np.array_equal(kernels.sub(a, b), np.subtract(*same))
            assert np.array_equal(kernels.gt(a, b), np.greater(*same).astype(np.uint8))
    assert np.array_equal(kernels.full_like(x, 0.5), filled) and kernels.full_like(x, 0.5).dtype == dtype


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
@pytest.mark.parametrize("shape", [(1, 5000), (70, 1), (64, 63), (3, 4097), (9000, 2)], ids=str)
def test_copies_of_what_repeats(shape: tuple[int, int], dtype: Any) -> None:
    m, n = shape
    x = np.random.default_rng(9).integers(0, 200, (m, 1)).astype(dtype)
    for view in (np.broadcast_to(x, shape), np.broadcast_to(x, (2, m, n)), np.broadcast_to(x[:, :, None], (m, n, 3))):
        y = memory.copy(view)
        assert y.flags.c_contiguous and np.array_equal(y, view)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_leaky_slope(dtype: Any) -> None:
    x = np.array([-2.0, -0.0, 0.0, 3.0, -INF, INF, NAN] * 9, dtype)
    y = kernels.leaky_relu(x, 0.25)
    assert np.array_equal(y, np.array([-0.5, 0.0, 0.0, 3.0, -INF, INF, NAN] * 9, dtype), equal_nan=True)
    assert np.signbit(y[:4]).tolist() == [True, True, False, False]
    assert np.array_equal(y, kernels.twins.leaky_relu(x, 0.25), equal_nan=True)


EDGES = np.array([-3.0, 3.0, -0.0, 0.0, 1.0, -1.0, 2.5, -7.0, 7.0, NAN, INF, -INF, 1e-30])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [*LENGTHS, 70000])
def test_hard_curves_and_slopes_are_their_twins(n: int, dtype: Any) -> None:
    """To the bit, but for elu's, which has an exp in it."""
    rng = np.random.default_rng(10)
    x, g = np.resize(EDGES, n).astype(dtype), rng.standard_normal(n).astype(dtype)
    x[len(EDGES) :] = 4 * rng.standard_normal(max(n - len(EDGES), 0))
    for name in ("hard_sigmoid", "hardswish"):
        assert np.array_equal(getattr(kernels, name)(x), getattr(kernels.twins, name)(x), equal_nan=True), name
    numbers: list[tuple[str, tuple[float, ...]]] = [("hard_sigmoid", ()), ("hardswish", ()), ("clamp", (-1.0, 2.5)), ("leaky_relu", (0.3,))]
    for name, given in numbers:
        f, twin = getattr(kernels, f"{name}_backward"), getattr(kernels.twins, f"{name}_backward")
        for grad in (g, np.broadcast_to(g[:1], (n,)), g[::-1]):
            assert np.array_equal(f(grad, x, *given), twin(grad, x, *given), equal_nan=True), name
    same_on_threads(lambda: (kernels.hardswish(x), kernels.hardswish_backward(g, x), kernels.elu_backward(g, x, 0.7)))
    got, wanted = kernels.elu_backward(g, x, 0.7), kernels.twins.elu_backward(g, x, 0.7)
    assert np.allclose(got, wanted, rtol=4 * np.finfo(dtype).eps, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 8, 9, 100, 4096, 4097, 70001])
def test_a_dot_product_is_the_sum_of_the_products(n: int, dtype: Any) -> None:
    a, b = np.random.default_rng(13).standard_normal((2, n)).astype(dtype)
    kept = a.copy(), b.copy()
    assert kernels.dot(a, b).tobytes() == kernels.sum(kernels.mul(a, b), (0,), False).tobytes()
    assert kernels.dot(np.repeat(a, 2)[::2], b[::-1]).tobytes() == kernels.dot(a, b[::-1].copy()).tobytes()
    assert kernels.dot(a[:0], b[:0]) == 0 and np.array_equal(a, kept[0]) and np.array_equal(b, kept[1])
    same_on_threads(lambda: kernels.dot(a, b))


@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_of_long_rows(dtype: Any) -> None:
    x = np.random.default_rng(14).standard_normal((2, 100001)).astype(dtype)
    x[1] = np.abs(x[1]) + 1
    for y in (x, -x):
        assert np.array_equal(kernels.max(y, 1, False), y.max(1)) and np.array_equal(kernels.min(y, 1, True), y.min(1, keepdims=True))
        assert kernels.max(y[1], 0, False) == kernels.max(y, 1, False)[1]
    same_on_threads(lambda: (kernels.max(x, 1, False), kernels.min(x, 1, False)))
    x[1, 99999] = NAN
    assert np.isnan(kernels.max(x, 1, False)).tolist() == np.isnan(kernels.min(x, 1, False)).tolist() == [False, True]


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
