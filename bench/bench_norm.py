"""layer_norm over the last dim, batch_norm in training over images."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from . import plain
from .differentiable import Function, OneToOne
from .plain import EPS
from .row import Array, Stream


@dataclass(frozen=True, kw_only=True)
class LayerNorm(OneToOne):
    """(x − mean) / √(var + eps) · w + b over the last dim."""

    def operands(self, rng: np.random.Generator) -> list[Array]:
        n = self.shape[-1]
        return [rng.standard_normal(self.shape, np.float32), *(rng.standard_normal((2, n), np.float32))]

    def value(self, x: Array, w: Array, b: Array) -> Array:
        return plain.normalised(x, (-1,))[0] * w + b

    def slopes(self, g: Array, x: Array, w: Array, b: Array) -> list[Array]:
        h, rstd = plain.normalised(x, (-1,))
        gh = g * w
        gx = rstd * (gh - gh.mean(-1, keepdims=True) - h * (gh * h).mean(-1, keepdims=True))
        return [gx, (g * h).sum(0), g.sum(0)]

    def in_cafe(self, cafe: Any) -> Function:
        return lambda x, w, b: cafe.nn.LayerNorm(w, b, EPS)(x)

    def in_torch(self, torch: Any) -> Function:
        return lambda x, w, b: torch.nn.functional.layer_norm(x, self.shape[-1:], w, b, EPS)

    def in_jax(self, jax: Any) -> Function:
        def layer_norm(x: Any, w: Any, b: Any) -> Any:
            centred = x - x.mean(-1, keepdims=True)
            return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + EPS) * w + b

        return layer_norm


@dataclass(frozen=True, kw_only=True)
class ResidualNorm(LayerNorm):
    """The layer norm of x + r."""

    @property
    def limit(self) -> Stream:
        n = 4.0 * prod(self.shape)
        return Stream(4.0 * n, 2.0 * n) if self.gradients else Stream(2.0 * n, n)

    def operands(self, rng: np.random.Generator) -> list[Array]:
        return [rng.standard_normal(self.shape, np.float32), *super().operands(rng)]

    def value(self, x: Array, r: Array, w: Array, b: Array) -> Array:  # type: ignore[override]
        return super().value(x + r, w, b)

    def slopes(self, g: Array, x: Array, r: Array, w: Array, b: Array) -> list[Array]:  # type: ignore[override]
        gx, gw, gb = super().slopes(g, x + r, w, b)
        return [gx, gx, gw, gb]

    def in_cafe(self, cafe: Any) -> Function:
        return lambda x, r, w, b: cafe.nn.LayerNorm(w, b, EPS).of_sum(x, r)

    def in_torch(self, torch: Any) -> Function:
        return lambda x, r, w, b: torch.nn.functional.layer_norm(x + r, self.shape[-1:], w, b, EPS)

    def in_jax(self, jax: Any) -> Function:
        normalised = super().in_jax(jax)
        return lambda x, r, w, b: normalised(x + r, w, b)


@dataclass(frozen=True, kw_only=True)
class BatchNorm(OneToOne):
    """Each channel by the batch's own statistics, which go into the running ones as well."""

    def operands(self, rng: np.random.Generator) -> list[Array]:
        return [rng.standard_normal(self.shape, np.float32), *(rng.standard_normal((2, self.shape[1]), np.float32))]

    def value(self, x: Array, w: Array, b: Array) -> Array:
        return plain.normalised(x, (0, 2, 3))[0] * w[:, None, None] + b[:, None, None]

    def slopes(self, g: Array, x: Array, w: Array, b: Array) -> list[Array]:
        over = (0, 2, 3)
        h, rstd = plain.normalised(x, over)
        gw, gb = (g * h).sum(over), g.sum(over)
        count = x.size / len(w)
        gx = rstd * w[:, None, None] * (g - gb[:, None, None] / count - h * gw[:, None, None] / count)
        return [gx, gw, gb]

    def in_cafe(self, cafe: Any) -> Function:
        channels = self.shape[1]
        mean, var = cafe.Var.zeros(channels), cafe.Var.ones(channels)
        return lambda x, w, b: cafe.nn.BatchNorm(channels, mean, var, w, b, EPS).forward_train(x)

    def in_torch(self, torch: Any) -> Function:
        mean, var = torch.zeros(self.shape[1]), torch.ones(self.shape[1])
        return lambda x, w, b: torch.nn.functional.batch_norm(x, mean, var, w, b, True, 0.1, EPS)

    def in_jax(self, jax: Any) -> Function:
        def batch_norm(x: Any, w: Any, b: Any) -> Any:
            centred = x - x.mean((0, 2, 3), keepdims=True)
            scale = jax.lax.rsqrt((centred * centred).mean((0, 2, 3), keepdims=True) + EPS)
            return centred * scale * w[:, None, None] + b[:, None, None]

        return batch_norm


ALL = (0, 1, 2)
ROWS = [
    LayerNorm(name="layer_norm 4096 x 768", shape=(4096, 768), goal=0.75),
    LayerNorm(name="layer_norm 4096 x 768, with backward", shape=(4096, 768), gradients=ALL, goal=0.75, tolerance=5e-6),
    ResidualNorm(name="layer_norm of a sum, 4096 x 768", shape=(4096, 768)),
    ResidualNorm(
        name="layer_norm of a sum, 4096 x 768, with backward", shape=(4096, 768), gradients=(0, 1, 2, 3), tolerance=5e-6, quick=False
    ),
    BatchNorm(name="batch_norm training 8x64x56x56", shape=(8, 64, 56, 56), goal=0.50),
    BatchNorm(name="batch_norm training 8x64x56x56, with backward", shape=(8, 64, 56, 56), gradients=ALL, tolerance=5e-6, quick=False),
]
