"""Convolutions hold to plain loops everywhere: values, both gradients, second derivatives, every layout in memory."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conv_loops import Loops
from safetensors import safe_open

import cafe
from cafe import DType, Tensor, Var, kernels
from cafe.kernels.conv import Geometry
from cafe.tensor.base import wrap
from cafe.testing import assert_close, assert_same_bits, gradcheck, versions

GOLDEN = Path(__file__).parent / "golden"
CHANNELS = [(2, 3, 1), (4, 2, 2), (2, 4, 2)]  # in, out, groups: full, grouped, one input channel a group


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def tensor(values: Any, *shape: int) -> Tensor:
    return Tensor(np.asarray(values, np.float32).reshape(shape))


def counting(n: int, *shape: int) -> Tensor:
    """1, 2, … n."""
    return tensor(range(1, n + 1), *shape)


def numbers(t: Tensor | None) -> list[float]:
    assert t is not None
    return t.flatten_all().to_vec1()  # type: ignore[no-any-return]


# -- against plain loops


def sweep(axes: int, kernel: int) -> list[Any]:
    """Every stride, padding, dilation, group and pair of sizes for which the kernel fits."""
    out = []
    for stride, padding, dilation, channels in product((1, 2, 3), (0, 1, 2), (1, 2), CHANNELS):
        for size in product(range(1, 8), repeat=axes):
            if min(size) + 2 * padding > dilation * (kernel - 1):
                out.append((channels, size, Geometry((stride,) * axes, (padding,) * axes, (dilation,) * axes, channels[2])))
    return out


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("axes", [1, 2])
def test_small_convolutions_and_both_gradients_are_the_loops(axes: int, kernel: int, rng: np.random.Generator) -> None:
    for (c, o, groups), size, geometry in sweep(axes, kernel):
        loops = Loops(size, (kernel,) * axes, geometry)
        x, w = rng.standard_normal((2, c, *size)), rng.standard_normal((o, c // groups, *loops.kernel))
        g = rng.standard_normal((2, o, *loops.places))
        y = kernels.conv(x, w, None, geometry)
        assert_close(y, loops.conv(x, w), 1e-14, f"conv {size} {geometry}")
        assert_close(kernels.conv_input_grad(g, w, size, geometry), loops.input_grad(g, w), 1e-14, f"input {size} {geometry}")
        assert_close(kernels.conv_weight_grad(g, x, loops.kernel, geometry), loops.weight_grad(g, x), 1e-13, f"weight {size} {geometry}")


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("axes", [1, 2])
def test_small_transposed_convolutions_and_both_gradients_are_the_loops(axes: int, kernel: int, rng: np.random.Generator) -> None:
    done = 0
    for stride, padding, dilation, extra, (o, c, groups) in product((1, 2, 3), (0, 1, 2), (1, 2), (0, 1, 2), CHANNELS):
        for places in product((1, 2, 5) if axes == 2 else range(1, 8), repeat=axes):
            size = tuple((n - 1) * stride + dilation * (kernel - 1) + extra + 1 - 2 * padding for n in places)
            if extra >= max(stride, dilation) or min(size) < 1:
                continue
            loops = Loops(size, (kernel,) * axes, Geometry((stride,) * axes, (padding,) * axes, (dilation,) * axes, groups), places)
            x, w = Var(rng.standard_normal((2, c, *places))), Var(rng.standard_normal((c, o // groups, *loops.kernel)))
            y = getattr(x, f"conv_transpose{axes}d")(w, padding, extra, stride, dilation, groups)
            g = rng.standard_normal(y.shape)
            grads = (y * Tensor(g)).sum_all().backward()
            where = f"{places} {loops.kernel} s{stride} p{padding} d{dilation} +{extra} g{groups}"
            assert_close(y, loops.input_grad(x.numpy(), w.numpy()), 1e-14, f"y {where}")
            assert_close(grads[x], loops.conv(g, w.numpy()), 1e-14, f"gx {where}")
            assert_close(grads[w], loops.weight_grad(x.numpy(), g), 1e-13, f"gw {where}")
            done += 1
    assert done > 300


@pytest.mark.parametrize("dtype, bound", [(np.float32, 2e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize("i", range(27))
def test_pytorchs_configurations(i: int, dtype: Any, bound: float) -> None:
    """Held to the loops in float64; the loops themselves to PyTorch's float32."""
    with safe_open(GOLDEN / "conv.safetensors", "np") as file:
        case = json.loads(file.metadata()["cases"])[i]
        x, w, y, c, gx, gw = (file.get_tensor(f"{i}.{name}") for name in ("x", "w", "y", "c", "gx", "gw"))
    axes, transposed = x.ndim - 2, "transpose" in case["kind"]
    stride, padding, dilation = ((case.get(name, default),) * axes for name, default in (("stride", 1), ("padding", 0), ("dilation", 1)))
    geometry = Geometry(stride, padding, dilation, case.get("groups", 1))
    if transposed:
        loops = Loops(y.shape[2:], w.shape[2:], geometry, x.shape[2:])
        exact = loops.input_grad(x, w), loops.conv(c, w), loops.weight_grad(x, c)
    else:
        loops = Loops(x.shape[2:], w.shape[2:], geometry)
        exact = loops.conv(x, w), loops.input_grad(c, w), loops.weight_grad(c, x)
    xv, wv = Var(x.astype(dtype)), Var(w.astype(dtype))
    arguments = {k: v for k, v in case.items() if k not in ("kind", "x", "w")}
    out = getattr(xv, case["kind"])(wv, **arguments)
    grads = (out * Tensor(c.astype(dtype))).sum_all().backward()
    for got, reference, theirs in zip((out, grads[xv], grads[wv]), exact, (y, gx, gw)):
        largest = float(np.abs(reference).max())
        assert np.abs(theirs - reference).max() <= 2e-6 * largest
        assert np.abs(got.numpy() - reference).max() <= bound * largest


# -- derivatives

SHAPES = [
    ("conv1d", (2, 4, 9), (6, 2, 3), {"padding": 2, "stride": 2, "dilation": 2, "groups": 2}),
    ("conv2d", (2, 3, 6, 5), (4, 3, 3, 2), {"padding": (1, 0), "stride": (2, 1), "dilation": (1, 2)}),
    ("conv2d", (1, 3, 5, 5), (6, 1, 3, 3), {"padding": 1, "groups": 3}),
    ("conv2d", (2, 3, 4, 4), (2, 3, 1, 1), {}),
    ("conv_transpose1d", (2, 4, 5), (4, 3, 3), {"padding": 1, "output_padding": 1, "stride": 2, "groups": 2}),
    ("conv_transpose2d", (2, 2, 3, 4), (2, 3, 3, 2), {"padding": (1, 0), "output_padding": (2, 1), "stride": (3, 2), "dilation": (1, 2)}),
    ("conv_transpose1d", (1, 2, 4), (2, 2, 3), {"output_padding": 2, "dilation": 3}),  # room for more places than there are inputs
]


@pytest.mark.parametrize("name, x, w, arguments", SHAPES, ids=lambda v: str(v))
@pytest.mark.parametrize("order", [1, 2])
def test_first_and_second_derivatives(
    name: str, x: Any, w: Any, arguments: Any, order: int, rng: np.random.Generator
) -> None:
    gradcheck(lambda a, b: getattr(a, name)(b, **arguments), rng.standard_normal(x), rng.standard_normal(w), order=order)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_with_a_bias(order: int, rng: np.random.Generator) -> None:
    convolve = cafe.tensor._conv.convolve
    shapes = ((2, 3, 5, 4), (4, 3, 3, 3), (4,))
    gradcheck(lambda x, w, b: convolve(2, x, w, b, 1, 1, 1, 1).sqr(), *(rng.standard_normal(s) for s in shapes), order=order)


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_the_patches(order: int, rng: np.random.Generator) -> None:
    patches = cafe.ops.conv.Im2col((2, 3), (1, 2), (1, 0), (2, 1))
    gradcheck(lambda x: cafe.apply(patches, x).sqr(), rng.standard_normal((2, 2, 5, 6)), order=order)
    back = cafe.ops.conv.Col2im((5, 6), (1, 2), (1, 0), (2, 1))
    gradcheck(lambda c: cafe.apply(back, c).sqr(), rng.standard_normal((2, 2, 2, 3, 5, 2)), order=order)


def test_col2im_is_the_adjoint_of_im2col(rng: np.random.Generator) -> None:
    walk = (2, 1), (1, 2), (1, 3)
    x = rng.standard_normal((2, 3, 7, 9))
    cols = kernels.im2col(x, (3, 2), *walk)
    g = rng.standard_normal(cols.shape)
    back = kernels.col2im(g, (7, 9), *walk)

    assert cols.shape == (2, 3, 3, 2, 4, 10)
    assert abs(float((cols * g).sum() - (x * back).sum())) < 1e-11
    assert cols[1, 2, 0, 1, 1, 4] == x[1, 2, 1 * 2 + 0 - 1, 4 + 3 - 2]


# -- small cases that frameworks get wrong


def test_kernel_gradient_for_two_samples_and_two_outputs() -> None:
    """candle reads a transposed kernel as if it were contiguous and gives 220, 256, 292, 508, 608, 708."""
    x, c = tensor(range(12), 2, 1, 6), counting(16, 2, 2, 4)
    w = Var(np.array([[[1, -1, 2]], [[0.5, 0.25, -2]]], np.float32))
    loss = (x.conv1d(w, 0, 1, 1, 1) * c).sum_all()
    first = (x[:1].conv1d(w, 0, 1, 1, 1) * c[:1]).sum_all()

    assert loss.to_scalar() == -84
    assert numbers(loss.backward().get(w)) == [340, 392, 444, 484, 568, 652]
    assert numbers(first.backward().get(w)) == [20, 30, 40, 44, 70, 96]
    assert numbers(x.transpose(0, 1).conv1d(c.transpose(0, 1))) == [340, 392, 444, 484, 568, 652]


def test_transposed_kernel_in_two_dimensions() -> None:
    x, k = Var(counting(18, 2, 1, 3, 3).numpy().reshape(1, 2, 3, 3)), Var(counting(16, 2, 2, 2, 2))
    y = x.conv2d(k.transpose(0, 1), 0, 1, 1, 1)
    loss = y.sqr().sum_all()
    grads = loss.backward()

    assert numbers(y) == [548, 600, 704, 756, 788, 872, 1040, 1124]
    assert loss.to_scalar() == 5453760
    assert numbers(grads.get(x)) == [
        8976, 21568, 12864, 26128, 60848, 35264, 18784, 42544, 24032,
        30352, 66496, 36416, 75408, 163760, 88896, 46688, 100528, 54112,
    ]  # fmt: skip
    assert numbers(grads.get(k)) == [
        16688, 21904, 32336, 37552, 24624, 32272, 47568, 55216, 63632, 68848, 79280, 84496, 93456, 101104, 116400, 124048,
    ]  # fmt: skip


def test_sliced_kernel_with_an_offset() -> None:
    k, x = Var(counting(12, 4, 3, 1, 1)), Var(counting(12, 1, 3, 2, 2))
    y = x.conv2d(k[1:3], 0, 1, 1, 1)
    grads = (y * counting(8, 1, 2, 2, 2)).sum_all().backward()

    assert numbers(y) == [83, 98, 113, 128, 128, 152, 176, 200]
    assert numbers(grads.get(x)) == [39, 50, 61, 72, 45, 58, 71, 84, 51, 66, 81, 96]
    assert numbers(grads.get(k)) == [0, 0, 0, 30, 70, 110, 70, 174, 278, 0, 0, 0]


def test_a_stride_that_does_not_divide_the_input() -> None:
    x, k = Var(counting(36, 1, 1, 6, 6)), Var(counting(9, 1, 1, 3, 3))
    y = x.conv2d(k, 0, 2, 1, 1)
    grads = y.sum_all().backward()

    assert numbers(y) == [474, 564, 1014, 1104]
    assert grads[x].squeeze(0).squeeze(0).to_vec2() == [
        [1, 2, 4, 2, 3, 0], [4, 5, 10, 5, 6, 0], [8, 10, 20, 10, 12, 0], [4, 5, 10, 5, 6, 0], [7, 8, 16, 8, 9, 0], [0] * 6,
    ]  # fmt: skip
    assert numbers(grads.get(k)) == [32, 36, 40, 56, 60, 64, 80, 84, 88]


def test_a_remainder_on_one_axis_only() -> None:
    """candle raises: it gives both axes the same output padding."""
    x = Var(np.ones((1, 1, 5, 6), np.float32))
    grads = x.conv2d(Tensor.ones((1, 1, 3, 3)), 0, 2, 1, 1).sum_all().backward()

    assert grads[x].squeeze(0).squeeze(0).to_vec2() == [[r * c for c in (1, 1, 2, 1, 1, 0)] for r in (1, 1, 2, 1, 1)]


def test_transposed_convolution_with_stride_two() -> None:
    x, k = Var(counting(4, 1, 1, 2, 2)), Var(counting(9, 1, 1, 3, 3))
    y = x.conv_transpose2d(k, 0, 0, 2, 1)
    grads = (y * counting(25, 1, 1, 5, 5)).sum_all().backward()

    assert numbers(y) == [1, 2, 5, 4, 6, 4, 5, 14, 10, 12, 10, 14, 36, 24, 30, 12, 15, 34, 20, 24, 21, 24, 55, 32, 36]
    assert numbers(grads.get(x)) == [411, 501, 861, 951]
    assert numbers(grads.get(k)) == [92, 102, 112, 142, 152, 162, 192, 202, 212]


def test_transposed_convolution_with_groups_padding_and_output_padding() -> None:
    x, k = Var(counting(8, 1, 2, 2, 2)), Var(counting(18, 2, 1, 3, 3))
    y = x.conv_transpose2d(k, 1, 1, 2, 1, 2)
    grads = (y * counting(32, 1, 2, 4, 4)).sum_all().backward()

    assert numbers(y) == [
        5, 14, 10, 12, 14, 36, 24, 30, 15, 34, 20, 24, 24, 55, 32, 36,
        70, 153, 84, 90, 162, 350, 190, 204, 98, 209, 112, 120, 119, 254, 136, 144,
    ]  # fmt: skip
    assert numbers(grads.get(x)) == [111, 217, 363, 573, 1261, 1975, 2268, 3480]
    assert numbers(grads.get(k)) == [
        24, 43, 50, 44, 78, 88, 68, 118, 128, 176, 331, 346, 316, 590, 616, 372, 694, 720,
    ]  # fmt: skip


def test_channels_as_many_as_rows_and_columns(rng: np.random.Generator) -> None:
    """candle once took such a cube for another layout."""
    x, w = rng.standard_normal((1, 4, 4, 4)), rng.standard_normal((4, 4, 3, 3))
    loops = Loops((4, 4), (3, 3), Geometry((1, 1), (1, 1), (1, 1)))

    assert_close(Tensor(x).conv2d(Tensor(w), 1), loops.conv(x, w), 1e-14)


# -- layouts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name, x, w, arguments", SHAPES, ids=lambda v: str(v))
def test_views_give_the_bits_of_their_copies(
    name: str, x: Any, w: Any, arguments: Any, dtype: Any, rng: np.random.Generator
) -> None:
    """Transposed, with steps, backwards, repeated by stride 0, at an odd offset, NaN all around."""
    xa, wa = rng.standard_normal(x).astype(dtype), rng.standard_normal(w).astype(dtype)
    for (kind, xv, xc), (_, wv, wc) in zip(versions(xa), versions(wa)):
        seen, copied, seen_w, copied_w = map(wrap, (xv, xc, wv, wc))
        expected = getattr(copied, name)(copied_w, **arguments)
        assert_same_bits(getattr(seen, name)(copied_w, **arguments), expected, f"input {kind}")
        assert_same_bits(getattr(copied, name)(seen_w, **arguments), expected, f"kernel {kind}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_views_are_those_of_their_copies(dtype: Any, rng: np.random.Generator) -> None:
    x, w, g = (rng.standard_normal(s).astype(dtype) for s in ((2, 4, 6, 7), (6, 2, 3, 2), (2, 6, 3, 6)))
    geometry = Geometry((2, 1), (1, 1), (1, 2), 2)
    for (kind, xv, xc), (_, wv, wc), (_, gv, gc) in zip(versions(x), versions(w), versions(g)):
        assert_same_bits(kernels.conv_input_grad(gv, wv, (6, 7), geometry), kernels.conv_input_grad(gc, wc, (6, 7), geometry), kind)
        assert_same_bits(kernels.conv_weight_grad(gv, xv, (3, 2), geometry), kernels.conv_weight_grad(gc, xc, (3, 2), geometry), kind)
        assert_same_bits(kernels.im2col(xv, (3, 2), *geometry.walk), kernels.im2col(xc, (3, 2), *geometry.walk), kind)


def test_gradients_of_a_kernel_that_is_a_slice_of_channels(rng: np.random.Generator) -> None:
    weight, x = Var(rng.standard_normal((4, 5, 3, 3))), Var(rng.standard_normal((2, 2, 7, 7)))
    sliced = x.conv2d(weight.i((slice(None), slice(1, 3))), 0, 2).sqr().sum_all().backward()
    copied = x.conv2d(weight.i((slice(None), slice(1, 3))).contiguous(), 0, 2).sqr().sum_all().backward()

    assert numbers(sliced.get(weight)) == numbers(copied.get(weight))
    assert numbers(sliced.get(x)) == numbers(copied.get(x))


# -- groups, empty things, dtypes


def test_groups_are_convolutions_side_by_side(rng: np.random.Generator) -> None:
    x, w = (Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((3, 6, 9, 9), (8, 3, 3, 3)))
    halves = [x.narrow(1, 3 * i, 3).conv2d(w.narrow(0, 4 * i, 4), 1) for i in range(2)]
    depthwise = Tensor(rng.standard_normal((6, 1, 3, 3)).astype(np.float32))
    each = [x.narrow(1, i, 1).conv2d(depthwise.narrow(0, i, 1), 1) for i in range(6)]

    assert_close(x.conv2d(w, 1, groups=2), Tensor.cat(halves, 1), 0.0)
    assert_close(x.conv2d(depthwise, 1, groups=6), Tensor.cat(each, 1), 0.0)


NOTHING = [
    ((0, 3, 5, 5), (4, 3, 3, 3), (0, 4, 3, 3)),
    ((2, 0, 5, 5), (4, 0, 3, 3), (2, 4, 3, 3)),
    ((2, 3, 5, 5), (0, 3, 3, 3), (2, 0, 3, 3)),
]


@pytest.mark.parametrize("x, w, y", NOTHING)
def test_nothing_to_convolve(x: Any, w: Any, y: Any) -> None:
    xv, wv = Var(np.ones(x, np.float32)), Var(np.ones(w, np.float32))
    out = xv.conv2d(wv)
    grads = out.sum_all().backward()

    assert out.shape == y and not out.numpy().any()
    assert grads[xv].shape == x and grads[wv].shape == w and not grads[wv].numpy().any()


NOTHING_TRANSPOSED = [
    ((0, 3, 5, 5), (3, 4, 3, 3)),
    ((0, 3, 5), (3, 4, 2)),
    ((2, 0, 5, 5), (0, 4, 3, 3)),
    ((2, 3, 5, 5), (3, 0, 3, 3)),
]


@pytest.mark.parametrize("x, w", NOTHING_TRANSPOSED)
@pytest.mark.parametrize("stride", [1, 2])
def test_nothing_to_convolve_transposed(x: Any, w: Any, stride: int) -> None:
    xv, wv = Var(np.ones(x, np.float32)), Var(np.ones(w, np.float32))
    out = xv.conv_transpose2d(wv, stride=stride) if len(x) == 4 else xv.conv_transpose1d(wv, stride=stride)
    grads = out.sum_all().backward()

    assert out.shape == (x[0], w[1], *((x[2] - 1) * stride + w[2],) * (len(x) - 2)) and not out.numpy().any()
    assert grads[xv].shape == x and grads[wv].shape == w and not grads[wv].numpy().any()


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_half_precision_is_the_float32_result_rounded_once(dtype: DType, rng: np.random.Generator) -> None:
    x, w = (Tensor(rng.standard_normal(s).astype(np.float32)).to_dtype(dtype) for s in ((2, 3, 6, 6), (4, 3, 3, 3)))
    wide = x.to_dtype(DType.F32).conv2d(w.to_dtype(DType.F32), 1)
    v = Var(w)
    gw = x.conv2d(v, 1).sum_all().backward()[v]

    assert x.conv2d(w, 1).dtype is dtype
    assert x.conv2d(w, 1).tolist() == wide.to_dtype(dtype).tolist()
    assert gw.dtype is dtype
