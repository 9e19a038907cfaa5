"""Numbers packed in blocks, as GGUF files hold them, back to float32 (floor 1).

A block of 32 or 256 numbers shares one scale d, or has small scales s of its parts beside d; each number is a few bits q:

    Q8_0, Q6_K, Q3_K          y = d s q            Q4_0, Q5_0: q is counted from the middle of its range
    Q4_1, Q5_1                y = d q + m
    Q2_K, Q4_K, Q5_K          y = (d s) q − (d' s')

`PACKED` lists the formats with how many numbers a block has and how many bytes. Bounds: C and twin give the same bits, those of the formula
in float32 from left to right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cafe.dtype import Array

from . import _ffi, memory
from .base import primitive

#: Numbers and bytes of a block, by the format's name.
PACKED: dict[str, tuple[int, int]] = {
    "Q4_0": (32, 18),
    "Q4_1": (32, 20),
    "Q5_0": (32, 22),
    "Q5_1": (32, 24),
    "Q8_0": (32, 34),
    "Q2_K": (256, 84),
    "Q3_K": (256, 110),
    "Q4_K": (256, 144),
    "Q5_K": (256, 176),
    "Q6_K": (256, 210),
}

_PIECE = 1024  # blocks that the twin works on at a time: a few megabytes of scratch
_CODES = {name: _ffi.code(name) for name in PACKED}


def dequantize(blocks: Array, kind: str) -> Array:
    """Blocks (n, bytes) of U8 in this format → (n, numbers) of F32."""
    if _ffi.lib is None:
        return dequantize_ref(blocks, kind)
    numbers, size = PACKED[kind]
    blocks = memory.dense(blocks)
    y: Array = memory.empty((blocks.shape[0], numbers), _ffi.F32)
    _ffi.lib.cafe_dequantize(_CODES[kind], y, blocks, blocks.shape[0], numbers, size)
    return y


@primitive
def dequantize_ref(blocks: Array, kind: str) -> Array:
    y = np.empty((blocks.shape[0], PACKED[kind][0]), np.float32)
    for at in range(0, len(y), _PIECE):
        y[at : at + _PIECE] = _TWINS[kind](blocks[at : at + _PIECE])
    return y


# -- the parts of a block


def _half(blocks: Array, at: int) -> Array:
    """The float16 at this byte of each block, as float32: (n, 1)."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _nibbles(bytes_: Array) -> Array:
    """(n, k) → (n, 2k): the low halves of all bytes, then their high halves."""
    return np.concatenate([bytes_ & 15, bytes_ >> 4], axis=1)


def _bits(bytes_: Array, width: int) -> Array:
    """(n, k) → (n, 8 / width, k): the lowest bits of all bytes, then the next ones …"""
    shifts = np.arange(0, 8, width, dtype=np.uint8)
    return (bytes_[:, None, :] >> shifts[None, :, None]) & ((1 << width) - 1)


def _fifth_bits(blocks: Array, at: int) -> Array:
    """The 32 bits at this byte of each block, each as 0 or 16."""
    return np.unpackbits(blocks[:, at : at + 4], axis=1, bitorder="little") << 4


# -- blocks of 32


def _q4_0(blocks: Array) -> Array:
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Array) -> Array:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]) + _half(blocks, 2)


def _q5_0(blocks: Array) -> Array:
    return _half(blocks, 0) * ((_nibbles(blocks[:, 6:]) | _fifth_bits(blocks, 2)).astype(np.float32) - 16)


def _q5_1(blocks: Array) -> Array:
    return _half(blocks, 0) * (_nibbles(blocks[:, 8:]) | _fifth_bits(blocks, 4)) + _half(blocks, 2)


def _q8_0(blocks: Array) -> Array:
    return _half(blocks, 0) * blocks[:, 2:].view(np.int8)


# -- blocks of 256


def _halves(blocks: Array, start: int, width: int) -> Array:
    """64 bytes of `width` bits a number, 32 bytes a half of the block: (n, 256) in the numbers' order."""
    return np.concatenate([_bits(blocks[:, at : at + 32], width).reshape(len(blocks), -1) for at in (start, start + 32)], axis=1)


def _scaled(q: Array, scales: Array) -> Array:
    """q (n, 256) by a scale for each of its parts (n, parts)."""
    parts = q.reshape(len(q), scales.shape[1], -1).astype(np.float32)
    y: Array = scales[:, :, None] * parts
    return y


def _q2_k(blocks: Array) -> Array:
    scales = blocks[:, :16]
    y = _scaled(_halves(blocks, 16, 2), _half(blocks, 80) * (scales & 15))
    offsets: Array = _half(blocks, 82) * (scales >> 4)
    return (y - offsets[:, :, None]).reshape(len(blocks), 256)


def _q3_k(blocks: Array) -> Array:
    low, high = _nibbles(blocks[:, 96:104]), _bits(blocks[:, 104:108], 2).reshape(len(blocks), 16)
    scales = (low | (high << 4)).astype(np.float32) - 32
    third = _bits(blocks[:, :32], 1).reshape(len(blocks), 256)  # where this bit is missing, 4 is taken away
    q = _halves(blocks, 32, 2).astype(np.float32) - np.float32(4) * (1 - third.astype(np.float32))
    return _scaled(q, _half(blocks, 108) * scales).reshape(len(blocks), 256)


def _six_bits(blocks: Array) -> tuple[Array, Array]:
    """Eight scales and eight offsets of six bits from the twelve bytes at byte 4: (n, 8) each, by the block's own d and d'."""
    a, b, c = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate([a & 63, (c & 15) | ((a >> 6) << 4)], axis=1)
    offsets = np.concatenate([b & 63, (c >> 4) | ((b >> 6) << 4)], axis=1)
    return _half(blocks, 0) * scales, _half(blocks, 2) * offsets


def _pairs_of_nibbles(blocks: Array, start: int) -> Array:
    """128 bytes, of each 32 first the low halves, then the high ones: (n, 256)."""
    return _bits(blocks[:, start : start + 128].reshape(-1, 32), 4).reshape(len(blocks), 256)


def _q4_k(blocks: Array) -> Array:
    scales, offsets = _six_bits(blocks)
    return (_scaled(_pairs_of_nibbles(blocks, 16), scales) - offsets[:, :, None]).reshape(len(blocks), 256)


def _q5_k(blocks: Array) -> Array:
    scales, offsets = _six_bits(blocks)
    q = _pairs_of_nibbles(blocks, 48) | (_bits(blocks[:, 16:48], 1).reshape(len(blocks), 256) << 4)
    return (_scaled(q, scales) - offsets[:, :, None]).reshape(len(blocks), 256)


def _q6_k(blocks: Array) -> Array:
    low = _bits(blocks[:, :128].reshape(-1, 64), 4).reshape(len(blocks), 256)
    q = (low | (_halves(blocks, 128, 2) << 4)).astype(np.float32) - 32
    scales = _half(blocks, 208) * np.ascontiguousarray(blocks[:, 192:208]).view(np.int8)
    return _scaled(q, scales).reshape(len(blocks), 256)


_TWINS: dict[str, Callable[[Array], Any]] = {
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
    "Q5_0": _q5_0,
    "Q5_1": _q5_1,
    "Q8_0": _q8_0,
    "Q2_K": _q2_k,
    "Q3_K": _q3_k,
    "Q4_K": _q4_k,
    "Q5_K": _q5_k,
    "Q6_K": _q6_k,
}
