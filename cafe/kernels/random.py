"""Random numbers from an explicit state: Philox counters turned into uniform and normal floats (floor 1).

Philox is a counter-based generator: the n-th number is a function of key and n alone. C computes NumPy's Philox to the bit, so numbers are
the same on both backends, normal ones but for the last places of F64, and on any number of threads.
"""

from __future__ import annotations

from math import prod

import numpy as np

from cafe.device import GeneratorState
from cafe.dtype import Array

from . import _ffi
from .memory import empty

_KEEP_MASK = _ffi.kernel("keep_mask")
_LAST = 2**63  # C counts in 64 bits

_PAIRS_AT_ONCE = 4096  # what is made on the way stays in the nearest caches
_WORDS_A_BLOCK = 4  # Philox makes four 64-bit words from one counter value


def _reserve(count: int, state: GeneratorState) -> tuple[int, int]:
    """The key, and the counter value after which `count` fresh 64-bit words lie; the state moves past them."""
    return state.reserve(-(-count // _WORDS_A_BLOCK))


def _words(count: int, state: GeneratorState) -> Array:
    """`count` fresh 64-bit words; the state moves past them."""
    key, first = _reserve(count, state)
    return np.random.Philox(key=key, counter=first).random_raw(count)


def uniform(shape: tuple[int, ...], low: float, high: float, state: GeneratorState) -> Array:
    """float64 numbers in [low, high), 53 random bits each."""
    count = prod(shape)
    if _ffi.lib is None or state.counter >= _LAST:
        return uniform_ref(shape, low, high, state)
    y = empty(shape, _ffi.F64)
    _ffi.lib.cafe_uniform(y, count, *_reserve(count, state), low, high)
    return y


def uniform_ref(shape: tuple[int, ...], low: float, high: float, state: GeneratorState) -> Array:
    unit = (_words(prod(shape), state) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    values = low + (high - low) * unit
    return np.where(values < high, values, low).reshape(shape) if high > low else values.reshape(shape)


def normal(shape: tuple[int, ...], mean: float, std: float, state: GeneratorState) -> Array:
    """float64 numbers from the normal distribution, by Box and Muller: r = √(−2 ln u), at angles 2πv.

    Bound: 4 ulp of r between backends and instruction sets.
    """
    count = prod(shape)
    pairs = -(-count // 2)
    if _ffi.lib is None or state.counter >= _LAST:
        return normal_ref(shape, mean, std, state)
    y = empty((2 * pairs,), _ffi.F64)
    _ffi.lib.cafe_normal(y, pairs, *_reserve(2 * pairs, state), mean, std)
    return y[:count].reshape(shape)


def normal_ref(shape: tuple[int, ...], mean: float, std: float, state: GeneratorState) -> Array:
    count = prod(shape)
    pairs = -(-count // 2)
    unit = uniform_ref((2 * pairs,), 0.0, 1.0, state)  # (0, 1] and [0, 1): a logarithm of 0 there must not be
    for i in range(0, pairs, _PAIRS_AT_ONCE):
        end = min(i + _PAIRS_AT_ONCE, pairs)
        u, v = unit[i:end], unit[pairs + i : pairs + end]
        radius = np.sqrt(-2.0 * np.log(u + 2.0**-53))
        angle = 2.0 * np.pi * v
        u[...], v[...] = mean + std * (radius * np.cos(angle)), mean + std * (radius * np.sin(angle))
    return unit[:count].reshape(shape)


def keep_mask(shape: tuple[int, ...], p_drop: float, dtype: np.dtype[np.floating], state: GeneratorState) -> Array:
    """1 / (1 − p) with probability 1 − p, else 0: the mask of a dropout."""
    f, count = _KEEP_MASK.get(dtype), prod(shape)
    if f is None or state.counter >= _LAST:
        return keep_mask_ref(shape, p_drop, dtype, state)
    y: Array = empty(shape, dtype)
    f(y, count, *_reserve(count, state), p_drop, 1.0 / (1.0 - p_drop))
    return y


def keep_mask_ref(shape: tuple[int, ...], p_drop: float, dtype: np.dtype[np.floating], state: GeneratorState) -> Array:
    keep = uniform_ref(shape, 0.0, 1.0, state) >= p_drop
    y: Array = keep.astype(dtype) * dtype.type(1.0 / (1.0 - p_drop))
    return y


def permutation(n: int, state: GeneratorState) -> Array:
    """The numbers 0 .. n − 1 in random order, as I64."""
    return np.argsort(_words(n, state), kind="stable").astype(np.int64)
