"""What holds for every op, as functions of a `Case` that raise AssertionError (above the tensor floor).

`LAWS` names them all; `check_op(case)` goes through them, for your own ops as well. Each law runs over every sample of the case, on
whatever backend is in force.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cafe import kernels, tape
from cafe.dtype import Array, DType, dtype_of
from cafe.ops.base import Meta, Op, Record, Result
from cafe.tensor.base import apply, wrap
from cafe.tensor.core import Tensor, Var
from cafe.tensor.grads import GradStore
from cafe.tensor.verbs import GRAPH

from .arrays import versions
from .both import Both
from .case import Case
from .compare import assert_close, assert_integers, assert_same_bits, epsilon
from .gradients import gradcheck


def _run(op: Op, arrays: Sequence[Array]) -> Array:
    """The op's output by the tape's way: halves computed in F32 and rounded once."""
    return tape.run(op, [wrap(a) for a in arrays])[0]


def _floats(case: Case) -> list[DType]:
    return [d for d in case.dtypes if d.is_float and d.size_in_bytes > 2]


def _weights(y: Array) -> Array:
    """A gradient to start from that is different everywhere."""
    rng = np.random.default_rng(1)
    return np.asarray(rng.uniform(0.5, 1.5, y.shape) * rng.choice([-1.0, 1.0], y.shape)).astype(y.dtype)


def forward(case: Case) -> None:
    """The output is the float64 reference's within the case's ulps, and exact in float64 but for a few more."""
    for dtype in _floats(case):
        for op, arrays in case.samples(dtype):
            y, wanted = _run(op, arrays), case.expected(arrays)
            more = 2.0 if dtype is DType.F64 else 0.0  # the reference rounds, too
            assert_close(y, wanted, (case.ulps + more) * epsilon(dtype_of(y)), f"{case.name} of {_show(arrays)}")


def integers(case: Case) -> None:
    """On integers the output is that of Python's ints."""
    for dtype in (d for d in case.dtypes if d.is_int):
        for op, arrays in case.samples(dtype):
            y = _run(op, arrays)
            if y.dtype.kind in "iu":
                assert_integers(y, case.expected(arrays), f"{case.name} of {_show(arrays)}")
            else:
                assert_close(y, case.expected(arrays), case.ulps * epsilon(dtype_of(y)), f"{case.name} of {_show(arrays)}")


def result_dtype(case: Case) -> None:
    """The output is an array (of rank 0, too) of the dtype that the case says; each gradient has the dtype of its input."""
    for dtype in case.dtypes:
        for op, arrays in case.samples(dtype):
            y = _run(op, arrays)
            assert isinstance(y, np.ndarray), f"{case.name} of {_show(arrays)}: got a {type(y).__name__}, expected an array"
            got, wanted = dtype_of(y), case.result_dtype(dtype)
            assert got is wanted, f"{case.name} of {_show(arrays)}: got {got!r}, expected {wanted!r}"
            for i, g in _gradients(case, op, arrays).items():
                assert g.dtype == arrays[i].dtype, f"{case.name}: gradient {i} is {g.dtype} for an input of {arrays[i].dtype}"


def halves(case: Case) -> None:
    """F16 and BF16 give the F32 result, rounded once."""
    for dtype in (d for d in case.dtypes if d.is_float and d.size_in_bytes == 2):
        for op, arrays in case.samples(dtype):
            wide = [a if a.dtype.kind in "iu" else a.astype(np.float32) for a in arrays]
            y = _run(op, arrays)
            wanted = _run(op, wide)
            assert_same_bits(y, wanted.astype(y.dtype) if wanted.dtype == np.float32 else wanted, f"{case.name} of {_show(arrays)}")


def _gradients(case: Case, op: Op, arrays: Sequence[Array], which: Sequence[int] | None = None) -> dict[int, Array]:
    """The gradients by position, for the inputs in `which` (all that have one by default), each a variable."""
    wanted = case.differentiable(op, arrays) if which is None else which
    tensors: list[Any] = [Var(wrap(a)) if i in wanted else wrap(a) for i, a in enumerate(arrays)]
    y = apply(op, *tensors)
    if not wanted or y.dtype.is_int:
        return {}
    grads = _walk(y)
    found = {i: grads.get(tensors[i]) for i in wanted}
    missing = [i for i, g in found.items() if g is None]
    assert not missing, f"{case.name}: no gradient for input {missing}"
    return {i: g._data for i, g in found.items() if g is not None}


def _walk(y: Tensor) -> GradStore:
    return (y * wrap(_weights(y._data))).sum_all().backward()


def derivative(case: Case) -> None:
    """The first derivative is that of central differences in F64."""
    _check_derivative(case, 1)


def second_derivative(case: Case) -> None:
    """The second derivative, through `create_graph`, is that of central differences in F64."""
    _check_derivative(case, 2)


def _check_derivative(case: Case, order: int) -> None:
    if DType.F64 not in case.dtypes or case.result_dtype(DType.F64) is not DType.F64:
        return
    for op, arrays in case.samples(DType.F64):
        wanted = case.differentiable(op, arrays)
        if not wanted:
            continue
        function = _with_constants(op, arrays, wanted)
        try:
            gradcheck(function, *(arrays[i] for i in wanted), order=order, bound=case.smooth)
        except AssertionError as error:
            raise AssertionError(f"{case.name} of {_show(arrays)}: {error}") from None


def _with_constants(op: Op, arrays: Sequence[Array], wanted: Sequence[int]) -> Callable[..., Tensor]:
    """The op as a function of the wanted inputs alone."""

    def function(*given: Tensor) -> Tensor:
        by_place = dict(zip(wanted, given))
        return apply(op, *(by_place[i] if i in by_place else wrap(a) for i, a in enumerate(arrays)))

    return function


def gradients_alone(case: Case) -> None:
    """The gradient of one input is the same, to the bit, whether or not the others want theirs."""
    for dtype in _floats(case):
        for op, arrays in case.samples(dtype):
            together = _gradients(case, op, arrays)
            for i, g in together.items():
                assert_same_bits(_gradients(case, op, arrays, [i])[i], g, f"{case.name}: gradient {i} alone")


def recorded_backward(case: Case) -> None:
    """With `create_graph` the gradients are the ordinary ones."""
    for dtype in _floats(case):
        for op, arrays in case.samples(dtype):
            wanted = case.differentiable(op, arrays)
            plain = _gradients(case, op, arrays)
            tensors: list[Any] = [Var(wrap(a)) if i in wanted else wrap(a) for i, a in enumerate(arrays)]
            y = apply(op, *tensors)
            if not plain:
                continue
            grads = (y * wrap(_weights(y._data))).sum_all().backward(create_graph=True)
            for i, g in plain.items():
                bound = 4.0 * (case.ulps + 2.0) * epsilon(dtype)
                assert_close(grads[tensors[i]], g, bound, f"{case.name}: gradient {i} of {_show(arrays)} under create_graph")


def verbs_on_tensors(case: Case) -> None:
    """The forward written on Tensors (`cafe.tensor.verbs`) gives what it gives on arrays."""
    for dtype in _floats(case):
        for op, arrays in case.samples(dtype):
            out = op.forward(GRAPH.xp, *(wrap(a) for a in arrays))
            y = out.y if isinstance(out, Result) else out
            bound = 2.0 * (case.ulps + 2.0) * epsilon(dtype)
            assert_close(y, _run(op, arrays), bound, f"{case.name} of {_show(arrays)}, forward on Tensors")


def strides(case: Case) -> None:
    """Strided, offset, transposed, reversed and stride-0 inputs, each among poison, give the numbers of their row-major copy."""
    for dtype in case.dtypes:
        for op, arrays in case.samples(dtype):
            for place in range(len(arrays)):
                for kind, view, copy in versions(arrays[place]):
                    with_view, with_copy = [*arrays], [*arrays]
                    with_view[place], with_copy[place] = view, copy
                    _same(case, op, with_view, with_copy, f"{case.name}: input {place} {kind}, {_show(arrays)}")


def _same(case: Case, op: Op, one: Sequence[Array], other: Sequence[Array], what: str) -> None:
    y, wanted = _run(op, one), _run(op, other)
    bound = 2.0 * case.ulps * epsilon(dtype_of(wanted))
    assert_close(y, wanted, bound, what)
    if dtype_of(wanted).is_float and wanted.dtype.itemsize > 2:
        expected = _gradients(case, op, other)
        for i, g in _gradients(case, op, one).items():
            assert_close(g, expected[i], 2.0 * bound, f"{what}, gradient {i}")


def gradient_strides(case: Case) -> None:
    """A backward that is given its gradient under other strides gives the numbers of its row-major copy."""
    for dtype in _floats(case):
        for op, arrays in case.samples(dtype):
            wanted = case.differentiable(op, arrays)
            if not wanted or case.result_dtype(dtype).is_int:
                continue
            out = op.forward(kernels, *arrays)
            for kind, view, copy in versions(_weights(out.y if isinstance(out, Result) else out)):
                for i, (a, b) in enumerate(zip(_backward(op, arrays, out, view, wanted), _backward(op, arrays, out, copy, wanted))):
                    if b is not None:
                        assert_close(a, b, 4.0 * case.ulps * epsilon(dtype), f"{case.name}: gradient {i} from a {kind} one")


def _backward(op: Op, arrays: Sequence[Array], out: Array | Result, g: Array, wanted: Sequence[int], xp: Any = kernels) -> tuple[Any, ...]:
    """The rule's backward for the wanted inputs, given just what it asked to keep."""
    y, saved, const = out if isinstance(out, Result) else Result(out)
    if op.spends:
        saved = tuple(a.copy() for a in saved)
    record = Record(tuple(i in wanted for i in range(len(arrays))), y if "y" in op.keep else None, saved, const)
    kept = [a if "*" in op.keep or str(i) in op.keep else Meta(a.shape, a.dtype) for i, a in enumerate(arrays)]
    return op.backward(xp, g, record, *kept)


def gradient_forms(case: Case) -> None:
    """A rule gives each gradient that is wanted in its input's shape and dtype, and None for the others."""
    for dtype in _floats(case):
        for op, arrays in case.samples(dtype):
            wanted = case.differentiable(op, arrays)
            if not wanted or case.result_dtype(dtype).is_int:
                continue
            out = op.forward(kernels, *arrays)
            g = _weights(out.y if isinstance(out, Result) else out)
            for alone in [wanted, *([i] for i in wanted)]:
                grads = _backward(op, arrays, out, g, alone)
                assert len(grads) == len(arrays), f"{case.name}: {len(grads)} gradients for {len(arrays)} inputs"
                for i, (a, gradient) in enumerate(zip(arrays, grads)):
                    if i not in alone:
                        assert gradient is None, f"{case.name}: gradient {i}, which nobody wants, is worked out"
                        continue
                    got, expected = (gradient.shape, gradient.dtype), (a.shape, a.dtype)
                    assert got == expected, f"{case.name}: gradient {i} is {got[1]} {list(got[0])} for {expected[1]} {list(expected[0])}"


def empties(case: Case) -> None:
    """On nothing the op does what the case says: the reference's result and gradients of the right shape, or an error."""
    for shapes, error in case.empty:
        for dtype in case.dtypes:
            op, arrays = case.rule(shapes), case.inputs(shapes, dtype)
            if error is not None:
                _assert_raises(error, op, arrays, case.name)
                continue
            y, wanted = _run(op, arrays), case.expected(arrays)
            what = f"{case.name} of {_show(arrays)}"
            assert_close(y, wanted.astype(np.float64), case.ulps * epsilon(dtype_of(y)), what)
            assert dtype_of(y) is case.result_dtype(dtype), f"{what}: got {dtype_of(y)!r}"
            for i, g in _gradients(case, op, arrays).items():
                assert g.shape == arrays[i].shape, f"{what}: gradient {i} has shape {list(g.shape)}"


def _assert_raises(error: type[Exception], op: Op, arrays: Sequence[Array], name: str) -> None:
    try:
        y = _run(op, arrays)
    except error:
        return
    raise AssertionError(f"{name} of {_show(arrays)}: expected {error.__name__}, got a result of shape {list(y.shape)}")


def inputs_unmodified(case: Case) -> None:
    """Forward and backward write to none of their inputs, nor to the gradient they are given."""
    for dtype in case.dtypes:
        for op, arrays in case.samples(dtype):
            before = [a.tobytes() for a in arrays]
            out = op.forward(kernels, *arrays) if op.moves or dtype.size_in_bytes != 2 or dtype.is_int else None
            assert [a.tobytes() for a in arrays] == before, f"{case.name}: the forward changed an input"
            wanted = case.differentiable(op, arrays)
            if out is None or not wanted or case.result_dtype(dtype).is_int:
                continue
            g = _weights(out.y if isinstance(out, Result) else out)
            held = [g, *_arrays_in(out)]
            saved = [a.tobytes() for a in held]
            _backward(op, arrays, out, g, wanted)
            assert [a.tobytes() for a in arrays] == before, f"{case.name}: the backward changed an input"
            assert [a.tobytes() for a in held] == saved, f"{case.name}: the backward changed its gradient or what it was handed"


def _arrays_in(value: Any) -> list[Array]:
    if isinstance(value, tuple):
        return [a for v in value for a in _arrays_in(v)]
    return [value] if isinstance(value, np.ndarray) else []


def gradients_own_memory(case: Case) -> None:
    """Gradients in a GradStore are row-major and share memory with nothing: no input, no output, not each other."""
    for dtype in case.dtypes:
        for op, arrays in case.samples(dtype):
            wanted = case.differentiable(op, arrays)
            tensors: list[Any] = [Var(wrap(a)) if i in wanted else wrap(a) for i, a in enumerate(arrays)]
            y = apply(op, *tensors)
            if not wanted or y.dtype.is_int:
                continue
            others = [*(t._data for t in tensors), y._data]
            store = y.backward()
            for i in wanted:
                g = store[tensors[i]]._data
                assert_owned(g, others, f"{case.name}: gradient {i}")
                others.append(g)


def assert_owned(g: Array, others: Sequence[Array], what: str) -> None:
    """Raises AssertionError unless g is row-major and shares memory with none of the others."""
    assert g.flags.c_contiguous, f"{what} is not row-major"
    assert g.flags.writeable, f"{what} cannot be written"
    shared = [n for n, o in enumerate(others) if g.size and np.shares_memory(g, o)]
    assert not shared, f"{what} shares memory with array {shared[0]} of those around it"


def kernels_are_their_twins(case: Case) -> frozenset[str]:
    """Each verb that the rule uses, forward and backward, keeps its bound against float64 in C and on its twin; gives the verbs' names."""
    both = Both()
    for dtype in case.dtypes:
        if dtype.size_in_bytes == 2 and dtype.is_float:
            continue
        for op, arrays in case.samples(dtype):
            out: Any = op.forward(both, *arrays)
            y = out.y if isinstance(out, Result) else out
            wanted = case.differentiable(op, arrays)
            if wanted and y.dtype.kind not in "iu":
                _backward(op, arrays, out, _weights(y), wanted, both)
    return frozenset(both.seen)


def _show(arrays: Sequence[Array]) -> str:
    return ", ".join(f"{dtype_of(a)!r} {list(a.shape)}" for a in arrays)


LAWS: dict[str, Callable[[Case], object]] = {
    law.__name__: law
    for law in (
        forward,
        integers,
        result_dtype,
        halves,
        derivative,
        second_derivative,
        gradient_forms,
        gradients_alone,
        recorded_backward,
        verbs_on_tensors,
        strides,
        gradient_strides,
        empties,
        inputs_unmodified,
        gradients_own_memory,
        kernels_are_their_twins,
    )
}


def check_op(case: Case) -> None:
    """Holds an op to every law: what cafe's own tests do, for yours.

    Raises: AssertionError saying which promise is broken, on which inputs.
    """
    for law in LAWS.values():
        law(case)
