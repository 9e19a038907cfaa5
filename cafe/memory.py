"""The memory of results, kept warm between uses (floor 2: it passes on what kernels/memory.py has).

A result of 4 KiB or more comes from a pool. Its memory goes back there when the last tensor on it dies and is handed out again for the
next result of about that size, because a fresh page's first touch costs more than computing what goes into it. What is kept counts as used
by this process; `empty_cache()` gives it to the system, `set_limit(bytes)` bounds it.

>>> import cafe
>>> limit = cafe.memory.statistics().limit
>>> cafe.memory.set_limit(2**30)  # keep at most a gibibyte
>>> x = cafe.Tensor.zeros((1024, 1024))
>>> del x
>>> cafe.memory.empty_cache()
>>> cafe.memory.statistics().cached
0
>>> cafe.memory.set_limit(limit)
"""

from cafe.kernels.memory import Statistics, empty_cache, set_limit, statistics

__all__ = ["Statistics", "empty_cache", "set_limit", "statistics"]
