"""Rotary positions: pairs of numbers turned by an angle that grows with the place (floor 6).

`rope` pairs element i with i + d/2 (GPT-NeoX, Llama in Hugging Face's layout), `rope_i` element 2i with 2i + 1 (the paper's layout),
`rope_thd` is `rope` for (b, t, h, d). Each is differentiable in x, cos and sin.
"""

from __future__ import annotations

import numpy as np

from cafe.dtype import DTypeLike
from cafe.errors import bail, show
from cafe.shape import check_rank
from cafe.tensor.core import Tensor


def rotary_angles(positions: int, dim: int, base: float = 10000.0, dtype: DTypeLike = "f32") -> tuple[Tensor, Tensor]:
    """cos and sin of position · base^(−2i / dim), computed in float64: (positions, dim / 2) each.

    Raises: Error for an odd dim.

    >>> cos, sin = rotary_angles(3, 4)
    >>> cos.dims(), cos.i(0).tolist(), sin.i(0).tolist()
    ([3, 2], [1.0, 1.0], [0.0, 0.0])
    """
    if dim % 2 or dim < 0:
        bail(f"rotary positions turn pairs: an even width is wanted, got {dim}")
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
    cos, sin = _angles(xs, cos, sin, 2)
    half = xs.dim(3) // 2
    a, b = xs.narrow(3, 0, half), xs.narrow(3, half, half)
    return Tensor.cat(_turned(a, b, cos, sin), 3)


def rope_i(xs: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """As `rope`, with neighbours 2i and 2i + 1 as pairs.

    Source: candle-nn/src/rotary_emb.rs, rope_i.
    """
    cos, sin = _angles(xs, cos, sin, 2)
    pairs = xs.reshape((*xs.shape[:3], xs.dim(3) // 2, 2))
    a, b = pairs.get_on_dim(4, 0), pairs.get_on_dim(4, 1)
    return Tensor.stack(_turned(a, b, cos, sin), 4).reshape(xs.shape)


def rope_thd(xs: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """As `rope`, for xs (b, t, h, d).

    Source: candle-nn/src/rotary_emb.rs, rope_thd.
    """
    cos, sin = _angles(xs, cos, sin, 1)
    half = xs.dim(3) // 2
    a, b = xs.narrow(3, 0, half), xs.narrow(3, half, half)
    return Tensor.cat(_turned(a, b, cos, sin), 3)


def _turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> list[Tensor]:
    """Both parts of the pairs (a, b) after the turn."""
    return [
        a.broadcast_mul(cos).sub(b.broadcast_mul(sin)),
        b.broadcast_mul(cos).add(a.broadcast_mul(sin)),
    ]


def _angles(xs: Tensor, cos: Tensor, sin: Tensor, time_dim: int) -> tuple[Tensor, Tensor]:
    """cos and sin cut to the length of xs and shaped to broadcast over its heads.

    Raises: UnexpectedNumberOfDims, Error.
    """
    check_rank(xs.shape, 4)
    t, d = xs.dim(time_dim), xs.dim(3)
    for table in (cos, sin):
        if table.rank not in (2, 3) or table.dim(-1) * 2 != d or table.dim(-2) < t or (table.rank == 3 and table.dim(0) != xs.dim(0)):
            bail(f"inconsistent last dim size in rope {show(xs.shape)} {show(cos.shape)} {show(sin.shape)}")
        if table.dtype is not xs.dtype or xs.dtype.is_int:
            bail(f"unsupported dtype for rope {xs.dtype!r} {cos.dtype!r} {sin.dtype!r}")
    head_dim = 1 if time_dim == 2 else 2
    return tuple(  # type: ignore[return-value]
        (table if table.rank == 3 else table.unsqueeze(0)).narrow(1, 0, t).unsqueeze(head_dim) for table in (cos, sin)
    )
