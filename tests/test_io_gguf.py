"""GGUF files: metadata and every type come back, the gguf package agrees, and no file can do harm."""

from __future__ import annotations

import pathlib
import struct
import tracemalloc
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from expect import raises
from mutating import mutated

from cafe import DType, Error, kernels, nn
from cafe.errors import CannotFindTensor, FormatError, Io, UnexpectedShape
from cafe.io.gguf import GgufFile, load
from cafe.kernels.quant import PACKED

Q8_0, F32 = 8, 0


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def entry(name: str, dims: tuple[int, ...], kind: int, offset: int) -> bytes:
    """What a header says of a tensor; dims innermost first, as there."""
    return text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", kind, offset)


def file_of(
    keys: Mapping[str, tuple[int, bytes]], entries: list[bytes], body: bytes = b"", counts: tuple[int, int] | None = None, version: int = 3
) -> bytes:
    """A file: keys with a type and the bytes of a value, tensors, their numbers."""
    tensors, values = (len(entries), len(keys)) if counts is None else counts
    head = b"GGUF" + struct.pack("<IQQ", version, tensors, values)
    head += b"".join(text(key) + struct.pack("<I", kind) + value for key, (kind, value) in keys.items()) + b"".join(entries)
    return head + bytes(-len(head) % 32) + body if body else head


def array(kind: int, count: int, items: bytes) -> bytes:
    return struct.pack("<IQ", kind, count) + items


KEYS = {
    "u8": (0, b"\xff"),
    "i8": (1, b"\xff"),
    "u16": (2, struct.pack("<H", 65535)),
    "i16": (3, struct.pack("<h", -2)),
    "u32": (4, struct.pack("<I", 2**32 - 1)),
    "i32": (5, struct.pack("<i", -3)),
    "f32": (6, struct.pack("<f", 0.5)),
    "bool": (7, b"\1"),
    "string": (8, text("caffè")),
    "numbers": (9, array(5, 3, struct.pack("<3i", 1, -2, 3))),
    "strings": (9, array(8, 2, text("a") + text(""))),
    "arrays": (9, array(9, 2, array(0, 1, b"\7") + array(8, 1, text("b")))),
    "u64": (10, struct.pack("<Q", 2**64 - 1)),
    "i64": (11, struct.pack("<q", -4)),
    "f64": (12, struct.pack("<d", 0.1)),
}


def mixed() -> bytes:
    """A file with a row of each plain type and a packed one."""
    plain = [(F32, "<f4"), (1, "<f2"), (24, "<i1"), (25, "<i2"), (26, "<i4"), (27, "<i8"), (28, "<f8"), (30, ml_dtypes.bfloat16)]
    entries, body = [], b""
    for kind, dtype in plain:
        entries.append(entry(f"plain.{kind}", (3, 2), kind, len(body)))
        numbers = np.arange(6).astype(dtype).tobytes()
        body += numbers + bytes(-len(numbers) % 32)
    entries.append(entry("packed", (32, 2), Q8_0, len(body)))
    body += 2 * (np.float16(0.5).tobytes() + bytes(range(32)))
    return file_of(KEYS, entries, body)


# -- there and back


def test_metadata_of_every_type(tmp_path: pathlib.Path) -> None:
    (tmp_path / "f").write_bytes(mixed())
    assert dict(GgufFile.new(tmp_path / "f").metadata) == {
        "u8": 255, "i8": -1, "u16": 65535, "i16": -2, "u32": 2**32 - 1, "i32": -3, "f32": 0.5, "bool": True, "string": "caffè",
        "numbers": [1, -2, 3], "strings": ["a", ""], "arrays": [[7], ["b"]], "u64": 2**64 - 1, "i64": -4, "f64": 0.1,
    }  # fmt: skip


def test_tensors_of_every_plain_type_and_a_packed_one(tmp_path: pathlib.Path) -> None:
    (tmp_path / "f").write_bytes(mixed())
    homes = [DType.F32, DType.F16, DType.I16, DType.I16, DType.I32, DType.I64, DType.F64, DType.BF16, DType.F32]
    tensors = load(tmp_path / "f")
    assert [t.dtype for t in tensors.values()] == homes
    for name, t in tensors.items():
        if name != "packed":
            assert t.to_dtype("f64").tolist() == [[0, 1, 2], [3, 4, 5]], name
    assert tensors["packed"].tolist() == [[i / 2 for i in range(32)]] * 2
    file = GgufFile.new(tmp_path / "f")
    assert (file.version, len(file), "packed" in file, file.names()[-1]) == (3, 9, True, "packed")
    info = file.get("packed")
    assert (info.type, info.dtype, info.shape, len(info.data)) == ("Q8_0", DType.F32, (2, 32), 68)
    with raises(CannotFindTensor, "cannot find tensor pucked", "did you mean `packed`?"):
        file.load("pucked")


def test_version_1_has_short_lengths(tmp_path: pathlib.Path) -> None:
    head = b"GGUF" + struct.pack("<III", 1, 1, 1) + struct.pack("<I", 1) + b"k" + struct.pack("<II", 4, 9)
    head += struct.pack("<I", 1) + b"w" + struct.pack("<IIIQ", 1, 2, F32, 0)
    (tmp_path / "f").write_bytes(head + bytes(-len(head) % 32) + np.array([1.5, 2.5], "<f4").tobytes())
    file = GgufFile.new(tmp_path / "f")
    assert (file.metadata["k"], file.load("w").tolist()) == (9, [1.5, 2.5])


def test_a_builder_unpacks_what_is_asked_for(tmp_path: pathlib.Path) -> None:
    (tmp_path / "f").write_bytes(mixed())
    vb = nn.VarBuilder.from_gguf(tmp_path / "f", "f64")
    assert vb.get((2, 32), "packed").dtype is DType.F64 and vb.get_unchecked("plain.0").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert vb.pp("plain").contains_tensor("0") and not vb.contains_tensor("plain")
    with raises(CannotFindTensor, "cannot find tensor paked", "did you mean `packed`?"):
        vb.get((2, 32), "paked")
    with raises(UnexpectedShape, "shape mismatch for packed, expected: [32, 2], got: [2, 32]", "stored transposed"):
        vb.get((32, 2), "packed")


def test_alignment_is_the_files_own(tmp_path: pathlib.Path) -> None:
    keys = {"general.alignment": (4, struct.pack("<I", 8))}
    head = file_of(keys, [entry("a", (1,), F32, 0), entry("b", (1,), F32, 8)])
    (tmp_path / "f").write_bytes(head + bytes(-len(head) % 8) + struct.pack("<f4xf", 1.0, 2.0))
    assert {name: t.tolist() for name, t in load(tmp_path / "f").items()} == {"a": [1.0], "b": [2.0]}


@pytest.mark.parametrize("kind", PACKED)
def test_the_gguf_package_writes_what_we_read(tmp_path: pathlib.Path, kind: str) -> None:
    gguf = pytest.importorskip("gguf")
    numbers, size = PACKED[kind]
    blocks = np.random.default_rng(3).integers(0, 100, (6, size), dtype=np.uint8)
    writer = gguf.GGUFWriter(tmp_path / "f", "cafe")
    writer.add_string("general.name", "x")
    writer.add_array("tokens", ["a", "b"])
    writer.add_tensor("w", blocks.reshape(3, -1), raw_dtype=gguf.GGMLQuantizationType[kind])
    writer.add_tensor("n", np.arange(6, dtype=np.float16).reshape(2, 3))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = GgufFile.new(tmp_path / "f")
    assert (file.metadata["general.architecture"], file.metadata["tokens"]) == ("cafe", ["a", "b"])
    assert file.load("w").shape == (3, 2 * numbers)
    assert np.array_equal(file.load("w").numpy().reshape(6, -1), kernels.twins.dequantize(blocks, kind), equal_nan=True)
    assert file.load("n").tolist() == [[0, 1, 2], [3, 4, 5]] and file.load("n").dtype is DType.F16


# -- hostile and damaged files

HUGE = 2**62
CASES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not a GGUF file: it does not begin with `GGUF`"),
    "another magic": (b"GGML" + bytes(20), "not a GGUF file: it does not begin with `GGUF`"),
    "another version": (file_of({}, [], version=4), "unsupported GGUF: version 4; versions 1 to 3 are read"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "unsupported GGUF: a big-endian file; versions 1 to 3 are read"),
    "no counts": (b"GGUF" + struct.pack("<I", 3), "the file ends within tensors: 8 bytes announced, 0 are left"),
    "huge tensor count": (file_of({}, [], counts=(HUGE, 0)), f"{HUGE} tensors announced, 8 bytes are left"),
    "huge key count": (file_of({}, [], counts=(0, HUGE)), f"{HUGE} keys announced, 0 bytes are left"),
    "one tensor too many": (file_of({}, [entry("a", (1, 1), F32, 0)], counts=(2, 0)), "the file ends within a tensor's name: 8 bytes"),
    "huge key": (file_of({}, [struct.pack("<Q", HUGE) + bytes(20)], counts=(0, 1)), f"a key of {HUGE} bytes, the limit is 65535"),
    "huge string": (file_of({"k": (8, struct.pack("<Q", HUGE))}, []), f"the file ends within a string: {HUGE} bytes announced, 0 are left"),
    "huge array": (file_of({"k": (9, array(4, HUGE, b""))}, []), f"{HUGE} items of an array announced, 0 bytes are left"),
    "huge array of arrays": (file_of({"k": (9, array(9, HUGE, b""))}, []), f"{HUGE} items of an array announced, 0 bytes are left"),
    "deep arrays": (
        file_of({"k": (9, array(9, 1, array(9, 1, array(9, 1, array(9, 1, array(0, 1, b"1"))))))}, []),
        "arrays nested more than 4 deep",
    ),
    "unknown value": (file_of({"k": (13, b"")}, []), "unknown type of metadata 13"),
    "a key twice": (file_of({"k": (0, b"1" + text("k") + struct.pack("<I", 0) + b"2")}, [], counts=(0, 2)), "two values have the key k"),
    "a key that is no text": (file_of({}, [text(b"\xff") + bytes(8)], counts=(0, 1)), "a key is not UTF-8: invalid start byte at byte 0"),
    "many dims": (file_of({}, [entry("a", (1,) * 5, F32, 0)]), "tensor a has 5 dims, the limit is 4"),
    "huge dims": (
        file_of({}, [entry("a", (HUGE, HUGE), F32, 0)], bytes(32)),
        f"tensor a of {4 * HUGE * HUGE} bytes at 0: the one before it ends at 0, all at 32",
    ),
    "unknown type": (file_of({}, [entry("a", (1,), 99, 0)]), "tensor a has the unknown type 99"),
    "rows that do not divide": (file_of({}, [entry("a", (33,), Q8_0, 0)]), "tensor a: Q8_0 packs 32 numbers, its rows have 33"),
    "a scalar packed": (file_of({}, [entry("a", (), Q8_0, 0)]), "tensor a: Q8_0 packs 32 numbers, its rows have 1"),
    "beyond the end": (
        file_of({}, [entry("a", (8,), F32, 32)], bytes(40)),
        "tensor a of 32 bytes at 32: the one before it ends at 0, all at 40",
    ),
    "huge offset": (file_of({}, [entry("a", (1,), F32, 2**63)], bytes(4)), f"tensor a of 4 bytes at {2**63}: the one before"),
    "askew": (file_of({}, [entry("a", (1,), F32, 4)], bytes(8)), "tensor a of 4 bytes at 4: the one before it ends at 0, all at 8"),
    "one on the other": (
        file_of({}, [entry("a", (9,), F32, 0), entry("b", (1,), F32, 32)], bytes(64)),
        "tensor b of 4 bytes at 32: the one before it ends at 36, all at 64",
    ),
    "one name twice": (file_of({}, [entry("a", (1,), F32, 0), entry("a", (1,), F32, 32)], bytes(64)), "two tensors have the name a"),
    "no alignment": (file_of({"general.alignment": (4, struct.pack("<I", 0))}, []), "general.alignment must be a power of two, got 0"),
    "odd alignment": (file_of({"general.alignment": (8, text("x"))}, []), "general.alignment must be a power of two, got x"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_file_is_one_named_error_and_takes_no_memory(tmp_path: pathlib.Path, case: str) -> None:
    data, words = CASES[case]
    (tmp_path / "f").write_bytes(data)
    tracemalloc.start()
    with pytest.raises(FormatError) as caught:
        GgufFile.new(tmp_path / "f")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value).startswith(words), str(caught.value)
    assert peak < 100_000 and caught.value.__notes__ == [f"in {tmp_path / 'f'}"]


def test_what_candle_quantises_is_read_as_candle_reads_it(tmp_path: pathlib.Path) -> None:
    candle = pytest.importorskip("candle", reason="pip install --no-deps candle-nn")
    values = np.random.default_rng(5).standard_normal((3, 512)).astype(np.float32)
    packed = {kind: candle.Tensor(values.tolist()).quantize(kind.replace("_K", "k").lower()) for kind in PACKED}
    candle.utils.save_gguf(str(tmp_path / "f"), packed, {"general.architecture": "none"})
    file = GgufFile.new(tmp_path / "f")
    assert file.metadata["general.architecture"] == "none" and set(file.names()) == set(PACKED)
    for kind, tensor in packed.items():
        assert file.get(kind).type == kind and file.load(kind).tolist() == tensor.dequantize().values(), kind


def test_types_that_are_not_read_can_be_looked_at(tmp_path: pathlib.Path) -> None:
    (tmp_path / "f").write_bytes(file_of({}, [entry("a", (32,), 20, 0)], bytes(18)))
    file = GgufFile.new(tmp_path / "f")
    assert (file.get("a").type, file.get("a").dtype) == ("IQ4_NL", None)
    with raises(FormatError, "unsupported tensor type IQ4_NL", "Q6_K"):
        file.load("a")


def test_files_that_the_system_refuses(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Io, match="No such file"):
        GgufFile.new(tmp_path / "absent")
    (tmp_path / "f").write_bytes(mixed())
    with pytest.raises(TypeError, match="expected a Device"):
        load(tmp_path / "f", "cpu")  # type: ignore[arg-type]


def read_or_refused(path: pathlib.Path, data: bytes) -> bool:
    """Whether the file is taken; what is not raises an error of ours."""
    path.write_bytes(data)
    try:
        file = GgufFile.new(path)
        values: list[Any] = [file.metadata[key] for key in file.metadata]
        tensors = [file.load(name) for name, info in file.tensor_infos().items() if info.dtype is not None]
    except Error:
        return False
    return len(values) + len(tensors) >= 0


def test_changed_files_are_taken_or_refused(tmp_path: pathlib.Path) -> None:
    seeds = [mixed(), file_of({"k": KEYS["arrays"]}, [entry("a", (256,), 12, 0)], bytes(144))]
    taken = sum(read_or_refused(tmp_path / "f", data) for data in mutated(seeds, 3_000, seed=4, mend=lambda data: None))
    assert 20 < taken < 2_900
