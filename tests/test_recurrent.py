"""Embedding, LSTM and GRU: PyTorch's numbers, candle's names and states, and the stacks of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cafe import Tensor, Var, nn
from cafe.errors import InvalidIndex, ShapeMismatchBinaryOp, UnexpectedNumberOfDims, UnsupportedDTypeForOp
from cafe.io import safetensors
from cafe.testing import assert_close, assert_same_bits, gradcheck

GOLDEN = safetensors.load(Path(__file__).parent / "golden" / "recurrent.safetensors")
VB = nn.VarBuilder.from_tensors(GOLDEN, "f32")


def test_lstm_is_pytorchs() -> None:
    h, _ = nn.lstm(4, 5, nn.LSTMConfig(), VB.pp("lstm")).sequence(GOLDEN["in.lstm"])

    assert_close(h, GOLDEN["out.lstm"], 5e-7)


def test_gru_is_pytorchs() -> None:
    assert_close(nn.gru(4, 5, nn.GRUConfig(), VB.pp("gru")).sequence(GOLDEN["in.gru"]), GOLDEN["out.gru"], 5e-7)


def test_embedding_is_pytorchs() -> None:
    assert_same_bits(nn.embedding(10, 4, VB.pp("emb"))(GOLDEN["in.emb"]), GOLDEN["out.emb"])


def test_the_reset_gate_multiplies_the_hidden_product_with_its_bias() -> None:
    layer = nn.GRU(
        Tensor([[0.1], [0.2], [0.3]]), Tensor([[0.4], [0.5], [0.6]]), Tensor([0.01, 0.02, 0.03]), Tensor([0.04, 0.05, 0.7])
    )

    assert layer.seq(Tensor([[[1.0]]]))[0].h.item() == pytest.approx(0.263332617, abs=1e-7)
    assert layer.step(Tensor([[1.0]]), nn.GRUState(Tensor([[0.5]]))).h.item() == pytest.approx(0.583628279, abs=1e-7)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_steps_and_sequence_agree_bit_for_bit(kind: str) -> None:
    vb = nn.VarBuilder.from_varmap(nn.VarMap())
    layer = nn.lstm(3, 5, nn.LSTMConfig(), vb) if kind == "lstm" else nn.gru(3, 5, nn.GRUConfig(), vb)
    xs = Tensor.randn(0, 1, (2, 6, 3))
    states, state = layer.seq(xs), layer.zero_state(2)

    for t in range(6):
        state = layer.step(xs.get_on_dim(1, t), state)  # type: ignore[arg-type]
        assert_same_bits(state.h, states[t].h)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_graph_is_walked_as_often_as_one_likes(dtype: str) -> None:
    varmap = nn.VarMap()
    layer = nn.lstm(3, 5, nn.LSTMConfig(), nn.VarBuilder.from_varmap(varmap, dtype))
    weights, xs = varmap.all_vars(), Tensor.randn(0, 1, (2, 6, 3), dtype)

    for h in (layer(xs), layer.sequence(xs)[0]):
        loss = h.sqr().sum_all()
        first, second, last = loss.backward(retain_graph=True), loss.backward(retain_graph=True), loss.backward()
        for w in weights:
            assert_same_bits(first[w], second[w])
            assert_same_bits(first[w], last[w])


def test_h_alone_has_the_numbers_and_gradients_of_both() -> None:
    varmap = nn.VarMap()
    layer = nn.lstm(3, 5, nn.LSTMConfig(), nn.VarBuilder.from_varmap(varmap))
    xs = Var.randn(0.0, 1.0, (2, 6, 3))
    h, both = layer(xs), layer.sequence(xs)[0]

    assert_same_bits(h, both)
    alone, among_zeros = h.sqr().sum_all().backward(), both.sqr().sum_all().backward()
    for v in (xs, *varmap.all_vars()):
        assert_same_bits(alone[v], among_zeros[v])


def test_states_have_candles_shapes() -> None:
    vb = nn.VarBuilder.from_varmap(nn.VarMap())
    lstm, gru = nn.lstm(3, 5, nn.LSTMConfig(), vb.pp("a")), nn.gru(3, 5, nn.GRUConfig(), vb.pp("b"))
    xs = Tensor.zeros((2, 4, 3))

    assert lstm.states_to_tensor(lstm.seq(xs)).dims() == [2, 4, 5]
    assert gru.states_to_tensor(gru.seq(xs)).dims() == [2, 20]
    assert [s.c.dims() for s in lstm.seq(xs)] == [[2, 5]] * 4


def test_variables_have_pytorchs_names() -> None:
    varmap = nn.VarMap()
    nn.lstm_stack(3, 5, 2, nn.VarBuilder.from_varmap(varmap), bidirectional=True)

    names = {name: v.dims() for name, v in varmap.data().items()}
    assert names["weight_ih_l0"] == [20, 3]
    assert names["weight_ih_l1"] == [20, 10]
    assert names["bias_hh_l1_reverse"] == [20]
    assert len(names) == 16


def test_without_biases_there_are_none() -> None:
    varmap = nn.VarMap()
    layer = nn.gru(3, 5, nn.GRUConfig.default_no_bias(), nn.VarBuilder.from_varmap(varmap))

    assert list(varmap.data()) == ["weight_ih_l0", "weight_hh_l0"]
    assert layer.sequence(Tensor.zeros((1, 2, 3))).abs().max_all().item() == 0.0


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_stacks_are_pytorchs(kind: str, bidirectional: bool) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    theirs = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](3, 5, num_layers=2, batch_first=True, bidirectional=bidirectional)
    weights = {name: Tensor(p.detach().numpy()) for name, p in theirs.named_parameters()}
    build = nn.lstm_stack if kind == "lstm" else nn.gru_stack
    ours = build(3, 5, 2, nn.VarBuilder.from_tensors(weights, "f32"), bidirectional)
    x = torch.randn(2, 7, 3)

    assert_close(ours(Tensor(x.numpy())), theirs(x)[0].detach().numpy(), 1e-6)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gradients_are_pytorchs(kind: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(2)
    theirs = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind](3, 5, batch_first=True)
    vars = {name: Var(p.detach().numpy()) for name, p in theirs.named_parameters()}
    vb = nn.VarBuilder.from_tensors(dict(vars), "f32")
    layer = nn.lstm(3, 5, nn.LSTMConfig(), vb) if kind == "lstm" else nn.gru(3, 5, nn.GRUConfig(), vb)
    x = torch.randn(2, 7, 3, requires_grad=True)
    theirs(x)[0].square().sum().backward()
    ours_x = Var(x.detach().numpy())
    out = layer.sequence(ours_x)
    grads = (out[0] if isinstance(out, tuple) else out).sqr().sum_all().backward()

    assert_close(grads[ours_x], x.grad.numpy(), 2e-6)
    for name, p in theirs.named_parameters():
        assert_close(grads[vars[name]], p.grad.numpy(), 2e-6, name)


def test_a_gradient_runs_back_through_the_first_state() -> None:
    layer = nn.LSTM(*(Tensor.randn(0, 0.5, s, "f64") for s in ((8, 3), (8, 2), (8,), (8,))))
    xs = Tensor.randn(0, 1, (2, 3, 3), "f64")

    gradcheck(lambda h, c: layer.sequence(xs, nn.LSTMState(h, c))[1], *(Tensor.randn(0, 1, (2, 2), "f64") for _ in range(2)))


def test_repeated_ids_add_up_in_the_embeddings_gradient() -> None:
    table = Var(np.zeros((4, 2), np.float32))
    out = nn.Embedding(table, 2)(Tensor([1, 3, 1, 1]))
    grads = out.mul(Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])).sum_all().backward()

    assert grads[table].tolist() == [[0.0, 0.0], [13.0, 16.0], [0.0, 0.0], [3.0, 4.0]]


def test_what_does_not_fit_is_refused() -> None:
    vb = nn.VarBuilder.from_varmap(nn.VarMap())
    layer = nn.lstm(3, 5, nn.LSTMConfig(), vb)
    with pytest.raises(UnexpectedNumberOfDims):
        layer.seq(Tensor.zeros((2, 3)))
    with pytest.raises(ShapeMismatchBinaryOp, match="matmul"):
        layer.seq(Tensor.zeros((2, 4, 7)))
    with pytest.raises(ShapeMismatchBinaryOp, match="rnn"):
        layer.seq_init(Tensor.zeros((2, 4, 3)), layer.zero_state(3))
    with pytest.raises(InvalidIndex, match="index-select invalid index 7 with dim size 4"):
        nn.Embedding(Tensor.zeros((4, 2)), 2)(Tensor([7]))
    with pytest.raises(UnsupportedDTypeForOp):
        nn.Embedding(Tensor.zeros((4, 2)), 2)(Tensor([1.0]))
