"""IDX: every type, packed and plain, big-endian; damaged and hostile files give one named error and take no memory."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from cafe import DType, Tensor
from cafe.errors import FormatError, Io
from cafe.io.idx import read_idx, write_idx

FASHION = Path("/usr/share/datasets/fashion-mnist")


def idx(code: int, sizes: list[int], data: bytes) -> bytes:
    return struct.pack(f">BBBB{len(sizes)}I", 0, 0, code, len(sizes), *sizes) + data


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "code, data, wanted, dtype",
    [
        (0x08, b"\x00\x80\xff", [0, 128, 255], DType.U8),
        (0x09, b"\x00\x80\xff", [0, -128, -1], DType.I16),
        (0x0B, struct.pack(">3h", 1, -2, 300), [1, -2, 300], DType.I16),
        (0x0C, struct.pack(">3i", 1, -2, 1 << 30), [1, -2, 1 << 30], DType.I32),
        (0x0D, struct.pack(">3f", 1.5, -2.0, 0.25), [1.5, -2.0, 0.25], DType.F32),
        (0x0E, struct.pack(">3d", 1.5, -2.0, 1e300), [1.5, -2.0, 1e300], DType.F64),
    ],
)
@pytest.mark.parametrize("pack", [False, True])
def test_every_type_packed_and_plain(tmp_path: Path, code: int, data: bytes, wanted: list[float], dtype: DType, pack: bool) -> None:
    content = idx(code, [3], data)
    t = read_idx(written(tmp_path / "t.idx", gzip.compress(content, mtime=0) if pack else content))

    assert t.dtype is dtype and t.tolist() == wanted


@pytest.mark.parametrize("dtype", [DType.U8, DType.I16, DType.I32, DType.F32, DType.F64])
@pytest.mark.parametrize("name", ["t.idx", "t.idx.gz"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_what_is_written_is_read(tmp_path: Path, dtype: DType, name: str, shape: tuple[int, ...]) -> None:
    t = Tensor(np.arange(np.prod(shape, dtype=int)).reshape(shape)).to_dtype(dtype)
    write_idx(t, tmp_path / name)
    back = read_idx(tmp_path / name)

    assert back.dtype is dtype and back.shape == shape and back.tolist() == t.tolist()


def test_views_are_written_as_they_look_and_equal_tensors_give_equal_files(tmp_path: Path) -> None:
    t = Tensor([[1, 2, 3], [4, 5, 6]], dtype="u8").t()
    for name in ("a.idx.gz", "b.idx.gz"):
        write_idx(t, tmp_path / name)

    assert read_idx(tmp_path / "a.idx.gz").tolist() == [[1, 4], [2, 5], [3, 6]]
    assert (tmp_path / "a.idx.gz").read_bytes() == (tmp_path / "b.idx.gz").read_bytes()


GOOD = idx(0x08, [2, 2], b"\1\2\3\4")


@pytest.mark.parametrize(
    "content, text",
    [
        (b"", "this is no IDX file, it starts with nothing"),
        (b"\x89PNG\r\n", "this is no IDX file, it starts with 89 50 4e 47"),
        (idx(0x0A, [1], b"\0"), "this is no IDX file, it starts with 00 00 0a 01"),
        (b"\0\0\x08\x03\0\0\0\1", "the header announces 3 dims and ends after 1"),
        (GOOD[:-1], r"the header announces \[2, 2\], 4 bytes, and there are 3"),
        (GOOD + b"\0", r"there is more in the file than its \[2, 2\], 4 bytes"),
        (idx(0x0E, [1 << 31, 1 << 31, 1 << 31], b""), "in a file that can hold 16"),
        (gzip.compress(GOOD, mtime=0)[:-9], "idx: the file is damaged"),
        (gzip.compress(GOOD, mtime=0)[:-4] + b"\0\0\0\0", "idx: the file is damaged"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 20, "idx: the file is damaged"),
        (
            gzip.compress(idx(0x08, [1 << 31], b""), mtime=0),
            r"the header announces \[2147483648\], 2147483648 bytes, in a file that can hold",
        ),
    ],
)
def test_damage_has_a_name(tmp_path: Path, content: bytes, text: str) -> None:
    with pytest.raises(FormatError, match=text):
        read_idx(written(tmp_path / "t.idx", content))


def test_every_cut_and_every_flipped_bit_gives_a_tensor_or_a_named_error(tmp_path: Path) -> None:
    for whole in (GOOD, gzip.compress(GOOD, mtime=0)):
        for end in range(len(whole)):
            with pytest.raises(FormatError):
                read_idx(written(tmp_path / "t.idx", whole[:end]))
        for at in range(8 * len(whole)):
            flipped = bytearray(whole)
            flipped[at // 8] ^= 1 << at % 8
            try:
                read_idx(written(tmp_path / "t.idx", bytes(flipped)))
            except FormatError:
                continue


def test_files_that_are_not_there_and_dtypes_that_idx_lacks(tmp_path: Path) -> None:
    with pytest.raises(Io, match="No such file"):
        read_idx(tmp_path / "missing.idx")
    with pytest.raises(FormatError, match="idx: the format has no I64"):
        write_idx(Tensor([1, 2]), tmp_path / "t.idx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not FASHION.is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_fashion_mnist() -> None:
    labels = read_idx(FASHION / "t10k-labels-idx1-ubyte.gz")
    images = read_idx(FASHION / "t10k-images-idx3-ubyte.gz")

    assert labels.narrow(0, 0, 10).tolist() == [9, 2, 1, 1, 6, 1, 4, 6, 5, 7]
    assert np.bincount(labels.numpy()).tolist() == [1000] * 10
    assert images.shape == (10000, 28, 28)
    assert (images.to_dtype(DType.F64) / 255.0).mean_all().item() == pytest.approx(0.286849, abs=1e-6)
