"""Layers and functions of nn built from, or given, what they cannot use, and what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from cafe import Error, Tensor, Var, nn

X = Tensor([[1.0, 2.0], [3.0, 4.0]])
ONE = Tensor([1.0, 1.0])
QUERY = Tensor.ones((1, 1, 2, 2))


def vb() -> nn.VarBuilder:
    return nn.VarBuilder.from_varmap(nn.VarMap())


BUILDERS: list[tuple[str, Callable[[Any, Any], object]]] = [
    ("linear", lambda n, b: nn.linear(n, 2, b)),
    ("linear_no_bias", lambda n, b: nn.linear_no_bias(2, n, b)),
    ("linear_b", lambda n, b: nn.linear_b(n, 2, False, b)),
    ("conv1d", lambda n, b: nn.conv1d(n, 2, 3, nn.Conv1dConfig(), b)),
    ("conv2d_no_bias", lambda n, b: nn.conv2d_no_bias(2, n, 3, nn.Conv2dConfig(), b)),
    ("conv_transpose1d", lambda n, b: nn.conv_transpose1d(2, n, 3, nn.ConvTranspose1dConfig(), b)),
    ("conv_transpose2d", lambda n, b: nn.conv_transpose2d(n, 2, 3, nn.ConvTranspose2dConfig(), b)),
    ("std_conv2d", lambda n, b: nn.std_conv2d(2, 2, n, nn.Conv2dConfig(), b)),
    ("conv1d_weight_norm", lambda n, b: nn.conv1d_weight_norm(n, 2, 3, nn.Conv1dConfig(), b)),
    ("layer_norm", lambda n, b: nn.layer_norm(n, 1e-5, b)),
    ("rms_norm", lambda n, b: nn.rms_norm(n, 1e-5, b)),
    ("group_norm", lambda n, b: nn.group_norm(1, n, 1e-5, b)),
    ("instance_norm", lambda n, b: nn.instance_norm(n, 1e-5, b)),
    ("batch_norm", lambda n, b: nn.batch_norm(n, 1e-5, b)),
    ("embedding", lambda n, b: nn.embedding(n, 2, b)),
    ("prelu", lambda n, b: nn.prelu(n, b)),
    ("snake1d", lambda n, b: nn.snake1d(n, b)),
    ("lstm", lambda n, b: nn.lstm(n, 2, nn.LSTMConfig(), b)),
    ("gru", lambda n, b: nn.gru(2, n, nn.GRUConfig(), b)),
    ("lstm_stack", lambda n, b: nn.lstm_stack(2, 2, n, b)),
    ("multi_head_attention", lambda n, b: nn.multi_head_attention(n, 2, b)),
]


@pytest.mark.parametrize(("name", "build"), BUILDERS)
def test_a_size_that_is_no_int(name: str, build: Callable[[Any, Any], object]) -> None:
    for size in ("a", [2], 1.5, True, float("nan")):
        with pytest.raises(TypeError, match=rf"{name}: \w+ is an int, got"):
            build(size, vb())
    with pytest.raises(Error, match=rf"{name}: \w+ must be at least 0, got -3"):
        build(-3, vb())


@pytest.mark.parametrize(("name", "build"), BUILDERS)
def test_something_else_in_place_of_a_var_builder(name: str, build: Callable[[Any, Any], object]) -> None:
    for source in (None, "a", {}):
        with pytest.raises(TypeError, match=f"{name}: expected VarBuilder, found {type(source).__name__}"):
            build(2, source)
    with pytest.raises(TypeError, match=f"{name}: expected VarBuilder, found VarMap") as caught:
        build(2, nn.VarMap())
    assert caught.value.__notes__ == ["help: `VarBuilder.from_varmap(varmap)` makes one of a VarMap"]


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: nn.conv2d(2, 2, 3, None, vb()), "conv2d: expected Conv2dConfig, found NoneType"),  # type: ignore[arg-type]
        (lambda: nn.conv1d(2, 2, 3, nn.Conv2dConfig(), vb()), "conv1d: expected Conv1dConfig, found Conv2dConfig"),  # type: ignore[arg-type]
        (lambda: nn.conv2d(2, 2, 1.5, nn.Conv2dConfig(), vb()), "conv2d: kernel_size takes an int or 2 of them, got 1.5"),  # type: ignore[arg-type]
        (lambda: nn.lstm(2, 2, nn.GRUConfig(), vb()), "lstm: expected LSTMConfig, found GRUConfig"),  # type: ignore[arg-type]
        (lambda: nn.layer_norm(2, True, vb()), "expected LayerNormConfig, found bool"),
        (lambda: nn.Linear([[1.0]]), "Linear: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.Linear(X, [1.0]), "Linear: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.Conv2d(None), "Conv2d: expected Tensor, found NoneType"),  # type: ignore[arg-type]
        (lambda: nn.Embedding("table", 2), "Embedding: expected Tensor, found str"),  # type: ignore[arg-type]
        (lambda: nn.LayerNorm([1.0]), "LayerNorm: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.PReLU([1.0], True), "PReLU: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.weight_norm(X, [1.0]), "weight_norm: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.standardize([1.0]), "standardize: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.Activation(None), "an activation's name is a string, got None"),  # type: ignore[arg-type]
        (lambda: nn.Activation.from_name({5: 1.0}), "an activation's name is a string, got 5"),  # type: ignore[dict-item]
        (lambda: nn.Activation.Elu("a"), "Activation: expected a number, found str"),  # type: ignore[arg-type]
        (lambda: nn.scaled_dot_product_attention(QUERY, [1.0], QUERY), "attention: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.scaled_dot_product_attention(QUERY, QUERY, QUERY, "a"), "attention: expected Tensor, found str"),  # type: ignore[arg-type]
        (lambda: nn.scaled_dot_product_attention(QUERY, QUERY, QUERY, scale="a"), "attention: expected a number, found str"),  # type: ignore[arg-type]
        (lambda: nn.rope(QUERY, [1.0], X), "rope: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.rotary_angles("a", 2), "rotary_angles: positions is an int, got 'a'"),  # type: ignore[arg-type]
        (lambda: nn.sinusoidal_positions(2, 2.0), "sinusoidal_positions: dim is an int, got 2.0"),  # type: ignore[arg-type]
        (lambda: nn.loss.huber(X, X, "a"), "huber: expected a number, found str"),  # type: ignore[arg-type]
        (lambda: nn.loss.cross_entropy(X, Tensor([0, 1]), weight=[1.0]), "cross_entropy: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.loss.cross_entropy(X, Tensor([0, 1]), ignore_index=1.5), "cross_entropy: ignore_index is an int, got 1.5"),  # type: ignore[arg-type]
        (lambda: nn.loss.cross_entropy(X, Tensor([0, 1]), label_smoothing="a"), "cross_entropy: expected a number, found str"),  # type: ignore[arg-type]
        (lambda: nn.clip_grad_norm(Var([1.0]).sqr().backward(), [1.0], 1.0), "expected Var, found float"),  # type: ignore[list-item]
        (lambda: nn.clip_grad_norm(Var([1.0]).sqr().backward(), 5, 1.0), "expected a list of Vars, or a mapping to them, found int"),  # type: ignore[arg-type]
        (lambda: nn.clip_grad_value(Var([1.0]).sqr().backward(), [], "a"), "clip_grad_value: expected a number, found str"),  # type: ignore[arg-type]
    ],
)
def test_something_else_in_an_arguments_place(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        slip()


def test_groups_that_do_not_divide_the_channels() -> None:
    for build in (nn.conv1d_weight_norm, nn.conv2d_weight_norm):
        config: Any = nn.Conv1dConfig(groups=3) if build is nn.conv1d_weight_norm else nn.Conv2dConfig(groups=3)
        with pytest.raises(Error, match="groups 3 must divide the channels, in 4 and out 6"):
            build(4, 6, 3, config, vb())


def test_a_window_count_beyond_all_lists() -> None:
    with pytest.raises(Error, match="sizes are at most 16777216, got"):
        nn.AdaptiveAvgPool2d(10**30)(QUERY)


def test_too_few_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="linear: missing a required argument: 'vb'"):
        nn.linear(2, 3)  # type: ignore[call-arg]
