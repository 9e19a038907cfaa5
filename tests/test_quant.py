"""Packed numbers: each format against plain loops over bits, C against its twin bit for bit, and both against the gguf package."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cafe import kernels
from cafe.kernels import _ffi
from cafe.kernels.quant import PACKED

F32 = np.float32
HALVES = {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,), "Q4_0": (0,), "Q5_0": (0,), "Q8_0": (0,)}  # others: bytes 0 and 2
kinds = pytest.mark.parametrize("kind", PACKED)


def some(kind: str, count: int) -> np.ndarray:
    """Blocks of random bits whose scales are ordinary numbers."""
    rng = np.random.default_rng(len(kind) + count)
    blocks = rng.integers(0, 256, (count, PACKED[kind][1]), dtype=np.uint8)
    for at in HALVES.get(kind, (0, 2)):
        blocks[:, at : at + 2] = rng.standard_normal(count).astype("<f2").view(np.uint8).reshape(count, 2)
    return blocks


# -- the formats, a number at a time


def half(x: list[int], at: int) -> np.float32:
    return F32(np.array(x[at : at + 2], np.uint8).view("<f2")[0])


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def six(x: list[int], part: int) -> tuple[int, int]:
    """Scale and offset `part` of Q4_K and Q5_K."""
    s = x[4:16]
    if part < 4:
        return s[part] & 63, s[part + 4] & 63
    return (s[part + 4] & 15) | (s[part - 4] >> 6) << 4, (s[part + 4] >> 4) | (s[part] >> 6) << 4


def q4(x: list[int], at: int, i: int) -> int:
    return x[at + i % 16] >> 4 * (i // 16) & 15


def fifth(x: list[int], at: int, i: int) -> int:
    return (x[at + i // 8] >> i % 8 & 1) << 4


def two(x: list[int], at: int, i: int) -> int:
    """Two bits of number i: 128 numbers to 32 bytes."""
    return x[at + i // 128 * 32 + i % 32] >> 2 * (i // 32 % 4) & 3


def q2_k(x: list[int], i: int) -> np.float32:
    s = x[i // 16]
    return half(x, 80) * F32(s & 15) * F32(two(x, 16, i)) - half(x, 82) * F32(s >> 4)


def q3_k(x: list[int], i: int) -> np.float32:
    part, s = i // 16, x[96:108]
    scale = (s[part % 8] >> 4 * (part // 8) & 15) | (s[8 + part % 4] >> 2 * (part // 4) & 3) << 4
    q = two(x, 32, i) - (0 if x[i % 32] >> i // 32 & 1 else 4)
    return half(x, 108) * F32(scale - 32) * F32(q)


def q4_k(x: list[int], i: int) -> np.float32:
    s, m = six(x, i // 32)
    q = x[16 + i // 64 * 32 + i % 32] >> 4 * (i // 32 % 2) & 15
    return half(x, 0) * F32(s) * F32(q) - half(x, 2) * F32(m)


def q5_k(x: list[int], i: int) -> np.float32:
    s, m = six(x, i // 32)
    q = (x[48 + i // 64 * 32 + i % 32] >> 4 * (i // 32 % 2) & 15) | (x[16 + i % 32] >> i // 32 & 1) << 4
    return half(x, 0) * F32(s) * F32(q) - half(x, 2) * F32(m)


def q6_k(x: list[int], i: int) -> np.float32:
    low = x[i // 128 * 64 + i % 64] >> 4 * (i // 64 % 2) & 15
    q = (low | two(x, 128, i) << 4) - 32
    return half(x, 208) * F32(signed(x[192 + i // 16])) * F32(q)


LOOPS: dict[str, Callable[[list[int], int], np.float32]] = {
    "Q4_0": lambda x, i: half(x, 0) * F32(q4(x, 2, i) - 8),
    "Q4_1": lambda x, i: half(x, 0) * F32(q4(x, 4, i)) + half(x, 2),
    "Q5_0": lambda x, i: half(x, 0) * F32((q4(x, 6, i) | fifth(x, 2, i)) - 16),
    "Q5_1": lambda x, i: half(x, 0) * F32(q4(x, 8, i) | fifth(x, 4, i)) + half(x, 2),
    "Q8_0": lambda x, i: half(x, 0) * F32(signed(x[2 + i])),
    "Q2_K": q2_k,
    "Q3_K": q3_k,
    "Q4_K": q4_k,
    "Q5_K": q5_k,
    "Q6_K": q6_k,
}  # fmt: skip


@kinds
@pytest.mark.parametrize("namespace", [kernels, kernels.twins], ids=["kernel", "twin"])
def test_every_number_is_the_formulas(kind: str, namespace: object) -> None:
    blocks = some(kind, 3)
    wanted = np.array([[LOOPS[kind](block, i) for i in range(PACKED[kind][0])] for block in blocks.tolist()], F32)
    got = namespace.dequantize(blocks, kind)  # type: ignore[attr-defined]
    assert got.dtype == F32 and np.array_equal(got, wanted)
    assert len(np.unique(wanted)) > 20


@kinds
def test_c_and_twin_give_the_same_bits_on_any_number_of_threads(kind: str) -> None:
    blocks = some(kind, 2500)
    wanted = kernels.twins.dequantize(blocks, kind)
    threads = _ffi.num_threads()
    try:
        for n in (1, 2, 3, 8):
            _ffi.set_num_threads(n)
            assert kernels.dequantize(blocks, kind).tobytes() == wanted.tobytes(), n
    finally:
        _ffi.set_num_threads(threads)
    assert kernels.dequantize(blocks[:0], kind).shape == (0, PACKED[kind][0])
    assert kernels.dequantize(blocks[::7], kind).tobytes() == wanted[::7].tobytes()


@kinds
def test_any_bits_at_all_are_numbers_of_some_kind(kind: str) -> None:
    blocks = np.random.default_rng(5).integers(0, 256, (500, PACKED[kind][1]), dtype=np.uint8)
    assert np.array_equal(kernels.dequantize(blocks, kind), kernels.twins.dequantize(blocks, kind), equal_nan=True)


@kinds
def test_the_gguf_package_agrees(kind: str) -> None:
    gguf = pytest.importorskip("gguf")
    blocks = some(kind, 200)
    wanted = gguf.quants.dequantize(blocks.reshape(-1), gguf.GGMLQuantizationType[kind]).reshape(200, -1)
    assert gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]] == PACKED[kind]
    assert np.array_equal(kernels.dequantize(blocks, kind), wanted)
