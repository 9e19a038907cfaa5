"""What a tensor says of itself: sizes, strides, its place in the graph (floor 4)."""

from __future__ import annotations

from math import prod

from cafe.device import Device
from cafe.habits import NEEDED
from cafe.shape import Dim, Shape, check_rank, contiguous_stride, resolve_dim

from .base import Base
from .habits import wrong


class FactsMethods(Base):
    """Facts. `shape` and `dtype` are there, too."""

    __slots__ = ()

    @property
    def device(self) -> Device:
        """`Device.Cpu`."""
        return Device.Cpu

    @property
    def rank(self) -> int:
        """The number of dims."""
        return self._data.ndim

    @property
    def ndim(self) -> int:
        """`rank`."""
        return self._data.ndim

    @property
    def stride(self) -> Shape:
        """Steps between neighbours along each dim, in elements; row-major ones for an empty tensor."""
        if self._data.size == 0:
            return contiguous_stride(self.shape)
        return tuple(s // self._data.itemsize for s in self._data.strides)

    @property
    def id(self) -> int:
        """A number that no other tensor has; a variable keeps its own."""
        return self._id

    def dims(self) -> list[int]:
        """The sizes, as a list.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3)).dims()
        [2, 3]
        """
        return list(self.shape)

    def dim(self, dim: Dim = NEEDED) -> int:
        """The size of one dim.

        Raises: TypeError without a dim (`rank` is the number of dims), DimOutOfRange.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3)).dim(cafe.D.Minus1)
        3
        """
        if dim is NEEDED:
            raise wrong("dim")
        return self.shape[resolve_dim(self.shape, dim, "dim")]

    def dims0(self) -> tuple[()]:
        """`dims2` for a scalar: ()."""
        check_rank(self.shape, 0)
        return ()

    def dims1(self) -> int:
        """`dims2` for a vector: its one size, a number."""
        check_rank(self.shape, 1)
        return self.shape[0]

    def dims2(self) -> Shape:
        """The sizes of a matrix, to be taken apart: `rows, columns = t.dims2()`. There is one of these for each rank up to 5.

        Shape: (m, n).
        Raises: UnexpectedNumberOfDims for another rank.

        >>> import cafe
        >>> rows, columns = cafe.Tensor.zeros((2, 3)).dims2()
        >>> rows, columns
        (2, 3)
        """
        check_rank(self.shape, 2)
        return self.shape

    def dims3(self) -> Shape:
        """`dims2` for rank 3."""
        check_rank(self.shape, 3)
        return self.shape

    def dims4(self) -> Shape:
        """`dims2` for rank 4."""
        check_rank(self.shape, 4)
        return self.shape

    def dims5(self) -> Shape:
        """`dims2` for rank 5."""
        check_rank(self.shape, 5)
        return self.shape

    def elem_count(self) -> int:
        """The number of elements.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3)).elem_count(), cafe.Tensor(1.0).elem_count()
        (6, 1)
        """
        return prod(self.shape)

    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps.

        >>> import cafe
        >>> t = cafe.Tensor.zeros((2, 3))
        >>> t.is_contiguous(), t.t().is_contiguous()
        (True, False)
        """
        return self._data.flags.c_contiguous

    def is_fortran_contiguous(self) -> bool:
        """Whether the elements lie in column-major order without gaps.

        >>> import cafe
        >>> cafe.Tensor.zeros((2, 3)).t().is_fortran_contiguous()
        True
        """
        return self._data.flags.f_contiguous

    def is_variable(self) -> bool:
        """Whether this is a Var.

        >>> import cafe
        >>> cafe.Tensor([1.0]).is_variable(), cafe.Var([1.0]).is_variable()
        (False, True)
        """
        return False

    def track_op(self) -> bool:
        """Whether gradients pass here: a variable of floats, or computed from one.

        >>> import cafe
        >>> x = cafe.Var([1.0])
        >>> (x * 2.0).track_op(), x.detach().track_op()
        (True, False)
        """
        return self._node is not None
