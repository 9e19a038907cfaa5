"""Normalising layers: LayerNorm, RmsNorm, GroupNorm, InstanceNorm and BatchNorm, with candle's configurations and builders (floor 6).

norm = layer_norm(64, 1e-5, vb.pp("ln"))          # weight of ones, bias of zeros
bn = batch_norm(16, 1e-5, vb.pp("bn"))            # with running statistics, which are variables of the map as well
bn.forward_t(xs, train=True)
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import prod

from cafe import tape
from cafe.dtype import check_same
from cafe.errors import Error, ShapeMismatchBinaryOp, bail, show
from cafe.ops import norm as rules
from cafe.shape import Shape, reduced
from cafe.tensor.base import apply, apply_with_const, wrap
from cafe.tensor.convert import real
from cafe.tensor.core import Tensor, Var

from . import ops
from .building import builds, configured
from .init import Init
from .module import Module, ModuleT
from .var_builder import VarBuilder

_ONE, _ZERO = Init.Const(1.0), Init.Const(0.0)


# -- over the last dim


@dataclass(frozen=True)
class LayerNormConfig:
    """How a layer norm is built; a plain number in its place is `eps`.

    remove_mean: False divides by the root of the mean square and subtracts nothing.
    affine: False leaves out the bias; there is always a weight.

    Source: candle-nn/src/layer_norm.rs, LayerNormConfig.

    >>> LayerNormConfig()
    LayerNormConfig(eps=1e-05, remove_mean=True, affine=True)
    """

    eps: float = 1e-5
    remove_mean: bool = True
    affine: bool = True


class LayerNorm(Module):
    """(x − mean) / √(var + eps) over the last dim, times a weight, plus a bias if there is one.

    Shape: x (…, n), weight (n), bias (n) → (…, n).
    Raises: Error where the sizes or dtypes differ.
    Gradient: as that of the formula, through mean and variance.
    Source: candle-nn/src/layer_norm.rs, LayerNorm (whose fused form has no gradient).

    >>> from cafe import Tensor
    >>> norm = LayerNorm(Tensor([1.0, 1.0]), Tensor([0.0, 10.0]), 0.0)
    >>> norm(Tensor([[3.0, 5.0]])).tolist()
    [[-1.0, 11.0]]
    """

    __slots__ = ("bias", "eps", "remove_mean", "weight")

    @builds
    def __init__(self, weight: Tensor, bias: Tensor | None = None, eps: float = 1e-5, remove_mean: bool = True) -> None:
        self.weight, self.bias = weight, bias
        self.eps, self.remove_mean = ops.check_eps("layer-norm", eps), remove_mean

    @staticmethod
    def new_no_bias(weight: Tensor, eps: float) -> LayerNorm:
        """A layer norm with a weight alone."""
        return LayerNorm(weight, None, eps)

    @staticmethod
    def rms_norm(weight: Tensor, eps: float) -> LayerNorm:
        """One that subtracts no mean."""
        return LayerNorm(weight, None, eps, remove_mean=False)

    def forward(self, xs: Tensor) -> Tensor:
        """The rows, normalised."""
        if not self.remove_mean:
            scaled = ops.rms_norm_slow(xs, self.weight, self.eps) if self._is_odd(xs) else ops.rms_norm(xs, self.weight, self.eps)
            return scaled if self.bias is None else scaled.broadcast_add(self.bias)
        if self.bias is not None:
            return ops.layer_norm(xs, self.weight, self.bias, self.eps)
        if self._is_odd(xs):
            return ops.layer_norm_slow(xs, self.weight, None, self.eps)
        return apply(rules.LayerNorm(self.eps), xs, self.weight)

    def of_sum(self, xs: Tensor, added: Tensor) -> Tensor:
        """The layer of xs + added, to the same bits: in one op where there is a bias, as after a residual connection.

        Shape: (…, n) twice → (…, n).
        Raises: ShapeMismatchBinaryOp, DTypeMismatchBinaryOp, and as the layer itself.
        """
        if not self.remove_mean or self.bias is None or self._is_odd(xs) or added.shape != xs.shape or added.dtype is not xs.dtype:
            return self.forward(xs.add(added))
        ops.check_norm_dtype(xs, self.weight, self.bias)
        return apply(rules.ResidualNorm(self.eps), xs, added, self.weight, self.bias)

    def _is_odd(self, xs: Tensor) -> bool:
        """Whether the weight is not just one number for each of a row's: what candle's slow form broadcasts, or refuses."""
        return self.weight.shape != xs.shape[-1:] or self.weight.dtype is not xs.dtype or xs.dtype.is_int

    def __repr__(self) -> str:
        return f"LayerNorm({self.weight.elem_count()}, eps={self.eps}{'' if self.bias is not None else ', no bias'})"


@builds
def layer_norm(size: int, config: LayerNormConfig | float, vb: VarBuilder) -> LayerNorm:
    """A layer norm with `weight` (size), ones at first, and `bias` (size), zeros at first.

    config: a LayerNormConfig, or its eps.

    Source: candle-nn/src/layer_norm.rs, layer_norm.

    >>> from cafe.nn import VarBuilder, VarMap
    >>> varmap = VarMap()
    >>> layer_norm(4, 1e-6, VarBuilder.from_varmap(varmap).pp("ln")), list(varmap.data())
    (LayerNorm(4, eps=1e-06), ['ln.weight', 'ln.bias'])
    """
    config = configured(LayerNormConfig, config)
    weight = vb.get_with_hints(size, "weight", _ONE)
    return LayerNorm(weight, vb.get_with_hints(size, "bias", _ZERO) if config.affine else None, config.eps, config.remove_mean)


@builds
def layer_norm_no_bias(size: int, eps: float, vb: VarBuilder) -> LayerNorm:
    """A layer norm with the variable `weight` alone.

    Source: candle-nn/src/layer_norm.rs, layer_norm_no_bias.
    """
    return layer_norm(size, LayerNormConfig(eps=eps, affine=False), vb)


class RmsNorm(Module):
    """x / √(mean of x² + eps) over the last dim, times a weight.

    Shape: x (…, n), weight (n) → (…, n).
    Raises: Error where the sizes or dtypes differ.
    Gradient: as that of the formula.
    Source: candle-nn/src/layer_norm.rs, RmsNorm.

    >>> from cafe import Tensor
    >>> RmsNorm(Tensor([1.0, 2.0]), 0.0)(Tensor([[3.0, 3.0]])).tolist()
    [[1.0, 2.0]]
    """

    __slots__ = ("eps", "weight")

    @builds
    def __init__(self, weight: Tensor, eps: float) -> None:
        self.weight, self.eps = weight, ops.check_eps("rms-norm", eps)

    def forward(self, xs: Tensor) -> Tensor:
        """The rows, divided by the roots of their mean squares."""
        return ops.rms_norm(xs, self.weight, self.eps)

    def forward_diff(self, xs: Tensor) -> Tensor:
        """`forward`, which has a gradient here."""
        return self.forward(xs)

    def __repr__(self) -> str:
        return f"RmsNorm({self.weight.elem_count()}, eps={self.eps})"


@builds
def rms_norm(size: int, eps: float, vb: VarBuilder) -> RmsNorm:
    """An RmsNorm with the variable `weight` (size), ones at first.

    Source: candle-nn/src/layer_norm.rs, rms_norm.
    """
    return RmsNorm(vb.get_with_hints(size, "weight", _ONE), eps)


# -- over groups of channels


class GroupNorm(Module):
    """Normalises each image's groups of channels, over all of its places; then weight and bias for each channel.

    Shape: x (N, C, L, …), weight (C), bias (C) → the same.
    Raises: Error unless num_groups divides num_channels; for a rank below 3, another number of channels, unlike dtypes.
    Gradient: as that of the formula, through mean and variance.
    Source: candle-nn/src/group_norm.rs, GroupNorm.
    """

    __slots__ = ("bias", "eps", "num_channels", "num_groups", "weight")

    @builds
    def __init__(self, weight: Tensor, bias: Tensor, num_channels: int, num_groups: int, eps: float) -> None:
        if num_groups < 1 or num_channels % num_groups:
            bail(f"GroupNorm: num_groups ({num_groups}) must divide num_channels ({num_channels})")
        self.weight, self.bias = weight, bias
        self.num_channels, self.num_groups, self.eps = num_channels, num_groups, ops.check_eps("group-norm", eps)

    def forward(self, xs: Tensor) -> Tensor:
        """The groups, normalised."""
        if xs.rank < 3:
            bail("input rank for GroupNorm should be at least 3")
        if xs.shape[1] != self.num_channels:
            bail(f"unexpected num-channels in GroupNorm ({xs.shape[1]} <> {self.num_channels}")
        return _normalised_channels(rules.GroupNorm(self.num_groups, self.eps), xs, self.weight, self.bias)

    def __repr__(self) -> str:
        return f"GroupNorm({self.num_groups}, {self.num_channels}, eps={self.eps})"


@builds
def group_norm(num_groups: int, num_channels: int, eps: float, vb: VarBuilder) -> GroupNorm:
    """A GroupNorm with `weight` (channels), ones at first, and `bias` (channels), zeros at first. Groups come first here.

    Source: candle-nn/src/group_norm.rs, group_norm.

    >>> from cafe import Tensor
    >>> from cafe.nn import VarBuilder
    >>> norm = group_norm(1, 2, 0.0, VarBuilder.from_tensors({"weight": Tensor([1.0, 2.0]), "bias": Tensor([0.0, 0.0])}))
    >>> norm(Tensor([[[1.0], [5.0]]])).tolist()
    [[[-1.0], [2.0]]]
    """
    weight, bias = vb.get_with_hints(num_channels, "weight", _ONE), vb.get_with_hints(num_channels, "bias", _ZERO)
    return GroupNorm(weight, bias, num_channels, num_groups, eps)


@dataclass(frozen=True)
class InstanceNormConfig:
    """How an instance norm is built; a plain number in its place is `eps`."""

    eps: float = 1e-5
    affine: bool = False


class InstanceNorm(Module):
    """Normalises each channel of each image over its places; then weight and bias for each channel, if there are any.

    Shape: x (N, C, L, …), weight (C), bias (C) → the same.
    Raises: Error for a rank below 3, another number of channels, unlike dtypes.
    Gradient: as that of the formula, through mean and variance.
    Source: Ulyanov, Vedaldi, Lempitsky, "Instance Normalization" (2016); candle has none.

    >>> from cafe import Tensor
    >>> InstanceNorm(1, eps=0.0)(Tensor([[[1.0, 3.0]]])).tolist()
    [[[-1.0, 1.0]]]
    """

    __slots__ = ("bias", "eps", "num_features", "weight")

    @builds
    def __init__(self, num_features: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> None:
        self.num_features, self.weight, self.bias, self.eps = num_features, weight, bias, ops.check_eps("instance-norm", eps)

    def forward(self, xs: Tensor) -> Tensor:
        """The channels, normalised."""
        if xs.rank < 3:
            bail("input rank for InstanceNorm should be at least 3")
        if xs.shape[1] != self.num_features:
            bail(f"unexpected num-channels in InstanceNorm ({xs.shape[1]} <> {self.num_features})")
        wb = [p for p in (self.weight, self.bias) if p is not None]
        return _normalised_channels(rules.GroupNorm(self.num_features, self.eps), xs, *wb)

    def __repr__(self) -> str:
        return f"InstanceNorm({self.num_features}, eps={self.eps}{', no weight' if self.weight is None else ''})"


@builds
def instance_norm(num_features: int, config: InstanceNormConfig | float, vb: VarBuilder) -> InstanceNorm:
    """An InstanceNorm; with `affine` it has `weight` and `bias` (features), ones and zeros at first.

    config: an InstanceNormConfig, or its eps.
    """
    config = configured(InstanceNormConfig, config)
    if not config.affine:
        return InstanceNorm(num_features, eps=config.eps)
    weight, bias = vb.get_with_hints(num_features, "weight", _ONE), vb.get_with_hints(num_features, "bias", _ZERO)
    return InstanceNorm(num_features, weight, bias, config.eps)


def _normalised_channels(rule: rules.GroupNorm, xs: Tensor, *wb: Tensor) -> Tensor:
    for p, op in zip(wb, ("broadcast_mul", "broadcast_add")):
        if p.shape != xs.shape[1:2]:
            raise ShapeMismatchBinaryOp("reshape", p.shape, _per_channel(xs.shape))
        check_same(op, xs._data, p._data)
    ops.check_norm_dtype(xs)
    return apply(rule, xs, *wb)


# -- over the batch


@dataclass(frozen=True)
class BatchNormConfig:
    """How a batch norm is built; a plain number in its place is `eps`.

    remove_mean: False divides by the root of the mean square in training, and leaves the running mean alone.
    affine: False leaves out weight and bias.
    momentum: how much of a batch's statistics goes into the running ones.

    Source: candle-nn/src/batch_norm.rs, BatchNormConfig.
    """

    eps: float = 1e-5
    remove_mean: bool = True
    affine: bool = True
    momentum: float = 0.1


class BatchNorm(ModuleT):
    """Normalises each channel: in training over the batch and all places, in use by the running statistics; then weight and bias.

    The running statistics are variables. In training they become running (1 − momentum) + batch momentum, where the batch's variance counts
    as unbiased, n / (n − 1); of one value a channel it is taken as it is, and an empty batch changes nothing.

    There is no plain `forward`: `forward_t(xs, train)`, or `forward_train(xs)`.

    Shape: x (N, C, …), all else (C) → the same as x.
    Raises: Error, when it is made, for a negative eps, a momentum outside [0, 1] and shapes other than (C); in training for a rank below 2
    and another number of channels; in use ShapeMismatchBinaryOp for another number of channels; DTypeMismatchBinaryOp.
    Gradient: in training through the batch's mean and variance; in use the running ones are constants.
    Source: candle-nn/src/batch_norm.rs, BatchNorm (whose running variance becomes NaN after one value a channel).

    >>> from cafe import Tensor
    >>> bn = BatchNorm(1, Tensor([0.0]), Tensor([1.0]), eps=0.0)
    >>> bn.forward_train(Tensor([[1.0], [3.0]])).tolist(), bn.running_mean.tolist()
    ([[-1.0], [1.0]], [0.20000000298023224])
    """

    __slots__ = ("bias", "eps", "momentum", "remove_mean", "running_mean", "running_var", "weight")

    @builds
    def __init__(
        self,
        num_features: int,
        running_mean: Tensor,
        running_var: Tensor,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
        momentum: float = 0.1,
        remove_mean: bool = True,
    ) -> None:
        if (weight is None) != (bias is None):
            bail("batch-norm takes weight and bias together")
        self.running_mean, self.running_var = Var.from_tensor(running_mean), Var.from_tensor(running_var)
        self.weight, self.bias = weight, bias
        self.eps, self.momentum, self.remove_mean = real("batch-norm", eps), real("batch-norm", momentum), remove_mean
        self._check(num_features)

    def weight_and_bias(self) -> tuple[Tensor, Tensor] | None:
        """Both, or None where there are none."""
        return None if self.weight is None or self.bias is None else (self.weight, self.bias)

    def forward_t(self, xs: Tensor, train: bool) -> Tensor:
        """`forward_train(xs)`, or the output by the running statistics, which it leaves alone."""
        return self.forward_train(xs) if train else self._forward_eval(xs)

    def forward_train(self, xs: Tensor) -> Tensor:
        """The output by the batch's own statistics, which go into the running ones."""
        features = self.running_mean.shape[0]
        if xs.rank < 2:
            bail(f"batch-norm input tensor must have at least two dimensions ({xs.dims()})")
        if xs.shape[1] != features:
            bail(f"batch-norm input doesn't have the expected number of features ({xs.dims()} <> {features})")
        ops.check_norm_dtype(xs)
        self._check_dtypes(xs)
        if not self.remove_mean:
            return self._forward_uncentred(xs)
        ys, (mean, rest, var) = apply_with_const(rules.BatchNorm(self.eps), xs, *(self.weight_and_bias() or ()))
        count = xs.elem_count() // features if features else 0
        self._update(self.running_mean, wrap(mean) + wrap(rest), self.momentum, count)
        self._update(self.running_var, wrap(var), self.momentum * _unbiased(count), count)
        return ys

    def _forward_uncentred(self, xs: Tensor) -> Tensor:
        """x / √(mean of x² + eps): what candle does without `remove_mean`."""
        dims = (0, *range(2, xs.rank))
        squares = xs.sqr().mean_keepdim(dims)
        count = prod(xs.shape[d] for d in dims)
        self._update(self.running_var, squares.detach(), self.momentum * _unbiased(count), count)
        return self._scaled(xs.broadcast_div((squares + self.eps).sqrt()), _per_channel(xs.shape))

    def _forward_eval(self, xs: Tensor) -> Tensor:
        shape = _per_channel(xs.shape)
        mean, var = self.running_mean.as_detached_tensor(), self.running_var.as_detached_tensor()
        if xs.rank < 2 or xs.shape[1] != mean.shape[0]:  # candle's arithmetic, for its errors
            centred = xs.broadcast_sub(mean.reshape(shape))
            return self._scaled(centred.broadcast_div((var.reshape(shape) + self.eps).sqrt()), shape)
        ops.check_norm_dtype(xs)
        check_same("broadcast_sub", xs._data, mean._data)
        self._check_dtypes(xs)
        return apply(rules.ChannelNorm(self.eps), xs, mean, var, *(self.weight_and_bias() or ()))

    def _scaled(self, h: Tensor, shape: Shape) -> Tensor:
        if self.weight is None or self.bias is None:
            return h
        return h.broadcast_mul(self.weight.reshape(shape)).broadcast_add(self.bias.reshape(shape))

    def _update(self, running: Var, batch: Tensor, weight: float, count: int) -> None:
        if count == 0:
            return
        with tape.no_grad():
            before = running.as_detached_tensor()
            running.set(before * (1.0 - self.momentum) + batch.reshape(running.shape).to_dtype(running.dtype) * weight)

    def _check_dtypes(self, xs: Tensor) -> None:
        for p, op in zip(self.weight_and_bias() or (), ("broadcast_mul", "broadcast_add")):
            check_same(op, xs._data, p._data)

    def _check(self, features: int) -> None:
        if self.eps < 0.0:
            bail(f"batch-norm eps cannot be negative {_display(self.eps)}")
        ops.check_eps("batch-norm", self.eps)
        if not 0.0 <= self.momentum <= 1.0:
            bail(f"batch-norm momentum must be between 0 and 1, is {_display(self.momentum)}")
        of_bias = "weight"  # candle's word for both
        named = (("running mean", self.running_mean), ("running variance", self.running_var), ("weight", self.weight), (of_bias, self.bias))
        for name, tensor in named:
            if tensor is not None and tensor.shape != (features,):
                raise Error(f"batch-norm {name} has unexpected shape {show(tensor.shape)} should have shape [{features}]")

    def __repr__(self) -> str:
        alone = "" if self.weight is not None else ", no weight"
        return f"BatchNorm({self.running_mean.elem_count()}, eps={self.eps}, momentum={self.momentum}{alone})"


@builds
def batch_norm(num_features: int, config: BatchNormConfig | float, vb: VarBuilder) -> BatchNorm:
    """A BatchNorm with `running_mean` and `running_var`, 0 and 1 at first, and with `affine` `weight` and `bias`, 1 and 0; each (features).

    config: a BatchNormConfig, or its eps.

    Source: candle-nn/src/batch_norm.rs, batch_norm.

    >>> from cafe.nn import VarBuilder, VarMap
    >>> varmap = VarMap()
    >>> batch_norm(2, 1e-3, VarBuilder.from_varmap(varmap).pp("bn")), list(varmap.data())
    (BatchNorm(2, eps=0.001, momentum=0.1), ['bn.running_mean', 'bn.running_var', 'bn.weight', 'bn.bias'])
    """
    config = configured(BatchNormConfig, config)
    if real("batch-norm", config.eps) < 0.0:
        bail(f"batch-norm eps cannot be negative {_display(config.eps)}")
    mean, var = vb.get_with_hints(num_features, "running_mean", _ZERO), vb.get_with_hints(num_features, "running_var", _ONE)
    weight = vb.get_with_hints(num_features, "weight", _ONE) if config.affine else None
    bias = vb.get_with_hints(num_features, "bias", _ZERO) if config.affine else None
    return BatchNorm(num_features, mean, var, weight, bias, config.eps, config.momentum, config.remove_mean)


def absorbed(bn: BatchNorm, weight: Tensor, bias: Tensor | None, out_dim: int, groups: int = 1) -> tuple[Tensor, Tensor]:
    """Weight and bias of a linear map that does what it did and then the batch norm in use: what `absorb_bn` of the layers is made of.

    With a = w / √(running_var + eps), each output's weights times its a, and bias a (b − running_mean) + bias of the norm.

    out_dim: the dim of `weight` that holds the outputs: 0, or 1 for transposed convolutions, where each group of the inputs in dim 0 has
    outputs of its own.

    Raises: Error for a batch norm without weight and bias.
    Source: candle-nn/src/conv.rs, Conv2d::absorb_bn.
    """
    found = bn.weight_and_bias()
    if found is None:
        bail("batch norm does not have weight_and_bias")
    gamma, beta = found
    alpha = gamma / (bn.running_var.as_detached_tensor() + bn.eps).sqrt()
    mean = bn.running_mean.as_detached_tensor()
    shift = beta - alpha * mean if bias is None else beta + alpha * (bias - mean)
    return _times_outputs(weight, alpha, out_dim, groups), shift


def _times_outputs(weight: Tensor, alpha: Tensor, out_dim: int, groups: int) -> Tensor:
    if out_dim == 0:
        return weight.broadcast_mul(alpha.reshape((weight.dim(0), *(1,) * (weight.rank - 1))))
    inputs, outputs, *places = weight.shape
    split = weight.reshape((groups, inputs // groups, outputs, *places))
    return split.broadcast_mul(alpha.reshape((groups, 1, outputs, *(1 for _ in places)))).reshape(weight.shape)


def _unbiased(count: int) -> float:
    """What makes a biased variance of so many values an unbiased one; 1 for one value, which has none."""
    return count / (count - 1.0) if count > 1 else 1.0


def _display(value: float) -> str:
    """A float as Rust's Display prints it: no exponent, and whole numbers without a point."""
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")


def _per_channel(shape: Shape) -> Shape:
    return reduced(shape, tuple(d for d in range(len(shape)) if d != 1), True)
