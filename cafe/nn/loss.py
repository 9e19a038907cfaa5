"""Losses: how far a model's output is from what it should be, as one number (floor 6).

    loss = cross_entropy(model(x), classes)
    grads = loss.backward()

Each takes the mean over all it is given. None broadcasts: an output of (n, 1) beside targets of (n) is an error, not n² differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Never

import numpy as np

from cafe import kernels
from cafe.dtype import Array, DType, check_float, check_same
from cafe.errors import Error, InvalidIndex, InvalidTarget, ShapeMismatchBinaryOp, UnexpectedShape, UnsupportedDTypeForOp, bail, show
from cafe.habits import defined, missing
from cafe.ops import loss as loss_ops
from cafe.shape import whole
from cafe.tape import is_half
from cafe.tensor.base import apply, check_tensors, wrap
from cafe.tensor.convert import real
from cafe.tensor.core import Tensor

from . import ops
from .habits import LOSSES, wrong
from .ops import log_softmax

_CROSS_ENTROPY = {with_grad: loss_ops.CrossEntropy(with_grad) for with_grad in (False, True)}
_MSE = {with_grad: loss_ops.Mse(with_grad) for with_grad in (False, True)}
_BCE = loss_ops.BceWithLogits()
_TO_ROWS = "classes come last and all else is flattened: of (n, c, h, w) `inp.permute((0, 2, 3, 1)).flatten_to(2)`, `target.flatten_all()`"
_REDUCTIONS = ("mean", "sum", "none")
_F32 = DType.F32.numpy
_WITH_SENTINEL = (DType.U8.numpy, DType.U32.numpy, DType.I64.numpy)


# -- numbers


def mse(inp: Tensor, target: Tensor, **others: Never) -> Tensor:
    """Σ (inp − target)² / n.

    Shape: any, the same twice → ().
    Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for integers.
    Gradient: 2 g (inp − target) / n, and its negative.
    Source: candle-nn/src/loss.rs, mse.

    >>> from cafe import Tensor
    >>> mse(Tensor([1.0, 2.0]), Tensor([0.0, 0.0])).to_scalar()
    2.5
    """
    if others:
        raise wrong("mse", others)
    _check_pair("mse", "sub", inp, target)
    return apply(_MSE[inp.track_op()], inp, target)


def l1(inp: Tensor, target: Tensor, **others: Never) -> Tensor:
    """Σ |inp − target| / n; shapes, errors as `mse`.

    Gradient: g · sign(inp − target) / n, 0 where they are equal.

    >>> from cafe import Tensor
    >>> l1(Tensor([1.0, -2.0]), Tensor([0.0, 0.0])).to_scalar()
    1.5
    """
    if others:
        raise wrong("l1", others)
    _check_pair("l1", "sub", inp, target)
    return inp.sub(target).abs().mean_all()


def huber(inp: Tensor, target: Tensor, delta: float, **others: Never) -> Tensor:
    """The mean of d² / 2 where |d| = |inp − target| is at most delta, of delta (|d| − delta / 2) beyond.

    Raises: Error unless the shapes are one and delta is above 0; DTypeMismatchBinaryOp.
    Gradient: g · d / n, held between ± g · delta / n.
    Source: candle-nn/src/loss.rs, huber.

    >>> from cafe import Tensor
    >>> huber(Tensor([0.5, 3.0]), Tensor([0.0, 0.0]), 1.0).to_scalar()  # (0.125 + 2.5) / 2
    1.3125
    """
    if others:
        raise wrong("huber", others)
    _check_tensors("huber", inp, target)
    if inp.shape != target.shape:
        bail(f"input and target must have the same shape, got inp: {show(inp.shape)}, target: {show(target.shape)}")
    if not real("huber", delta) > 0.0:
        bail(f"huber: delta must be above 0, got {delta}")
    _check_pair("huber", "sub", inp, target)
    return apply(loss_ops.Huber(delta, inp.track_op()), inp, target)


def smooth_l1(inp: Tensor, target: Tensor, beta: float = 1.0, **others: Never) -> Tensor:
    """The mean of d² / (2 beta) where |d| is at most beta, of |d| − beta / 2 beyond; `l1` for a beta of 0.

    Raises: as `huber`.

    >>> from cafe import Tensor
    >>> smooth_l1(Tensor([0.5, 3.0]), Tensor([0.0, 0.0])).to_scalar()
    1.3125
    """
    if others:
        raise wrong("smooth_l1", others)
    return l1(inp, target) if beta == 0.0 else huber(inp, target, beta).affine(1.0 / beta, 0.0)


def binary_cross_entropy_with_logit(inp: Tensor, target: Tensor, **others: Never) -> Tensor:
    """The mean of −t ln σ(x) − (1 − t) ln(1 − σ(x)), computed as t ln(1 + e^−x) + (1 − t) ln(1 + eˣ): finite for any finite x.

    Shape: logits and targets in [0, 1], any shape, the same twice → ().
    Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, UnsupportedDTypeForOp for integers.
    Gradient: g (σ(x) − t) / n; −g x / n for the targets.
    Source: candle-nn/src/loss.rs, binary_cross_entropy_with_logit (which overflows beyond |x| = 17 in F32).

    >>> from cafe import Tensor
    >>> binary_cross_entropy_with_logit(Tensor([[1000.0, -1000.0]]), Tensor([[0.0, 0.0]])).to_scalar()
    500.0
    """
    if others:
        raise wrong("binary_cross_entropy_with_logit", others)
    _check_pair("binary_cross_entropy_with_logit", "mul", inp, target)
    return apply(_BCE, inp, target)


# -- classes


def nll(
    inp: Tensor,
    target: Tensor,
    *more: Never,
    weight: Tensor | None = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
    **others: Never,
) -> Tensor:
    """The mean of −inp[i, target[i]], for log-probabilities inp.

    Shape: inp (n, c), target (n) of integers → ().
    Raises: Error with candle's texts for other shapes, InvalidTarget for a target that is no class,
        UnsupportedDTypeForOp for targets of floats.
    Gradient: −g / n at the targets.
    Source: candle-nn/src/loss.rs, nll. The keywords, which candle lacks, are those of `cross_entropy`.

    >>> from cafe import Tensor
    >>> nll(Tensor([[-1.0, -2.0], [-3.0, -4.0]]), Tensor([0, 1])).to_scalar()
    2.5
    """
    if more or others:
        raise wrong("nll", others)
    _check_classes("nll", inp, target)
    try:
        if weight is None and ignore_index is None and reduction == "mean" and inp.shape[0]:  # each row counts once
            return inp.gather(target.unsqueeze(1), 1).sum_all().affine(-1.0 / inp.shape[0], 0.0)
        return _picked(inp, _Rows.of("nll", inp, target, weight, ignore_index), 0.0, None, reduction)
    except InvalidIndex:
        raise _no_class("nll", inp, target, ignore_index) from None


def cross_entropy(
    inp: Tensor,
    target: Tensor,
    *more: Never,
    weight: Tensor | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    **others: Never,
) -> Tensor:
    """The mean of −ln softmax(inp)[i, target[i]], for logits inp, in one op.

    Shape: inp (n, c), target (n) of integers → ().

    weight: (c) factors of the classes; the mean is then weighted, too. No gradient goes there.
    ignore_index: rows with this target add nothing and are not counted (candle's sentinel, the largest number of the targets' dtype,
        adds nothing and is counted).
    label_smoothing: this part of each target is spread evenly over the classes.
    reduction: "mean", "sum", or "none" for a loss a row.

    The mean of no rows is NaN, with gradients of 0.

    Raises: Error with candle's texts for other shapes, InvalidTarget for a target that is no class,
        UnsupportedDTypeForOp for targets of floats.
    Gradient: g (softmax(inp) − onehot(target)) / n.
    Source: candle-nn/src/loss.rs, cross_entropy; the keywords as in PyTorch.

    >>> from cafe import Tensor
    >>> loss = cross_entropy(Tensor([[2.0, 0.5, -1.0], [0.1, 0.2, 3.0]]), Tensor([0, 2]))
    >>> print(f"{loss:.6f}")
    0.175456
    """
    if more or others:
        raise wrong("cross_entropy", others)
    _check_tensors("cross_entropy", inp, target)
    if inp.rank != 2:
        raise Error("cross_entropy expects an input tensor of rank 2").help(_TO_ROWS)
    _check_classes("cross_entropy", inp, target)
    check_float("log-softmax", inp._data)
    try:
        if weight is None and ignore_index is None and label_smoothing == 0.0 and reduction == "mean":
            return apply(_CROSS_ENTROPY[inp.track_op()], inp, target)
        return _cross_entropy(inp, target, weight, ignore_index, label_smoothing, reduction)
    except InvalidIndex:
        raise _no_class("cross_entropy", inp, target, ignore_index) from None


def _cross_entropy(
    inp: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int | None, label_smoothing: float, reduction: str
) -> Tensor:
    """What the keywords ask for."""
    if not 0.0 <= real("cross_entropy", label_smoothing) <= 1.0:
        bail(f"cross_entropy: label_smoothing must be in [0, 1], got {label_smoothing}")
    rows = _Rows.of("cross_entropy", inp, target, weight, ignore_index)
    if label_smoothing != 0.0 or reduction == "none":
        return _picked(log_softmax(_without_ignored(inp, rows), 1), rows, float(label_smoothing), weight, reduction)
    _check_reduction(reduction)
    total = rows.total() if reduction == "mean" else 1.0
    fused = _CROSS_ENTROPY[inp.track_op()]
    return _mean_of_none(apply(fused, inp, rows.ids, wrap(rows.weights._data / rows.weights._data.dtype.type(total or 1.0))), total)


class _Rows(NamedTuple):
    """What each row counts: its id (0 where it is ignored), its weight in the mean, and whether it adds anything (U8)."""

    ids: Tensor
    weights: Tensor
    keep: Tensor

    @staticmethod
    def of(op: str, inp: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int | None) -> _Rows:
        """Raises: InvalidIndex for a target that is neither a class nor ignored, UnexpectedShape for weights that are not (c)."""
        classes = inp.shape[1]
        ids = target._data
        if ignore_index is not None:
            whole(op, "ignore_index", ignore_index)
        counted = np.ones(ids.shape, bool) if ignore_index is None else ids != ignore_index
        ids = np.where(counted, ids, np.zeros((), ids.dtype))
        skip = _skips(ids, classes)
        dtype = DType.F32.numpy if is_half(inp._data.dtype) else inp._data.dtype
        factors = np.ones(classes, dtype) if weight is None else _class_weights(op, weight, classes, dtype)
        weights = np.where(skip, np.ones((), dtype), kernels.gather(factors, ids, 0))
        weights = np.where(counted, weights, np.zeros((), dtype))
        return _Rows(wrap(ids), wrap(weights), wrap((counted & ~skip).astype(np.uint8)))

    def total(self) -> float:
        """The sum of the weights: what a mean is divided by."""
        return float(np.sum(self.weights._data, dtype=np.float64))


def _picked(log_p: Tensor, rows: _Rows, smoothing: float, weight: Tensor | None, reduction: str) -> Tensor:
    """−log_p at the ids, weighted and smoothed, reduced."""
    _check_reduction(reduction)
    picked = log_p.gather(rows.ids.unsqueeze(1), 1).squeeze(1)
    losses = _where_kept(rows, picked.mul(rows.weights.to_dtype(log_p.dtype)).affine(-1.0, 0.0))
    if smoothing != 0.0:
        even = log_p if weight is None else log_p.broadcast_mul(weight.to_dtype(log_p.dtype))
        even = _where_kept(rows, even.sum(1)).affine(-smoothing / log_p.shape[1], 0.0)
        losses = losses.affine(1.0 - smoothing, 0.0).add(even)
    if reduction == "none":
        return losses
    total = rows.total() if reduction == "mean" else 1.0
    return _mean_of_none(losses.sum_all().affine(1.0 / (total or 1.0), 0.0), total)


def _where_kept(rows: _Rows, values: Tensor) -> Tensor:
    """The values of the rows that count, 0 in the others, whatever stands there."""
    return rows.keep.where_cond(values, values.zeros_like())


def _without_ignored(inp: Tensor, rows: _Rows) -> Tensor:
    """Zeros in the rows that do not count: a NaN there would come back as the gradient 0 · NaN."""
    if rows.keep._data.all():
        return inp
    return rows.keep.unsqueeze(1).broadcast_as(inp.shape).where_cond(inp, inp.zeros_like())


def _mean_of_none(loss: Tensor, total: float) -> Tensor:
    """The loss; NaN, with the same gradient, where there was nothing to take a mean of."""
    return loss if total != 0.0 else loss.affine(1.0, float("nan"))


def _skips(ids: Array, classes: int) -> Array:
    """Where an id is candle's sentinel, the largest number of its dtype, and no class."""
    largest = np.iinfo(ids.dtype).max
    return (ids == largest) & (classes <= largest) if ids.dtype in _WITH_SENTINEL else np.zeros(ids.shape, bool)


def _class_weights(op: str, weight: Tensor, classes: int, dtype: np.dtype[Any]) -> Array:
    check_tensors(op, weight)
    if weight.shape != (classes,):
        raise UnexpectedShape("shape mismatch for the weights of the classes", (classes,), weight.shape)
    check_float(op, weight._data)
    return kernels.cast(weight._data, dtype)


# -- what is asked of arguments


def _check_tensors(loss: str, inp: Tensor, target: Tensor) -> None:
    """Raises TypeError, naming the argument, unless both are Tensors."""
    check_tensors(f"{loss}: inp", inp)
    check_tensors(f"{loss}: target", target)


def _check_pair(loss: str, op: str, inp: Tensor, target: Tensor) -> None:
    """Raises candle's error for the op that its loss begins with unless both have one shape and one float dtype."""
    try:
        a, b = inp._data, target._data
    except AttributeError:
        _check_tensors(loss, inp, target)
        raise
    dtype = a.dtype
    if a.shape == b.shape and dtype is b.dtype and (dtype is _F32 or dtype.kind == "f"):
        return
    if op == "mul":  # there the target stands on the left
        a, b = b, a
    if a.shape != b.shape:
        raise ShapeMismatchBinaryOp(op, a.shape, b.shape).help("a loss does not broadcast: reshape one side to the other's shape")
    check_same(op, a, b)
    check_float("mean", a)


def _check_classes(op: str, inp: Tensor, target: Tensor) -> None:
    """Raises Error with candle's texts unless inp is (n, c) and target (n) integers."""
    _check_tensors(op, inp, target)
    if target.rank != 1:
        error = Error(f"the target tensor should have a single dimension ({show(target.shape)})")
        raise error.help(f"{op}: {_to_ids(inp, target)}")
    if inp.rank != 2:
        raise Error(f"the target tensor should have two dimensions ({show(inp.shape)})").help(f"{op}: {_TO_ROWS}")
    if inp.shape[0] != target.shape[0]:
        bail(f"batch size mismatch between inp ({inp.shape[0]}) and target ({target.shape[0]})")
    if target.dtype.is_float:
        raise UnsupportedDTypeForOp(target.dtype, op).help("targets are numbers of classes; `to_dtype(DType.U32)` makes them so")


def _to_ids(inp: Tensor, target: Tensor) -> str:
    """How targets of another rank become numbers of classes, one a row."""
    if inp.rank > 2:
        return _TO_ROWS
    if target.shape == inp.shape:
        probabilities = "of probabilities the loss is `-(ops.log_softmax(inp, 1) * target).sum(1).mean_all()`"
        return f"a target is the number of a class; `target.argmax(1)` makes numbers of rows with a 1 in its place; {probabilities}"
    return "there is one target a row; `target.flatten_all()` makes a list of them"


def _no_class(op: str, inp: Tensor, target: Tensor, ignore_index: int | None) -> InvalidTarget:
    """The error on the first target that is neither a class nor left out."""
    ids, classes = target._data, inp.shape[1]
    bad = ((ids < 0) | (ids >= classes)) & ~_skips(ids, classes)
    row = int(np.argmax(bad if ignore_index is None else bad & (ids != ignore_index)))
    return InvalidTarget(op, row, int(ids[row]), classes)


def _check_reduction(reduction: str) -> None:
    if reduction not in _REDUCTIONS:
        raise Error(f"reduction: expected one of {', '.join(_REDUCTIONS)}, got {reduction!r}")


if not TYPE_CHECKING:
    __getattr__ = missing("cafe.nn.loss", defined(globals()), LOSSES, ops)
