"""Losses: candle's and PyTorch's numbers, the extremes, the keywords, and what is refused."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expect import raises

from cafe import DType, Error, Tensor, Var, errors
from cafe.io import safetensors
from cafe.nn import loss, ops
from cafe.testing import assert_close, gradcheck

GOLDEN = safetensors.load(pathlib.Path(__file__).parent / "golden" / "losses.safetensors")


def value_and_slope(f: Callable[[Tensor], Tensor], x: Any, dtype: str = "f32") -> tuple[float, Any]:
    v = Var(x, dtype=dtype)
    y = f(v)
    return y.to_scalar(), y.backward()[v].tolist()


# -- PyTorch's numbers


@pytest.mark.parametrize(
    ("name", "inp", "f"),
    [
        ("cross_entropy", "z", lambda z: loss.cross_entropy(z, GOLDEN["t"])),
        ("cross_entropy_smooth", "z", lambda z: loss.cross_entropy(z, GOLDEN["t"], label_smoothing=0.1)),
        ("cross_entropy_ignore", "z", lambda z: loss.cross_entropy(z, GOLDEN["t"], ignore_index=2)),
        ("nll", "z", lambda z: loss.nll(ops.log_softmax(z, 1), GOLDEN["t"])),
        ("bce_with_logits", "b", lambda b: loss.binary_cross_entropy_with_logit(b, GOLDEN["bt"])),
        ("mse", "m", lambda m: loss.mse(m, GOLDEN["mt"])),
        ("l1", "m", lambda m: loss.l1(m, GOLDEN["mt"])),
        ("huber", "m", lambda m: loss.huber(m, GOLDEN["mt"], 0.7)),
        ("smooth_l1", "m", lambda m: loss.smooth_l1(m, GOLDEN["mt"])),
    ],
)
def test_values_and_gradients_are_pytorchs(name: str, inp: str, f: Callable[[Tensor], Tensor]) -> None:
    x = Var(GOLDEN[inp])
    y = f(x)
    g, wanted = y.backward()[x], GOLDEN[f"{name}.grad"].numpy()
    assert_close(y, GOLDEN[f"{name}.loss"], 1e-6)
    assert np.std(wanted) > 0.01
    assert np.max(np.abs(g.numpy() - wanted)) <= 1e-6 * np.abs(wanted).max()


# -- candle's own numbers

LOGITS = Tensor(
    [[1.1050, 0.3013, -1.5394, -2.1528, -0.8634], [1.0730, -0.9419, -0.1670, -0.6582, 0.5061], [0.8318, 1.1154, -0.3610, 0.5351, 1.0830]]
)


def test_cross_entropy_is_nll_of_log_softmax() -> None:
    target = Tensor([1, 0, 4], dtype=DType.U32)
    assert round(loss.nll(ops.log_softmax(LOGITS, 1), target).to_scalar(), 4) == 1.1312
    assert round(loss.cross_entropy(LOGITS, target).to_scalar(), 4) == 1.1312


FOUR = Tensor(
    [
        [2.3611, -0.8813, -0.5006, -0.2178],
        [0.0419, 0.0763, -1.0457, -1.6692],
        [-1.0494, 0.8111, 1.5723, 1.2315],
        [1.3081, 0.6641, 1.1802, -0.2547],
        [0.5292, 0.7636, 0.3692, -0.8318],
    ]
)
ONE_HOT = Tensor.eye(4).index_select(Tensor([1, 1, 3, 0, 2]), 0)


@pytest.mark.parametrize(
    ("f", "value"),
    [
        (loss.binary_cross_entropy_with_logit, 0.8224),
        (lambda a, b: loss.huber(a, b, 1.0), 0.4734),
        (lambda a, b: loss.huber(a, b, 0.88), 0.4483),
        (loss.smooth_l1, 0.4734),
    ],
)
def test_losses_of_logits_beside_classes(f: Callable[[Tensor, Tensor], Tensor], value: float) -> None:
    assert round(f(FOUR, ONE_HOT).to_scalar(), 4) == value


def test_the_guides_digits() -> None:
    logits, targets = Var([[2.0, 0.5, -1.0], [0.1, 0.2, 3.0]]), Tensor([0, 2], dtype=DType.U32)
    ce = loss.cross_entropy(logits, targets)
    assert f"{ce:.6f}" == "0.175456"
    by_hand = ops.log_softmax(logits, -1).gather(targets.unsqueeze(1), 1).neg().mean_all()
    assert f"{by_hand:.6f}" == "0.175456"
    wanted = [[-0.1072015, 0.0876452, 0.0195563], [0.0246557, 0.0272487, -0.0519044]]
    assert_close(ce.backward()[logits], np.array(wanted), 1e-7)
    assert loss.mse(Tensor([1.0, 2.0]), Tensor([0.0, 0.0])).to_scalar() == 2.5


# -- numbers


def test_a_column_beside_a_row_is_an_error_not_a_square() -> None:
    with raises(errors.ShapeMismatchBinaryOp, "shape mismatch in sub, lhs: [3], rhs: [3, 1]", "a loss does not broadcast"):
        loss.mse(Tensor([1.0, 2.0, 3.0]), Tensor([[1.0], [2.0], [3.0]]))


@pytest.mark.parametrize("f", [loss.mse, loss.binary_cross_entropy_with_logit, lambda a, b: loss.huber(a, b, 0.5), loss.smooth_l1, loss.l1])
def test_derivatives_of_both_sides(f: Callable[[Tensor, Tensor], Tensor]) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(3, 4)), rng.uniform(0.1, 0.9, size=(3, 4))
    gradcheck(f, a, b, order=2)


def test_an_error_of_nothing_is_nan() -> None:
    empty = Var.zeros((0, 3))
    for f in (loss.mse, loss.binary_cross_entropy_with_logit):
        y = f(empty, Tensor.zeros((0, 3)))
        assert math.isnan(y.to_scalar())
        assert y.backward()[empty].shape == (0, 3)


@pytest.mark.parametrize(
    ("x", "t", "value", "gradient"),
    [
        (1000.0, 0.0, 1000.0, 1.0),
        (-1000.0, 1.0, 1000.0, -1.0),
        (1000.0, 1.0, 0.0, 0.0),
        (-1000.0, 0.0, 0.0, 0.0),
        (0.0, 0.5, 0.6931472, 0.0),
        (17.0, 1.0, 4.1399e-8, -4.1399e-8),  # where candle's sigmoid has become 1
        (17.0, 0.0, 17.0, 1.0),
        (-17.0, 0.0, 4.1399e-8, 4.1399e-8),
        (88.0, 1.0, 6.0546e-39, -6.0546e-39),
    ],
)
def test_bce_is_exact_at_any_logit(x: float, t: float, value: float, gradient: float) -> None:
    y, (g,) = value_and_slope(lambda v: loss.binary_cross_entropy_with_logit(v, Tensor([t])), [x])
    assert y == pytest.approx(value, rel=1e-4, abs=1e-44)
    assert g == pytest.approx(gradient, rel=1e-4, abs=1e-44)


def test_huber_joins_its_branches() -> None:
    inp, target = Tensor([0.5, -0.5, 3.0, -3.0]), Tensor.zeros(4)
    assert loss.huber(inp, target, 1.0).to_scalar() == (0.125 * 2 + 2.5 * 2) / 4
    y, g = value_and_slope(lambda v: loss.huber(v, Tensor.zeros(3), 1.0), [1.0, -1.0, 0.0])
    assert (y, g) == (pytest.approx(1 / 3), [pytest.approx(1 / 3), pytest.approx(-1 / 3), 0.0])
    assert value_and_slope(lambda v: loss.huber(v, Tensor.zeros(1), 2.0), [1e30])[1] == [2.0]
    assert value_and_slope(lambda v: loss.huber(v, Tensor.zeros(1), 2.0), [math.inf])[1] == [2.0]


def test_smooth_l1_is_huber_by_its_beta_and_l1_at_zero() -> None:
    a, b = Tensor([0.25, 2.0]), Tensor([0.0, 0.0])
    assert loss.smooth_l1(a, b, 0.5).to_scalar() == pytest.approx((0.0625 + 1.75) / 2)
    assert loss.smooth_l1(a, b, 0.0).to_scalar() == loss.l1(a, b).to_scalar() == 1.125
    assert value_and_slope(lambda v: loss.l1(v, Tensor.zeros(2)), [0.0, 3.0])[1] == [0.0, 0.5]


# -- classes


@pytest.mark.parametrize(
    ("logits", "target", "value", "gradient"),
    [
        ([-431.0, 279.0, 427.0], 0, 858.0, [-1.0, 0.0, 1.0]),
        ([1e8, 1e8], 1, 0.6931472, [0.5, -0.5]),
        ([0.0, -math.inf, 1.0], 2, 0.3132617, [0.26894, 0.0, -0.26894]),
        ([0.0, -math.inf, 1.0], 1, math.inf, [0.26894, -1.0, 0.73106]),
    ],
)
def test_huge_and_infinite_logits(logits: list[float], target: int, value: float, gradient: list[float]) -> None:
    y, (g,) = value_and_slope(lambda v: loss.cross_entropy(v, Tensor([target])), [logits])
    assert y == pytest.approx(value, rel=1e-6)
    assert g == pytest.approx(gradient, abs=1e-5)


@pytest.mark.parametrize("dtype", ["u8", "u32", "i16", "i32", "i64"])
def test_targets_of_every_integer_dtype(dtype: str) -> None:
    y = loss.cross_entropy(LOGITS, Tensor([1, 0, 4], dtype=dtype))
    assert round(y.to_scalar(), 4) == 1.1312


TWO = [[1.0, 2.0], [3.0, 0.4]]


@pytest.mark.parametrize(
    ("targets", "keywords", "value"),
    [
        ([-100, 1], {"ignore_index": -100}, 2.671644692),
        ([-100, 1], {"ignore_index": -100, "label_smoothing": 0.1}, 2.541644692),
        ([-100, 1], {"ignore_index": -100, "label_smoothing": 0.1, "weight": [0.2, 0.3]}, 2.540450614),
        ([0, 1], {"weight": [1.0, 16.0]}, 2.591739809),
        ([0, 1], {"label_smoothing": 0.1, "reduction": "sum"}, 3.804906379),
    ],
)
def test_keywords_give_pytorchs_numbers(targets: list[int], keywords: dict[str, Any], value: float) -> None:
    given = {k: Tensor(v, dtype="f64") if k == "weight" else v for k, v in keywords.items()}
    logits = Tensor(TWO, dtype="f64")
    assert loss.cross_entropy(logits, Tensor(targets), **given).to_scalar() == pytest.approx(value, abs=1e-9)
    gradcheck(lambda x: loss.cross_entropy(x, Tensor(targets), **given), np.array(TWO), order=2)
    if "label_smoothing" not in given:
        got = loss.nll(ops.log_softmax(logits, 1), Tensor(targets), **given).to_scalar()
        assert got == pytest.approx(value, abs=1e-9)


def test_a_loss_a_row() -> None:
    rows = loss.cross_entropy(Tensor(TWO, dtype="f64"), Tensor([0, 1]), reduction="none")
    assert rows.tolist() == pytest.approx([1.3132616875, 2.671644692], abs=1e-9)
    weighted = loss.cross_entropy(Tensor(TWO, dtype="f64"), Tensor([0, -1]), reduction="none", ignore_index=-1, weight=Tensor([2.0, 1.0]))
    assert weighted.tolist() == pytest.approx([2 * 1.3132616875, 0.0], abs=1e-9)


@pytest.mark.parametrize("keywords", [{}, {"label_smoothing": 0.1}, {"weight": Tensor([1.0, 2.0])}])
def test_nothing_that_counts_is_nan_on_average_and_zero_in_sum_with_gradients_of_zero(keywords: dict[str, Any]) -> None:
    for reduction, value in (("mean", math.nan), ("sum", 0.0)):
        y, g = value_and_slope(lambda v, r=reduction: loss.cross_entropy(v, Tensor([7, 7]), ignore_index=7, reduction=r, **keywords), TWO)
        assert y == pytest.approx(value, nan_ok=True)
        assert g == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("keywords", [{}, {"label_smoothing": 0.1}, {"reduction": "sum"}])
def test_what_stands_in_an_ignored_row_does_not_matter(keywords: dict[str, Any]) -> None:
    logits = [[1.0, 2.0, 0.5], [math.nan, math.inf, -math.inf]]
    y, g = value_and_slope(lambda v: loss.cross_entropy(v, Tensor([0, 9]), ignore_index=9, **keywords), logits)
    alone, alone_g = value_and_slope(lambda v: loss.cross_entropy(v, Tensor([0]), **keywords), logits[:1])
    assert y == pytest.approx(alone, rel=1e-6)
    assert g[0] == pytest.approx(alone_g[0], rel=1e-6)
    assert g[1] == [0.0, 0.0, 0.0]


REDUCED = [{}, {"label_smoothing": 0.1}, {"reduction": "sum"}, {"reduction": "none"}, {"weight": Tensor.ones(2)}]


@pytest.mark.parametrize("above", [math.nan, math.inf])
@pytest.mark.parametrize("keywords", REDUCED)
def test_what_comes_from_above_does_not_reach_an_ignored_row(keywords: dict[str, Any], above: float) -> None:
    skip = int(np.iinfo(np.int64).max)
    functions = [loss.cross_entropy] if "label_smoothing" in keywords else [loss.cross_entropy, loss.nll]
    for function in functions:
        for targets in ([0, 7], [0, skip], [7, 7], [skip, skip]):
            given = {"ignore_index": 7, **keywords} if 7 in targets else keywords
            _, g = value_and_slope(lambda v, f=function, t=targets, k=given: (f(v, Tensor(t), **k) * above).sum_all(), TWO)
            assert g[1] == [0.0, 0.0] and math.isfinite(g[0][0]) == (targets[0] != 0)


@pytest.mark.parametrize("keywords", [{}, {"reduction": "none"}, {"reduction": "sum"}, {"ignore_index": 0}])
def test_a_loss_of_nothing_has_no_minus_sign(keywords: dict[str, Any]) -> None:
    sure = Tensor([[1000.0, -1000.0]])
    for y in (loss.cross_entropy(sure, Tensor([0]), **keywords), loss.nll(sure * 0.0, Tensor([0]), **keywords)):
        assert math.copysign(1.0, y.item()) == 1.0 or math.isnan(y.item())


@pytest.mark.parametrize("dtype", ["u8", "u32", "i64"])
@pytest.mark.parametrize("keywords", [{}, {"reduction": "mean", "ignore_index": 1}, {"label_smoothing": 0.25}])
def test_candles_sentinel_adds_nothing_and_is_counted(dtype: str, keywords: dict[str, Any]) -> None:
    largest = int(np.iinfo(DType.from_str(dtype).numpy).max)
    targets = Tensor([0, largest], dtype=dtype)
    y, g = value_and_slope(lambda v: loss.cross_entropy(v, targets, **keywords), TWO, "f64")
    alone, alone_g = value_and_slope(lambda v: loss.cross_entropy(v, Tensor([0]), **keywords), TWO[:1], "f64")
    assert y == pytest.approx(alone / 2)
    assert g == [pytest.approx([v / 2 for v in alone_g[0]]), [0.0, 0.0]]


def test_a_class_that_is_the_dtypes_largest_number_is_a_class() -> None:
    logits = Tensor.zeros((1, 256), "f64")
    assert loss.cross_entropy(logits, Tensor([255], dtype="u8")).to_scalar() == pytest.approx(math.log(256))
    for reduction in ("sum", "none"):
        assert loss.cross_entropy(logits, Tensor([255], dtype="u8"), reduction=reduction).item() == pytest.approx(math.log(256))


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
@pytest.mark.parametrize("keywords", [{}, {"weight": Tensor([1.0, 2.0])}])
def test_halves_compute_through_f32(dtype: DType, keywords: dict[str, Any]) -> None:
    x = Var(TWO, dtype=dtype)
    y = loss.cross_entropy(x, Tensor([0, 1]), **keywords)
    wide = Var(x.to_dtype("f32"))
    z = loss.cross_entropy(wide, Tensor([0, 1]), **keywords)
    assert y.tolist() == z.to_dtype(dtype).tolist()
    assert y.backward()[x].tolist() == z.backward()[wide].to_dtype(dtype).tolist()


def test_a_loss_computed_without_a_graph_has_the_same_value() -> None:
    x = Var(LOGITS)
    target = Tensor([1, 0, 4])
    assert loss.cross_entropy(x, target).to_scalar() == loss.cross_entropy(LOGITS, target).to_scalar()


def test_a_scaled_loss_scales_its_gradient_and_can_be_walked_twice() -> None:
    x, target = Var(LOGITS), Tensor([1, 0, 4])
    y = loss.cross_entropy(x, target)
    one = y.backward(retain_graph=True)[x]
    three = (y * 3.0).backward(retain_graph=True)[x]
    assert_close(three, one.numpy() * 3.0, 1e-6)
    again = y.backward()[x]
    assert again.tolist() == one.tolist()
    twice = (loss.cross_entropy(x, target) + loss.cross_entropy(x, target)).backward()[x]
    assert twice.tolist() == (one * 2.0).tolist()


def test_a_gradient_is_not_the_memory_of_the_graph() -> None:
    x, target = Var(LOGITS), Tensor([1, 0, 4])
    y = loss.cross_entropy(x, target)
    first = y.backward(retain_graph=True)[x]
    before = first.tolist()
    first._data[...] = 99.0
    assert y.backward()[x].tolist() == before


# -- what is refused


Z = Tensor.zeros


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: loss.cross_entropy(Z((2, 3, 4)), Z(2, "u32")), Error, "cross_entropy expects an input tensor of rank 2"),
        (lambda: loss.cross_entropy(Z((2, 3)), Z((2, 1), "u32")), Error, "the target tensor should have a single dimension ([2, 1])"),
        (lambda: loss.nll(Z(2), Z(2, "u32")), Error, "the target tensor should have two dimensions ([2])"),
        (lambda: loss.nll(Z((2, 3)), Z(4, "u32")), Error, "batch size mismatch between inp (2) and target (4)"),
        (lambda: loss.cross_entropy(Z((2, 3)), Z(2)), errors.UnsupportedDTypeForOp, "unsupported dtype F32 for op cross_entropy"),
        (lambda: loss.nll(Z((2, 3)), Z(2)), errors.UnsupportedDTypeForOp, "unsupported dtype F32 for op nll"),
        (
            lambda: loss.cross_entropy(Z((2, 3), "i64"), Z(2, "u32")),
            errors.UnsupportedDTypeForOp,
            "unsupported dtype I64 for op log-softmax",
        ),
        (
            lambda: loss.cross_entropy(Z((1, 2)), Tensor([1]), weight=Z(3)),
            errors.UnexpectedShape,
            "shape mismatch for the weights of the classes, expected: [2], got: [3]",
        ),
        (
            lambda: loss.cross_entropy(Z((1, 2)), Tensor([1]), label_smoothing=1.5),
            Error,
            "cross_entropy: label_smoothing must be in [0, 1], got 1.5",
        ),
        (
            lambda: loss.cross_entropy(Z((1, 2)), Tensor([1]), reduction="max"),
            Error,
            "reduction: expected one of mean, sum, none, got 'max'",
        ),
        (lambda: loss.mse(Z(2), Z(2, "f64")), errors.DTypeMismatchBinaryOp, "dtype mismatch in sub, lhs: F32, rhs: F64"),
        (lambda: loss.mse(Z(2, "u32"), Z(2, "u32")), errors.UnsupportedDTypeForOp, "unsupported dtype U32 for op mean"),
        (
            lambda: loss.binary_cross_entropy_with_logit(Z((2, 1)), Z(2)),
            errors.ShapeMismatchBinaryOp,
            "shape mismatch in mul, lhs: [2], rhs: [2, 1]",
        ),
        (
            lambda: loss.huber(Z((2, 1)), Z(2), 1.0),
            Error,
            "input and target must have the same shape, got inp: [2, 1], target: [2]",
        ),
        (lambda: loss.huber(Z(2), Z(2), 0.0), Error, "huber: delta must be above 0, got 0.0"),
    ],
)
def test_errors(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    with raises(kind, text):
        call()


@pytest.mark.parametrize(
    ("call", "row", "target", "classes"),
    [
        (lambda f: f(Z((2, 3)), Tensor([0, 3])), 1, 3, 3),
        (lambda f: f(Z((2, 3)), Tensor([-1, 0])), 0, -1, 3),
        (lambda f: f(Z((3, 3)), Tensor([255, 0, 7], dtype="u8"), reduction="sum"), 2, 7, 3),
        (lambda f: f(Z((3, 2)), Tensor([-1, -4, 1]), ignore_index=-1), 1, -4, 2),
        (lambda f: f(Z((1, 0)), Tensor([0]), reduction="none"), 0, 0, 0),
    ],
)
@pytest.mark.parametrize("function", [loss.cross_entropy, loss.nll])
def test_a_target_that_is_no_class(function: Any, call: Callable[[Any], object], row: int, target: int, classes: int) -> None:
    text = f"{function.__name__}: the target of row {row} is {target}, and there are {classes} classes, numbered from 0"
    with raises(errors.InvalidTarget, text):
        call(function)


@pytest.mark.parametrize(
    ("inp", "target", "said"),
    [
        ((2, 3), (2, 3), "target.argmax(1)"),
        ((2, 3), (2, 1), "target.flatten_all()"),
        ((2, 3, 4, 4), (2, 4, 4), "inp.permute((0, 2, 3, 1)).flatten_to(2)"),
    ],
)
@pytest.mark.parametrize("function", [loss.cross_entropy, loss.nll])
def test_targets_of_another_shape_are_told_what_to_become(function: Any, inp: tuple[int, ...], target: tuple[int, ...], said: str) -> None:
    with pytest.raises(Error) as caught:
        function(Z(inp), Z(target))
    assert said in caught.value.__notes__[0]



@pytest.mark.parametrize("name", ["cross_entropy", "mse", "nll"])
def test_a_tensor_names_the_function(name: str) -> None:
    with raises(AttributeError, f"a Tensor has no method `{name}`: it is the function `cafe.nn.loss.{name}`"):
        getattr(Tensor([1.0]), name)


# -- beside PyTorch, where it is there


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_is_pytorchs(seed: int, reduction: str, smoothing: float, weighted: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    logits, targets, weight = rng.normal(size=(7, 4)) * 3, rng.integers(0, 4, 7), rng.uniform(0.1, 2.0, 4)
    targets[rng.integers(0, 7, 2)] = -100
    keywords = {"ignore_index": -100, "label_smoothing": smoothing, "reduction": reduction}
    x = Var(logits)
    y = loss.cross_entropy(x, Tensor(targets), weight=Tensor(weight) if weighted else None, **keywords)  # type: ignore[arg-type]
    theirs = torch.tensor(logits, requires_grad=True)
    z = torch.nn.functional.cross_entropy(
        theirs, torch.tensor(targets), weight=torch.tensor(weight) if weighted else None, **keywords
    )
    z.sum().backward()
    assert_close(y, z.detach().numpy(), 1e-14)
    assert_close(y.sum_all().backward()[x], theirs.grad.numpy(), 1e-14)
