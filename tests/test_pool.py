"""Pooling: values and gradients at the edges that others get wrong, against plain loops and against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from cafe import DType, Tensor, Var, kernels
from cafe.errors import Error, UnexpectedNumberOfDims, UnsupportedDTypeForOp
from cafe.kernels.pool import Stride, adaptive, strided
from cafe.testing import assert_close, assert_same_bits, gradcheck, versions

INF, NAN = float("inf"), float("nan")
GRID = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 88.0, 9.0, 10.0, 11.0, 12.0], list(range(13, 19)), list(range(19, 25))]


def image(rows: Any) -> Var:
    return Var(np.array(rows, np.float32)[None, None])


def gradient(x: Var, y: Tensor) -> Any:
    return y.sum_all().backward()[x].tolist()[0][0]


# -- candle's own


def test_average_of_two_by_two() -> None:
    x = Tensor([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])

    assert x.reshape((1, 1, 4, 4)).avg_pool2d(2).tolist() == [[[[0.5, 1.0], [1.0, 1.0]]]]
    assert x.reshape((1, 1, 2, 8)).avg_pool2d(2).tolist() == [[[[1.0, 1.0, 0.5, 1.0]]]]


def test_largest_of_two_by_two() -> None:
    x = Tensor([1.0, 2.0, 1.0, 3.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 1.0, 1.0, 1.0])

    assert x.reshape((1, 1, 4, 4)).max_pool2d(2).tolist() == [[[[2.0, 3.0], [5.0, 1.0]]]]
    assert x.reshape((1, 1, 4, 4)).max_pool2d_with_stride(2, (2, 1)).tolist() == [[[[2.0, 2.0, 3.0], [5.0, 1.0, 1.0]]]]


def test_the_stride_is_the_kernel_where_none_is_given() -> None:
    x = Tensor(np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6))

    assert x.max_pool2d((2, 3)).tolist() == x.max_pool2d_with_stride((2, 3), (2, 3)).tolist() == [[[[8.0, 11.0], [20.0, 23.0]]]]
    assert x.avg_pool2d((2, 3)).tolist() == x.avg_pool2d_with_stride((2, 3), (2, 3)).tolist()


# -- gradients that candle lacks or gets wrong


def test_overlapping_windows_add_up() -> None:
    x = image(GRID)
    y = x.max_pool2d(3, 2, 1)

    assert y.tolist() == [[[[88.0, 88.0, 12.0], [88.0, 88.0, 24.0]]]]
    assert gradient(x, y) == [[0.0] * 6, [0.0, 4.0, 0.0, 0.0, 0.0, 1.0], [0.0] * 6, [0.0] * 5 + [1.0]]


@pytest.mark.parametrize(
    "rows, wanted",
    [
        ([[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 1.0]]),
        ([[1.0, 2.0], [2.0, 2.0]], [[0.0, 1.0], [0.0, 0.0]]),
        ([[2.0, 2.0], [2.0, 2.0]], [[1.0, 0.0], [0.0, 0.0]]),
        ([[0.0, -0.0], [-0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]),
    ],
)
def test_the_first_of_equals_takes_it_all(rows: Any, wanted: Any) -> None:
    x = image(rows)

    assert gradient(x, x.max_pool2d(2)) == wanted


def test_a_kernel_that_is_not_the_stride_has_a_gradient() -> None:
    x = image([[1.0, 2.0, 9.0, 3.0, 5.0]])

    assert gradient(x, x.max_pool2d((1, 2))) == [[0.0, 1.0, 1.0, 0.0, 0.0]]


def test_what_no_window_reaches_has_a_gradient_of_zero() -> None:
    x = image(np.ones((5, 5)))

    assert gradient(x, x.avg_pool2d(2)) == [[0.25] * 4 + [0.0]] * 4 + [[0.0] * 5]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "pool",
    [
        lambda x: x.max_pool2d(3, 2, 1, True),
        lambda x: x.avg_pool2d(3, 2, 1, True, False),
        lambda x: x.adaptive_avg_pool2d((3, 4)),
        lambda x: x.adaptive_max_pool2d((3, 4)),
        lambda x: x.global_avg_pool(),
        lambda x: x.global_max_pool(),
    ],
)
def test_differentiable_twice(pool: Callable[[Tensor], Tensor], order: int) -> None:
    x = np.random.default_rng(0).permutation(2 * 2 * 5 * 7).reshape(2, 2, 5, 7) * 0.1

    gradcheck(lambda t: pool(t).sqr() * pool(t), x, order=order, bound=1e-7)


# -- NaN and infinities


@pytest.mark.parametrize(
    "window, y, place",
    [
        ([1.0, NAN, 3.0, 4.0], NAN, 1),
        ([NAN, NAN, INF, 4.0], NAN, 0),
        ([-INF, -INF, -INF, -INF], -INF, 0),
        ([-INF, -INF, -5.0, -INF], -5.0, 2),
        ([1.0, INF, NAN, INF], NAN, 2),
        ([1.0, INF, 3.0, INF], INF, 1),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_windows_with_nan_and_infinities(window: list[float], y: float, place: int, dtype: Any) -> None:
    for shape, kernel in (((1, 1, 4), 4), ((1, 1, 2, 2), 2)):
        x = np.array(window, dtype).reshape(shape)
        spans = tuple(strided(n, Stride(kernel, kernel)) for n in shape[2:])
        for xp in (kernels, kernels.twins):
            got, ids = xp.max_pool(x, spans)
            np.testing.assert_array_equal(got.ravel(), [y])
            assert ids.ravel().tolist() == [place] and ids.dtype == np.uint32


def test_a_window_of_minus_infinity_at_the_border_names_a_place_inside() -> None:
    x = image(np.full((2, 2), -INF))
    y = x.max_pool2d(2, 2, 1)

    assert y.tolist() == [[[[-INF, -INF], [-INF, -INF]]]]
    assert gradient(x, y) == [[1.0, 1.0], [1.0, 1.0]]


def test_an_infinity_or_nan_stays_in_its_window() -> None:
    x = Tensor(np.array([[[1.0, INF, 3.0, NAN, 5.0, 6.0]]], np.float32))

    np.testing.assert_array_equal(x.avg_pool1d(2).numpy().ravel(), [INF, NAN, 5.5])
    np.testing.assert_array_equal(x.avg_pool1d(2, 1).numpy().ravel(), [INF, INF, NAN, NAN, 5.5])


# -- sizes


@pytest.mark.parametrize(
    "size, stride, places",
    [
        ((6, 7), Stride(1, 2, ceil=True), (3, 4)),
        ((8, 10), Stride(3, 4, ceil=True), (2, 3)),
        ((5, 5), Stride(3, 3, 1, ceil=True), (2, 2)),
    ],
)
def test_a_window_that_starts_outside_is_dropped(size: tuple[int, int], stride: Stride, places: tuple[int, int]) -> None:
    y = Tensor.ones((1, 1, *size)).max_pool2d(stride.kernel, stride.step, stride.padding, stride.ceil)

    assert y.shape == (1, 1, *places)
    assert set(y.flatten_all().tolist()) == {1.0}


def test_padding_counts_or_does_not() -> None:
    x = image([[1.0, 2.0], [3.0, 4.0]])

    assert_close(x.avg_pool2d(3, 1, 1), np.full((1, 1, 2, 2), 10 / 9), 1e-7)
    assert x.avg_pool2d(3, 1, 1, count_include_pad=False).tolist() == [[[[2.5, 2.5], [2.5, 2.5]]]]
    assert_close(np.array(gradient(x, x.avg_pool2d(3, 1, 1))), np.full((2, 2), 4 / 9), 1e-7)


def test_a_hanging_window_counts_what_it_covers() -> None:
    """The second window lies half behind the padding: there is nothing there to count."""
    x = Tensor([[[2.0, 4.0, 6.0]]])

    assert x.avg_pool1d(2, ceil_mode=True).tolist() == [[[3.0, 6.0]]]
    assert x.avg_pool1d(2, 2, 1, ceil_mode=True).tolist() == [[[1.0, 5.0]]]


def test_every_window_of_every_small_geometry_lies_inside() -> None:
    for size, kernel, step, ceil in product(range(1, 9), range(1, 5), range(1, 5), (False, True)):
        for padding in range(kernel // 2 + 1):
            if size + 2 * padding < kernel:
                continue
            span = strided(size, Stride(kernel, step, padding, ceil))
            assert all(0 <= s < e <= size for s, e in zip(span.start, span.end))
            assert all(0 < d <= kernel for d in span.divisor)


@pytest.mark.parametrize("size, places", list(product(range(1, 9), range(1, 9))))
def test_adaptive_windows_cover_everything(size: int, places: int) -> None:
    span = adaptive(size, places)

    assert span.start[0] == 0 and span.end[-1] == size
    assert all(s < e for s, e in zip(span.start, span.end))
    assert all(after <= end for after, end in zip(span.start[1:], span.end))


def test_global_pooling_is_the_mean_and_the_maximum() -> None:
    x = Tensor(np.random.default_rng(0).normal(size=(2, 3, 4, 5)))

    assert_close(x.global_avg_pool(), x.mean_keepdim((2, 3)), 1e-15)
    assert x.global_max_pool().tolist() == x.max_keepdim(3).max_keepdim(2).tolist()


# -- errors


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: x.max_pool2d(3), "kernel-size (3, 3) is larger than the input size 2,2"),
        (lambda x: x.avg_pool2d((1, 3)), "kernel-size (1, 3) is larger than the input size 2,2"),
        (lambda x: x.max_pool2d(5, 1, 1), "kernel-size (5, 5) is larger than the input size 2,2"),
        (lambda x: x.squeeze(0).max_pool1d(3), "kernel-size 3 is larger than the input size 2"),
        (lambda x: x.max_pool2d(2, 2, 2), "max_pool2d: padding must be at most half of the kernel, got padding [2, 2], kernel [2, 2]"),
        (lambda x: x.avg_pool2d(0), "avg_pool2d: kernel must be at least 1, got [0, 0]"),
        (lambda x: x.avg_pool2d(1, 0), "avg_pool2d: stride must be at least 1, got [0, 0]"),
        (lambda x: x.avg_pool2d((1, 1, 1)), "avg_pool2d: kernel takes an int or 2 of them, got [1, 1, 1]"),
        (lambda x: x.adaptive_avg_pool2d(0), "adaptive_avg_pool2d: size must be at least 1, got [0, 0]"),
        (lambda x: x.narrow(2, 0, 0).adaptive_avg_pool2d(1), "adaptive_avg_pool2d: there is nothing to pool in shape [1, 1, 0, 2]"),
        (lambda x: x.narrow(2, 0, 0).global_max_pool(), "global_max_pool: there is nothing to pool in shape [1, 1, 0, 2]"),
        (lambda x: x.narrow(2, 0, 0).max_pool2d(1, 1), "kernel-size (1, 1) is larger than the input size 0,2"),
    ],
)
def test_refusals(call: Callable[[Tensor], Tensor], text: str) -> None:
    with pytest.raises(Error) as caught:
        call(Tensor.zeros((1, 1, 2, 2)))
    assert str(caught.value) == text


def test_other_ranks_are_refused() -> None:
    with pytest.raises(UnexpectedNumberOfDims, match=r"unexpected rank, expected: 4, got: 3 \(\[1, 2, 2\]\)"):
        Tensor.zeros((1, 2, 2)).max_pool2d(1)
    with pytest.raises(UnexpectedNumberOfDims):
        Tensor.zeros((2, 2)).global_avg_pool()


def test_an_average_of_integers_is_refused_and_a_maximum_is_not() -> None:
    x = Tensor([[[1, 5, 3, 2]]])

    assert x.max_pool1d(2).tolist() == [[[5, 3]]] and x.max_pool1d(2).dtype is DType.I64
    with pytest.raises(UnsupportedDTypeForOp, match="unsupported dtype I64 for op avg_pool1d"):
        x.avg_pool1d(2)


# -- against others


@pytest.mark.parametrize(
    "stride", [Stride(2, 2), Stride(3, 2, 1), Stride(3, 1, 1), Stride(3, 2, 1, True), Stride(2, 3, 0, True), Stride(5, 3, 2, True, False)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strided_pooling_is_pytorchs(stride: Stride, dtype: Any) -> None:
    torch = pytest.importorskip("torch")
    kernel, step, padding, ceil, count = stride
    rng = np.random.default_rng(1)
    for shape in [(2, 3, 9, 20), (1, 2, 8, 37), (1, 1, 13, 5)]:
        data = rng.integers(-3, 4, shape).astype(dtype)  # with many ties
        x, peer = Var(data), torch.tensor(data, requires_grad=True)
        for mine, theirs in (
            (x.max_pool2d(kernel, step, padding, ceil), torch.max_pool2d(peer, kernel, step, padding, 1, ceil)),
            (
                x.avg_pool2d(kernel, step, padding, ceil, count),
                torch.nn.functional.avg_pool2d(peer, kernel, step, padding, ceil, count),
            ),
        ):
            g = rng.normal(size=mine.shape).astype(dtype)
            (wanted,) = torch.autograd.grad((theirs * torch.tensor(g)).sum(), peer)
            bound = 4 * np.finfo(dtype).eps
            assert_close(mine, theirs.detach().numpy(), bound)
            assert_close((mine * Tensor(g)).sum_all().backward()[x], wanted.numpy(), bound)


@pytest.mark.parametrize("size", [(1, 1), (3, 4), (7, 7), (9, 11)])
def test_adaptive_pooling_is_pytorchs(size: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    data = np.random.default_rng(1).normal(size=(2, 3, 7, 10))
    x, peer = Var(data), torch.tensor(data, requires_grad=True)
    for mine, theirs in (
        (x.adaptive_avg_pool2d(size), torch.nn.functional.adaptive_avg_pool2d(peer, size)),
        (x.adaptive_max_pool2d(size), torch.nn.functional.adaptive_max_pool2d(peer, size)),
    ):
        (wanted,) = torch.autograd.grad(theirs.sqr().sum() if hasattr(theirs, "sqr") else theirs.square().sum(), peer)
        assert_close(mine, theirs.detach().numpy(), 1e-15)
        assert_close(mine.sqr().sum_all().backward()[x], wanted.numpy(), 1e-14)


# -- the kernels


SHAPES = [(1, 1, 4, 5), (3, 2, 9, 33), (2, 5, 16, 16), (1, 70, 13, 7)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stride", [Stride(1, 1), Stride(2, 2), Stride(3, 2, 1), Stride(3, 1, 1), Stride(4, 3, 2, True, False)])
def test_kernels_are_their_twins(stride: Stride, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x = rng.normal(size=shape).astype(dtype)
        spans = tuple(strided(n, stride) for n in shape[2:])
        y, ids = kernels.max_pool(x, spans)
        assert_same_bits(y, kernels.twins.max_pool(x, spans)[0])
        assert_same_bits(ids, kernels.twins.max_pool_ids(x, spans))
        assert_same_bits(kernels.max_pool_ids(x, spans), ids)
        g = rng.normal(size=y.shape).astype(dtype)
        eps = 8 * np.finfo(dtype).eps
        assert_close(kernels.max_pool_backward(g, ids, shape[2:]), kernels.twins.max_pool_backward(g, ids, shape[2:]), eps)
        assert_close(kernels.avg_pool(x, spans), kernels.twins.avg_pool(x, spans), eps)
        assert_close(kernels.avg_pool_backward(g, spans, shape[2:]), kernels.twins.avg_pool_backward(g, spans, shape[2:]), eps)


def test_kernels_take_any_strides() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 8, 9)).astype(np.float32)
    spans = tuple(strided(n, Stride(3, 2, 1)) for n in x.shape[2:])
    for kind, view, copy in versions(x):
        assert_same_bits(kernels.max_pool(view, spans)[0], kernels.max_pool(copy, spans)[0], kind)
        assert_same_bits(kernels.avg_pool(view, spans), kernels.avg_pool(copy, spans), kind)
        assert_same_bits(kernels.avg_pool_backward(view, (adaptive(11, 8), adaptive(11, 9)), (11, 11)),
                         kernels.avg_pool_backward(copy, (adaptive(11, 8), adaptive(11, 9)), (11, 11)), kind)  # fmt: skip
