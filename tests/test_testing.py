"""The checkers can fail: each law is shown an op that breaks it, each comparison a wrong number."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cafe
from cafe import DType, Op, Tensor, kernels, testing
from cafe.errors import EmptyTensor
from cafe.ops.base import Result
from cafe.testing import EVERY, FLOATS, LAWS, Case, Distinct, Ids, Mask, Real, assert_close, gradcheck, gradcheck_full
from cafe.testing.arrays import VERSIONS
from cafe.testing.both import Both

# -- an op that keeps every law, and ways to break it


class Square(Op):
    """x²."""

    name, keep = "square", "0"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.mul(x, x)

    def backward(self, xp: Any, g: Any, r: Any, x: Any) -> Any:
        return (xp.mul(xp.affine(g, 2.0, 0.0), x),)


class Scale(Op):
    """a · b with one b for all, so that the gradients have rules of their own."""

    name, keep = "scale", "01"

    def forward(self, xp: Any, a: Any, b: Any) -> Any:
        return xp.mul(a, b)

    def backward(self, xp: Any, g: Any, r: Any, a: Any, b: Any) -> Any:
        return (xp.mul(g, b) if r.need[0] else None, xp.mul(g, a) if r.need[1] else None)


SQUARE = Case("square", Square(), [((),), ((1,),), ((37,),), ((3, 17),)], lambda x: x * x, [(((0,),), None)], dtypes=EVERY)
SCALE = Case("scale", Scale(), [((1,), (1,)), ((3, 17), (3, 17))], lambda a, b: a * b, [(((0,), (0,)), None)])


def broken(**methods: Callable[..., Any]) -> Case:
    """SQUARE with some methods of its op replaced."""
    return replace(SQUARE, op=type("Broken", (Square,), methods)())


@pytest.mark.parametrize("law", LAWS)
def test_a_right_op_keeps_every_law(law: str) -> None:
    LAWS[law](SQUARE)
    LAWS[law](SCALE)


def test_check_op_goes_through_all() -> None:
    testing.check_op(SQUARE)

    with pytest.raises(AssertionError):
        testing.check_op(broken(backward=lambda self, xp, g, r, x: (xp.mul(g, x),)))


def refuses(law: str, case: Case, match: str) -> None:
    with pytest.raises(AssertionError, match=match):
        LAWS[law](case)


def test_a_wrong_forward_is_seen() -> None:
    wrong = broken(forward=lambda self, xp, x: xp.mul(x, xp.affine(x, 1.0 + 1e-5, 0.0)) if x.dtype.kind == "f" else xp.add(x, x))

    refuses("forward", wrong, r"square of F32 \[\]: 1 of 1 elements differ")
    refuses("integers", wrong, r"square of U8 \[\]")


def test_a_wrong_slope_is_seen() -> None:
    refuses("derivative", broken(backward=lambda self, xp, g, r, x: (xp.mul(g, x),)), "first derivative: analytic .*, numeric")


def test_a_slope_that_is_off_in_the_seventh_digit_is_seen() -> None:
    wrong = broken(backward=lambda self, xp, g, r, x: (xp.mul(xp.affine(g, 2.0 + 3e-7, 0.0), x),))

    refuses("derivative", wrong, "first derivative")


def test_a_wrong_second_derivative_is_seen() -> None:
    def backward(self: Any, xp: Any, g: Any, r: Any, x: Any) -> Any:  # right numbers, but the graph loses x
        constant = x if isinstance(x, np.ndarray) else x.detach()
        return (xp.mul(xp.affine(g, 2.0, 0.0), constant),)

    LAWS["derivative"](broken(backward=backward))
    refuses("second_derivative", broken(backward=backward), "second derivative")


def test_a_kink_is_an_error_of_its_own() -> None:
    kinked = Case("abs", cafe.ops.unary.BY_NAME["abs"], [((17,),)], np.abs, [(((0,),), None)], [Real(-1e-3, 1e-3, kinks=())])

    refuses("derivative", kinked, "stand near a kink")


def test_a_wrong_dtype_is_seen() -> None:
    widens = broken(forward=lambda self, xp, x: xp.cast(xp.mul(x, x), np.dtype(np.float64)))

    refuses("result_dtype", widens, "got F64, expected F32")


def test_a_number_in_place_of_an_array_is_seen() -> None:
    refuses("result_dtype", broken(forward=lambda self, xp, x: (x * x)[()]), r"square of F32 \[\]: got a float32, expected an array")


def test_a_gradient_of_another_dtype_is_seen() -> None:
    def backward(self: Any, xp: Any, g: Any, r: Any, x: Any) -> Any:
        return (xp.mul(xp.affine(xp.cast(g, np.dtype(np.float64)), 2.0, 0.0), xp.cast(x, np.dtype(np.float64))),)

    refuses("gradient_forms", broken(backward=backward), r"gradient 0 is float64 \[\] for float32")


def test_a_gradient_of_another_shape_is_seen() -> None:
    refuses("gradient_forms", broken(backward=lambda self, xp, g, r, x: (xp.reshape(g, (1, *x.shape)),)), r"gradient 0 is float32 \[1\]")


def test_a_gradient_that_nobody_wants_is_seen() -> None:
    eager = replace(SCALE, op=type("Eager", (Scale,), {"backward": lambda self, xp, g, r, a, b: (xp.mul(g, b), xp.mul(g, a))})())

    refuses("gradient_forms", eager, "gradient 1, which nobody wants, is worked out")


def test_halves_rounded_twice_are_seen() -> None:
    class InHalf(Op):
        """Says that it only moves numbers, so that nobody computes it in F32; and rounds after each step."""

        name, moves = "in half", True

        def forward(self, xp: Any, x: Any) -> Any:
            return xp.affine(xp.affine(x, 1.0 / 3.0, 0.0), 3.0, 0.0)

    refuses("halves", replace(SQUARE, op=InHalf(), dtypes=(DType.F16,)), "elements differ")


def test_a_gradient_that_depends_on_the_others_is_seen() -> None:
    class Selfish(Scale):
        def backward(self, xp: Any, g: Any, r: Any, a: Any, b: Any) -> Any:
            if all(r.need):
                return xp.mul(g, b), xp.mul(g, a)
            return (xp.mul(g, a) if r.need[0] else None, xp.mul(g, b) if r.need[1] else None)

    refuses("gradients_alone", replace(SCALE, op=Selfish()), "gradient 0 alone")


def test_a_recorded_backward_with_other_numbers_is_seen() -> None:
    def backward(self: Any, xp: Any, g: Any, r: Any, x: Any) -> Any:
        return (xp.mul(xp.affine(g, 2.0 if isinstance(x, np.ndarray) else 2.01, 0.0), x),)

    refuses("recorded_backward", broken(backward=backward), "under create_graph")


def test_a_forward_on_tensors_with_other_numbers_is_seen() -> None:
    wrong = broken(forward=lambda self, xp, x: xp.mul(x, x) if isinstance(x, np.ndarray) else xp.add(x, x))

    refuses("verbs_on_tensors", wrong, "forward on Tensors")


def flat(x: Any) -> Any:
    """The elements as they lie in memory: what a kernel reads that forgets about strides and offsets."""
    root = x
    while isinstance(root.base, np.ndarray):
        root = root.base
    return np.resize(root.reshape(-1), x.shape)


@pytest.mark.parametrize("kind", VERSIONS)
def test_forgotten_strides_show(kind: str) -> None:
    x = np.arange(1.0, 13.0).reshape(3, 4)
    view = VERSIONS[kind](x)

    assert not np.array_equal(flat(view), view)


def test_an_op_that_forgets_strides_is_seen() -> None:
    careless = broken(forward=lambda self, xp, x: xp.mul(flat(x), flat(x)))

    refuses("strides", careless, r"square: input 0 offset")


def test_a_backward_that_forgets_the_strides_of_g_is_seen() -> None:
    careless = broken(backward=lambda self, xp, g, r, x: (xp.mul(xp.affine(flat(g), 2.0, 0.0), x),))

    refuses("gradient_strides", replace(careless, dtypes=(DType.F32,)), "gradient 0 from a")


def test_another_result_on_nothing_is_seen() -> None:
    refuses("empties", replace(SQUARE, empty=[(((0,),), EmptyTensor)]), "expected EmptyTensor, got a result of shape")
    refuses("empties", replace(SQUARE, empty=[(((0, 2),), None)], reference=lambda x: x.sum(axis=0)), "got shape")


def test_a_modified_input_is_seen() -> None:
    def forward(self: Any, xp: Any, x: Any) -> Any:
        y = xp.mul(x, x)
        x[...] = y
        return y

    refuses("inputs_unmodified", broken(forward=forward), "the forward changed an input")


def test_a_backward_that_writes_is_seen() -> None:
    def into_x(self: Any, xp: Any, g: Any, r: Any, x: Any) -> Any:
        gx = xp.mul(xp.affine(g, 2.0, 0.0), x)
        x[...] = gx
        return (gx,)

    def into_g(self: Any, xp: Any, g: Any, r: Any, x: Any) -> Any:
        kernels.accumulate(g, g)
        return (xp.mul(g, x),)

    refuses("inputs_unmodified", broken(backward=into_x), "the backward changed an input")
    refuses("inputs_unmodified", broken(backward=into_g), "the backward changed its gradient")


def test_an_aliased_gradient_is_seen() -> None:
    others = [np.zeros(3), np.arange(6.0).reshape(2, 3)]

    testing.assert_owned(np.zeros(3), others, "g")
    with pytest.raises(AssertionError, match="g shares memory with array 1"):
        testing.assert_owned(others[1], others, "g")
    with pytest.raises(AssertionError, match="g shares memory with array 1"):
        testing.assert_owned(others[1][0], others, "g")
    with pytest.raises(AssertionError, match="g is not row-major"):
        testing.assert_owned(np.zeros((2, 3)).T, others, "g")
    with pytest.raises(AssertionError, match="g cannot be written"):
        testing.assert_owned(np.broadcast_to(np.zeros(1), (1,)), others, "g")


def test_the_store_is_held_to_own_its_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law looks at what a GradStore gives: without the tape's copy it fails."""

    class Passes(Op):
        name = "passes"

        def forward(self, xp: Any, a: Any, b: Any) -> Any:
            return xp.add(a, b)

        def backward(self, xp: Any, g: Any, r: Any, a: Any, b: Any) -> Any:
            return g, g

    case = replace(SCALE, op=Passes(), reference=lambda a, b: a + b)
    LAWS["gradients_own_memory"](case)

    monkeypatch.setattr("cafe.tape._own", lambda g, others: g)
    refuses("gradients_own_memory", case, "gradient 1 shares memory with array")


def test_a_kernel_that_is_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "mul", lambda a, b: np.asarray(kernels.twins.mul(a, b) + np.asarray(1e-6, a.dtype)))

    refuses("kernels_are_their_twins", replace(SQUARE, dtypes=(DType.F32,)), r"kernels\.mul: ")


def test_a_twin_that_is_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernels.twins.verbs["mul"]

    def wrong(a: Any, b: Any) -> Any:
        return np.asarray(right(a, b) * a.dtype.type(1.000002 if a.dtype == np.float32 else 1.0))

    monkeypatch.setitem(kernels.twins.verbs, "mul", wrong)

    refuses("kernels_are_their_twins", replace(SQUARE, dtypes=(DType.F32,)), r"mul: ")


def test_a_sum_that_cancels_is_held_to_what_it_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1e3, 1.0, -1e3, 0.1] * 30)

    def off_by(error: float) -> None:
        monkeypatch.setattr(kernels, "sum", lambda a, dims, keepdim: np.asarray(kernels.twins.sum(a, dims, keepdim) + a.dtype.type(error)))

    off_by(1e-12)  # a few epsilons of 60 000, not of 33
    Both().sum(x, (0,), False)
    off_by(1e-9)
    with pytest.raises(AssertionError, match=r"kernels\.sum: "):
        Both().sum(x, (0,), False)
    off_by(1e-3)  # half an epsilon of float32 of 60 000 is 3.6e-3: neighbours are added before they are widened
    Both().sum(x.astype(np.float32), (0,), False)
    off_by(1e-2)
    with pytest.raises(AssertionError, match=r"kernels\.sum: "):
        Both().sum(x.astype(np.float32), (0,), False)


def test_both_says_what_was_used() -> None:
    both = Both()
    both.exp(np.zeros(3, np.float32))
    both.cat([np.zeros(1), np.zeros(2)], 0)

    assert both.seen == {"exp", "cat"}


def test_a_missing_gradient_is_seen() -> None:
    refuses("result_dtype", broken(backward=lambda self, xp, g, r, x: (None,)), r"no gradient for input \[0\]")


def test_results_of_fused_ops_are_understood() -> None:
    class Fused(Square):
        def forward(self, xp: Any, x: Any) -> Any:
            return Result(xp.mul(x, x), saved=(xp.affine(x, 2.0, 0.0),))

        def backward(self, xp: Any, g: Any, r: Any, x: Any) -> Any:
            return (xp.mul(g, r.saved[0] if r.saved is not None else xp.affine(x, 2.0, 0.0)),)

    testing.check_op(replace(SQUARE, op=Fused(), dtypes=FLOATS))


def test_a_constant_input_needs_no_gradient() -> None:
    class Weighted(Scale):
        def backward(self, xp: Any, g: Any, r: Any, a: Any, b: Any) -> Any:
            return xp.mul(g, b) if r.need[0] else None, None

    refuses("result_dtype", replace(SCALE, op=Weighted()), "no gradient for input")
    testing.check_op(replace(SCALE, op=Weighted(), constant=(1,)))


# -- comparing


def test_close_is_a_fraction_of_the_largest() -> None:
    assert_close([1000.0, 1.0], [1000.0, 1.0009], 1e-6)
    assert_close([1e-7], [0.0], 1e-6)  # and at least of 1
    with pytest.raises(AssertionError, match=re.escape("the worst at [1]: got 1.0, expected 1.002")):
        assert_close([1000.0, 1.0], [1000.0, 1.002], 1e-6)


def test_close_wants_one_shape() -> None:
    with pytest.raises(AssertionError, match=re.escape("t: got shape [2], expected [2, 1]")):
        assert_close([1.0, 2.0], [[1.0], [2.0]], 1.0, "t")


@pytest.mark.parametrize("got, wanted", [(np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf), (np.inf, 1e300), (1.0, np.inf)])
def test_close_tells_special_values_apart(got: float, wanted: float) -> None:
    with pytest.raises(AssertionError):
        assert_close([got], [wanted], 1e9)
    assert_close([wanted], [wanted], 0.0)


def test_close_takes_tensors_of_every_dtype() -> None:
    for dtype in DType:
        assert_close(Tensor([1, 2], dtype), [1, 2], 0.0)
    with pytest.raises(AssertionError):
        assert_close(Tensor([1.0], "bf16"), [1.01], 1e-3)


def test_ulp_is_that_of_the_largest_element() -> None:
    assert testing.ulp([1.0, -1.99], "f32") == 2.0**-23
    assert testing.ulp([2.0, np.inf], "f64") == 2.0**-51
    assert testing.ulp([256.0], "bf16") == 2.0
    assert testing.ulp([7], "i64") == 0.0


def test_same_bits_tell_zeros_and_dtypes_apart() -> None:
    testing.assert_same_bits(np.array([0.0, np.nan]), np.array([0.0, np.nan]))
    with pytest.raises(AssertionError, match="a signed zero"):
        testing.assert_same_bits(np.array([0.0]), np.array([-0.0]))
    with pytest.raises(AssertionError, match="got dtype float32, expected float64"):
        testing.assert_same_bits(np.zeros(1, np.float32), np.zeros(1))
    with pytest.raises(AssertionError, match="1 of 1 elements differ"):
        testing.assert_same_bits(np.array([1.0]), np.array([1.0 + 1e-16 * 4]))


def test_integers_are_compared_as_integers() -> None:
    big = 2**62 + 1
    testing.assert_integers(np.array([big]), [big])
    with pytest.raises(AssertionError, match=f"at \\[0\\]: got {big}, expected {big - 1}"):
        testing.assert_integers(np.array([big]), [big - 1])
    with pytest.raises(AssertionError, match="expected integers"):
        testing.assert_integers(np.array([1.0]), [1])


# -- derivatives


def test_gradcheck_takes_several_inputs_and_ids() -> None:
    x, ids, w = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1, 0, 1]), Tensor([[0.5], [-1.0]])

    for order in (1, 2):
        gradcheck(lambda x, i, w: x.index_select(i, 0).matmul(w).sqr(), x, ids, w, order=order)
    gradcheck_full(lambda x, i, w: x.index_select(i, 0).matmul(w).sqr(), x, ids, w)


class Off(Op):
    """x³ with a slope that is wrong in one place only."""

    name, keep = "off", "0"

    def forward(self, xp: Any, x: Any) -> Any:
        return xp.mul(x, xp.sqr(x))

    def backward(self, xp: Any, g: Any, r: Any, x: Any) -> Any:
        slope = np.array(3.0 * x**2)
        slope[1] += 1e-6
        return (g * slope,)


def test_gradcheck_full_names_the_element() -> None:
    with pytest.raises(AssertionError, match=re.escape("first, of input 0 at [1], derivative: analytic")):
        gradcheck_full(lambda x: cafe.apply(Off(), x), Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(AssertionError, match="first derivative"):
        gradcheck(lambda x: cafe.apply(Off(), x), Tensor([1.0, 2.0, 3.0]))


def test_gradcheck_needs_floats() -> None:
    with pytest.raises(ValueError, match="there is no float input to differentiate"):
        gradcheck(lambda x: x, Tensor([1, 2]))
    with pytest.raises(ValueError, match="the function gives F32 for F64"):
        gradcheck(lambda x: x.to_dtype("f32"), Tensor([1.0]))
    with pytest.raises(ValueError, match="order is 1 or 2, got 3"):
        gradcheck(lambda x: x, Tensor([1.0]), order=3)


def test_gradcheck_notices_a_gradient_that_is_not_there() -> None:
    with pytest.raises(AssertionError, match=r"analytic 0\.0"):
        gradcheck(lambda x: x.detach() * x.detach(), Tensor([1.5]))


# -- arrays


@pytest.mark.parametrize("kind", VERSIONS)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (5,), (3, 4), (2, 3, 4), (2, 0, 3)])
@pytest.mark.parametrize("dtype", ["f32", "i64", "bf16"])
def test_versions_hold_the_numbers_of_their_copy(kind: str, shape: tuple[int, ...], dtype: str) -> None:
    x = Real()(np.random.default_rng(0), shape, dtype)
    found = {k: (view, copy) for k, view, copy in testing.versions(x)}
    view, copy = found[kind]

    assert view.shape == x.shape and view.dtype == x.dtype and not view.flags.writeable
    assert np.array_equal(view, copy) and copy.flags.c_contiguous
    assert kind == "repeated" or np.array_equal(view, x)


def test_versions_have_the_strides_they_say() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    assert {kind: tuple(s // 4 for s in make(x).strides) for kind, make in VERSIONS.items()} == {
        "offset": (12, 4, 1),
        "strided": (3 * 4 * 9, 9, 2),  # in a buffer of (7, 4, 9)
        "transposed": (1, 2, 6),
        "backwards": (-12, -4, -1),
        "repeated": (0, 1, 0),
    }


def test_draws_keep_their_distance() -> None:
    rng = np.random.default_rng(0)

    x = Real(-1.0, 1.0, kinks=(0.0, 0.5), gap=0.1)(rng, (10000,), "f64")
    assert np.abs(x).min() >= 0.1 - 1e-12 and np.abs(x - 0.5).min() >= 0.1 - 1e-12
    d = np.sort(Distinct(0.1)(rng, (100,), "f64"))
    assert np.diff(d).min() > 0.0999
    assert set(Mask()(rng, (100,), "f32").tolist()) == {0, 1}
    ids = Ids(3, "u8", 255)(rng, (100,), "f32")
    assert ids[0] == 255 and set(ids[1:].tolist()) == {0, 1, 2} and ids.dtype == np.uint8
    assert Real()(rng, (50,), "u8").min() >= 0


def test_a_case_gives_the_same_numbers_each_time() -> None:
    first, second = SQUARE.inputs(((5,),), "f32"), SQUARE.inputs(((5,),), "f32")

    assert np.array_equal(first[0], second[0])
    assert not np.array_equal(first[0], replace(SQUARE, name="other").inputs(((5,),), "f32")[0])
