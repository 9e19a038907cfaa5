"""Tools that cafe tests itself with, for your own ops and layers as well (above the tensor floor; used by nothing below).

    from cafe import testing
    testing.gradcheck(my_function, x, order=2)          # derivatives against central differences
    testing.assert_close(y, expected, 1e-6)             # a bound that means something, and the worst element in the message
    testing.check_op(testing.Case("mine", MyOp(), …))   # every law that cafe's own ops keep
"""

from .arrays import VERSIONS, Distinct, Draw, Ids, Mask, Real, backwards, offset, poison, repeated, strided, transposed, versions
from .both import Both
from .case import EVERY, FLOATS, INTS, SIGNED, Case
from .cases import CASES
from .compare import assert_close, assert_integers, assert_same_bits, epsilon, scale, to_numpy, ulp
from .gradients import gradcheck, gradcheck_full
from .laws import LAWS, assert_owned, check_op

__all__ = [
    "CASES",
    "EVERY",
    "FLOATS",
    "INTS",
    "LAWS",
    "SIGNED",
    "VERSIONS",
    "Both",
    "Case",
    "Distinct",
    "Draw",
    "Ids",
    "Mask",
    "Real",
    "assert_close",
    "assert_integers",
    "assert_owned",
    "assert_same_bits",
    "backwards",
    "check_op",
    "epsilon",
    "gradcheck",
    "gradcheck_full",
    "offset",
    "poison",
    "repeated",
    "scale",
    "strided",
    "to_numpy",
    "transposed",
    "ulp",
    "versions",
]
