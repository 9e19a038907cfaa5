"""The C kernels that copy, join and pad: what the twins give, to the bit, on any number of threads."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from instances import as_bytes, each_isa, needs_c, rerun, same_on_threads

import cafe
from cafe import kernels
from cafe.dtype import Array
from cafe.kernels import memory, twins

pytestmark = needs_c
MOVED = (np.uint8, np.int16, np.float16, ml_dtypes.bfloat16, np.float32, np.uint32, np.int32, np.float64, np.int64)
each_dtype = pytest.mark.parametrize("dtype", MOVED)
each_size = pytest.mark.parametrize("dtype", (np.uint8, ml_dtypes.bfloat16, np.float32, np.int64))  # what moves knows no other difference
rng = np.random.default_rng(5)


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.asarray(rng.integers(0, 100, shape)).astype(dtype)


def views(x: Array) -> list[Array]:
    """Of one shape: as it lies, turned, reversed, with gaps, repeated."""
    gaps = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)[..., ::2]
    gaps[...] = x
    return [x, np.asfortranarray(x), np.flip(x), gaps, np.broadcast_to(x[:1], x.shape), np.broadcast_to(x[..., :1], x.shape)]


@each_size
def test_cat_takes_any_strides(dtype: Any) -> None:
    for shape in ((300, 257), (7, 100, 111), (130, 9, 67)):
        for dim in range(len(shape)):
            parts = views(numbers(shape, dtype))
            same_on_threads(lambda parts=parts, dim=dim: kernels.cat(parts, dim))  # type: ignore[misc]
            assert as_bytes(kernels.cat(parts, dim)) == as_bytes(twins.cat(parts, dim))
    empty = numbers((300, 0), dtype)
    x = numbers((300, 257), dtype)
    assert as_bytes(kernels.cat([empty, x, empty], 1)) == as_bytes(x)


KEYS = (
    ((300, 263), (300, 257), np.s_[:, 2:259]),
    ((311, 257), (300, 257), np.s_[4:304]),
    ((311, 263), (300, 257), np.s_[11:, :257]),
    ((600, 800), (300, 267), np.s_[::2, 1:801:3]),
    ((40, 3, 50, 31), (40, 50, 31), np.s_[:, 1]),
    ((40, 50, 31), (50, 31), np.s_[39]),
    ((40, 50, 31), (40, 50), np.s_[:, :, 30]),
    ((100, 90), (100, 90), np.s_[::-1]),
    ((300, 257), (150, 257), np.s_[::-2]),
    ((300, 257), (300, 256), np.s_[:, 256:0:-1]),
    ((90, 70, 11), (90, 70, 11), np.s_[:, ::-1, ::-1]),
    ((90000,), (70001,), np.s_[9:70010]),
    ((5000, 3), (1, 1), np.s_[4999:, 2:]),
)


@each_size
@pytest.mark.parametrize(("shape", "of", "key"), KEYS)
def test_unslice_and_assign_put_a_part_where_slice_reads(dtype: Any, shape: Any, of: Any, key: Any) -> None:
    key = key if isinstance(key, tuple) else (key,)
    whole = numbers(shape, dtype)
    for x in views(numbers(of, dtype)):
        same_on_threads(lambda x=x: kernels.unslice(x, key, shape))  # type: ignore[misc]
        assert as_bytes(kernels.unslice(x, key, shape)) == as_bytes(twins.unslice(x, key, shape))
        assert as_bytes(kernels.assign(whole, x, key)) == as_bytes(twins.assign(whole, x, key))


def test_a_part_of_nothing() -> None:
    none = np.zeros((100, 0), np.float32)
    assert as_bytes(kernels.unslice(none, np.s_[:, 3:3], (100, 90))) == as_bytes(np.zeros((100, 90), np.float32))
    assert kernels.cat([none, none], 1).shape == (100, 0)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_rows_of_any_length(size: int) -> None:
    dtype = np.dtype(f"u{size}")
    for n in [*range(1, 70), 127, 128, 129, 300]:
        x = numbers((max(3, 5000 // n), n + 3), dtype)[:, 1 : n + 1]
        y = np.zeros((x.shape[0], n + 5), dtype)
        memory.assign(y[:, 2 : n + 2], x)
        assert memory.copy(x).tobytes() == x.tobytes()
        assert (y[:, 2 : n + 2] == x).all()
        assert not y[:, :2].any()
        assert not y[:, n + 2 :].any()


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", [(64, 64), (63, 129), (301, 257), (8, 9000), (9000, 9), (70, 3, 90), (5, 70, 66)])
def test_turned_by_every_size(shape: tuple[int, ...], size: int) -> None:
    x = numbers(shape, np.dtype(f"u{size}"))
    for turned in (x.T, np.moveaxis(x, -1, 0), np.swapaxes(x, -1, -2), np.swapaxes(x[..., 1:], -1, -2)):
        same_on_threads(lambda turned=turned: memory.copy(turned))  # type: ignore[misc]
        assert memory.copy(turned).tobytes() == turned.tobytes()


@each_dtype
@pytest.mark.parametrize("n", [0, 1, 65536, 65537, 70001])
def test_filled_with_one_number(n: int, dtype: Any) -> None:
    dtype = np.dtype(dtype)
    y = memory.full((n,), dtype, 3)
    assert y.dtype == dtype
    assert as_bytes(y) == as_bytes(np.full(n, 3, dtype))
    some = memory.full((n + 3,), dtype, 5)
    memory.fill(some[1:-2], 3)
    assert as_bytes(some) == as_bytes(np.concatenate([np.full(1, 5, dtype), np.full(n, 3, dtype), np.full(2, 5, dtype)]))


def test_filled_past_the_caches() -> None:
    y = memory.full(((48 << 20) + 5,), np.dtype(np.uint8), 5)
    memory.fill(y[3:-2], 7)
    assert y[:3].tolist() + y[-2:].tolist() == [5] * 5
    assert (y[3:-2] == 7).all()


def test_every_bit_goes_through() -> None:
    bits = rng.integers(0, 2**32, (120, 100), np.uint32)
    bits[::3] |= 0x7F800001  # signalling NaNs among them
    assert memory.copy(bits.view(np.float32)[:, 1:]).tobytes() == bits[:, 1:].tobytes()


def test_large_zeros_are_zeros_after_others_lay_there() -> None:
    for shape in ((300, 300), (65536 + 1,), (1 << 20,)):
        memory.empty(shape, np.dtype(np.float32))[...] = 1.0
        assert not memory.cleared(shape, np.dtype(np.float32)).any()


@pytest.mark.parametrize("counts", [(2,), (1, 3), (2, 3), (2, 1, 2), (0, 2), (1, 1), (3, 2, 2, 2)])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (64, 33), (1, 5), (2, 0), (5, 200, 31)])
def test_repeat_is_tile(shape: tuple[int, ...], counts: tuple[int, ...]) -> None:
    x = numbers(shape, np.float32)
    y = cafe.Tensor(x).repeat(counts)
    expected = np.tile(x, counts if len(counts) >= len(shape) else (*counts, *(1,) * (len(shape) - len(counts))))
    assert y.shape == expected.shape
    assert y.is_contiguous()
    assert as_bytes(y.numpy()) == as_bytes(expected)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 65, 200])
def test_triangles(n: int) -> None:
    for dtype in ("u8", "f32", "i64", "bf16"):
        assert (cafe.Tensor.tril2(n, dtype).numpy() == np.tri(n)).all()
        assert (cafe.Tensor.triu2(n, dtype).numpy() == np.tri(n).T).all()


@each_isa
def test_on_the_other_instruction_sets(isa: str) -> None:
    rerun(__file__, isa)
