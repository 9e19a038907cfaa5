"""Activations by name: transformers' values, candle's spellings, and help for a name that is not known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cafe import Error, Tensor, Var, nn
from cafe.io import safetensors
from cafe.nn import Activation
from cafe.testing import assert_close, gradcheck

GOLDEN = safetensors.load(Path(__file__).parent / "golden" / "activations.safetensors")
NAMES = sorted(name.removeprefix("act.") for name in GOLDEN if name.startswith("act."))


def test_there_are_twenty_four_names() -> None:
    assert len(NAMES) == 24


@pytest.mark.parametrize("name", NAMES)
def test_each_name_gives_transformers_values(name: str) -> None:
    ours, theirs = Activation.from_name(name)(GOLDEN["x"]).numpy(), GOLDEN[f"act.{name}"].numpy()
    error = np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))

    assert error.max() <= (1e-6 if name == "xielu" else 5e-7)


def test_both_gelus_are_exact_in_f64() -> None:
    x = Tensor(GOLDEN["x"].numpy().astype(np.float64))

    assert_close(x.gelu_erf(), GOLDEN["gelu_erf.f64"], 1e-14)
    assert_close(x.gelu(), GOLDEN["gelu_tanh.f64"], 1e-14)


def test_the_two_gelus_are_not_mixed_up() -> None:
    x = Tensor([-2.699, 2.685, 1.0])

    assert_close(x.gelu_erf(), [-0.009385526, 2.675262874, 0.841344747], 3e-7)
    assert_close(x.gelu(), [-0.008912291, 2.675735953, 0.841191991], 3e-7)


@pytest.mark.parametrize("name", [n for n in Activation.names() if n not in {"linear", "swiglu"}])
def test_each_has_its_gradient(name: str) -> None:
    # away from 0 and from every other kink
    x = Tensor([-4.3, -2.2, -1.4, -0.6, 0.7, 1.3, 2.4, 4.1, 7.2], "f64")

    gradcheck(Activation.from_name(name), x, order=2, bound=1e-7)


@pytest.mark.parametrize("name", Activation.names())
def test_none_breaks_far_out(name: str) -> None:
    x = Var([-1000.0, -100.0, 100.0, 1000.0])
    y = Activation.from_name(name)(x)
    grad = y.sum_all().backward()[x]

    assert np.isfinite(y.numpy()).all()
    assert np.isfinite(grad.numpy()).all()


def test_candles_spellings_mean_the_same() -> None:
    assert Activation.from_name("newgelu") == Activation.NewGelu
    assert Activation.from_name("gelupytorchtanh") == Activation.GeluPytorchTanh
    assert Activation.from_name({"elu": 1.0}) == Activation.Elu(1.0)
    assert Activation.from_name({"leakyrelu": 0.2}) == Activation.LeakyRelu(0.2)


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(Error, match="unknown activation 'quick_glu'") as caught:
        Activation.from_name("quick_glu")

    assert "quick_gelu" in caught.value.__notes__[0]


def test_a_parameter_belongs_to_some_names_only() -> None:
    with pytest.raises(Error, match="activation relu takes no parameter, got 2"):
        Activation.from_name({"relu": 2.0})
    with pytest.raises(Error, match="one name with its parameter"):
        Activation.from_name({"elu": 1.0, "relu": 2.0})


def test_prelu_has_a_weight_a_channel_or_one_for_all() -> None:
    x = Tensor([[[-2.0, 2.0], [-4.0, 4.0]]])
    layer = nn.prelu(2, nn.VarBuilder.from_varmap(nn.VarMap()))

    assert layer(x).tolist() == [[[-0.5, 2.0], [-1.0, 4.0]]]
    with pytest.raises(Error, match="error in prelu: unexpected number of channels for the input, got 3, weight dim is 2"):
        layer(Tensor.zeros((1, 3)))


def test_prelu_differentiates_into_its_weight() -> None:
    gradcheck(lambda x, w: nn.PReLU(w, False)(x), Tensor([[-1.5, 2.0], [-0.5, -3.0]], "f64"), Tensor([0.25, 0.5], "f64"))


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "f16"])
def test_the_slopes_of_both_gelus_far_out_are_0_and_1(dtype: str) -> None:
    x = Var(Tensor([100.0, 2.0**13, 6e4, -100.0, -6e4] + ([2.0**53, 1e38, -1e38] if dtype != "f16" else [])).to_dtype(dtype))
    for y in (x.gelu(), x.gelu_erf(), x.silu()):
        slopes = y.sum_all().backward()[x].to_dtype("f64").tolist()
        assert slopes == pytest.approx([float(v > 0) for v in x.to_dtype("f64").tolist()], abs=1e-40)
