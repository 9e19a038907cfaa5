"""cafe: a small autograd engine on NumPy, with candle's semantics and C kernels.

    import cafe
    x = cafe.Var([1.0, 2.0])
    grads = x.sqr().sum_all().backward()
    grads[x]                                  # 2 x
"""

import typing

from cafe import memory
from cafe.config import __version__, get_matmul_algorithm, get_num_threads, set_matmul_algorithm, set_num_threads, show_config
from cafe.device import Device, get_rng_state, manual_seed, set_rng_state
from cafe.dtype import DType
from cafe.errors import Error, bail
from cafe.habits import PACKAGE as _PACKAGE
from cafe.habits import missing as _missing
from cafe.ops.base import Op, Result
from cafe.shape import D
from cafe.tape import no_grad
from cafe.tensor._conv import conv_algorithm, get_conv_algorithm, set_conv_algorithm
from cafe.tensor.base import apply
from cafe.tensor.core import Tensor, Var
from cafe.tensor.grads import GradStore

__all__ = [
    "D",
    "DType",
    "Device",
    "Error",
    "GradStore",
    "Op",
    "Result",
    "Tensor",
    "Var",
    "__version__",
    "apply",
    "bail",
    "conv_algorithm",
    "get_conv_algorithm",
    "get_matmul_algorithm",
    "get_num_threads",
    "get_rng_state",
    "manual_seed",
    "memory",
    "no_grad",
    "set_conv_algorithm",
    "set_matmul_algorithm",
    "set_num_threads",
    "set_rng_state",
    "show_config",
]

if not typing.TYPE_CHECKING:
    __getattr__ = _missing("cafe", __all__, _PACKAGE, Tensor)
