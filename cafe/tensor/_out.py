"""The ways out of a tensor: Python numbers and lists, NumPy arrays, DLPack (floor 4)."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from cafe.dtype import Array, DType, DTypeLike, as_dtype
from cafe.errors import Error, UnexpectedDType, UnsupportedDTypeForOp, show
from cafe.shape import check_rank

from .base import Base
from .convert import shown

if TYPE_CHECKING:
    from .core import Tensor


class OutMethods(Base):
    """Numbers out. Where a dtype is named it must be the tensor's: nothing is converted on the way (`to_dtype` does that)."""

    __slots__ = ()

    def to_scalar(self, dtype: DTypeLike | None = None) -> Any:
        """The number of a rank-0 tensor, a Python int or float.

        Shape: ().
        Raises: UnexpectedNumberOfDims for another rank; UnexpectedDType when a dtype is named that is not this one's.
        Source: candle-core/src/tensor.rs, to_scalar.

        >>> import cafe
        >>> cafe.Tensor([1.5, 2.5]).sum_all().to_scalar()
        4.0
        """
        return self._out(0, dtype)

    def to_vec0(self, dtype: DTypeLike | None = None) -> Any:
        """`to_scalar`, by its other name in candle."""
        return self._out(0, dtype)

    def to_vec1(self, dtype: DTypeLike | None = None) -> list[Any]:
        """The numbers of a rank-1 tensor, as a list; errors as `to_scalar`.

        Shape: (n).
        Source: candle-core/src/tensor.rs, to_vec1.

        >>> import cafe
        >>> cafe.Tensor([1, 2]).to_vec1("i64")
        [1, 2]
        """
        return self._out(1, dtype)  # type: ignore[no-any-return]

    def to_vec2(self, dtype: DTypeLike | None = None) -> list[list[Any]]:
        """The numbers of a rank-2 tensor, as nested lists; errors as `to_scalar`.

        Shape: (m, n).
        Source: candle-core/src/tensor.rs, to_vec2.

        >>> import cafe
        >>> cafe.Tensor([[1, 2], [3, 4]]).t().to_vec2()
        [[1, 3], [2, 4]]
        """
        return self._out(2, dtype)  # type: ignore[no-any-return]

    def to_vec3(self, dtype: DTypeLike | None = None) -> list[list[list[Any]]]:
        """The numbers of a rank-3 tensor, as nested lists; errors as `to_scalar`.

        Shape: (l, m, n).
        Source: candle-core/src/tensor.rs, to_vec3.

        >>> import cafe
        >>> cafe.Tensor([[[1], [2]]]).to_vec3()
        [[[1], [2]]]
        """
        return self._out(3, dtype)  # type: ignore[no-any-return]

    def _out(self, rank: int, dtype: DTypeLike | None) -> Any:
        if dtype is not None and (wanted := as_dtype(dtype)) is not self.dtype:
            raise UnexpectedDType("unexpected dtype", wanted, self.dtype).help("`to_dtype` converts")
        check_rank(self.shape, rank)
        return _python(self._data)

    def tolist(self) -> Any:
        """The numbers as nested lists, of any rank; a number for rank 0.

        >>> import cafe
        >>> cafe.Tensor([[1, 2], [3, 4]]).tolist(), cafe.Tensor(0.5).tolist()
        ([[1, 2], [3, 4]], 0.5)
        """
        return _python(self._data)

    def item(self) -> Any:
        """The number of a tensor with one element, whatever its rank.

        Shape: any of one element.
        Raises: Error for any other count.

        >>> import cafe
        >>> cafe.Tensor([[7]]).item()
        7
        """
        if self._data.size != 1:
            raise Error(f"item: a tensor of one element is wanted, got shape {show(self.shape)}")
        return _python(self._data.reshape(()))

    def numpy(self) -> Array:
        """A read-only view of the numbers as an ndarray; copy it to write. BF16 has the dtype of ml_dtypes.

        That of a variable shows what is set later; `from_numpy` of it is `detach()`.

        Shape: the same.

        >>> import cafe
        >>> cafe.Tensor([[1, 2], [3, 4]]).t().numpy()
        array([[1, 3],
               [2, 4]])
        """
        return shown(self._data, self._version)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False and dtype is not None and np.dtype(dtype) != self._data.dtype:
            raise ValueError(f"a {self.dtype!r} tensor cannot be seen as {np.dtype(dtype)} without a copy")
        if copy or (dtype is not None and np.dtype(dtype) != self._data.dtype):
            return np.array(self._data, dtype=dtype)
        return self.numpy()

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.dtype is DType.BF16:
            raise UnsupportedDTypeForOp(self.dtype, "dlpack")
        return self._data.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.is_float:
            raise TypeError(f"a {self.dtype!r} tensor is no index")
        return operator.index(self.item())

    def __bool__(self) -> bool:
        if self._data.size != 1:
            raise Error(f"the truth of a tensor of shape {show(self.shape)} is ambiguous").help("reduce it to one element first")
        return bool(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a rank-0 tensor has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("a rank-0 tensor cannot be iterated over")
        return (self.get(i) for i in range(self.shape[0]))  # type: ignore[attr-defined]

    def __contains__(self, value: Any) -> bool:
        return bool((self._data == (value._data if isinstance(value, Base) else value)).any())


def _python(array: Array) -> Any:
    """Python's numbers, in lists; BF16, which NumPy does not know, by way of F32."""
    return array.tolist() if array.dtype.kind != "V" else array.astype(np.float32).tolist()
