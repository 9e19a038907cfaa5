"""What the families' cases share: sample shapes (above the tensor floor)."""

from __future__ import annotations

from cafe.errors import Error

from ..case import Shapes

# one input: a scalar, one element, an odd tail (longer than two of the widest vectors), three dims
ELEMENTWISE: list[Shapes] = [((),), ((1,),), ((37,),), ((2, 3, 5),)]
EMPTY: list[tuple[Shapes, type[Error] | None]] = [(((0,),), None), (((2, 0, 3),), None)]

# two inputs that broadcast, each way
BROADCAST: list[Shapes] = [
    ((), ()),
    ((1,), (1,)),
    ((37,), (37,)),
    ((2, 3, 5), (5,)),
    ((3, 1), (2, 1, 5)),
    ((), (4,)),
    ((2, 17), (2, 1)),
]
EMPTY_PAIRS: list[tuple[Shapes, type[Error] | None]] = [(((0,), (0,)), None), (((2, 0), (1,)), None), (((0, 3), (3,)), None)]
