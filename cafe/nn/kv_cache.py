"""Keys and values that a decoder has seen: `KvCache` keeps all of them, `RotatingKvCache` the last ones (floor 6).

Caches are for use, not for training: what is appended leaves the graph, and numbers are copied in place. What `append` returns is a view
of the cache that later appends do not overwrite, except for a rotating cache that is full, which returns a copy.
"""

from __future__ import annotations

import numpy as np

from cafe.errors import Error, show
from cafe.shape import Dim, check_narrow, resolve_dim
from cafe.tensor.base import wrap
from cafe.tensor.core import Tensor


class Cache:
    """Tensors one after the other along a dim, in a buffer that grows by `max_seq_len` places whenever it is full.

    Source: candle-nn/src/kv_cache.rs, Cache.

    >>> from cafe import Tensor
    >>> cache = Cache(0, 4)
    >>> _ = cache.append(Tensor([1.0, 2.0]))
    >>> cache.append(Tensor([3.0])).tolist(), cache.current_seq_len
    ([1.0, 2.0, 3.0], 3)
    """

    def __init__(self, dim: Dim, max_seq_len: int) -> None:
        if max_seq_len < 1:
            raise Error(f"a cache has room for at least one place, got max_seq_len {max_seq_len}")
        self.given_dim, self.max_seq_len = dim, max_seq_len
        self.current_seq_len = 0
        self._buffer: Tensor | None = None

    def append(self, src: Tensor) -> Tensor:
        """Adds src at the end; all there is so far.

        Raises: Error when src differs from what is there off the dim, or in dtype.
        """
        dim = resolve_dim(src.shape, self.given_dim, "cache")
        room = _grown(self._buffer, src, dim, self.current_seq_len, self.max_seq_len)
        self._buffer = room
        end = self.current_seq_len + src.dim(dim)
        _write(room, src, dim, self.current_seq_len)
        self.current_seq_len = end
        return room.narrow(dim, 0, end)

    def current_data(self) -> Tensor | None:
        """All there is, or None."""
        return None if self._buffer is None else self._buffer.narrow(self.given_dim, 0, self.current_seq_len)

    def reset(self) -> None:
        """Forgets everything."""
        self.current_seq_len, self._buffer = 0, None


class KvCache:
    """Two caches side by side, for keys and for values.

    Source: candle-nn/src/kv_cache.rs, KvCache.

    >>> from cafe import Tensor
    >>> cache = KvCache(2, 8)
    >>> k, v = cache.append(Tensor.zeros((1, 2, 3, 4)), Tensor.ones((1, 2, 3, 5)))
    >>> k, v = cache.append(Tensor.zeros((1, 2, 1, 4)), Tensor.ones((1, 2, 1, 5)))
    >>> k.dims(), v.dims(), cache.current_seq_len
    ([1, 2, 4, 4], [1, 2, 4, 5], 4)
    """

    def __init__(self, dim: Dim, max_seq_len: int) -> None:
        self.k_cache, self.v_cache = Cache(dim, max_seq_len), Cache(dim, max_seq_len)

    @property
    def current_seq_len(self) -> int:
        """How many places there are."""
        return self.k_cache.current_seq_len

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Adds keys and values; all keys and all values so far.

        Raises: Error as `Cache.append`, or when k and v differ in length; then neither is added.
        """
        _check_pair(k, v, self.k_cache.given_dim)
        before = self.current_seq_len
        keys = self.k_cache.append(k)
        try:
            return keys, self.v_cache.append(v)
        except Error:
            self.k_cache.current_seq_len = before
            raise

    def k(self) -> Tensor | None:
        """All keys, or None."""
        return self.k_cache.current_data()

    def v(self) -> Tensor | None:
        """All values, or None."""
        return self.v_cache.current_data()

    def reset(self) -> None:
        """Forgets everything."""
        self.k_cache.reset()
        self.v_cache.reset()


class RotatingCache:
    """The last `max_seq_len` places, in a ring: the newest overwrites the oldest.

    Source: candle-nn/src/kv_cache.rs, RotatingCache.

    >>> from cafe import Tensor
    >>> cache = RotatingCache(0, 3)
    >>> _ = cache.append(Tensor([1.0, 2.0]))
    >>> cache.positions(2), cache.append(Tensor([3.0, 4.0])).tolist()
    ([3, 1, 2], [4.0, 2.0, 3.0])
    """

    def __init__(self, dim: Dim, max_seq_len: int) -> None:
        if max_seq_len < 1:
            raise Error(f"a cache has room for at least one place, got max_seq_len {max_seq_len}")
        self.given_dim, self.max_seq_len = dim, max_seq_len
        self.offset, self.current_seq_len = 0, 0
        self._ring: Tensor | None = None

    def append(self, src: Tensor) -> Tensor:
        """Adds src; what a query may look at then: the ring's places, or all of src when it is at least as long as the ring."""
        dim = resolve_dim(src.shape, self.given_dim, "cache")
        ring = _grown(self._ring, src, dim, 0, self.max_seq_len, fixed=True)
        self._ring = ring
        length = src.dim(dim)
        self.current_seq_len += length
        if length >= self.max_seq_len:
            _write(ring, src.narrow(dim, length - self.max_seq_len, self.max_seq_len), dim, 0)
            self.offset = 0
            return src.detach()
        first = min(length, self.max_seq_len - self.offset)
        _write(ring, src.narrow(dim, 0, first), dim, self.offset)
        _write(ring, src.narrow(dim, first, length - first), dim, 0)
        self.offset = (self.offset + length) % self.max_seq_len
        if self.current_seq_len < self.max_seq_len:
            return ring.narrow(dim, 0, self.current_seq_len)
        return ring.copy()  # the next append overwrites a part of the ring

    def positions(self, seq_len: int) -> list[int]:
        """The positions of what the next append of `seq_len` places will return, in its order."""
        end = self.current_seq_len + seq_len
        if seq_len >= self.max_seq_len:  # append gives back what came in
            return list(range(self.current_seq_len, end))
        offset = (self.offset + seq_len) % self.max_seq_len
        newest = end - offset  # the position of place 0 in the ring's present round
        return [newest + i if i < offset else newest + i - self.max_seq_len for i in range(min(end, self.max_seq_len))]

    def attn_mask(self, seq_len: int) -> Tensor | None:
        """(seq_len, places) of U8: 1 where a new query must not look, at what lies ahead of it or too far behind; None for one query."""
        if seq_len == 1:
            return None
        queries = np.arange(self.current_seq_len, self.current_seq_len + seq_len)[:, None]
        places = np.array(self.positions(seq_len))[None, :]
        return wrap(((places > queries) | (places + self.max_seq_len < queries)).astype(np.uint8))

    def current_data(self) -> Tensor | None:
        """The ring's places that hold something, in the ring's order, or None."""
        return None if self._ring is None else self._ring.narrow(self.given_dim, 0, min(self.current_seq_len, self.max_seq_len)).copy()

    def reset(self) -> None:
        """Forgets everything."""
        self.offset, self.current_seq_len, self._ring = 0, 0, None


class RotatingKvCache:
    """Two rotating caches side by side, for keys and for values.

    Source: candle-nn/src/kv_cache.rs, RotatingKvCache.
    """

    def __init__(self, dim: Dim, max_seq_len: int) -> None:
        self.k_cache, self.v_cache = RotatingCache(dim, max_seq_len), RotatingCache(dim, max_seq_len)

    @property
    def current_seq_len(self) -> int:
        """How many places have come in all."""
        return self.k_cache.current_seq_len

    @property
    def offset(self) -> int:
        """Where in the ring the next place goes."""
        return self.k_cache.offset

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Adds keys and values; what a query may look at then."""
        _check_pair(k, v, self.k_cache.given_dim)
        return self.k_cache.append(k), self.v_cache.append(v)

    def positions(self, seq_len: int) -> list[int]:
        """The positions of what the next append will return, in its order."""
        return self.k_cache.positions(seq_len)

    def attn_mask(self, seq_len: int) -> Tensor | None:
        """U8, 1 where a new query must not look; None for one query."""
        return self.k_cache.attn_mask(seq_len)

    def k(self) -> Tensor | None:
        """The keys in the ring's order, or None."""
        return self.k_cache.current_data()

    def v(self) -> Tensor | None:
        """The values in the ring's order, or None."""
        return self.v_cache.current_data()

    def reset(self) -> None:
        """Forgets everything."""
        self.k_cache.reset()
        self.v_cache.reset()


def _check_pair(k: Tensor, v: Tensor, dim: Dim) -> None:
    if k.dim(dim) != v.dim(dim):
        raise Error(f"a cache takes as many keys as values, got {show(k.shape)} and {show(v.shape)}")


def _grown(buffer: Tensor | None, src: Tensor, dim: int, used: int, step: int, *, fixed: bool = False) -> Tensor:
    """A buffer with room for src after `used` places: the one there is, or a longer one with the same beginning.

    Raises: Error when src is unlike what is there.
    """
    if buffer is not None:
        there, here = buffer._data, src._data
        sizes = there.shape[:dim] + there.shape[dim + 1 :], here.shape[:dim] + here.shape[dim + 1 :]
        if there.ndim != here.ndim or there.dtype != here.dtype or sizes[0] != sizes[1]:
            raise Error(f"this cache holds {buffer.dtype!r} {show(buffer.shape)} along dim {dim}, got {src.dtype!r} {show(src.shape)}")
    room = 0 if buffer is None else buffer.dim(dim)
    wanted = step if fixed else max(room, -(-(used + src.dim(dim)) // step) * step, step)
    if buffer is not None and wanted <= room:
        return buffer
    longer = Tensor.zeros((*src.shape[:dim], wanted, *src.shape[dim + 1 :]), src.dtype)
    if buffer is not None:
        _write(longer, buffer.narrow(dim, 0, used), dim, 0)
    return longer


def _write(buffer: Tensor, src: Tensor, dim: int, start: int) -> None:
    """Copies src into the buffer's places from `start` on."""
    length = src.dim(dim)
    check_narrow(buffer.shape, dim, start, length)
    buffer._data[(*(slice(None),) * dim, slice(start, start + length))] = src._data
