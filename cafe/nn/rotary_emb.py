"""Rotary positions: pairs of numbers turned by an angle that grows with the place (floor 6).

`rope` pairs element i with i + d/2 (GPT-NeoX, Llama in Hugging Face's layout), `rope_i` element 2i with 2i + 1 (the paper's layout),
`rope_thd` is `rope` for (b, t, h, d). Each is differentiable in x, cos and sin.
"""

from __future__ import annotations

import numpy as np

from cafe.dtype import DTypeLike
from cafe.errors import bail, show
from cafe.kernels.rotary import rotate_ref
from cafe.ops.rotary import Rotate
from cafe.shape import check_rank, parse_shape, whole
from cafe.tensor.base import apply, check_tensors
from cafe.tensor.convert import real
from cafe.tensor.core import Tensor
from cafe.tensor.verbs import GRAPH

_ROTATIONS = {(step, time): Rotate(step, time) for step in (1, 2) for time in (1, 2)}


def rotary_angles(positions: int, dim: int, base: float = 10000.0, dtype: DTypeLike = "f32") -> tuple[Tensor, Tensor]:
    """cos and sin of position · base^(−2i / dim), computed in float64: (positions, dim / 2) each.

    Raises: Error for an odd dim.

    >>> cos, sin = rotary_angles(3, 4)
    >>> cos.dims(), cos.i(0).tolist(), sin.i(0).tolist()
    ([3, 2], [1.0, 1.0], [0.0, 0.0])
    """
    if whole("rotary_angles", "dim", dim) % 2 or dim < 0:
        bail(f"rotary positions turn pairs: an even width is wanted, got {dim}")
    parse_shape((whole("rotary_angles", "positions", positions), dim))
    if not real("rotary_angles", base) > 0.0:
        bail(f"rotary_angles: base must be above 0, got {base}")
    angles = np.arange(positions)[:, None] * base ** (-np.arange(0, dim, 2) / max(dim, 1))[None, :]
    return Tensor(np.cos(angles)).to_dtype(dtype), Tensor(np.sin(angles)).to_dtype(dtype)


def rope(xs: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """(x₁ cos − x₂ sin, x₂ cos + x₁ sin), x₁ and x₂ the halves of the last dim.

    Shape: xs (b, h, t, d), cos and sin (at least t, d / 2), or (b, at least t, d / 2) → (b, h, t, d).
    Raises: UnexpectedNumberOfDims, Error with candle's texts.
    Source: candle-nn/src/rotary_emb.rs, rope; Su et al., "RoFormer", 2021.

    >>> from cafe import Tensor
    >>> x = Tensor([[[[1.0, 2.0]], [[3.0, 4.0]]]])
    >>> rope(x, Tensor([[0.0]]), Tensor([[1.0]])).flatten_all().tolist()
    [-2.0, 1.0, -4.0, 3.0]
    """
    return _rotated(xs, cos, sin, 1, 2)


def rope_i(xs: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """As `rope`, with neighbours 2i and 2i + 1 as pairs.

    Source: candle-nn/src/rotary_emb.rs, rope_i.
    """
    return _rotated(xs, cos, sin, 2, 2)


def rope_thd(xs: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """As `rope`, for xs (b, t, h, d).

    Source: candle-nn/src/rotary_emb.rs, rope_thd.
    """
    return _rotated(xs, cos, sin, 1, 1)


def _rotated(xs: Tensor, cos: Tensor, sin: Tensor, step: int, time: int) -> Tensor:
    """The turn in one op; in its parts where the angles have gradients.

    Raises: UnexpectedNumberOfDims, Error.
    """
    _check(xs, cos, sin, time)
    if cos.track_op() or sin.track_op():
        return rotate_ref(GRAPH.xp, xs, cos, sin, step, time)  # type: ignore[arg-type, return-value]
    return apply(_ROTATIONS[step, time], xs, cos, sin)


def _check(xs: Tensor, cos: Tensor, sin: Tensor, time: int) -> None:
    """Raises unless both tables have an angle for every pair of xs and for its places, and all have one float dtype."""
    check_tensors("rope", xs, cos, sin)
    check_rank(xs.shape, 4)
    shape, dtype = xs.shape, xs._data.dtype
    for table in (cos, sin):
        rows = table.shape
        if len(rows) not in (2, 3) or rows[-1] * 2 != shape[3] or rows[-2] < shape[time] or (len(rows) == 3 and rows[0] != shape[0]):
            bail(f"inconsistent last dim size in rope {show(shape)} {show(cos.shape)} {show(sin.shape)}")
        if table._data.dtype != dtype or dtype.kind in "iu":
            bail(f"unsupported dtype for rope {xs.dtype!r} {cos.dtype!r} {sin.dtype!r}")
