"""Optimizers: a step down the gradient for every variable, in one kernel call a dtype (floor 6).

    opt = AdamW.new_lr(varmap.all_vars(), 1e-3)
    opt.step(loss.backward())                 # or opt.backward_step(loss)

Gradients come in by hand; nothing is kept on the variables. Integers are dropped, a variable given twice is stepped once,
one without a gradient is left alone and does not count the step. Bias corrections are computed in float64, for each variable
from its own number of steps.

Variables of F16 and BF16 have a master copy in F32, which takes the steps and is rounded into the variable: updates too small
for the variable itself add up. A variable that was set since goes on from its new value.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Never, Self, TypeAlias

import numpy as np

from cafe import kernels, tracing
from cafe.dtype import Array
from cafe.errors import CannotFindTensor, Error, UnexpectedDType, UnexpectedShape, helped
from cafe.habits import NEEDED
from cafe.tape import is_half
from cafe.tensor.base import check_tensors, named_tensors, wrap
from cafe.tensor.core import Tensor, Var
from cafe.tensor.grads import GradStore

from .cohort import Cohort, Slot, cohorts, named
from .habits import OptimizerHabits, called, wrong

_LR = "the learning rate"
_NO_VAR = "`varmap.all_vars()` are a model's variables, `Var.from_tensor(t)` makes one of a tensor"
_MOST = sys.float_info.max

Vars: TypeAlias = "Iterable[Var] | Mapping[str, Var]"


class Optimizer(OptimizerHabits, ABC):
    """What every optimizer does; for one of your own write `step`, `learning_rate` and `set_learning_rate`.

    Source: candle-nn/src/optim.rs, Optimizer.

    >>> from cafe import Var
    >>> class Halving(Optimizer):
    ...     learning_rate = 0.5
    ...     def __init__(self, vars):
    ...         self.vars = vars
    ...     def step(self, grads):
    ...         for var in self.vars:
    ...             var.set(var - grads[var] * self.learning_rate)
    ...     def set_learning_rate(self, lr):
    ...         self.learning_rate = lr
    >>> w = Var([2.0])
    >>> Halving([w]).backward_step(w.sqr().sum_all())
    >>> w.tolist()
    [0.0]
    """

    @abstractmethod
    def step(self, grads: GradStore) -> None:
        """One step for every variable that has a gradient there."""

    @property
    @abstractmethod
    def learning_rate(self) -> float:
        """How long a step is."""

    @abstractmethod
    def set_learning_rate(self, lr: float) -> None:
        """Changes it from the next step on."""

    def backward_step(self, loss: Tensor) -> None:
        """`step(loss.backward())`."""
        check_tensors("backward_step", loss)
        self.step(loss.backward())

    @classmethod
    def empty(cls, *args: Any, **kwargs: Any) -> Self:
        """Without variables so far; arguments as the class takes them after the variables."""
        return cls([], *args, **kwargs)  # type: ignore[call-arg]

    @classmethod
    def from_slice(cls, vars: Sequence[Var], *args: Any, **kwargs: Any) -> Self:
        """The class itself, as candle spells it."""
        return cls(vars, *args, **kwargs)  # type: ignore[call-arg]


# -- what they share


class _Stepper(Optimizer):
    """What SGD and the Adams share: variables in cohorts, and their state in and out."""

    def __init__(self, vars: Vars, params: Any) -> None:
        self._params = params
        self._cohorts: list[Cohort] = []
        self._order: list[Var] = []
        for name, var in named(vars):
            self.push(var, name)

    # -- what differs

    def _moments(self, params: Any) -> tuple[str, ...]:
        """The names of what is remembered of each variable."""
        raise NotImplementedError

    def _update(self, cohort: Cohort, gs: list[Array]) -> None:
        """Step number cohort.t of these variables, in place."""
        raise NotImplementedError

    # -- the step

    def step(self, grads: GradStore = NEEDED) -> None:
        """One step for every variable that has a gradient in the store."""
        if grads is NEEDED:
            raise wrong("step")
        if tracing.active is None:
            self._step(grads)
            return
        with tracing.span(tracing.Level.DEBUG, f"{type(self).__name__} step", variables=len(self._order)):
            self._step(grads)

    def _step(self, grads: GradStore) -> None:
        if not isinstance(grads, GradStore):
            raise TypeError(f"expected GradStore, found {type(grads).__name__}: give `loss.backward()`, or call `backward_step(loss)`")
        found = [cohort.gradients(grads) for cohort in self._cohorts]
        uneven = None in found
        if uneven:  # a cohort of which only some have a gradient goes on as two
            self._cohorts = [part for c in self._cohorts for part in c.split(grads)]
            found = [cohort.gradients(grads) for cohort in self._cohorts]
        for cohort, gs in zip(self._cohorts, found):
            if gs:
                self._advance(cohort, gs)
        if uneven:
            self._cohorts = cohorts((s, c.t) for c in self._cohorts for s in c.slots)

    def _advance(self, cohort: Cohort, gs: list[Array]) -> None:
        cohort.t += 1
        if not cohort.halves:
            self._update(cohort, gs)
            for version in cohort.versions:
                version.count += 1
            return
        for slot in cohort.slots:
            slot.refresh()
        self._update(cohort, gs)
        for slot in cohort.slots:
            slot.publish()

    # -- variables and parameters

    def push(self, var: Var, name: str | None = None) -> None:
        """Adds a variable; an integer one or one that is there already changes nothing.

        Raises: TypeError for what is no Var.
        """
        if not isinstance(var, Var):
            raise helped(TypeError(f"expected Var, found {type(var).__name__}"), _NO_VAR)
        if var.dtype.is_int or any(var is known for known in self._order):
            return
        slot = Slot(str(len(self._order)) if name is None else name, var, len(self._moments(self._params)))
        self._order.append(var)
        self._cohorts = cohorts([*((s, c.t) for c in self._cohorts for s in c.slots), (slot, 0)])

    def into_inner(self) -> list[Var]:
        """The variables, in the order in which they came."""
        return list(self._order)

    @property
    def learning_rate(self) -> float:
        """How long a step is."""
        return self._params.lr  # type: ignore[no-any-return]

    def set_learning_rate(self, lr: float) -> None:
        """Changes it from the next step on."""
        self._params = dataclasses.replace(self._params, lr=_number(_LR, lr))

    # -- state

    def state_dict(self) -> dict[str, Tensor]:
        """Copies of all that the next step depends on, by name: `params.lr` …, and `vars.{name}.step` and moments for each variable.

        A variable's name is the one it had in the mapping that was given (`varmap.data()`), else its position. All are tensors, so that
        `cafe.io.safetensors.save` takes them as they are.

        >>> from cafe import Var
        >>> opt = SGD({"w": Var([1.0])}, 0.1, momentum=0.9)
        >>> list(opt.state_dict())
        ['params.lr', 'params.momentum', 'params.dampening', 'params.nesterov', 'params.weight_decay', 'vars.w.step', 'vars.w.momentum']
        """
        out = {f"params.{f}": wrap(np.array(float(v))) for f, v in dataclasses.asdict(self._params).items()}
        for slot, t in self._slots():
            out[f"vars.{slot.name}.step"] = wrap(np.array(t, np.int64))
            out |= {f"vars.{slot.name}.{key}": wrap(array.copy()) for key, array in self._remembered(slot, self._params).items()}
        return out

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from a `state_dict`, parameters included; nothing is changed unless everything fits.

        Raises: CannotFindTensor, UnexpectedShape, UnexpectedDType, Error for names that belong to nothing here.
        """
        state = dict(named_tensors("load_state_dict", state))
        params = self._params_from(state)
        slots = [Slot(s.name, s.var, len(self._moments(params))) for s, _ in self._slots()]
        wanted: dict[str, Array] = {f"params.{f}": np.zeros(()) for f in dataclasses.asdict(params)}
        wanted |= {f"vars.{s.name}.step": np.zeros((), np.int64) for s in slots}
        for s in slots:
            wanted |= {f"vars.{s.name}.{key}": array for key, array in self._remembered(s, params).items()}
        _check_state(state, wanted)
        for s in slots:
            for key, array in self._remembered(s, params).items():
                array[...] = state[f"vars.{s.name}.{key}"]._data
        self._params = params
        self._cohorts = cohorts((s, int(state[f"vars.{s.name}.step"].item())) for s in slots)

    def _slots(self) -> list[tuple[Slot, int]]:
        """Slots and their numbers of steps, in the variables' order."""
        found = {id(s.var): (s, c.t) for c in self._cohorts for s in c.slots}
        return [found[id(var)] for var in self._order]

    def _remembered(self, slot: Slot, params: Any) -> dict[str, Array]:
        named = dict(zip(self._moments(params), slot.moments))
        return {**named, "master": slot.master} if is_half(slot.var._data.dtype) else named

    def _params_from(self, state: Mapping[str, Tensor]) -> Any:
        values: dict[str, Any] = {}
        for field in dataclasses.fields(self._params):
            key = f"params.{field.name}"
            if key not in state:
                raise CannotFindTensor(key, state)
            values[field.name] = type(getattr(self._params, field.name))(state[key].item())
        return type(self._params)(**values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._order)} variables, {self._params})"


def _check_state(state: Mapping[str, Tensor], wanted: Mapping[str, Array]) -> None:
    """Raises CannotFindTensor, UnexpectedShape, UnexpectedDType or Error unless the state has just what is wanted."""
    for key, array in wanted.items():
        if key not in state:
            raise CannotFindTensor(key, state)
        if state[key].shape != array.shape:
            raise UnexpectedShape(f"shape mismatch for {key}", array.shape, state[key].shape)
        if state[key]._data.dtype != array.dtype:
            raise UnexpectedDType(f"dtype mismatch for {key}", wrap(array).dtype, state[key].dtype)
    unexpected = [key for key in state if key not in wanted]
    if unexpected:
        raise Error(f"this optimizer has no place for {', '.join(unexpected)}")


# -- SGD


@called
@dataclass(frozen=True)
class ParamsSGD:
    """The parameters of `SGD`.

    Raises: Error for Nesterov without a momentum or with dampening, and for numbers that are negative (dampening may be) or not finite.

    >>> ParamsSGD(0.1, momentum=0.9)
    ParamsSGD(lr=0.1, momentum=0.9, dampening=0.0, nesterov=False, weight_decay=0.0)
    """

    lr: float
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _number(_LR, self.lr)
        _number("momentum", self.momentum)
        _number("dampening", self.dampening, -math.inf)
        _number("weight_decay", self.weight_decay)
        if not isinstance(self.nesterov, bool):
            raise TypeError(f"expected a bool for nesterov, found {type(self.nesterov).__name__}")
        if self.nesterov and (self.momentum <= 0.0 or self.dampening != 0.0):
            raise Error(f"nesterov wants a momentum and no dampening, got {self.momentum} and {self.dampening}")


@called
class SGD(_Stepper):
    """p ← p − lr · g; with momentum p ← p − lr · m, m ← g at first, then momentum · m + (1 − dampening) g.

    With Nesterov p ← p − lr (g + momentum · m). weight_decay · p is added to g.

    Source: candle-nn/src/optim.rs, SGD (which has the learning rate alone); the rest as in PyTorch.

    >>> from cafe import Var
    >>> w = Var([1.0, 2.0])
    >>> opt = SGD([w], 0.25)
    >>> opt.backward_step(w.sqr().sum_all())
    >>> w.tolist()
    [0.5, 1.0]
    """

    def __init__(
        self,
        vars: Vars,
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(vars, ParamsSGD(_number(_LR, lr), momentum, dampening, nesterov, weight_decay))

    @property
    def params(self) -> ParamsSGD:
        """The parameters in force."""
        return self._params  # type: ignore[no-any-return]

    def set_params(self, params: ParamsSGD) -> None:
        """Changes them from the next step on; a momentum that was 0 starts anew."""
        if not isinstance(params, ParamsSGD):
            raise TypeError(f"expected ParamsSGD, found {type(params).__name__}")
        if self._moments(params) != self._moments(self._params):
            slots = [Slot(s.name, s.var, len(self._moments(params))) for s, _ in self._slots()]
            self._cohorts = cohorts((s, 0) for s in slots)
        self._params = params

    def _moments(self, params: Any) -> tuple[str, ...]:
        return ("momentum",) if params.momentum else ()

    def _update(self, cohort: Cohort, gs: list[Array]) -> None:
        p = self._params
        moments = cohort.moments[0] if cohort.moments else []
        kernels.sgd_step(cohort.ps, gs, moments, p.lr, p.momentum, p.dampening, p.nesterov, p.weight_decay, cohort.t == 1)


# -- Adam


@called
@dataclass(frozen=True)
class ParamsAdam:
    """The parameters of `Adam`.

    Raises: Error for a beta outside [0, 1), and for other numbers that are negative or not finite.

    >>> ParamsAdam(lr=0.1)
    ParamsAdam(lr=0.1, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.0)
    """

    lr: float = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _number(_LR, self.lr)
        _number("eps", self.eps)
        _number("weight_decay", self.weight_decay)
        for name, beta in (("beta1", self.beta1), ("beta2", self.beta2)):
            if not _is_number(beta):
                raise TypeError(f"expected a number for {name}, found {type(beta).__name__}")
            if not 0.0 <= beta < 1.0:
                raise Error(f"{name} must be in [0, 1), got {beta}")


@called
@dataclass(frozen=True)
class ParamsAdamW(ParamsAdam):
    """The parameters of `AdamW`, with candle's defaults.

    >>> ParamsAdamW(lr=0.1)
    ParamsAdamW(lr=0.1, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.01)
    """

    weight_decay: float = 0.01


class _AnyAdam(_Stepper):
    decoupled: bool

    def _moments(self, params: Any) -> tuple[str, ...]:
        return ("m", "v")

    def _update(self, cohort: Cohort, gs: list[Array]) -> None:
        p = self._params
        m, v = cohort.moments
        kernels.adam_step(cohort.ps, gs, m, v, p.lr, p.beta1, p.beta2, p.eps, p.weight_decay, self.decoupled, cohort.t)


@called
class Adam(_AnyAdam):
    """p ← p − lr · m̂ / (√v̂ + eps), with m̂ and v̂ the running means of g and g², corrected for their start at 0.

    weight_decay · p is added to g: the L2 form. `AdamW` decays apart from the gradient.

    Source: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2014.

    >>> from cafe import Var
    >>> w = Var([1.0])
    >>> Adam([w], 0.1).backward_step(w.sqr().sum_all())
    >>> print(f"{w:.4f}")
    0.9000
    """

    decoupled = False

    def __init__(
        self,
        vars: Vars,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        if not isinstance(betas, tuple | list) or len(betas) != 2:
            raise TypeError(f"expected two numbers for betas, got {betas!r}")
        super().__init__(vars, ParamsAdam(_number(_LR, lr), betas[0], betas[1], eps, weight_decay))

    @property
    def params(self) -> ParamsAdam:
        """The parameters in force."""
        return self._params  # type: ignore[no-any-return]

    def set_params(self, params: ParamsAdam) -> None:
        """Changes them from the next step on."""
        if type(params) is not ParamsAdam:
            raise TypeError(f"expected ParamsAdam, found {type(params).__name__}")
        self._params = params


_NO_PARAMS: Any = None  # PyTorch has defaults here


class AdamW(_AnyAdam):
    """p ← p (1 − lr · weight_decay) − lr · m̂ / (√v̂ + eps), with m̂ and v̂ as in `Adam`.

    Raises: TypeError unless params is a ParamsAdamW; `AdamW.new_lr` takes a learning rate.
    Source: candle-nn/src/optim.rs, AdamW; Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2017.

    >>> from cafe import Var
    >>> w = Var([1.0])
    >>> AdamW([w], ParamsAdamW(lr=0.1)).backward_step(w.sqr().sum_all())
    >>> print(f"{w:.4f}")
    0.8990
    """

    decoupled = True

    def __init__(self, vars: Vars, params: ParamsAdamW = _NO_PARAMS, **others: Never) -> None:
        super().__init__(vars, _params_adamw(params, others))

    @classmethod
    def new_lr(cls, vars: Vars, lr: float) -> Self:
        """The default parameters with this learning rate."""
        return cls(vars, ParamsAdamW(lr=_number(_LR, lr)))

    @property
    def params(self) -> ParamsAdamW:
        """The parameters in force."""
        return self._params  # type: ignore[no-any-return]

    def set_params(self, params: ParamsAdamW) -> None:
        """Changes them from the next step on."""
        self._params = _params_adamw(params)


def _params_adamw(params: Any, others: Mapping[str, Any] = MappingProxyType({})) -> ParamsAdamW:
    if isinstance(params, ParamsAdamW) and not others:
        return params
    params = next(iter(others.values()), params)
    lr = params if isinstance(params, numbers.Real) else 0.001
    error = TypeError(f"expected ParamsAdamW, found {'nothing' if params is None else type(params).__name__}")
    raise helped(error, f"`AdamW.new_lr(vars, {lr})`, or `AdamW(vars, ParamsAdamW(lr={lr}))`")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)  # a True here was meant for another argument


def _number(name: str, value: Any, least: float = 0.0) -> float:
    """A number as a float.

    Raises: TypeError unless it is one (a bool is none), Error unless it is finite and at least `least`.
    """
    if not _is_number(value):
        mixed = isinstance(value, ParamsAdam | ParamsSGD)
        cure = "`AdamW` alone takes its parameters in one; `Adam(vars, lr, …)` and `SGD(vars, lr, …)` take numbers" if mixed else None
        raise helped(TypeError(f"expected a number for {name}, found {type(value).__name__}"), cure)
    if not -_MOST <= value <= _MOST:
        raise Error(f"expected a finite number for {name}, got {value}")
    if value < least:
        raise Error(f"{name} must be at least 0, got {value}")
    return float(value)
