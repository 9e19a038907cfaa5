"""Batch norms that fold into the layer before them, and weights that are standardised before each use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cafe import Tensor
from cafe.nn import (
    BatchNorm,
    Conv1d,
    Conv1dConfig,
    Conv2d,
    Conv2dConfig,
    ConvTranspose1d,
    ConvTranspose1dConfig,
    ConvTranspose2d,
    ConvTranspose2dConfig,
    Linear,
    StdConv2d,
    VarBuilder,
    VarMap,
    standardize,
    std_conv2d,
)
from cafe.testing import assert_close


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def fresh() -> tuple[VarMap, VarBuilder]:
    varmap = VarMap()
    return varmap, VarBuilder.from_varmap(varmap)


# -- folding


def trained_norm(features: int, rng: np.random.Generator) -> BatchNorm:
    mean, weight, bias = (Tensor(rng.normal(size=features)) for _ in range(3))
    return BatchNorm(features, mean, Tensor(rng.uniform(0.5, 2.0, features)), weight, bias, 1e-3)


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize(
    "make, weight, shape",
    [
        (lambda w, b: Linear(w, b), (6, 4), (3, 4)),
        (lambda w, b: Conv1d(w, b, Conv1dConfig(padding=1, groups=2)), (6, 2, 3), (2, 4, 7)),
        (lambda w, b: Conv2d(w, b, Conv2dConfig(stride=2)), (6, 4, 3, 3), (2, 4, 7, 8)),
        (lambda w, b: ConvTranspose1d(w, b, ConvTranspose1dConfig(stride=2, groups=2)), (4, 3, 3), (2, 4, 5)),
        (lambda w, b: ConvTranspose2d(w, b, ConvTranspose2dConfig(padding=1)), (4, 6, 3, 3), (2, 4, 5, 6)),
        (lambda w, b: ConvTranspose2d(w, b, ConvTranspose2dConfig(groups=2)), (4, 3, 3, 3), (2, 4, 5, 6)),
    ],
)
def test_a_norm_in_use_folds_into_the_layer_before(make: Any, weight: Any, shape: Any, with_bias: bool, rng: np.random.Generator) -> None:
    layer = make(Tensor(rng.normal(size=weight)), Tensor(rng.normal(size=6)) if with_bias else None)
    bn, x = trained_norm(6, rng), Tensor(rng.normal(size=shape))
    folded = layer.absorb_bn(bn)

    assert type(folded) is type(layer) and folded.bias is not None
    assert_close(folded(x), bn.forward_t(layer(x), False), 1e-13)


# -- standardised weights


def test_standardised_weights_have_mean_zero_and_variance_one(rng: np.random.Generator) -> None:
    w = Tensor(rng.normal(size=(5, 3, 3, 3)) * 2.0 + 1.0)
    rows = standardize(w).reshape((5, 27)).numpy()

    np.testing.assert_allclose(rows.mean(1), 0.0, atol=1e-15)
    np.testing.assert_allclose(rows.var(1), 1.0, atol=1e-5)


def test_a_standardised_convolution(rng: np.random.Generator) -> None:
    varmap, vb = fresh()
    layer = std_conv2d(2, 4, 3, Conv2dConfig(padding=1), vb.pp("c"))
    x = Tensor(rng.normal(size=(1, 2, 5, 5)).astype(np.float32))
    y = layer(x)

    assert isinstance(layer, StdConv2d) and list(varmap.data()) == ["c.weight", "c.bias"]
    assert_close(y, Conv2d(standardize(layer.weight), layer.bias, layer.config)(x), 0.0)
    assert_close(layer.fixed()(x), y, 0.0)
    g = y.sqr().sum_all().backward()[varmap.data()["c.weight"]].reshape((4, 18)).numpy()
    np.testing.assert_allclose(g.sum(1), 0.0, atol=1e-3)  # a shift of an output's weights changes nothing
