"""Attention: PyTorch's numbers, masks, causality, grouped heads, and what happens to a query that sees nothing."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from cafe import DType, Error, Tensor, Var
from cafe.errors import BroadcastIncompatibleShapes, DTypeMismatchBinaryOp, ShapeMismatchBinaryOp, UnexpectedNumberOfDims
from cafe.io import safetensors
from cafe.nn import ops
from cafe.nn import scaled_dot_product_attention as sdpa
from cafe.testing import assert_close, assert_same_bits, gradcheck

GOLDEN = safetensors.load(Path(__file__).parent / "golden" / "sdpa.safetensors")


def forbidden() -> Tensor:
    return GOLDEN["pad_forbidden"].eq(0)


@pytest.mark.parametrize(
    ("tag", "options"),
    [("plain", {}), ("causal", {"causal": True}), ("padded", {"mask": forbidden()}), ("scaled", {"scale": 0.25})],
)
def test_outputs_and_gradients_are_pytorchs(tag: str, options: dict[str, object]) -> None:
    q, k, v = (Var(GOLDEN[name]) for name in "qkv")
    y = sdpa(q, k, v, **options)  # type: ignore[arg-type]
    grads = y.mul(GOLDEN["c"]).sum_all().backward()

    assert_close(y, GOLDEN[f"{tag}.out"], 1e-6)
    for var, name in zip((q, k, v), "qkv"):
        assert_close(grads[var], GOLDEN[f"{tag}.g{name}"], 1e-6)


def test_it_is_softmax_of_scaled_scores_times_values() -> None:
    q, k, v = GOLDEN["q"], GOLDEN["k"], GOLDEN["v"]
    by_hand = ops.softmax(q.matmul(k.t()) / math.sqrt(8), -1).matmul(v)

    assert_close(sdpa(q, k, v), by_hand, 1e-6)


def test_a_query_that_may_see_nothing_gives_zeros_and_passes_no_gradient() -> None:
    q, k, v = (Var.randn(0, 1, (1, 1, 2, 2)) for _ in range(3))
    mask = Tensor([[0, 0], [1, 1]], dtype="u8")
    y = sdpa(q, k, v, mask)
    grads = y.sqr().sum_all().backward()

    assert y.i((0, 0, 0)).tolist() == [0.0, 0.0]
    assert grads[q].i((0, 0, 0)).tolist() == [0.0, 0.0]
    for var in (q, k, v):
        assert np.isfinite(grads[var].numpy()).all()


def test_without_any_keys_every_row_is_zero() -> None:
    y = sdpa(Tensor.ones((1, 2, 3, 4)), Tensor.ones((1, 2, 0, 4)), Tensor.ones((1, 2, 0, 5)))

    assert y.dims() == [1, 2, 3, 5]
    assert y.abs().max_all().item() == 0.0


def test_causal_with_unlike_lengths_ends_at_the_last_key() -> None:
    q, k, v = Tensor.randn(0, 1, (1, 1, 2, 4)), Tensor.randn(0, 1, (1, 1, 5, 4)), Tensor.randn(0, 1, (1, 1, 5, 4))
    y = sdpa(q, k, v, causal=True)

    assert_close(y.narrow(2, 0, 1), sdpa(q.narrow(2, 0, 1), k.narrow(2, 0, 4), v.narrow(2, 0, 4)), 1e-6)
    assert_close(y.narrow(2, 1, 1), sdpa(q.narrow(2, 1, 1), k, v), 1e-6)


def test_causal_with_more_queries_than_keys_blinds_the_first_ones() -> None:
    q, k, v = Tensor.randn(0, 1, (1, 1, 4, 2)), Tensor.randn(0, 1, (1, 1, 2, 2)), Tensor.randn(0, 1, (1, 1, 2, 2))
    y = sdpa(q, k, v, causal=True)

    assert y.narrow(2, 0, 2).abs().max_all().item() == 0.0
    assert_close(y.narrow(2, 2, 1), v.narrow(2, 0, 1), 1e-6)


def test_grouped_heads_read_their_groups_keys_and_values() -> None:
    q, k, v = Var.randn(0, 1, (2, 6, 3, 4)), Var.randn(0, 1, (2, 2, 5, 4)), Var.randn(0, 1, (2, 2, 5, 3))
    wide_k, wide_v = (Tensor.stack([t] * 3, 2).reshape((2, 6, 5, -1)) for t in (k, v))
    grouped, wide = sdpa(q, k, v), sdpa(q, wide_k, wide_v)

    assert_close(grouped, wide, 1e-6)
    ours, theirs = grouped.sqr().sum_all().backward(), wide.sqr().sum_all().backward()
    for var in (q, k, v):
        assert_close(ours[var], theirs[var], 1e-5)


def test_an_additive_mask_may_be_learned() -> None:
    q, k, v = (Tensor.randn(0, 1, (1, 2, 3, 2), "f64") for _ in range(3))

    gradcheck(lambda bias: sdpa(q, k, v, bias), Tensor.randn(0, 1, (1, 2, 3, 3), "f64"), order=2)


@pytest.mark.parametrize("causal", [False, True])
def test_second_derivatives_are_right(causal: bool) -> None:
    q, k, v = Tensor.randn(0, 1, (1, 2, 3, 2), "f64"), Tensor.randn(0, 1, (1, 1, 4, 2), "f64"), Tensor.randn(0, 1, (1, 1, 4, 3), "f64")

    gradcheck(lambda *a: sdpa(*a, causal=causal), q, k, v, order=2)


def test_a_row_has_the_same_bits_alone_and_in_a_batch() -> None:
    q, k, v = (Tensor.randn(0, 1, (3, 4, 9, 8)) for _ in range(3))
    whole = sdpa(q, k, v, causal=True)

    for b in range(3):
        alone = sdpa(q.narrow(0, b, 1), k.narrow(0, b, 1), v.narrow(0, b, 1), causal=True)
        assert_same_bits(whole.narrow(0, b, 1), alone)


def test_what_does_not_go_together_is_refused() -> None:
    x = Tensor.zeros((1, 2, 3, 4))
    with pytest.raises(UnexpectedNumberOfDims):
        sdpa(x.get(0), x, x)
    with pytest.raises(DTypeMismatchBinaryOp):
        sdpa(x, x.to_dtype(DType.F64), x)
    with pytest.raises(ShapeMismatchBinaryOp, match=r"attention \(q, k\), lhs: \[1, 2, 3, 4\], rhs: \[1, 2, 3, 5\]"):
        sdpa(x, Tensor.zeros((1, 2, 3, 5)), x)
    with pytest.raises(ShapeMismatchBinaryOp, match=r"attention \(k, v\)"):
        sdpa(x, x, Tensor.zeros((1, 2, 4, 4)))
    with pytest.raises(Error, match="must divide the query heads"):
        sdpa(Tensor.zeros((1, 3, 3, 4)), x, x)
    with pytest.raises(BroadcastIncompatibleShapes):
        sdpa(x, x, x, Tensor.zeros((3, 2), "u8"))
