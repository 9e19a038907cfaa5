"""Slips that are easy to make, and what they are told."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cafe import Error, Tensor, Var, nn, no_grad
from cafe.errors import EmptyTensor


def test_a_loss_in_place_of_its_gradients() -> None:
    w = Var([1.0])
    with pytest.raises(TypeError, match=r"expected GradStore, found Tensor: give `loss.backward\(\)`, or call `backward_step\(loss\)`"):
        nn.SGD([w], 0.1).step(w.sqr().sum_all())  # type: ignore[arg-type]


@pytest.mark.parametrize("lr", [float("nan"), float("inf")])
def test_a_learning_rate_that_is_no_number(lr: float) -> None:
    with pytest.raises(Error, match="expected a finite number for the learning rate, got"):
        nn.SGD([Var([1.0])], lr)


@pytest.mark.parametrize(("low", "high"), [(float("nan"), 1.0), (0.0, float("nan")), (2.0, 1.0)])
def test_bounds_that_hold_nothing(low: float, high: float) -> None:
    with pytest.raises(Error, match="clamp: low must be at most high"):
        Tensor([1.0]).clamp(low, high)


# -- something else in a tensor's place


X = Tensor([[1.0, 2.0], [3.0, 4.0]])
V = Var([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: Tensor.cat([[1.0], [2.0]], 0), "cat: expected Tensor, found list"),  # type: ignore[list-item]
        (lambda: Tensor.cat(X, 0), "cat: expected a list of Tensors, found a Tensor"),  # type: ignore[arg-type]
        (lambda: Tensor.stack([X, 1.0], 0), "stack: expected Tensor, found float"),  # type: ignore[list-item]
        (lambda: Tensor.stack(X, 0), "stack: expected a list of Tensors, found a Tensor"),  # type: ignore[arg-type]
        (lambda: X.index_select([0, 1], 0), "index-select: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.gather([[0]], 0), "gather: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.embedding([0]), "embedding: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.index_add(Tensor([0]), [1.0], 0), "index-add: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.scatter_add([[0]], X, 0), "scatter-add: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.add([1.0]), "add: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.broadcast_mul([1.0]), "broadcast_mul: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.gt([1.0]), "cmp: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.matmul([[1.0]]), "matmul: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.broadcast_matmul([[1.0]]), "broadcast_matmul: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.mv([1.0]), "mv: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.loss.cross_entropy(X, [0, 1]), "cross_entropy: target: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.loss.nll(X, [0, 1]), "nll: target: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.loss.mse(X, [[1.0]]), "mse: target: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.loss.huber(X, 1.0, 1.0), "huber: target: expected Tensor, found float"),  # type: ignore[arg-type]
        (lambda: nn.loss.l1([1.0], X), "l1: inp: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.loss.binary_cross_entropy_with_logit(X, 1.0), "binary_cross_entropy_with_logit: target: expected Tensor, found float"),  # type: ignore[arg-type]
        (lambda: nn.Linear(X)([1.0, 2.0]), "Linear: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.Embedding(X, 2)([0]), "Embedding: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: V.set([[1.0, 2.0], [3.0, 4.0]]), "set: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.dot([1.0]), "dot: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.gt(2.0).where_cond(X, 0.0), "where_cond: expected Tensor, found float"),  # type: ignore[arg-type]
        (lambda: X.slice_assign([...], 1.0), "slice-assign: expected Tensor, found float"),  # type: ignore[arg-type]
        (lambda: V.sqr().backward(retain=[1.0]), "retain: expected Tensor, found float"),  # type: ignore[list-item]
        (lambda: V.sqr().backward(retain=X), "retain: expected a list of Tensors, found Tensor"),  # type: ignore[arg-type]
        (lambda: Tensor.cat(2.5, 0), "cat: expected a list of Tensors, found float"),  # type: ignore[arg-type]
        (lambda: Tensor.meshgrid([X, [1.0]]), "meshgrid: expected Tensor, found list"),  # type: ignore[list-item]
        (lambda: Tensor.meshgrid(X), "meshgrid: expected a list of Tensors, found Tensor"),  # type: ignore[arg-type]
        (lambda: nn.Activation.Relu([1.0]), "relu: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: nn.Dropout(0.5)([1.0], True), "dropout: expected Tensor, found list"),  # type: ignore[arg-type]
        (lambda: X.backward()["weight"], "gradients by variable: expected Tensor, found str"),  # type: ignore[index]
    ],
)
def test_something_else_in_a_tensors_place(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        slip()


@pytest.mark.parametrize("what", [[1.0, 2.0], "rows", None, 2.5, np.ones(2)])
@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda xs: nn.ops.softmax(xs, 0), "softmax"),
        (lambda xs: nn.ops.log_softmax(xs, 0), "log-softmax"),
        (nn.ops.softmax_last_dim, "softmax"),
        (nn.ops.sigmoid, "sigmoid"),
        (nn.ops.silu, "silu"),
        (nn.ops.softplus, "softplus"),
        (nn.ops.log_sigmoid, "log-sigmoid"),
        (lambda xs: nn.ops.leaky_relu(xs, 0.1), "leaky_relu"),
        (nn.ops.hard_sigmoid, "hard_sigmoid"),
        (nn.ops.mish, "mish"),
        (nn.ops.selu, "selu"),
        (nn.ops.swiglu, "swiglu"),
        (lambda xs: nn.ops.dropout(xs, 0.5), "dropout"),
        (lambda xs: nn.ops.layer_norm(xs, X, X, 1e-5), "layer-norm"),
        (lambda xs: nn.ops.layer_norm(X, X, xs, 1e-5), "layer-norm"),
        (lambda xs: nn.ops.rms_norm(X, xs, 1e-5), "rms-norm"),
        (lambda xs: nn.ops.pixel_shuffle(xs, 2), "pixel_shuffle"),
        (lambda xs: nn.ops.pixel_unshuffle(xs, 2), "pixel_unshuffle"),
        (lambda xs: nn.ops.replication_pad2d(xs, 1), "replication-pad"),
    ],
)
def test_something_else_given_to_a_function(function: Callable[[Any], object], name: str, what: Any) -> None:
    with pytest.raises(TypeError, match=f"{name}: expected Tensor, found {type(what).__name__}"):
        function(what)


@pytest.mark.parametrize("what", [[1.0], (1.0,), "a", None, {}, 1j])
@pytest.mark.parametrize(
    ("symbol", "name"),
    [("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "div"), ("**", "pow"), ("@", "matmul"), ("<", "cmp"), (">=", "cmp")],
)
def test_an_operator_on_what_is_no_operand(symbol: str, name: str, what: Any) -> None:
    for expression in (f"X {symbol} what", f"what {symbol} X"):
        with pytest.raises(TypeError, match=f"{name}: expected Tensor, found {type(what).__name__}"):
            eval(expression, {"X": X, "what": what})


def test_a_type_of_ones_own_is_asked_before_an_operator_gives_up() -> None:
    class Ours:
        def __radd__(self, lhs: object) -> str:
            return "ours"

    assert X + Ours() == "ours"
    with pytest.raises(TypeError, match="unsupported operand"):
        X + object()


def test_nothing_equals_a_tensor_but_numbers() -> None:
    assert (X == None) is False and (X != "a") is True  # noqa: E711


def test_a_matrix_product_takes_ndarrays_as_the_other_operators_do() -> None:
    array = np.array([[1.0], [10.0]], np.float32)
    assert (X @ array).tolist() == [[21.0], [43.0]]
    assert (array.T @ X).tolist() == [[31.0, 42.0]]


def test_an_attribute_error_of_a_layer_of_ones_own_stays_what_it_is() -> None:
    class Odd(nn.Module):
        def forward(self, xs: Tensor) -> Tensor:
            return xs.relu().nothing_like_it  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(AttributeError, match="nothing_like_it"):
        Odd()(X)


# -- shapes and dims that are none


@pytest.mark.parametrize("shape", [2.5, (2, 2.5), "two", None])
def test_a_shape_that_is_none(shape: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"a shape is an int or several of them, got {shape!r}")):
        Tensor.zeros(shape)


@pytest.mark.parametrize("dim", ["rows", 0.5])
def test_a_dim_that_is_none(dim: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"transpose: a dim is an int, got {dim!r}")):
        X.transpose(0, dim)


@pytest.mark.parametrize("of_nothing", [nn.ops.softmax, nn.ops.log_softmax])
def test_a_softmax_over_nothing_says_over_what(of_nothing: Callable[[Tensor, int], Tensor]) -> None:
    with pytest.raises(EmptyTensor, match="empty tensor for reduce") as caught:
        of_nothing(Tensor.zeros((2, 0)), 1)
    assert any("dim 1 of shape [2, 0]" in note for note in caught.value.__notes__)


def test_an_image_of_billions_of_rows_is_refused_at_once() -> None:
    with pytest.raises(Error, match=r"upsample_nearest2d: sizes are at most 16777216, got \[2147483648, 2\]"):
        Tensor.zeros((1, 1, 2, 2)).upsample_nearest2d(2**31, 2)


# -- optimizers, and numbers out of their range


def test_a_var_map_in_place_of_its_variables() -> None:
    with pytest.raises(TypeError, match="expected a list of Vars, or a mapping to them, found VarMap") as caught:
        nn.AdamW.new_lr(nn.VarMap(), 0.1)  # type: ignore[arg-type]
    assert "`all_vars()`" in caught.value.__notes__[0]


@pytest.mark.parametrize("vars", [Var([1.0]), 5])
def test_something_else_in_place_of_variables(vars: Any) -> None:
    with pytest.raises(TypeError, match=f"expected a list of Vars, or a mapping to them, found {type(vars).__name__}"):
        nn.SGD(vars, 0.1)


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: nn.SGD([], -0.1), "the learning rate must be at least 0, got -0.1"),
        (lambda: nn.ParamsAdamW(lr=-0.1), "the learning rate must be at least 0, got -0.1"),
        (lambda: nn.ParamsAdamW(lr=float("nan")), "expected a finite number for the learning rate, got nan"),
        (lambda: nn.SGD([], 0.1).set_learning_rate(-1.0), "the learning rate must be at least 0, got -1.0"),
        (lambda: nn.SGD([], 0.1, momentum=-1.0), "momentum must be at least 0, got -1.0"),
        (lambda: nn.SGD([], 0.1, dampening=float("nan")), "expected a finite number for dampening, got nan"),
        (lambda: nn.SGD([], 0.1, weight_decay=-1.0), "weight_decay must be at least 0, got -1.0"),
        (lambda: nn.Adam([], 0.1, eps=-1.0), "eps must be at least 0, got -1.0"),
        (lambda: nn.Adam([], 0.1, eps=float("nan")), "expected a finite number for eps, got nan"),
        (lambda: nn.Dropout(1.0), "dropout probability has to be in [0, 1), got 1"),
        (lambda: nn.Dropout(float("nan")), "dropout probability has to be in [0, 1), got NaN"),
        (lambda: nn.LayerNorm(Tensor([1.0]), eps=-1e-5), "layer-norm: eps must be at least 0, got -1e-05"),
        (lambda: nn.RmsNorm(Tensor([1.0]), float("nan")), "rms-norm: eps must be at least 0, got nan"),
        (lambda: nn.GroupNorm(Tensor([1.0]), Tensor([0.0]), 1, 1, -1.0), "group-norm: eps must be at least 0, got -1.0"),
        (lambda: nn.batch_norm(1, float("nan"), nn.VarBuilder.zeros()), "batch-norm: eps must be at least 0, got nan"),
        (lambda: nn.ops.layer_norm(X, X[0], X[1], float("nan")), "layer-norm: eps must be at least 0, got nan"),
        (lambda: nn.ops.rms_norm(X, X[0], -1.0), "rms-norm: eps must be at least 0, got -1.0"),
    ],
)
def test_a_number_out_of_its_range(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(Error, match=re.escape(said)):
        slip()


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda: nn.SGD([], "fast"), "expected a number for the learning rate, found str"),  # type: ignore[arg-type]
        (lambda: nn.Dropout("half"), "expected a number for the dropout probability, found str"),  # type: ignore[arg-type]
        (lambda: nn.ops.rms_norm(X, X[0], "small"), "rms-norm: expected a number for eps, found str"),  # type: ignore[arg-type]
        (lambda: nn.clip_grad_norm([X], [], 1.0), "expected GradStore, found list: give `loss.backward()`"),  # type: ignore[arg-type]
    ],
)
def test_something_else_in_a_numbers_place(slip: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        slip()


# -- what is no slip


def test_the_backward_of_what_has_no_variable_below_is_empty() -> None:
    with no_grad():
        loss = Var([2.0]).sqr().sum_all()
    assert len(loss.backward()) == 0 and not loss.track_op()


@pytest.mark.parametrize("make", [nn.lstm, nn.gru])
def test_a_recurrent_layer_is_called_like_a_stack_of_one(make: Any) -> None:
    layer = make(2, 3, nn.LSTMConfig() if make is nn.lstm else nn.GRUConfig(), nn.VarBuilder.from_varmap(nn.VarMap()))
    xs = Tensor.ones((2, 4, 2))
    states = Tensor.stack([state.h for state in layer.seq(xs)], 1)
    assert layer(xs).tolist() == nn.RNNStack([[layer]])(xs).tolist() == states.tolist()


@pytest.mark.parametrize("name", ["view", "grad", "requires_grad", "std", "numel"])
def test_what_pytorch_has_is_pointed_to(name: str) -> None:
    t = Tensor([1.0])
    with pytest.raises(AttributeError, match=f"a Tensor has no `{name}`: .*`"):
        getattr(t, name)
    assert not hasattr(t, name)


def test_a_tensor_in_the_place_of_a_dim_is_named() -> None:
    t, ids = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[0], [1]])
    with pytest.raises(TypeError, match=r"gather: a dim is an int, got a Tensor of shape \[2, 1\]"):
        t.gather(1, ids)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="index-select: a dim is an int"):
        t.index_select(1, ids)  # type: ignore[arg-type]
