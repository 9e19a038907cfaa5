"""safetensors files: what is saved comes back, the library agrees in both directions, and no file can do harm."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import resource
import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors as library
import safetensors.numpy
from mutating import mutated

from cafe.dtype import DType
from cafe.errors import CannotFindTensor, Error, Io, SafeTensor, UnsupportedSafeTensorDtype
from cafe.io.safetensors import (
    BufferedSafetensors,
    MmapedSafetensors,
    SliceSafetensors,
    load,
    load_buffer,
    save,
    save_safetensors,
)
from cafe.tensor.core import Tensor, Var


def t(values: Any, dtype: Any = np.float32) -> Tensor:
    return Tensor.from_numpy(np.array(values, dtype=dtype))


def some(dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """Values that no other dtype would print alike."""
    count = int(np.prod(shape))
    values = np.arange(count) % 200 + (0.5 if dtype.is_float else 0)
    return Tensor.from_numpy(values.astype(dtype.numpy).reshape(shape))


def same(a: Tensor, b: Tensor) -> bool:
    """The same dtype, shape and bits."""
    return (a.dtype, a.shape, a.numpy().tobytes()) == (b.dtype, b.shape, b.numpy().tobytes())


def file_of(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    """A file with this header, which may be text or bytes that no writer would write."""
    if not isinstance(header, str | bytes):
        header = json.dumps(header)
    raw = header.encode() if isinstance(header, str) else header
    return (len(raw) if length is None else length).to_bytes(8, "little") + raw + data


def entry(dtype: str = "F32", shape: Any = (1,), offsets: Any = (0, 4)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


# -- there and back


@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 5), (2, 0, 3), (2, 1, 3, 1, 2)])
def test_every_dtype_and_shape_comes_back(tmp_path: pathlib.Path, dtype: DType, shape: tuple[int, ...]) -> None:
    saved = some(dtype, shape)
    save({"t": saved}, tmp_path / "f")
    loaded = load(tmp_path / "f")
    assert list(loaded) == ["t"] and same(loaded["t"], saved)
    assert same(load_buffer((tmp_path / "f").read_bytes())["t"], saved)
    assert same(MmapedSafetensors.new(tmp_path / "f").load("t"), saved)


def test_bits_that_are_no_number_come_back(tmp_path: pathlib.Path) -> None:
    for dtype in (DType.BF16, DType.F16):
        every = Tensor.from_numpy(np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy))
        save({"t": every}, tmp_path / "f")
        assert same(load(tmp_path / "f")["t"], every), dtype


@pytest.mark.parametrize("name", ["", "a.b", "..", "../../x", "/etc/passwd", "日本", "a\nb", 'q"uo\\te', "\0", "😀"])
def test_odd_names(tmp_path: pathlib.Path, name: str) -> None:
    save({name: t([1.0]), "other": t([2.0])}, tmp_path / "f")
    assert load(tmp_path / "f")[name].to_vec1() == [1.0]
    assert dict(library.deserialize((tmp_path / "f").read_bytes()))[name]["shape"] == [1]
    assert os.listdir(tmp_path) == ["f"]


def test_ten_thousand_names(tmp_path: pathlib.Path) -> None:
    save({f"layer.{i}.weight": t([i]) for i in range(10_000)}, tmp_path / "f")
    loaded = load(tmp_path / "f")
    assert len(loaded) == 10_000 and list(loaded) == sorted(loaded)
    assert all(loaded[f"layer.{i}.weight"].to_vec1() == [i] for i in range(0, 10_000, 997))


def test_an_empty_file_of_tensors(tmp_path: pathlib.Path) -> None:
    save({}, tmp_path / "f")
    assert load(tmp_path / "f") == {} and (tmp_path / "f").read_bytes() == file_of("{}      ")


def test_one_tensor_by_name(tmp_path: pathlib.Path) -> None:
    save_safetensors(t([[0, 0], [0, 0]]), "t", tmp_path / "f")
    header = b'{"t":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}       '
    candles = b"@\0\0\0\0\0\0\0" + header + b"\0" * 16  # from candle's own test
    assert (tmp_path / "f").read_bytes() == candles


def test_what_is_loaded_belongs_to_nobody_else(tmp_path: pathlib.Path) -> None:
    save({"t": t([1.0, 2.0])}, tmp_path / "f")
    before = (tmp_path / "f").read_bytes()
    var = Var.from_tensor(load(tmp_path / "f")["t"])
    var.set(t([5.0, 6.0]))
    assert (tmp_path / "f").read_bytes() == before
    buffer = bytearray(before)
    tensor = load_buffer(buffer)["t"]
    buffer[-8:] = bytes(8)
    assert tensor.to_vec1() == [1.0, 2.0]


# -- the library agrees


def mixed() -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    arrays = {f"{d}.{i}": some(d, (2, 3)).numpy() for d in DType for i in "ba"}
    return {**arrays, "empty": np.zeros((0, 2), np.float32), "scalar": np.array(rng.random(), np.float64)}


def test_our_bytes_are_the_librarys(tmp_path: pathlib.Path) -> None:
    arrays = {name: a for name, a in mixed().items() if a.dtype != ml_dtypes.bfloat16}
    for metadata in (None, {"format": "pt"}):
        save({name: Tensor.from_numpy(a) for name, a in arrays.items()}, tmp_path / "f", metadata)
        assert (tmp_path / "f").read_bytes() == library.numpy.save(arrays, metadata)


def test_the_library_reads_our_bf16(tmp_path: pathlib.Path) -> None:
    save({"t": t([[1.5, -2.0]]).to_dtype(DType.BF16)}, tmp_path / "f")
    ((name, found),) = library.deserialize((tmp_path / "f").read_bytes())
    assert (name, found["dtype"], found["shape"], bytes(found["data"])) == ("t", "BF16", [1, 2], b"\xc0\x3f\x00\xc0")


def test_the_order_does_not_depend_on_the_order_given(tmp_path: pathlib.Path) -> None:
    tensors = {name: Tensor.from_numpy(a) for name, a in mixed().items()}
    save(tensors, tmp_path / "a", {"x": "1", "a": "2"})
    save(dict(reversed(tensors.items())), tmp_path / "b", {"a": "2", "x": "1"})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# -- dtypes without a tensor of their own


@pytest.mark.parametrize(
    ("stored", "array", "home"),
    [
        ("BOOL", np.array([0, 1, 1, 0], np.bool_), DType.U8),
        ("I8", np.array([-128, 127], np.int8), DType.I16),
        ("U16", np.array([0, 65535], np.uint16), DType.U32),
        ("F8_E4M3", np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn), DType.F16),
        ("F8_E5M2", np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2), DType.F16),
        ("F8_E4M3FNUZ", np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fnuz), DType.F16),
        ("F8_E5M2FNUZ", np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2fnuz), DType.F16),
        ("F8_E8M0", np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu), DType.F32),
    ],
)
def test_an_exact_home(stored: str, array: Any, home: DType) -> None:
    tensor = load_buffer(file_of({"t": entry(stored, [array.size], [0, array.nbytes])}, array.tobytes()))["t"]
    assert tensor.dtype is home
    np.testing.assert_array_equal(tensor.numpy().astype(np.float64), array.astype(np.float64))


def test_any_byte_but_zero_is_true() -> None:
    data = file_of({"t": entry("BOOL", [3], [0, 3])}, b"\x00\x02\xff")
    assert load_buffer(data)["t"].to_vec1() == [0, 1, 1]


@pytest.mark.parametrize(
    ("stored", "shape", "size"),
    [("U64", [1], 8), ("C64", [1], 8), ("F4", [4], 2), ("F6_E2M3", [4], 3), ("F6_E3M2", [4], 3)],
)
def test_no_home(stored: str, shape: list[int], size: int) -> None:
    data = file_of({"t": entry(stored, shape, [0, size]), "u": entry("U8", [1], [size, size + 1])}, bytes(size) + b"\7")
    with pytest.raises(UnsupportedSafeTensorDtype) as caught:
        load_buffer(data)
    assert str(caught.value) == f"unsupported safetensor dtype {stored}"
    file = BufferedSafetensors.new(data)
    assert file.load("u").to_vec1() == [7], "the file's other tensors can be had"
    assert (file.get("t").dtype, file.get("t").shape, len(file.get("t").data)) == (stored, tuple(shape), size)


# -- files that were never right

BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "header too small"),
    "seven bytes": (b"\2\0\0\0\0\0\0", "header too small"),
    "length 0": (file_of(""), "invalid JSON in header: "),
    "length beyond the file": (file_of("{}", length=3), "invalid header length"),
    "length 100 MB + 1": (file_of("{}", length=100_000_001), "header too large"),
    "length 2^63": (file_of("{}", length=2**63), "header too large"),
    "length 2^64 - 1": (file_of("{}", length=2**64 - 1), "header too large"),
    "no UTF-8": (file_of(b'{"\xff":1}'), "invalid UTF-8 in header: "),
    "a list": (file_of([]), "invalid JSON in header: "),
    "a number": (file_of("3"), "invalid JSON in header: "),
    "half an object": (file_of('{"a":'), "invalid JSON in header: "),
    "zero bytes behind it": (file_of("{}\0\0"), "invalid JSON in header: "),
    "a byte order mark": (file_of("\ufeff{}"), "invalid JSON in header: "),
    "NaN": (file_of('{"a":NaN}'), "invalid JSON in header: "),
    "100,000 brackets": (file_of('{"a":' + "[" * 100_000), "invalid JSON in header: "),
    "a number of 10,000 digits": (file_of('{"a":' + "9" * 10_000 + "}"), "invalid JSON in header: "),
    "half a surrogate pair": (file_of('{"\\ud800":' + json.dumps(entry()) + "}", b"1234"), "invalid JSON in header: "),
    "a tensor that is a number": (file_of({"a": 3}), "invalid JSON in header: "),
    "no offsets": (file_of({"a": {"dtype": "F32", "shape": [1]}}, b"1234"), "invalid JSON in header: missing field"),
    "three offsets": (file_of({"a": entry(offsets=[0, 4, 8])}, b"1234"), "invalid JSON in header: "),
    "a dtype that is a number": (file_of({"a": entry(dtype=7)}, b"1234"), "invalid JSON in header: "),  # type: ignore[arg-type]
    "a negative dim": (file_of({"a": entry(shape=[-1])}, b"1234"), "invalid JSON in header: "),
    "half a dim": (file_of({"a": entry(shape=[1.0])}, b"1234"), "invalid JSON in header: "),
    "a dim that is true": (file_of({"a": entry(shape=[True])}, b"1234"), "invalid JSON in header: "),
    "a dim of 2^64": (file_of({"a": entry(shape=[2**64])}, b"1234"), "invalid JSON in header: "),
    "a shape that is a number": (file_of({"a": entry(shape=1)}, b"1234"), "invalid JSON in header: "),
    "metadata that is a list": (file_of({"__metadata__": []}), "invalid JSON in header: "),
    "metadata that is a number": (file_of({"__metadata__": {"a": 1}}), "invalid JSON in header: "),
    "a tensor named __metadata__": (file_of({"__metadata__": entry()}, b"1234"), "invalid JSON in header: "),
    "reversed offsets": (file_of({"a": entry(offsets=[4, 0])}, b"1234"), "invalid offset for tensor `a`"),
    "overlapping offsets": (
        file_of({"a": entry(), "b": entry(offsets=[2, 6])}, b"123456"),
        "invalid offset for tensor `b`",
    ),
    "a hole": (file_of({"a": entry(), "b": entry(offsets=[8, 12])}, bytes(12)), "invalid offset for tensor `b`"),
    "a hole at the start": (file_of({"a": entry(offsets=[4, 8])}, bytes(8)), "invalid offset for tensor `a`"),
    "offsets beyond the end": (
        file_of({"a": entry(shape=[2], offsets=[0, 8])}, b"1234"),
        "incomplete metadata, file not fully covered",
    ),
    "offsets of 2^60": (
        file_of({"a": entry("U8", [2**60], [0, 2**60])}, b"1234"),
        "incomplete metadata, file not fully covered",
    ),
    "offsets of 2^63": (
        file_of({"a": entry("U8", [2**63], [0, 2**63])}, b"1234"),
        "overflow computing buffer size from shape and/or element type",
    ),
    "bytes left over": (file_of({"a": entry()}, b"12345"), "incomplete metadata, file not fully covered"),
    "bytes without a tensor": (file_of({}, b"1"), "incomplete metadata, file not fully covered"),
    "another shape": (
        file_of({"a": entry(shape=[3])}, b"1234"),
        "invalid shape, data type, or offset for tensor",
    ),
    "half a number of F4": (
        file_of({"a": entry("F4", [3], [0, 2])}, b"12"),
        "invalid shape, data type, or offset for tensor",
    ),
    "a shape beyond 2^64": (
        file_of({"a": entry(shape=[2**63, 4])}, b"1234"),
        "overflow computing buffer size from shape and/or element type",
    ),
    "a shape beyond 2^64 times none": (
        file_of({"a": entry(shape=[2**63, 4, 0], offsets=[0, 0])}),
        "overflow computing buffer size from shape and/or element type",
    ),
    "a million dims of 2^63": (
        file_of({"a": entry(shape=[2**63] * 100_000)}, b"1234"),
        "overflow computing buffer size from shape and/or element type",
    ),
    "an empty shape that NumPy cannot have": (
        file_of({"a": entry(shape=[0, 2**63], offsets=[0, 0])}),
        "invalid shape, data type, or offset for tensor",
    ),
    "more dims than NumPy has": (
        file_of({"a": entry(shape=[1] * 100)}, b"1234"),
        "invalid shape, data type, or offset for tensor",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_named_error(tmp_path: pathlib.Path, case: str) -> None:
    data, text = BAD[case]
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(SafeTensor) as caught:
        load_buffer(data)
    assert str(caught.value).startswith(text)
    assert len(str(caught.value)) < 500, "a hostile file must not write our messages"
    with pytest.raises(SafeTensor) as caught:
        load(tmp_path / "f")
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("case", [case for case, (_, text) in BAD.items() if not text.endswith(": ")])
def test_the_words_are_the_librarys(case: str) -> None:
    data, text = BAD[case]
    if "NumPy" in case:
        library.deserialize(data)  # the library has no arrays to make
    elif "F4" in case:
        with pytest.raises(library.SafetensorError, match="does not end up at a byte boundary"):
            library.deserialize(data)  # it has a sentence of its own for this
    else:
        with pytest.raises(library.SafetensorError, match=f"^Error while deserializing: {text}"):
            library.deserialize(data)


@pytest.mark.parametrize(
    "header",
    [
        '{"a":' + json.dumps(entry()) + ',"a":' + json.dumps(entry(offsets=[4, 8])) + "}",
        '{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
        '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"x":"1","x":"2"}}',
    ],
)
def test_a_key_that_comes_twice_is_named(header: str) -> None:
    with pytest.raises(SafeTensor, match=r"^invalid JSON in header: duplicate key `(a|dtype|x)`$"):
        load_buffer(file_of(header, bytes(8)))


def test_an_unknown_dtype_is_named() -> None:
    with pytest.raises(UnsupportedSafeTensorDtype) as caught:
        load_buffer(file_of({"a": entry("F33")}, b"1234"))
    assert str(caught.value) == "unsupported safetensor dtype F33"
    with pytest.raises(UnsupportedSafeTensorDtype) as caught:
        load_buffer(file_of({"a": entry("F" * 10_000)}, b"1234"))
    assert len(str(caught.value)) < 200


def test_an_empty_tensor_between_others_and_unknown_fields_are_fine() -> None:
    fields = {"a": entry(), "b": entry(shape=[0], offsets=[4, 4]), "c": {**entry(offsets=[4, 8]), "comment": 3}}
    assert sorted(load_buffer(file_of(fields, bytes(8)))) == ["a", "b", "c"]
    assert load_buffer(file_of({"__metadata__": {}})) == {}
    assert load_buffer(file_of('{"__metadata__":null}  ')) == {}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_takes_no_memory(case: str) -> None:
    data = BAD[case][0]
    tracemalloc.start()
    with pytest.raises(SafeTensor):
        load_buffer(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000 + 40 * len(data)


def mend(data: bytearray) -> None:
    """Makes the length right again, so that a change in the header is seen as such."""
    end = data.rfind(b"}") + 1
    if end > 8:
        data[:8] = (end - 8).to_bytes(8, "little")


def agreed(data: bytes) -> bool:
    """Whether the file loads; then the library must read the same, and where it refuses cafe must, too."""
    try:
        ours = load_buffer(data)
    except Error:
        return False
    theirs = dict(library.deserialize(data))
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert list(tensor.shape) == theirs[name]["shape"]
        if tensor.dtype.name == theirs[name]["dtype"]:
            assert tensor.numpy().tobytes() == theirs[name]["data"]
    return True


def test_damaged_files_load_right_or_raise(tmp_path: pathlib.Path) -> None:
    arrays = {name: mixed()[name] for name in ("f32.a", "u8.a", "bf16.b", "empty")}
    save({name: Tensor.from_numpy(a) for name, a in arrays.items()}, tmp_path / "f", {"a": "b"})
    seeds = [
        (tmp_path / "f").read_bytes(),
        file_of({"a": entry(), "b": entry("F64", [], [4, 12]), "c": entry("U8", [0, 3], [12, 12])}, bytes(12)),
        file_of({"x": entry("I8", [2, 1], [0, 2])}, b"12"),
    ]
    assert sum(map(agreed, mutated(seeds, 6_000, seed=1, mend=mend))) > 50, "some changes must do no harm"


def invented(rng: np.random.Generator) -> bytes:
    """A well-formed header whose sizes are right more often than not."""
    header: dict[str, Any] = {}
    end = 0
    for name in "abcd"[: int(rng.integers(5))]:
        dtype = str(rng.choice(["BOOL", "U8", "I8", "U16", "F16", "BF16", "F32", "F64", "I64"]))
        width = {"BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "F16": 2, "BF16": 2, "F32": 4}.get(dtype, 8)
        shape = [int(n) for n in rng.choice([0, 1, 2, 3], size=int(rng.integers(4)))]
        start, end = end, end + width * int(np.prod(shape))
        header[name] = entry(dtype, shape, [start, end])
        if rng.random() < 0.1:
            header[name]["data_offsets"][int(rng.integers(2))] += int(rng.choice([-1, 1, 8, 2**62, 2**64]))
        if rng.random() < 0.1:
            header[name]["shape"] += [int(rng.choice([0, 1, -1, 2**32, 2**63, 2**64]))]
    names = list(header)
    rng.shuffle(names)
    extra = int(rng.integers(1, 9)) if rng.random() < 0.1 else 0
    return file_of({name: header[name] for name in names}, rng.bytes(end + extra))


def test_invented_headers_are_taken_exactly_when_the_library_takes_them() -> None:
    rng = np.random.default_rng(2)
    taken = 0
    for _ in range(4_000):
        data = invented(rng)
        if agreed(data):
            taken += 1
        else:
            try:
                views = library.deserialize(data)
            except library.SafetensorError:
                continue
            assert any(max(view["shape"], default=0) >= 2**32 for _, view in views), "NumPy cannot have this shape"
    assert 1_000 < taken < 3_000


# -- the map


def test_a_map_reads_what_is_asked_for(tmp_path: pathlib.Path) -> None:
    save({"w": t([[1.0, 2.0]]), "b": t([3.0])}, tmp_path / "f", {"step": "3"})
    file = MmapedSafetensors.new(tmp_path / "f")
    assert file.names() == ["b", "w"] and len(file) == 2 and "w" in file and "x" not in file
    assert file.metadata == {"step": "3"}
    assert [(name, view.dtype, view.shape, len(view.data)) for name, view in file.tensors()] == [
        ("b", "F32", (1,), 4),
        ("w", "F32", (1, 2), 8),
    ]
    assert file.load("w").to_vec2() == [[1.0, 2.0]] and file.get("b").load().to_vec1() == [3.0]


def test_a_name_that_is_not_there(tmp_path: pathlib.Path) -> None:
    save({"layer.weight": t([1.0])}, tmp_path / "f")
    with pytest.raises(SafeTensor) as caught:
        MmapedSafetensors.new(tmp_path / "f").load("layer.wieght")
    assert str(caught.value) == "tensor `layer.wieght` not found" and isinstance(caught.value, KeyError)
    assert caught.value.__notes__ == ["help: did you mean `layer.weight`?"]
    with pytest.raises(CannotFindTensor) as missing:
        MmapedSafetensors.multi([tmp_path / "f"]).load("x")
    assert str(missing.value) == "cannot find tensor x"


def test_of_several_files_the_later_counts(tmp_path: pathlib.Path) -> None:
    save({"a": t([1.0]), "b": t([1.0])}, tmp_path / "1", {"from": "1", "one": "1"})
    save({"b": t([2.0]), "c": t([2.0])}, tmp_path / "2", {"from": "2"})
    file = MmapedSafetensors.multi([tmp_path / "1", tmp_path / "2"])
    assert [file.load(name).to_vec1() for name in file.names()] == [[1.0], [2.0], [2.0]]
    assert file.names() == ["a", "b", "c"] and file.metadata == {"from": "2", "one": "1"}


def test_a_mapped_file_can_be_replaced_by_what_was_read_from_it(tmp_path: pathlib.Path) -> None:
    save({"w": t([1.0])}, tmp_path / "f")
    old = MmapedSafetensors.new(tmp_path / "f")
    save({"w": old.load("w") * 2.0}, tmp_path / "f")
    assert old.load("w").to_vec1() == [1.0] and load(tmp_path / "f")["w"].to_vec1() == [2.0]


def test_a_map_reads_only_the_pages_it_needs(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "sparse"
    size = 8 << 30
    header = file_of({"big": entry("U8", [size], [4, 4 + size]), "small": entry()})
    with open(path, "wb") as file:
        file.write(header + np.float32(7).tobytes())
        file.truncate(len(header) + 4 + size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert MmapedSafetensors.new(path).load("small").to_vec1() == [7.0]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="only Linux tells what is mapped")
def test_maps_are_let_go(tmp_path: pathlib.Path) -> None:
    save({"w": t([1.0])}, tmp_path / "f")
    tensor = load(tmp_path / "f")["w"]
    gc.collect()
    assert str(tmp_path) not in pathlib.Path("/proc/self/maps").read_text()
    assert tensor.to_vec1() == [1.0]


def test_a_missing_file_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for read in (load, MmapedSafetensors.new, lambda path: MmapedSafetensors.multi([path])):
        with pytest.raises(Io) as caught:
            read("x.safetensors")
        assert str(caught.value) == 'path: "x.safetensors" No such file or directory (os error 2)'
    with pytest.raises(Io, match=r"Is a directory \(os error 21\)"):
        load(tmp_path)


def test_slices_are_buffers() -> None:
    data = memoryview(file_of({"a": entry()}, b"\0\0\x80\x3f"))
    assert SliceSafetensors.new(data).load("a").to_vec1() == [1.0]


def test_a_device_must_be_one(tmp_path: pathlib.Path) -> None:
    save({"t": t([1.0])}, tmp_path / "f")
    with pytest.raises(TypeError, match="expected a Device"):
        load(tmp_path / "f", "cpu")  # type: ignore[arg-type]
