"""The algorithms of convolution: how one is chosen, that each computes the same thing, and that Winograd's keep what they promise."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from expect import raises

import cafe
from cafe import Error, Tensor, Var, kernels
from cafe.kernels import _ffi
from cafe.kernels.conv import ALGORITHMS, Geometry
from cafe.testing import assert_close, assert_same_bits

in_c = pytest.mark.skipif(_ffi.BACKEND != "c", reason="the twins know one algorithm")
KNOWN = "one of auto, im2col, implicit, winograd2, winograd4, direct"
WINOGRAD = {"winograd2": 6e-7, "winograd4": 4e-6}  # bounds of the relative error, root mean square, in F32


def geometry(padding: int = 1, groups: int = 1, algorithm: str = "auto", stride: int = 1, dilation: int = 1) -> Geometry:
    return Geometry((stride,) * 2, (padding,) * 2, (dilation,) * 2, groups, algorithm)


def operands(c: int, o: int, size: tuple[int, int], g: Geometry, n: int = 2, dtype: Any = np.float32, k: int = 3) -> tuple[Any, Any, Any]:
    """x, w, a gradient of y."""
    rng = np.random.default_rng(c + 31 * o)
    x, w = rng.standard_normal((n, c, *size)), rng.standard_normal((o, c // g.groups, k, k)) / np.sqrt(k * k * c)
    return x.astype(dtype), w.astype(dtype), rng.standard_normal(kernels.twins.conv(x, w, None, g).shape).astype(dtype)


def three(x: Any, w: Any, dy: Any, g: Geometry) -> list[Any]:
    """The convolution and its two gradients."""
    return [
        kernels.conv(x, w, None, g),
        kernels.conv_input_grad(dy, w, x.shape[2:], g),
        kernels.conv_weight_grad(dy, x, w.shape[2:], g),
    ]


def exact(x: Any, w: Any, dy: Any, g: Geometry) -> list[Any]:
    return three(*(a.astype(np.float64) for a in (x, w, dy)), replace(g, algorithm="implicit"))


def distance(got: Any, expected: Any) -> float:
    """The relative error, root mean square."""
    return float(np.sqrt(np.square(got - expected).mean() / np.square(expected).mean()))


# -- choosing


def test_a_choice_holds_inside_and_the_one_before_comes_back() -> None:
    assert cafe.get_conv_algorithm() == "auto"
    with cafe.conv_algorithm("winograd4"):
        with cafe.conv_algorithm("direct"):
            assert cafe.get_conv_algorithm() == "direct"
        assert cafe.get_conv_algorithm() == "winograd4"
        with raises(Error, "conv_algorithm: unknown algorithm 'fft'", KNOWN), cafe.conv_algorithm("fft"):
            pass
        assert cafe.get_conv_algorithm() == "winograd4"
    assert cafe.get_conv_algorithm() == "auto"


def test_a_setting_is_every_threads_and_a_context_one_threads() -> None:
    seen: list[str] = []
    try:
        cafe.set_conv_algorithm("im2col")
        with cafe.conv_algorithm("direct"):
            other = threading.Thread(target=lambda: seen.append(cafe.get_conv_algorithm()))
            other.start()
            other.join()
            seen.append(cafe.get_conv_algorithm())
    finally:
        cafe.set_conv_algorithm("auto")

    assert seen == ["im2col", "direct"]
    with raises(Error, "set_conv_algorithm: unknown algorithm 'gemm'", KNOWN):
        cafe.set_conv_algorithm("gemm")


@in_c
def test_a_gradient_goes_by_the_algorithm_of_its_convolution() -> None:
    x, w, dy = operands(16, 16, (9, 9), geometry())
    xv, wv = Var(x), Var(w)
    with cafe.conv_algorithm("winograd4"):
        y = xv.conv2d(wv, 1)
    grads = (y * Tensor(dy)).sum_all().backward()

    for got, expected in zip((y, grads[xv], grads[wv]), three(x, w, dy, geometry(algorithm="winograd4"))):
        assert_same_bits(got, expected)
    assert not np.array_equal(grads[wv].numpy(), three(x, w, dy, geometry())[2])


# -- each computes the same thing

SHAPES = [
    ((4, 6), (7, 5), geometry()),
    ((4, 6), (1, 1), geometry()),
    ((3, 5), (9, 8), geometry(0)),
    ((8, 4), (6, 11), geometry(2, 2)),
    ((6, 6), (8, 8), geometry(1, 6)),
    ((4, 3), (9, 7), geometry(1, 1, stride=2)),
    ((4, 3), (9, 7), geometry(2, 1, dilation=2)),
    ((33, 34), (13, 2), geometry(1)),
    ((18, 40), (4, 61), geometry(4)),
    ((18, 40), (13, 30), geometry(3, 2, stride=2)),
    ((36, 280), (9, 9), geometry(1, 2)),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("channels, size, g", SHAPES, ids=lambda v: str(v))
@pytest.mark.parametrize("n", [0, 1, 3])
def test_every_algorithm_computes_the_convolution_and_its_gradients(algorithm: str, channels: Any, size: Any, g: Geometry, n: int) -> None:
    """Where it cannot, another does."""
    x, w, dy = operands(*channels, size, g, n, np.float64)
    bias = np.arange(w.shape[0], dtype=np.float64)
    chosen = replace(g, algorithm=algorithm)
    for got, expected in zip(three(x, w, dy, chosen), three(x, w, dy, replace(g, algorithm="implicit"))):
        assert_close(got, expected, 1e-12)
    assert_close(kernels.conv(x, w, bias, chosen), kernels.twins.conv(x, w, bias, g), 1e-12)


@in_c
@pytest.mark.parametrize("algorithm", ["im2col", "direct"])
@pytest.mark.parametrize("channels, size, g", SHAPES, ids=lambda v: str(v))
def test_the_plain_sums_have_the_same_bits(algorithm: str, channels: Any, size: Any, g: Geometry) -> None:
    x, w, _ = operands(*channels, size, g)
    b = np.arange(w.shape[0], dtype=np.float32)

    assert_same_bits(kernels.conv(x, w, b, replace(g, algorithm=algorithm)), kernels.conv(x, w, b, replace(g, algorithm="implicit")))


@in_c
def test_auto_looks_at_an_images_sizes() -> None:
    """For 3 × 3 Winograd's F(2 × 2) from 16 channels in and out and 36 places on, in F32; else the plain sum's bits."""
    for c, o, size, dtype, algorithm in [
        (16, 16, (6, 6), np.float32, "winograd2"),
        (15, 16, (6, 6), np.float32, "implicit"),
        (16, 15, (6, 6), np.float32, "implicit"),
        (16, 16, (5, 7), np.float32, "implicit"),
        (16, 16, (6, 6), np.float64, "implicit"),
    ]:
        x, w, dy = operands(c, o, size, geometry(), 1, dtype)
        other = "implicit" if algorithm == "winograd2" else "winograd2"
        for got, same, unlike in zip(*(three(x, w, dy, geometry(algorithm=a)) for a in ("auto", algorithm, other))):
            assert_same_bits(got, same)
            assert not np.array_equal(got, unlike)


@in_c
def test_auto_weighs_the_transforms_of_phases_and_lines() -> None:
    """With stride 2, or along one axis: Winograd's where the products saved outweigh them."""
    for k, stride, channels, size, pays in [
        ((3, 3), 2, (64, 128), (56, 56), (False, True, False)),  # the input's gradient, whose direct sums would have to be added up
        ((4, 4), 2, (64, 64), (16, 16), True),
        ((5, 5), 2, (32, 32), (24, 24), True),
        ((1, 5), 1, (64, 64), (1, 128), True),
        ((1, 3), 1, (64, 64), (1, 256), True),
        ((3, 3), 2, (16, 16), (32, 32), False),
        ((3, 3), 2, (256, 512), (14, 14), False),
        ((4, 4), 2, (64, 64), (8, 8), False),
        ((1, 5), 1, (16, 16), (1, 128), False),
        ((1, 3), 1, (64, 64), (1, 24), False),
        ((1, 3), 1, (128, 128), (1, 64), False),
    ]:
        x, w, dy, g = kernels_of(k, stride, channels, size, np.float32)
        auto, plain, tiled = (three(x, w, dy, replace(g, algorithm=a)) for a in ("auto", "implicit", "winograd2"))
        for got, direct, by_tiles, gains in zip(auto, plain, tiled, pays if isinstance(pays, tuple) else (pays,) * 3):
            same, unlike = (by_tiles, direct) if gains else (direct, by_tiles)
            assert_same_bits(got, same, f"{k} {stride} {channels} {size}")
            assert not np.array_equal(got, unlike)


# -- Winograd's


@in_c
@pytest.mark.parametrize("algorithm", WINOGRAD)
@pytest.mark.parametrize("c, o, side", [(16, 16, 24), (64, 64, 20), (128, 40, 14), (40, 256, 9), (256, 256, 7), (512, 96, 6)])
def test_winograds_error(algorithm: str, c: int, o: int, side: int) -> None:
    g = geometry(algorithm=algorithm)
    x, w, dy = operands(c, o, (side, side), g)
    for got, expected in zip(three(x, w, dy, g), exact(x, w, dy, g)):
        assert distance(got, expected) <= WINOGRAD[algorithm]
        assert not np.array_equal(got, expected.astype(np.float32))


@in_c
@pytest.mark.parametrize("algorithm", WINOGRAD)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_does_not_spread(algorithm: str, value: float) -> None:
    """It stands where the plain sum has it, and another image has the bits that it has without."""
    g, plain = geometry(algorithm=algorithm), geometry(algorithm="implicit")
    x, w, dy = operands(16, 18, (11, 13), g)
    bad_x, bad_dy = x.copy(), dy.copy()
    bad_x[1, 3, 5, 6] = bad_dy[0, 2, 4, 4] = value
    w[:, 7] = 0
    for got, other in zip(three(bad_x, w, bad_dy, g), three(bad_x, w, bad_dy, plain)):
        finite = np.isfinite(other)
        assert np.array_equal(np.isfinite(got), finite)
        assert_same_bits(got[~finite], other[~finite])
        if abs(value) != 3e38:
            assert finite.any() and not finite.all()
    image = kernels.conv(bad_x, w, None, g)[0]
    assert_same_bits(image, kernels.conv(x, w, None, g)[0])
    w[4, 2, 1, 1] = value
    assert np.array_equal(np.isfinite(kernels.conv(x, w, None, g)), np.isfinite(kernels.conv(x, w, None, plain)))


def assert_bits_stand(x: Any, w: Any, dy: Any, g: Geometry) -> None:
    """The convolution and its gradients have the same bits on any number of threads, and those of an image do not hang on the others."""
    before = _ffi.num_threads()
    try:
        _ffi.set_num_threads(1)
        alone = three(x, w, dy, g)
        for threads in (2, 3, 8):
            _ffi.set_num_threads(threads)
            for got, expected in zip(three(x, w, dy, g), alone):
                assert_same_bits(got, expected, f"{threads} threads")
        for i in range(len(x)):
            for got, expected in zip(three(x[i : i + 1], w, dy[i : i + 1], g)[:2], alone):
                assert_same_bits(got, expected[i : i + 1], f"image {i}")
    finally:
        _ffi.set_num_threads(before)


@in_c
@pytest.mark.parametrize("algorithm", WINOGRAD)
def test_winograds_bits_do_not_depend_on_threads_or_batch(algorithm: str) -> None:
    sizes = [(20, 50, (23, 29), 3), (130, 100, (7, 7), 9), (16, 70, (5, 300), 2), (70, 130, (9, 9), 1), (100, 150, (13, 12), 5)]
    for c, o, size, n in sizes:
        g = geometry(algorithm=algorithm)
        assert_bits_stand(*operands(c, o, size, g, n), g)


# -- Winograd's: kernels in two phases an axis, and along one axis


def kernels_of(
    k: tuple[int, int], stride: int, channels: tuple[int, int], size: tuple[int, int], dtype: Any, n: int = 2, groups: int = 1
) -> tuple[Any, ...]:
    """x, w, a gradient of y, and a geometry that pads by half of the kernel."""
    rng = np.random.default_rng(sum(k) + stride)
    g = Geometry((stride, stride), (k[0] // 2, k[1] // 2), (1, 1), groups)
    x = rng.standard_normal((n, channels[0], *size))
    w = rng.standard_normal((channels[1], channels[0] // groups, *k)) / np.sqrt(channels[0] * k[0] * k[1])
    dy = rng.standard_normal(kernels.twins.conv(x, w, None, g).shape)
    return x.astype(dtype), w.astype(dtype), dy.astype(dtype), g


TILED = [((3, 3), 2), ((4, 4), 2), ((3, 4), 2), ((4, 3), 2), ((5, 5), 2), ((6, 6), 2), ((6, 5), 2), *(((1, k), 1) for k in (3, 4, 5, 6))]


@pytest.mark.parametrize("padding", [(0, 0), (1, 0), (2, 3), (5, 4)])
@pytest.mark.parametrize("k, stride", TILED)
def test_phases_and_lines_compute_the_convolution_and_its_gradients(k: tuple[int, int], stride: int, padding: tuple[int, int]) -> None:
    """Odd sizes and channels, groups, more padding than the kernel has taps, places that the gradient does not have."""
    for channels, size, groups in [((11, 7), (7, 9), 1), ((6, 4), (6, 12), 2), ((35, 33), (13, 61), 1), ((40, 70), (21, 8), 2)]:
        x, w, dy, g = kernels_of(k, stride, channels, size, np.float64, groups=groups)
        chosen, plain = (replace(g, padding=padding, algorithm=a) for a in ("winograd2", "implicit"))
        dy = np.random.default_rng(0).standard_normal(kernels.twins.conv(x, w, None, plain).shape)
        for part in (dy, dy[..., :-1, :], dy[..., :-2]):
            for got, expected in zip(three(x, w, part, chosen), three(x, w, part, plain)):
                assert_close(got, expected, 1e-12)


@in_c
@pytest.mark.parametrize("channels", [(16, 16), (64, 128), (512, 40), (40, 300)])
@pytest.mark.parametrize("k, stride", TILED)
def test_the_error_of_phases_and_lines(k: tuple[int, int], stride: int, channels: tuple[int, int]) -> None:
    x, w, dy, g = kernels_of(k, stride, channels, (20, 24) if stride == 2 else (1, 300), np.float32)
    for got, expected in zip(three(x, w, dy, replace(g, algorithm="winograd2")), exact(x, w, dy, g)):
        assert distance(got, expected) <= WINOGRAD["winograd2"]
        assert not np.array_equal(got, expected.astype(np.float32))


@in_c
@pytest.mark.parametrize("k, stride", TILED)
@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38])
def test_what_is_not_finite_stays_within_phases_and_lines(k: tuple[int, int], stride: int, value: float) -> None:
    """One operand at a time: huge terms of both signs may cancel in Winograd's sums before they overflow."""
    x, w, dy, g = kernels_of(k, stride, (16, 18), (15, 14), np.float32)
    w[:, 7] = 0
    chosen, plain = replace(g, algorithm="winograd2"), replace(g, algorithm="implicit")
    for operand, place in ((x, (1, 3, 7, 6)), (dy, (0, 2, 3, 4))):
        before, operand[place] = operand[place], value
        for got, other in zip(three(x, w, dy, chosen), three(x, w, dy, plain)):
            assert np.array_equal(np.isfinite(got), np.isfinite(other))
            assert_same_bits(got[~np.isfinite(other)], other[~np.isfinite(other)])
        operand[place] = before


@in_c
@pytest.mark.parametrize("k, stride", TILED)
def test_the_bits_of_phases_and_lines_do_not_depend_on_threads_or_batch(k: tuple[int, int], stride: int) -> None:
    for channels, size, n in [((20, 50), (23, 29), 3), ((70, 100), (7, 9), 9), ((16, 70), (6, 300), 2)]:
        x, w, dy, g = kernels_of(k, stride, channels, size, np.float32, n)
        assert_bits_stand(x, w, dy, replace(g, algorithm="winograd2"))
