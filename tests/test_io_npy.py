"""npy and npz files: NumPy agrees in both directions, and no file can do harm."""

from __future__ import annotations

import io
import os
import pathlib
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest
from mutating import mutated

from cafe.dtype import DType
from cafe.errors import CannotFindTensor, Error, Io, Npy
from cafe.io.npy import NpzTensors, read_npy, read_npz, read_npz_by_name, write_npy, write_npz
from cafe.tensor.core import Tensor

SAVED = [dtype for dtype in DType if dtype is not DType.BF16]


def t(values: Any, dtype: Any = np.float32) -> Tensor:
    return Tensor.from_numpy(np.array(values, dtype=dtype))


def saved(array: Any, version: tuple[int, int] | None = None) -> bytes:
    """The bytes NumPy writes."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), version=version, allow_pickle=True)
    return file.getvalue()


def npy_of(header: str | bytes, data: bytes = b"", version: int = 1, length: int | None = None) -> bytes:
    """A file with this header, which may be one that no writer would write."""
    raw = header.encode("latin-1") if isinstance(header, str) else header
    count = 2 if version == 1 else 4
    stated = (len(raw) if length is None else length).to_bytes(count, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + stated + raw + data


def header_of(descr: str = "'<f4'", shape: str = "(1,)", fortran: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def read(folder: pathlib.Path, data: bytes) -> Tensor:
    (folder / "f.npy").write_bytes(data)
    return read_npy(folder / "f.npy")


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


def unzipped(folder: pathlib.Path, data: bytes, **limits: Any) -> dict[str, Tensor]:
    (folder / "f.npz").write_bytes(data)
    return dict(read_npz(folder / "f.npz", **limits))


# -- npy, there and back


@pytest.mark.parametrize("dtype", SAVED)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 5), (2, 0, 3), (2, 1, 3, 1, 2)])
def test_every_dtype_and_shape_comes_back(tmp_path: pathlib.Path, dtype: DType, shape: tuple[int, ...]) -> None:
    array = (np.arange(int(np.prod(shape))) * 1.5).astype(dtype.numpy).reshape(shape)
    write_npy(Tensor.from_numpy(array), tmp_path / "f.npy")
    numpys = np.load(tmp_path / "f.npy")
    assert numpys.dtype == array.dtype and numpys.shape == shape and numpys.tobytes() == array.tobytes()
    assert (tmp_path / "f.npy").read_bytes() == saved(array, (1, 0))
    tensor = read_npy(tmp_path / "f.npy")
    assert (tensor.dtype, tensor.shape, tensor.numpy().tobytes()) == (dtype, shape, array.tobytes())


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_is_read(tmp_path: pathlib.Path, version: tuple[int, int]) -> None:
    assert read(tmp_path, saved(np.float32([[1, 2]]), version)).to_vec2() == [[1.0, 2.0]]


@pytest.mark.parametrize("code", ["f2", "f4", "f8", "i2", "i4", "i8", "u4"])
def test_both_byte_orders_are_read(tmp_path: pathlib.Path, code: str) -> None:
    for order in "<>":
        tensor = read(tmp_path, saved(np.array([[1, 2, 300]], dtype=order + code)))
        assert tensor.numpy().tolist() == [[1, 2, 300]] and tensor.numpy().dtype.isnative


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (5,), (), (0, 3)])
def test_fortran_order_is_read(tmp_path: pathlib.Path, shape: tuple[int, ...]) -> None:
    array = np.asfortranarray(np.arange(np.prod(shape), dtype=np.float32).reshape(shape)).reshape(shape, order="A")
    tensor = read(tmp_path, saved(array))
    assert tensor.shape == shape and tensor.numpy().tolist() == array.tolist() and tensor.is_contiguous()


def test_fortran_order_of_the_other_byte_order(tmp_path: pathlib.Path) -> None:
    array = np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3))
    assert b"'fortran_order': True" in saved(array)
    assert read(tmp_path, saved(array)).to_vec2() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("array", "home"),
    [
        (np.array([True, False]), DType.U8),
        (np.array([-128, 127], np.int8), DType.I16),
        (np.array([0, 65535], ">u2"), DType.U32),
    ],
)
def test_an_exact_home(tmp_path: pathlib.Path, array: Any, home: DType) -> None:
    tensor = read(tmp_path, saved(array))
    assert tensor.dtype is home and tensor.to_vec1() == array.astype(np.int64).tolist()


def test_candles_letters(tmp_path: pathlib.Path) -> None:
    """One-letter codes, no order mark, and no fortran_order, as candle takes them."""
    assert read(tmp_path, npy_of("{'descr': 'f', 'shape': (1,)}", b"\0\0\x80\x3f")).to_vec1() == [1.0]
    assert read(tmp_path, npy_of(header_of("'=e'"), b"\0\x3c")).to_vec1() == [1.0]
    assert read(tmp_path, npy_of(header_of("'|?'", "(2,)"), b"\2\0")).to_vec1() == [1, 0]


def test_views_are_written_row_major(tmp_path: pathlib.Path) -> None:
    base = t([[1, 2, 3], [4, 5, 6]])
    strided = Tensor.from_numpy(base.numpy()[::-1, ::2])
    for view in (base.t(), base.narrow(1, 1, 2), t([1.0]).broadcast_as((2, 2)), strided):
        write_npy(view, tmp_path / "f.npy")
        assert b"'fortran_order': False" in (tmp_path / "f.npy").read_bytes()
        assert np.load(tmp_path / "f.npy").tolist() == view.numpy().tolist()


def test_bf16_is_refused_with_candles_words(tmp_path: pathlib.Path) -> None:
    half = t([1.0]).to_dtype(DType.BF16)
    write_npy(t([7.0]), tmp_path / "f")
    pairs = [("a", t([1.0])), ("b", half)]
    for write in (lambda: write_npy(half, tmp_path / "f"), lambda: write_npz(pairs, tmp_path / "f")):
        with pytest.raises(Npy) as caught:
            write()
        assert str(caught.value) == "npy/npz error bf16 is not supported"
    assert read_npy(tmp_path / "f").to_vec1() == [7.0] and os.listdir(tmp_path) == ["f"]


# -- npy files that were never right

good = saved(np.float32([1, 2]))

BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "the file ends within its header"),
    "another magic": (b"\x93NUMPX" + good[6:], "magic string mismatch"),
    "the magic alone": (good[:6], "the file ends within its header"),
    "version 0": (good[:6] + b"\0" + good[7:], "unsupported version 0"),
    "version 4": (good[:6] + b"\4" + good[7:], "unsupported version 4"),
    "version 1.5": (good[:7] + b"\5" + good[8:], "unsupported version 1.5"),
    "half a length": (good[:9], "the file ends within its header"),
    "half a header": (good[:40], "the file ends within its header"),
    "a header of 4 GB": (npy_of("{}", version=2, length=2**32 - 1), "unable to parse header of 4294967295 bytes"),
    "no UTF-8": (npy_of(b"\xff\xfe", version=3), "unable to parse header: invalid start byte"),
    "no literal": (npy_of("{'descr': open('x')}"), "unable to parse header {'descr': open('x')}"),
    "half a literal": (npy_of("{'descr': "), "unable to parse header {'descr':"),
    "an empty header": (npy_of(""), "unable to parse header"),
    "a list": (npy_of("[1, 2]"), "unable to parse header [1, 2]"),
    "4,000 brackets": (npy_of("(" * 4_000), "unable to parse header (((("),
    "9,000 minus signs": (npy_of("{'shape': " + "-" * 9_000 + "1}"), "unable to parse header {'shape': ----"),
    "an unhashable key": (npy_of("{[]: 1}"), "unable to parse header {[]: 1}"),
    "a null byte": (npy_of("{\0}"), "unable to parse header {\0}"),
    "an unknown key": (npy_of("{'descr': '<f4', 'fortran': True, 'shape': ()}"), "unable to parse header {'descr':"),
    "no descr": (npy_of("{'shape': (1,), 'fortran_order': False}"), "no descr in header"),
    "no shape": (npy_of("{'descr': '<f4', 'fortran_order': False}"), "no shape in header"),
    "an empty descr": (npy_of(header_of("''"), b"1234"), "empty descr"),
    "an unknown descr": (npy_of(header_of("'<q9'"), b"1234"), "unrecognized descr q9"),
    "a descr that is a number": (npy_of(header_of("4"), b"1234"), "unrecognized descr 4"),
    "fortran_order 1": (npy_of(header_of(fortran="1"), b"1234"), "unknown fortran_order 1"),
    "a shape that is a list": (npy_of(header_of(shape="[1]"), b"1234"), "unable to parse header: the shape is [1]"),
    "a shape that is a number": (npy_of(header_of(shape="1"), b"1234"), "unable to parse header: the shape is 1"),
    "a negative dim": (npy_of(header_of(shape="(-1,)"), b"1234"), "unable to parse header: the shape is (-1,)"),
    "a dim that is True": (npy_of(header_of(shape="(True,)"), b"1234"), "unable to parse header: the shape is (True,)"),
    "half a dim": (npy_of(header_of(shape="(1.0,)"), b"1234"), "unable to parse header: the shape is (1.0,)"),
    "bytes missing": (good[:-1], "shape (2,) of float32 does not take the 7 bytes that follow"),
    "bytes left over": (good + b"\0", "shape (2,) of float32 does not take the 9 bytes that follow"),
    "two files in one": (good + good, "shape (2,) of float32 does not take the"),
    "a shape of 2^62": (npy_of(header_of(shape=f"({2**62},)"), b"1234"), f"shape ({2**62},) of float32 does not take"),
    "400 dims of 2^62": (npy_of(header_of(shape=str((2**62,) * 400)), b"1234"), "shape (46116"),
    "a dim of 4,000 digits": (npy_of(header_of(shape="(" + "9" * 4_000 + ",)"), b"1234"), "shape (99999"),
    "an empty shape that NumPy cannot have": (npy_of(header_of(shape=f"(0, {2**63})")), f"shape (0, {2**63}): "),
    "more dims than NumPy has": (npy_of(header_of(shape=str((1,) * 100)), b"1234"), "shape (1, 1, 1, 1, 1, 1, ...): "),
    "an object array": (saved(np.array([{}], dtype=object)), "unrecognized descr O"),
    "records": (saved(np.zeros(1, "f4,i4")), "unrecognized descr [('f0', '<f4'), ('f1', '<i4')]"),
    "strings": (saved(np.array(["abc"])), "unrecognized descr U3"),
    "bytes": (saved(np.array([b"abc"])), "unrecognized descr S3"),
    "dates": (saved(np.array(["2020-01-01"], "M8[D]")), "unrecognized descr M8[D]"),
    "complex numbers": (saved(np.array([1j])), "unrecognized descr c16"),
    "uint64": (saved(np.array([1], np.uint64)), "unrecognized descr u8"),
    "long doubles": (saved(np.array([1], np.longdouble)), f"unrecognized descr {np.dtype(np.longdouble).str[1:]}"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_named_error_and_takes_no_memory(tmp_path: pathlib.Path, case: str) -> None:
    data, text = BAD[case]
    tracemalloc.start()
    with pytest.raises(Npy) as caught:
        read(tmp_path, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value).startswith(f"npy/npz error {text}") and len(str(caught.value)) < 500
    assert peak < 5_000_000
    assert any(str(tmp_path) in note for note in caught.value.__notes__)


def test_an_object_array_says_why(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Npy) as caught:
        read(tmp_path, BAD["an object array"][0])
    assert "help: an object array is a pickle, which could run code: it is never read" in caught.value.__notes__


def test_no_pickle_runs(tmp_path: pathlib.Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "harm"),)

    data = saved(np.array([Evil()], dtype=object))
    for attempt in (lambda: read(tmp_path, data), lambda: unzipped(tmp_path, zipped({"a.npy": data}))):
        with pytest.raises(Npy, match="unrecognized descr O"):
            attempt()
    assert not (tmp_path / "harm").exists()


def test_a_missing_file_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for attempt in (read_npy, read_npz, NpzTensors.new, lambda path: read_npz_by_name(path, ["a"])):
        with pytest.raises(Io) as caught:
            attempt("x.npz")
        assert str(caught.value) == 'path: "x.npz" No such file or directory (os error 2)'
    with pytest.raises(Io, match="Is a directory"):
        read_npz(tmp_path)


def npy_mend(data: bytearray) -> None:
    """Makes the header's length right again."""
    end = data.find(b"}", 10) + 1
    if end > 10:
        data[6:10] = b"\1\0" + (end - 10).to_bytes(2, "little")


def numpy_agrees(folder: pathlib.Path, data: bytes) -> bool:
    """Whether the file loads; then NumPy must read the same."""
    try:
        ours = read(folder, data)
    except Error:
        return False
    try:
        theirs = np.load(io.BytesIO(data), allow_pickle=False)
    except ValueError as error:  # candle's forms, which NumPy refuses
        assert "descr" in str(error) or "keys" in str(error)
        return True
    np.testing.assert_array_equal(ours.numpy(), theirs)
    return True


def test_damaged_files_load_right_or_raise(tmp_path: pathlib.Path) -> None:
    seeds = [
        npy_of(header_of("'<f4'", "(2, 1)"), b"12345678"),
        npy_of(header_of("'|b1'", "(3,)"), b"\0\1\1"),
        npy_of(header_of("'>i2'", "(2, 2)", "True"), b"12345678"),
        saved(np.float64(3.5)),
        saved(np.zeros((0, 3), np.float32), (2, 0)),
    ]
    files = mutated(seeds, 6_000, seed=3, mend=npy_mend)
    assert sum(numpy_agrees(tmp_path, data) for data in files) > 50, "some changes must do no harm"


# -- npz, there and back


def test_names_and_tensors_in_their_order(tmp_path: pathlib.Path) -> None:
    """candle's own case: names keep their order, and come back by name."""
    write_npz([("z", t([1.0])), ("a", t([[2]], np.int64)), ("m", t(3.0))], tmp_path / "f.npz")
    assert [(name, tensor.numpy().tolist()) for name, tensor in read_npz(tmp_path / "f.npz")] == [
        ("z", [1.0]),
        ("a", [[2]]),
        ("m", 3.0),
    ]
    assert [x.numpy().tolist() for x in read_npz_by_name(tmp_path / "f.npz", ["m", "z"])] == [3.0, [1.0]]


def test_a_mapping_can_be_written(tmp_path: pathlib.Path) -> None:
    write_npz({"b": t([1.0]), "a": t([2.0])}, tmp_path / "f.npz")
    assert [name for name, _ in read_npz(tmp_path / "f.npz")] == ["b", "a"]


def test_numpy_reads_ours_and_we_read_numpys(tmp_path: pathlib.Path) -> None:
    arrays = {dtype.as_str(): np.arange(6).reshape(2, 3).astype(dtype.numpy) for dtype in SAVED}
    write_npz({name: Tensor.from_numpy(a) for name, a in arrays.items()}, tmp_path / "ours.npz")
    with np.load(tmp_path / "ours.npz") as found:
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype
    for save in (np.savez, np.savez_compressed):
        others = {"fortran": np.asfortranarray(arrays["f32"]), "swapped": arrays["f64"].astype(">f8")}
        save(tmp_path / "theirs.npz", **arrays, **others)
        found = dict(read_npz(tmp_path / "theirs.npz"))
        assert all(found[name].numpy().tolist() == array.tolist() for name, array in arrays.items())
        assert found["fortran"].numpy().tolist() == found["swapped"].numpy().tolist() == arrays["f32"].tolist()


def test_the_same_tensors_give_the_same_bytes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_npz([("a", t([1.0]))], tmp_path / "1")
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    write_npz([("a", t([1.0]))], tmp_path / "2")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


@pytest.mark.parametrize("name", ["", "a/b", "../../x", "/etc/passwd", "日本", "x.npy", "a\nb", "C:\\x", "😀"])
def test_names_are_keys_and_nothing_else(tmp_path: pathlib.Path, name: str) -> None:
    write_npz([(name, t([1.0])), ("other", t([2.0]))], tmp_path / "f.npz")
    assert [n for n, _ in read_npz(tmp_path / "f.npz")] == [name, "other"]
    assert NpzTensors.new(tmp_path / "f.npz").get(name).to_vec1() == [1.0]  # type: ignore[union-attr]
    assert os.listdir(tmp_path) == ["f.npz"]


@pytest.mark.parametrize(
    ("tensors", "text"),
    [
        ([("a", t([1.0])), ("a", t([2.0]))], "npy/npz error two arrays have the name a"),
        ([("a\0b", t([1.0]))], r"npy/npz error invalid name 'a\x00b': a zip archive cannot hold it"),
        ([("\ud800", t([1.0]))], r"npy/npz error invalid name '\ud800': it is not Unicode"),
        ([("a" * 70_000, t([1.0]))], "npy/npz error invalid name 'aaaa"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(tmp_path: pathlib.Path, tensors: Any, text: str) -> None:
    with pytest.raises(Npy) as caught:
        write_npz(tensors, tmp_path / "f.npz")
    assert str(caught.value).startswith(text) and os.listdir(tmp_path) == []


# -- one at a time


def test_tensors_are_read_when_asked_for(tmp_path: pathlib.Path) -> None:
    write_npz([("w", t([[1.0, 2.0]])), ("flags", t([1, 0], np.uint8))], tmp_path / "f.npz")
    archive = NpzTensors.new(tmp_path / "f.npz")
    assert archive.names() == ["w", "flags"]
    assert archive.get_shape_and_dtype("w") == ((1, 2), DType.F32)
    assert archive.get("w").to_vec2() == [[1.0, 2.0]]  # type: ignore[union-attr]
    assert archive.get("x") is None
    with pytest.raises(CannotFindTensor) as caught:
        archive.get_shape_and_dtype("flag")
    assert str(caught.value) == "cannot find tensor flag" and caught.value.__notes__ == ["help: did you mean `flags`?"]


def test_the_dtype_told_is_the_one_read(tmp_path: pathlib.Path) -> None:
    data = zipped({"a.npy": saved(np.array([True])), "b.npy": saved(np.array([1], ">u2"))})
    (tmp_path / "f.npz").write_bytes(data)
    archive = NpzTensors.new(tmp_path / "f.npz")
    for name in "ab":
        assert archive.get_shape_and_dtype(name)[1] is archive.get(name).dtype  # type: ignore[union-attr]


def test_a_name_that_is_not_there(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "f.npz"
    write_npz([("weight", t([1.0]))], path)
    with pytest.raises(Npy) as caught:
        read_npz_by_name(path, ["wieght"])
    assert str(caught.value) == f'npy/npz error no array for wieght in "{path}"'
    assert caught.value.__notes__ == ["help: did you mean `weight`?"]


# -- archives that were never right


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: pathlib.Path) -> None:
    zeros = saved(np.zeros(100 << 20, np.uint8))
    bomb = zipped({"a.npy": zeros}, zipfile.ZIP_DEFLATED)
    assert len(zeros) > 900 * len(bomb)
    del zeros
    (tmp_path / "f.npz").write_bytes(bomb)
    tracemalloc.start()
    for attempt in (
        lambda: read_npz(tmp_path / "f.npz"),
        lambda: read_npz_by_name(tmp_path / "f.npz", ["a"]),
        lambda: NpzTensors.new(tmp_path / "f.npz").get("a"),
    ):
        with pytest.raises(Npy, match="the arrays announce 104857728 bytes, the limit for this archive is 67108864"):
            attempt()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    ((_, tensor),) = read_npz(tmp_path / "f.npz", max_bytes=200 << 20)
    assert tensor.shape == (100 << 20,)


def test_many_members_share_one_limit(tmp_path: pathlib.Path) -> None:
    data = zipped({f"{i}.npy": saved(np.zeros(2 << 20, np.uint8)) for i in range(40)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(Npy, match="the limit for this archive is 67108864"):
        unzipped(tmp_path, data)
    assert len(read_npz_by_name(tmp_path / "f.npz", [str(i) for i in range(20)])) == 20


def test_a_limit_of_ones_own(tmp_path: pathlib.Path) -> None:
    data = zipped({"a.npy": saved(np.zeros(1000))})
    with pytest.raises(Npy, match="the limit for this archive is 1000"):
        unzipped(tmp_path, data, max_bytes=1000)


def test_a_member_that_lies_about_its_size(tmp_path: pathlib.Path) -> None:
    data = zipped({"a.npy": saved(np.zeros(1000))}, zipfile.ZIP_DEFLATED)
    size = len(saved(np.zeros(1000)))
    for lie in (size - 8, size + 8, 130, 0, 50_000_000):
        wrong = data.replace(size.to_bytes(4, "little"), lie.to_bytes(4, "little"))
        assert wrong != data
        tracemalloc.start()
        with pytest.raises(Npy):
            unzipped(tmp_path, wrong)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2_000_000


def test_a_changed_byte_is_seen(tmp_path: pathlib.Path) -> None:
    data = bytearray(zipped({"a.npy": good}))
    data[data.index(good) + len(good) - 1] ^= 1
    with pytest.raises(Npy, match=r"^npy/npz error invalid Zip archive: Bad CRC-32"):
        unzipped(tmp_path, bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_are_refused(tmp_path: pathlib.Path, method: int) -> None:
    with pytest.raises(Npy, match=f"^npy/npz error unsupported Zip archive: compression method {method}$"):
        unzipped(tmp_path, zipped({"a.npy": good}, method))


def test_a_password_is_refused(tmp_path: pathlib.Path) -> None:
    data = zipped({"a.npy": good})
    flag = data.index(b"PK\1\2") + 8
    with pytest.raises(Npy, match=r"^npy/npz error unsupported Zip archive: .*encrypted"):
        unzipped(tmp_path, data[:flag] + b"\1" + data[flag + 1 :])


@pytest.mark.parametrize("data", [b"", b"PK", good, b"PK\5\6" + bytes(18)[:17], zipped({"a.npy": good})[:-30]])
def test_what_is_no_archive(tmp_path: pathlib.Path, data: bytes) -> None:
    with pytest.raises(Npy, match=r"^npy/npz error invalid Zip archive: "):
        unzipped(tmp_path, data)


def test_a_member_that_is_no_array(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Npy, match=r"^npy/npz error magic string mismatch$"):
        unzipped(tmp_path, zipped({"readme.txt": b"hello, hello"}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_comes_twice(tmp_path: pathlib.Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.npy", good)
        archive.writestr("a.npy", good)
    with pytest.raises(Npy, match=r"^npy/npz error two arrays have the name a$"):
        unzipped(tmp_path, file.getvalue())


def test_damaged_archives_load_right_or_raise(tmp_path: pathlib.Path) -> None:
    seeds = [
        zipped({"a.npy": good, "b.npy": saved(np.int64(7))}),
        zipped({"a.npy": good}, zipfile.ZIP_DEFLATED),
        zipped({}),
    ]
    loaded = 0
    for data in mutated(seeds, 6_000, seed=4, mend=lambda data: None):
        try:
            found = unzipped(tmp_path, data)
        except Error:
            continue
        loaded += 1
        for tensor in found.values():
            assert tensor.numpy().tolist() in ([1.0, 2.0], 7), "what loads has passed its checksum"
    assert loaded > 50
