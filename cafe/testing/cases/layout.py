"""Views and joins (above the tensor floor). They move any dtype as it is."""

from __future__ import annotations

from math import prod

import numpy as np

from cafe.ops import layout as ops

from ..case import EVERY, Case
from .base import ELEMENTWISE, EMPTY

_S = slice

CASES = [
    Case(
        "reshape",
        lambda x: ops.Reshape((prod(x) // x[-1], x[-1])),
        [((1,),), ((2, 3, 17),), ((4, 6),)],
        lambda x: x.reshape(-1, x.shape[-1]),
        [(((0, 3),), None)],
        dtypes=EVERY,
        ulps=0.0,
    ),
    Case(
        "permute",
        ops.Permute((2, 0, 1)),
        [((1, 1, 1),), ((2, 3, 17),)],
        lambda x: x.transpose(2, 0, 1),
        [(((2, 0, 3),), None)],
        dtypes=EVERY,
        ulps=0.0,
    ),
    Case(
        "broadcast_as",
        lambda x: ops.BroadcastTo((0, 3) if 0 in x else (2, 3, 17)),
        [((),), ((1,),), ((17,),), ((3, 1),), ((2, 1, 17),), ((2, 3, 17),)],
        lambda x: np.broadcast_to(x, (2, 3, 17) if x.size else (0, 3)),
        [(((0, 3),), None), (((0, 1),), None)],
        dtypes=EVERY,
    ),
    Case(
        "slice",
        ops.Slice((_S(1, None, 2), _S(None, None, -1))),
        [((2, 1),), ((5, 17),), ((4, 3, 2),)],
        lambda x: x[1::2, ::-1],
        [(((0, 2),), None), (((1, 3),), None)],
        dtypes=EVERY,
        ulps=0.0,
    ),
    Case(
        "slice of one place",
        lambda x: ops.Slice((0, x[1] - 1)),
        [((1, 1),), ((3, 17),), ((2, 3, 2),)],
        lambda x: x[0, x.shape[1] - 1],
        [(((2, 3, 0),), None)],
        dtypes=EVERY,
        ulps=0.0,
    ),
    Case(
        "unslice",
        lambda x: ops.Unslice((_S(1, 1 + x[0]), _S(None)), (x[0] + 3, *x[1:])),
        [((1, 1),), ((3, 17),)],
        lambda x: np.pad(x, [(1, 2), (0, 0)]),
        [(((0, 2),), None)],
        dtypes=EVERY,
        ulps=0.0,
    ),
    Case(
        "cat",
        ops.Cat(1),
        [((1, 1),), ((2, 17), (2, 3)), ((2, 1, 3), (2, 2, 3), (2, 4, 3))],
        lambda *xs: np.concatenate(xs, axis=1),
        [(((2, 0), (2, 3)), None), (((0, 2), (0, 1)), None)],
        dtypes=EVERY,
        ulps=0.0,
    ),
    Case("contiguous", ops.Contiguous(), ELEMENTWISE, lambda x: x, EMPTY, dtypes=EVERY, ulps=0.0),
    Case("copy", ops.Copy(), ELEMENTWISE, lambda x: x, EMPTY, dtypes=EVERY, ulps=0.0),
]
