"""The bits of a convolution in C depend on operands and instruction set: not on threads, batch, neighbouring groups or the way taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from instances import products_by

from cafe import kernels
from cafe.kernels import _ffi
from cafe.kernels.conv import ALGORITHMS, Geometry, Norm
from cafe.testing import assert_close, assert_same_bits

pytestmark = pytest.mark.skipif(_ffi.BACKEND != "c", reason="NumPy's products have orders of their own")

PLAIN = Geometry((1, 1), (1, 1), (1, 1))
# x, w, geometry: enough work for threads; one image, whose outputs are shared out; strides; one channel a group; more taps than a block
CASES: dict[str, tuple[Any, Any, Geometry]] = {
    "3x3": ((3, 20, 23, 29), (50, 20, 3, 3), PLAIN),
    "3x3, one image": ((1, 70, 9, 9), (130, 70, 3, 3), PLAIN),
    "strided and dilated": ((3, 12, 31, 33), (40, 6, 5, 3), Geometry((2, 3), (4, 1), (2, 1), 2)),
    "1x1": ((4, 60, 17, 19), (70, 60, 1, 1), Geometry((1, 1), (0, 0), (1, 1))),
    "1x1, a page a channel": ((3, 40, 32, 32), (70, 40, 1, 1), Geometry((1, 1), (0, 0), (1, 1))),
    "1x1, small images": ((9, 40, 7, 7), (70, 40, 1, 1), Geometry((1, 1), (0, 0), (1, 1))),
    "1x1, deep and small": ((3, 300, 14, 13), (40, 150, 1, 1), Geometry((1, 1), (0, 0), (1, 1), 2)),
    "1x1, one place": ((5, 250, 1, 1), (70, 250, 1, 1), Geometry((1, 1), (0, 0), (1, 1))),
    "3x3 by 2, small images": ((5, 40, 13, 13), (48, 20, 3, 3), Geometry((2, 2), (1, 1), (1, 1), 2)),
    "1x1 by 2": ((4, 60, 33, 35), (70, 60, 1, 1), Geometry((2, 2), (0, 0), (1, 1))),
    "depthwise": ((3, 40, 37, 41), (80, 1, 3, 3), Geometry((1, 1), (1, 1), (1, 1), 40)),
    "depthwise, wider than a block": ((2, 3, 6, 4200), (6, 1, 3, 3), Geometry((1, 1), (1, 1), (1, 1), 3)),
    "depthwise, no padding": ((2, 5, 90, 70), (5, 1, 3, 3), Geometry((1, 1), (0, 0), (1, 1), 5)),
    "depthwise, mostly padding": ((3, 7, 4, 3), (14, 1, 3, 3), Geometry((1, 1), (5, 33), (1, 1), 7)),
    "one channel, 15x15": ((2, 1, 40, 40), (6, 1, 15, 15), Geometry((1, 1), (7, 7), (1, 1))),
    "patches of 16": ((3, 5, 35, 230), (40, 5, 16, 16), Geometry((16, 16), (0, 0), (1, 1))),
    "patches of 8": ((2, 3, 17, 171), (24, 3, 8, 8), Geometry((8, 8), (0, 0), (1, 1))),
    "strides of 4": ((2, 6, 21, 83), (20, 6, 5, 7), Geometry((4, 4), (2, 3), (1, 1))),
    "depthwise by 2": ((3, 10, 25, 57), (10, 1, 5, 5), Geometry((2, 2), (2, 2), (1, 1), 10)),
    "depthwise by 2, two outputs": ((3, 6, 14, 15), (12, 1, 3, 3), Geometry((2, 2), (1, 1), (1, 1), 6)),
    "depthwise by 3 and 2, dilated": ((2, 5, 40, 33), (5, 1, 3, 3), Geometry((3, 2), (2, 3), (2, 3), 5)),
    "one axis": ((2, 24, 1500), (32, 24, 7), Geometry((1,), (3,), (1,))),
    "one axis by 3": ((2, 24, 4500), (32, 12, 7), Geometry((3,), (3,), (2,), 2)),
}


@pytest.fixture
def threads() -> Iterator[None]:
    before = _ffi.num_threads()
    yield
    _ffi.set_num_threads(before)


def operands(name: str, dtype: Any) -> tuple[Any, ...]:
    """x, w, a bias, a gradient of y, the geometry."""
    rng = np.random.default_rng(0)
    x_shape, w_shape, geometry = CASES[name]
    x, w, b = (rng.standard_normal(s).astype(dtype) for s in (x_shape, w_shape, w_shape[:1]))
    return x, w, b, rng.standard_normal(kernels.conv(x, w, b, geometry).shape).astype(dtype), geometry


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_threads(name: str, dtype: Any, threads: None) -> None:
    x, w, b, g, geometry = operands(name, dtype)
    kernel, size = w.shape[2:], x.shape[2:]
    cols = kernels.im2col(x, kernel, *geometry.walk)
    verbs = {
        "conv": lambda: kernels.conv(x, w, b, geometry),
        "input gradient": lambda: kernels.conv_input_grad(g, w, size, geometry),
        "weight gradient": lambda: kernels.conv_weight_grad(g, x, kernel, geometry),
        "im2col": lambda: kernels.im2col(x, kernel, *geometry.walk),
        "col2im": lambda: kernels.col2im(cols, size, *geometry.walk),
    }
    for verb, call in verbs.items():
        _ffi.set_num_threads(1)
        alone = call()
        for n in (2, 3, 8):
            _ffi.set_num_threads(n)
            assert_same_bits(call(), alone, f"{verb} on {n} threads")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_an_image_alone_and_in_a_batch(name: str, dtype: Any) -> None:
    x, w, b, g, geometry = operands(name, dtype)
    y, gx = kernels.conv(x, w, b, geometry), kernels.conv_input_grad(g, w, x.shape[2:], geometry)
    for i in range(x.shape[0]):
        assert_same_bits(kernels.conv(x[i : i + 1], w, b, geometry), y[i : i + 1])
        assert_same_bits(kernels.conv_input_grad(g[i : i + 1], w, x.shape[2:], geometry), gx[i : i + 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_a_group_alone_and_beside_others(name: str, dtype: Any) -> None:
    x, w, b, g, geometry = operands(name, dtype)
    groups = geometry.groups
    each = Geometry(*geometry.walk)
    c, o = x.shape[1] // groups, w.shape[0] // groups
    whole = (
        kernels.conv(x, w, b, geometry),
        kernels.conv_input_grad(g, w, x.shape[2:], geometry),
    )
    for i in range(groups):
        ins, outs = slice(i * c, i * c + c), slice(i * o, i * o + o)
        assert_same_bits(kernels.conv(x[:, ins], w[outs], b[outs], each), whole[0][:, outs])
        assert_same_bits(kernels.conv_input_grad(g[:, outs], w[outs], x.shape[2:], each), whole[1][:, ins])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_the_patches_are_numpys(name: str, dtype: Any) -> None:
    x, w, _, _, geometry = operands(name, dtype)

    got, expected = (v.im2col(x, w.shape[2:], *geometry.walk) for v in (kernels, kernels.twins))
    assert_same_bits(got, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_every_plain_sum_is_the_product_with_the_patches(name: str, dtype: Any) -> None:
    x, w, _, g, geometry = operands(name, dtype)
    axes = len(geometry.stride)
    cols = kernels.im2col(x, w.shape[2:], *geometry.walk)
    patches = cols.reshape(x.shape[0], geometry.groups, -1, int(np.prod(g.shape[-axes:])))
    rows = w.reshape(geometry.groups, w.shape[0] // geometry.groups, -1)

    with products_by("fma"):
        product = kernels.matmul(rows, patches).reshape(g.shape)

    for algorithm in ("im2col", "implicit", "direct"):
        assert_same_bits(kernels.conv(x, w, None, replace(geometry, algorithm=algorithm)), product)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("depthwise", "1x1"))])
def test_what_needs_no_patches_has_the_gradient_of_patches(name: str) -> None:
    x, w, b, g, geometry = operands(name, np.float64)

    got, expected = (v.conv_weight_grad(g, x, w.shape[2:], geometry) for v in (kernels, kernels.twins))
    assert_close(got, expected, 1e-14)
    assert_same_bits(kernels.conv(x, w, b, geometry), kernels.conv(x, w, None, geometry) + b.reshape(1, -1, 1, 1))


NORMED = {**CASES, "3x3, small images": ((9, 20, 7, 7), (40, 20, 3, 3), PLAIN), "3x3, wide": ((2, 17, 9, 300), (33, 17, 3, 3), PLAIN)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NORMED)
def test_a_norm_and_relu_of_a_convolution_have_the_bits_of_the_three_apart(name: str, dtype: Any, threads: None) -> None:
    rng, (x_shape, w_shape, geometry) = np.random.default_rng(0), NORMED[name]
    x, w = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(w_shape).astype(dtype)
    b, mean, scale, shift = rng.standard_normal((4, w_shape[0])).astype(dtype)
    var = rng.random(w_shape[0]).astype(dtype)
    for algorithm in ALGORITHMS:
        chosen = replace(geometry, algorithm=algorithm)
        for bias, *both in ((b, scale, shift), (None, None, None)):
            norm = Norm(mean, var, *both, 1e-5)
            y = kernels.channel_norm(kernels.conv(x, w, bias, chosen), *norm)
            for n in (1, 2):
                _ffi.set_num_threads(n)
                assert_same_bits(kernels.conv_norm(x, w, bias, chosen, norm), y, algorithm)
                assert_same_bits(kernels.conv_norm(x, w, bias, chosen, norm, "relu"), kernels.relu(y), algorithm)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_goes_through_norm_and_relu_as_it_would_alone(odd: float) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 20, 12, 12)).astype(np.float32), rng.standard_normal((24, 20, 3, 3)).astype(np.float32)
    x[1, 3, 5, 5], mean, var = odd, np.zeros(24, np.float32), np.ones(24, np.float32)
    apart = kernels.relu(kernels.channel_norm(kernels.conv(x, w, None, PLAIN), mean, var, None, None, 1e-5))

    assert_same_bits(kernels.conv_norm(x, w, None, PLAIN, Norm(mean, var, None, None, 1e-5), "relu"), apart)


def test_a_bias_is_added_at_the_end() -> None:
    x, w, b, _, geometry = operands("3x3", np.float32)

    assert_same_bits(kernels.conv(x, w, b, geometry), kernels.conv(x, w, None, geometry) + b.reshape(1, -1, 1, 1))


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("stride", [(2, 2), (3, 2)])
def test_a_strided_kernels_odd_weight_shows_where_it_reaches_and_nowhere_else(odd: float, stride: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    w, g = rng.standard_normal((4, 1, 3, 3)).astype(np.float32), rng.standard_normal((2, 4, 6, 9)).astype(np.float32)
    w[1, 0, 0, 2] = odd
    walk = Geometry(stride, (1, 1), (1, 1), 4)
    size = tuple((n - 1) * s + 1 for n, s in zip(g.shape[2:], stride))

    got, expected = (v.conv_input_grad(g, w, size, walk) for v in (kernels, kernels.twins))
    assert_same_bits(np.isfinite(got), np.isfinite(expected))
    assert not np.isfinite(got[:, 1]).all() and np.isfinite(got[:, 1]).any()
    assert_close(got[:, [0, 2, 3]], expected[:, [0, 2, 3]], 1e-6)


def test_infinities_stay_where_they_are() -> None:
    """A vector that reaches past a row must not meet what lies there with a zero."""
    x, w = np.ones((1, 1, 3, 5), np.float32), np.ones((2, 1, 3, 3), np.float32)
    x[0, 0, 1, 4], x[0, 0, 0, 0] = np.inf, np.nan
    for channels in (1, 2):
        many = np.repeat(x, channels, 1), np.repeat(w, channels, 1)
        assert_same_bits(kernels.conv(*many, None, PLAIN), kernels.twins.conv(*many, None, PLAIN))
        for g in (np.ones((1, 2, 3, 5), np.float32), np.zeros((1, 2, 3, 5), np.float32)):
            got, expected = (v.conv_weight_grad(g, many[0], (3, 3), PLAIN) for v in (kernels, kernels.twins))
            assert np.array_equal(np.isnan(got), np.isnan(expected)) and np.array_equal(np.isinf(got), np.isinf(expected))
