"""Recurrent layers with candle's names, gate orders and states, each fused over the sequence (floor 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Protocol

from cafe.errors import Error, ShapeMismatchBinaryOp, bail
from cafe.ops import rnn as ops
from cafe.shape import check_rank
from cafe.tensor.base import apply, check_tensors
from cafe.tensor.core import Tensor

from .building import builds
from .habits import called
from .init import DEFAULT_KAIMING_UNIFORM, ZERO, Init
from .linear import Linear
from .var_builder import VarBuilder

_LSTM, _LSTM_HIDDEN, _GRU = ops.Lstm(), ops.LstmHidden(), ops.Gru()


class Direction(Enum):
    """The way a recurrent layer reads the sequence; Backward variables are named `…_reverse`."""

    Forward = "forward"
    Backward = "backward"


@dataclass(frozen=True)
class LSTMState:
    """h and c: (b, hidden) each."""

    h: Tensor
    c: Tensor


@dataclass(frozen=True)
class GRUState:
    """h: (b, hidden)."""

    h: Tensor


@called
@dataclass(frozen=True)
class LSTMConfig:
    """How an LSTM starts and is named. A bias of None is left out.

    Source: candle-nn/src/rnn.rs, LSTMConfig.
    """

    w_ih_init: Init = DEFAULT_KAIMING_UNIFORM
    w_hh_init: Init = DEFAULT_KAIMING_UNIFORM
    b_ih_init: Init | None = ZERO
    b_hh_init: Init | None = ZERO
    layer_idx: int = 0
    direction: Direction = Direction.Forward

    @staticmethod
    def default_no_bias() -> LSTMConfig:
        """Without biases."""
        return LSTMConfig(b_ih_init=None, b_hh_init=None)


@called
@dataclass(frozen=True)
class GRUConfig:
    """How a GRU starts. A bias of None is left out. layer_idx and direction are cafe's own.

    Source: candle-nn/src/rnn.rs, GRUConfig.
    """

    w_ih_init: Init = DEFAULT_KAIMING_UNIFORM
    w_hh_init: Init = DEFAULT_KAIMING_UNIFORM
    b_ih_init: Init | None = ZERO
    b_hh_init: Init | None = ZERO
    layer_idx: int = 0
    direction: Direction = Direction.Forward

    @staticmethod
    def default_no_bias() -> GRUConfig:
        """Without biases."""
        return GRUConfig(b_ih_init=None, b_hh_init=None)


class _Recurrent:
    """What both layers are: a hidden size and four tensors, `gates` times the hidden size tall."""

    gates: ClassVar[int]
    __slots__ = ("b_hh", "b_ih", "hidden_dim", "w_hh", "w_ih")

    @builds
    def __init__(self, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> None:
        self.w_ih, self.w_hh, self.b_ih, self.b_hh = w_ih, w_hh, b_ih, b_hh
        self.hidden_dim = w_hh.dim(1)
        if w_hh.dim(0) != self.gates * self.hidden_dim or w_ih.dim(0) != w_hh.dim(0):
            raise ShapeMismatchBinaryOp(type(self).__name__.lower(), w_ih.shape, w_hh.shape)

    def sequence(self, xs: Tensor) -> Any:
        """Every time's state, from zeros."""
        raise NotImplementedError

    def forward(self, xs: Tensor) -> Tensor:
        """The h of every time, (b, t, in) → (b, t, hidden), as a stack of one layer gives it; `seq` gives candle's states."""
        h: Tensor = self.sequence(xs)
        return h

    def __call__(self, xs: Tensor) -> Tensor:
        return self.forward(xs)

    def _check(self, xs: Tensor) -> None:
        """Raises: UnexpectedNumberOfDims unless xs is (b, t, in); ShapeMismatchBinaryOp for another width; DTypeMismatchBinaryOp."""
        check_tensors(type(self).__name__, xs)
        check_rank(xs.shape, 3)
        if xs.dim(2) != self.w_ih.dim(1) or xs.dtype != self.w_ih.dtype:
            Linear(self.w_ih).forward(xs)  # says what does not fit

    def _zeros(self, batch: int) -> Tensor:
        return Tensor.zeros((batch, self.hidden_dim), self.w_hh.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.w_ih.dim(1)}, {self.hidden_dim})"


class LSTM(_Recurrent):
    """A long short-term memory layer: gates i f g o; c ← f c + i g, h ← o tanh c.

    Shape: xs (b, t, in) → a state of (b, hidden) twice for every time.
    Raises: UnexpectedNumberOfDims, ShapeMismatchBinaryOp.
    Gradient: for xs, the first state and the weights, through the whole sequence.
    Source: candle-nn/src/rnn.rs, LSTM; Hochreiter and Schmidhuber, 1997.

    >>> from cafe import Tensor, nn
    >>> layer = nn.lstm(3, 5, nn.LSTMConfig(), nn.VarBuilder.from_varmap(nn.VarMap()))
    >>> states = layer.seq(Tensor.zeros((2, 4, 3)))
    >>> len(states), layer.states_to_tensor(states).dims()
    (4, [2, 4, 5])
    """

    gates = 4
    __slots__ = ()

    def zero_state(self, batch_dim: int) -> LSTMState:
        """A state of zeros."""
        return LSTMState(self._zeros(batch_dim), self._zeros(batch_dim))

    def step(self, xs: Tensor, state: LSTMState) -> LSTMState:
        """The state after one input: xs (b, in)."""
        check_rank(xs.shape, 2)
        return self.seq_init(xs.unsqueeze(1), state)[0]

    def seq(self, xs: Tensor) -> list[LSTMState]:
        """The states after each time, from zeros."""
        check_rank(xs.shape, 3)
        return self.seq_init(xs, self.zero_state(xs.dim(0)))

    def seq_init(self, xs: Tensor, state: LSTMState) -> list[LSTMState]:
        """The states after each time, from this state."""
        h, c = self.sequence(xs, state)
        return [LSTMState(h.get_on_dim(1, t), c.get_on_dim(1, t)) for t in range(h.dim(1))]

    def sequence(self, xs: Tensor, state: LSTMState | None = None) -> tuple[Tensor, Tensor]:
        """All of h and all of c, (b, t, hidden) each: the states of `seq` without cutting them apart."""
        both = self._apply(_LSTM, xs, state)
        return both.narrow(2, 0, self.hidden_dim), both.narrow(2, self.hidden_dim, self.hidden_dim)

    def forward(self, xs: Tensor) -> Tensor:
        """The h of every time, (b, t, in) → (b, t, hidden): the first of what `sequence` gives, with a cheaper backward."""
        return self._apply(_LSTM_HIDDEN, xs, None)

    def _apply(self, op: ops.Lstm, xs: Tensor, state: LSTMState | None) -> Tensor:
        """What the op gives for the sequence, from this state or zeros."""
        self._check(xs)
        biases = [b for b in (self.b_ih, self.b_hh) if b is not None]
        state = self.zero_state(xs.dim(0)) if state is None else state
        states = *_checked(state.h, xs, self.hidden_dim), *_checked(state.c, xs, self.hidden_dim)
        bias = [sum(biases[1:], biases[0]).broadcast_as(self.w_ih.dim(0))] if biases else []  # a gate has the sum of both
        return apply(op, xs, self.w_ih, *states, self.w_hh, *bias)

    def states_to_tensor(self, states: Sequence[LSTMState]) -> Tensor:
        """The h of every state, (b, t, hidden)."""
        return Tensor.stack([s.h for s in states], 1)


class GRU(_Recurrent):
    """A gated recurrent unit: gates r z n; n = tanh(x wₙᵀ + r (h wₙᵀ + bₙ)), h ← (1 − z) n + z h.

    Shape: xs (b, t, in) → a state of (b, hidden) for every time.
    Raises: UnexpectedNumberOfDims, ShapeMismatchBinaryOp.
    Gradient: for xs, the first state and the weights, through the whole sequence.
    Source: candle-nn/src/rnn.rs, GRU; Cho et al., 2014.

    >>> from cafe import Tensor, nn
    >>> layer = nn.gru(3, 5, nn.GRUConfig(), nn.VarBuilder.from_varmap(nn.VarMap()))
    >>> states = layer.seq(Tensor.zeros((2, 4, 3)))
    >>> states[-1].h.dims(), layer.states_to_tensor(states).dims()
    ([2, 5], [2, 20])
    """

    gates = 3
    __slots__ = ()

    def zero_state(self, batch_dim: int) -> GRUState:
        """A state of zeros."""
        return GRUState(self._zeros(batch_dim))

    def step(self, xs: Tensor, state: GRUState) -> GRUState:
        """The state after one input: xs (b, in)."""
        check_rank(xs.shape, 2)
        return self.seq_init(xs.unsqueeze(1), state)[0]

    def seq(self, xs: Tensor) -> list[GRUState]:
        """The states after each time, from zeros."""
        check_rank(xs.shape, 3)
        return self.seq_init(xs, self.zero_state(xs.dim(0)))

    def seq_init(self, xs: Tensor, state: GRUState) -> list[GRUState]:
        """The states after each time, from this state."""
        h = self.sequence(xs, state)
        return [GRUState(h.get_on_dim(1, t)) for t in range(h.dim(1))]

    def sequence(self, xs: Tensor, state: GRUState | None = None) -> Tensor:
        """All of h, (b, t, hidden): the states of `seq` without cutting them apart."""
        self._check(xs)
        xw = Linear(self.w_ih, self.b_ih).forward(xs)
        state = self.zero_state(xs.dim(0)) if state is None else state
        bias = Tensor.zeros(self.gates * self.hidden_dim, self.w_hh.dtype) if self.b_hh is None else self.b_hh
        return apply(_GRU, xw, *_checked(state.h, xw, self.hidden_dim), self.w_hh, bias)

    def states_to_tensor(self, states: Sequence[GRUState]) -> Tensor:
        """The h of every state side by side, (b, t · hidden), as candle has it; `sequence` gives (b, t, hidden)."""
        return Tensor.cat([s.h for s in states], 1)


def _checked(state: Tensor, xw: Tensor, hidden: int) -> tuple[Tensor]:
    """The state, if it is (b, hidden) for the inputs' b.

    Raises: ShapeMismatchBinaryOp.
    """
    if state.shape != (xw.dim(0), hidden):
        raise ShapeMismatchBinaryOp("rnn (state, inputs)", state.shape, xw.shape)
    return (state,)


def _variables(
    gates: int, in_dim: int, hidden_dim: int, config: LSTMConfig | GRUConfig, vb: VarBuilder
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """w_ih, w_hh, b_ih and b_hh under candle's names."""
    suffix = f"l{config.layer_idx}" + ("_reverse" if config.direction is Direction.Backward else "")
    rows = gates * hidden_dim
    w_ih = vb.get_with_hints((rows, in_dim), f"weight_ih_{suffix}", config.w_ih_init)
    w_hh = vb.get_with_hints((rows, hidden_dim), f"weight_hh_{suffix}", config.w_hh_init)
    b_ih = None if config.b_ih_init is None else vb.get_with_hints(rows, f"bias_ih_{suffix}", config.b_ih_init)
    b_hh = None if config.b_hh_init is None else vb.get_with_hints(rows, f"bias_hh_{suffix}", config.b_hh_init)
    return w_ih, w_hh, b_ih, b_hh


@builds
def lstm(in_dim: int, hidden_dim: int, config: LSTMConfig, vb: VarBuilder) -> LSTM:
    """An LSTM with the variables weight_ih_l0 (4h, in), weight_hh_l0 (4h, h), bias_ih_l0, bias_hh_l0 (4h).

    Source: candle-nn/src/rnn.rs, lstm.
    """
    return LSTM(*_variables(4, in_dim, hidden_dim, config, vb))


@builds
def gru(in_dim: int, hidden_dim: int, config: GRUConfig, vb: VarBuilder) -> GRU:
    """A GRU with the variables weight_ih_l0 (3h, in), weight_hh_l0 (3h, h), bias_ih_l0, bias_hh_l0 (3h).

    Source: candle-nn/src/rnn.rs, gru.
    """
    return GRU(*_variables(3, in_dim, hidden_dim, config, vb))


class _Layer(Protocol):
    def forward(self, xs: Tensor) -> Tensor: ...


class RNNStack:
    """Several recurrent layers, in one or both directions: each layer's input is the output of the one below.

    Shape: xs (b, t, in) → (b, t, hidden), or (b, t, 2 · hidden) for both directions, forward first.

    >>> from cafe import Tensor, nn
    >>> vb = nn.VarBuilder.from_varmap(nn.VarMap())
    >>> nn.lstm_stack(3, 5, 2, vb, bidirectional=True).forward(Tensor.zeros((1, 4, 3))).dims()
    [1, 4, 10]
    """

    __slots__ = ("layers",)

    def __init__(self, layers: Sequence[Sequence[_Layer]]) -> None:
        if not layers or any(len(ways) not in (1, 2) for ways in layers):
            bail("a stack has at least one layer, each with one or two directions")
        self.layers = [tuple(ways) for ways in layers]

    def forward(self, xs: Tensor) -> Tensor:
        """The last layer's h for every time."""
        for ways in self.layers:
            outs = [ways[0].forward(xs)]
            if len(ways) == 2:
                outs.append(ways[1].forward(xs.flip(1)).flip(1))
            xs = outs[0] if len(outs) == 1 else Tensor.cat(outs, 2)
        return xs

    def __call__(self, xs: Tensor) -> Tensor:
        return self.forward(xs)


@builds
def lstm_stack(in_dim: int, hidden_dim: int, num_layers: int, vb: VarBuilder, bidirectional: bool = False) -> RNNStack:
    """`num_layers` LSTMs under PyTorch's names: weight_ih_l0, weight_ih_l0_reverse, weight_ih_l1 …"""

    def make(n: int, k: int, d: Direction) -> LSTM:
        return lstm(n, hidden_dim, LSTMConfig(layer_idx=k, direction=d), vb)

    return _stack(in_dim, hidden_dim, num_layers, bidirectional, make)


@builds
def gru_stack(in_dim: int, hidden_dim: int, num_layers: int, vb: VarBuilder, bidirectional: bool = False) -> RNNStack:
    """`num_layers` GRUs under PyTorch's names."""

    def make(n: int, k: int, d: Direction) -> GRU:
        return gru(n, hidden_dim, GRUConfig(layer_idx=k, direction=d), vb)

    return _stack(in_dim, hidden_dim, num_layers, bidirectional, make)


def _stack(in_dim: int, hidden_dim: int, num_layers: int, bidirectional: bool, make: Any) -> RNNStack:
    if num_layers < 1:
        raise Error(f"a stack has at least one layer, got {num_layers}")
    ways = (Direction.Forward, Direction.Backward) if bidirectional else (Direction.Forward,)
    widths = [in_dim] + [hidden_dim * len(ways)] * (num_layers - 1)
    return RNNStack([[make(n, k, d) for d in ways] for k, n in enumerate(widths)])
