"""PyTorch's files: every dtype, layout and format comes back, nothing in a file is run, and no file can do harm."""

from __future__ import annotations

import gc
import io
import os
import pathlib
import pickle
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pickles
import pytest
from expect import raises
from mutating import mutated
from pickles import MAGIC, archive, dict_of, floats, legacy, named, plain, program, storage, tensor

from cafe import DType, Error, Tensor, nn
from cafe.errors import CannotFindTensor, FormatError, Io, UnexpectedShape
from cafe.io.pth import PthTensors, read_all, read_all_with_key, survey

GOLDEN = pathlib.Path(__file__).parent / "golden"
BOTH = pytest.mark.parametrize("file", [GOLDEN / "weights_zip.pth", GOLDEN / "weights_legacy.pth"], ids=["zip", "legacy"])


def ramp(count: int) -> bytes:
    return np.arange(count, dtype="<f4").tobytes()


# -- what PyTorch wrote


@BOTH
def test_any_strides_out_of_one_storage(file: pathlib.Path) -> None:
    whole = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    wanted = {
        "whole": whole,
        "transposed": whole.transpose(2, 0, 1),
        "offset": np.arange(7, 13).reshape(2, 3),
        "stepped": whole.reshape(12, 5)[1::4, ::2],
        "expanded": np.array([[3, 3, 3], [4, 4, 4]]),
    }
    shared = dict(read_all_with_key(file, "shared"))
    assert list(shared) == list(wanted)
    for name, array in wanted.items():
        assert shared[name].dtype is DType.F32
        assert shared[name].numpy().tolist() == array.tolist(), name
        assert np.shares_memory(shared[name].numpy(), shared["whole"].numpy()), name


@BOTH
def test_every_dtype_has_its_home(file: pathlib.Path) -> None:
    homes = {
        "float32": DType.F32, "float64": DType.F64, "float16": DType.F16, "bfloat16": DType.BF16, "uint8": DType.U8, "int8": DType.I16,
        "int16": DType.I16, "int32": DType.I32, "int64": DType.I64, "bool": DType.U8, "uint16": DType.U32, "uint32": DType.U32,
        "float8_e4m3fn": DType.F16, "float8_e5m2": DType.F16, "complex64": None, "uint64": None,
    }  # fmt: skip
    tensors = PthTensors.new(file, "dtypes")
    assert {name: info.dtype for name, info in tensors.tensor_infos().items()} == homes
    for name, home in homes.items():
        if home is not None:
            assert (got := tensors.get(name)) is not None and got.dtype is home
            assert got.to_dtype("f64").tolist() == ([0, 1, 1, 1] if name == "bool" else [0, 1, 2, 3]), name
    for name, kind in (("complex64", "ComplexFloatStorage"), ("uint64", "torch.uint64")):
        with raises(FormatError, f"unsupported storage type {kind}", "cafe has no dtype that holds all its values"):
            tensors.get(name)


@BOTH
def test_nested_names_plain_values_and_keys(file: pathlib.Path) -> None:
    tensors = PthTensors.new(file)
    assert tensors.values == {"list.2": "text", "step": 10, "rates": [0.5, 0.25]}
    assert {"empty", "scalar", "parameter", "list.0", "list.1.deep", "model.0.weight", "model.1.num_batches_tracked"} < {*tensors.names()}
    got = {name: tensors.get(name) for name in ("empty", "scalar", "parameter", "list.1.deep", "model.1.num_batches_tracked")}
    assert [(t.shape, t.tolist()) for t in got.values() if t is not None] == [
        ((2, 0, 3), [[], []]), ((), 7), ((3,), [0.0, 1.0, 2.0]), ((1,), [0.0]), ((), 0),
    ]  # fmt: skip
    assert tensors.get("absent") is None
    assert [name for name, _ in read_all_with_key(file, "list.1")] == ["deep"]
    assert PthTensors.new(file, "model").names()[0] == "0.weight"
    for key, note in (("modle", "did you mean `model`?"), ("list.5", ""), ("step.x", "")):
        text = f"key {key} not found"
        with raises(FormatError, text, note or f"in {file}"):
            PthTensors.new(file, key)


@BOTH
def test_builders_take_weights_from_it(file: pathlib.Path) -> None:
    vb = nn.VarBuilder.from_pth(file)
    layer = nn.linear(3, 2, vb.pp("model").pp(0))
    assert layer(Tensor([[1.0, 1.0, 1.0]])).tolist() == [[3.0, 13.0]]
    inner = nn.VarBuilder.from_pth_with_state(file, "f64", "shared")
    assert inner.get((5, 3, 4), "transposed").dtype is DType.F64
    assert vb.pp("shared").get((5, 3, 4), "transposed").is_contiguous()
    with raises(CannotFindTensor, "cannot find tensor model.0.wieght", "did you mean `model.0.weight`"):
        vb.pp("model").pp(0).get((2, 3), "wieght")
    with raises(UnexpectedShape, "shape mismatch for model.0.weight, expected: [3, 2], got: [2, 3]", "stored transposed"):
        nn.linear(2, 3, vb.pp("model").pp(0))
    with raises(FormatError, "key state not found"):
        nn.VarBuilder.from_pth_with_state(file, "f32", "state")


@BOTH
def test_what_is_read_outlives_the_file(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "f.pth"
    copy.write_bytes(file.read_bytes())
    tensors = dict(read_all_with_key(copy, "shared"))
    gc.collect()
    if os.path.exists("/proc/self/maps"):
        assert str(copy) not in pathlib.Path("/proc/self/maps").read_text()
    copy.write_bytes(b"")
    assert tensors["offset"].tolist() == [[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_pytorch_agrees_on_every_protocol(tmp_path: pathlib.Path, zipped: bool, protocol: int) -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.LSTM(3, 4, num_layers=2)
    saved = {"state": layer.state_dict(), "t": layer.weight_ih_l0.t(), "n": [torch.tensor(3), torch.ones(2, dtype=torch.bool)]}
    torch.save(saved, tmp_path / "f", _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
    ours = dict(read_all(tmp_path / "f"))
    theirs = {f"state.{name}": value for name, value in saved["state"].items()}
    theirs |= {"t": saved["t"], "n.0": saved["n"][0], "n.1": saved["n"][1]}
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert ours[name].tolist() == [*value.tolist()] if value.ndim else ours[name].tolist() == value.item(), name


# -- what no PyTorch here would write, but one elsewhere did


def test_python_2_and_other_devices(tmp_path: pathlib.Path) -> None:
    pairs = b"]]" + b"U\x01w" + b"a" + floats("0", 2) + b"aa"  # OrderedDict([["w", tensor]]), a list of lists
    root = named("collections", "OrderedDict") + b"(" + pairs + b"tR" + plain({"_metadata": 1}) + b"b"
    path = archive(tmp_path / "f", program(root), {"0": ramp(2)})
    assert [(name, t.tolist()) for name, t in read_all(path)] == [("w", [0.0, 1.0])]
    root = dict_of({"g": tensor(storage("0", 2, module="torch.cuda", location="cuda:3"), 0, (2,), (1,))})
    tensors = PthTensors.new(archive(tmp_path / "f", program(root), {"0": ramp(2)}))
    assert tensors.tensor_infos()["g"].location == "cuda:3"
    assert dict(read_all(tmp_path / "f"))["g"].tolist() == [0.0, 1.0]


def test_the_first_call_had_four_arguments(tmp_path: pathlib.Path) -> None:
    for function in ("_rebuild_tensor", "_rebuild_tensor_v2"):
        call = named("torch._utils", function) + b"(" + storage("0", 6) + plain(1) + plain((2, 2)) + plain((1, 2)) + b"tR"
        [(name, t)] = read_all(archive(tmp_path / "f", program(call), {"0": ramp(6)}))
        assert (name, t.tolist()) == ("", [[1.0, 3.0], [2.0, 4.0]])


def test_views_of_storages_are_offset(tmp_path: pathlib.Path) -> None:
    view = plain("storage") + named("torch", "FloatStorage") + plain("0") + plain("cpu") + plain(6) + plain(("v", 2, 3))
    (tmp_path / "f").write_bytes(legacy(program(dict_of({"w": tensor(b"(" + view + b"tQ", 1, (2,), (1,))})), {"0": ramp(6)}))
    assert dict(read_all(tmp_path / "f"))["w"].tolist() == [3.0, 4.0]


def test_big_endian_files(tmp_path: pathlib.Path) -> None:
    numbers = np.array([1.5, -2.0], dtype=">f4").tobytes()
    root = program(dict_of({"w": floats("0", 2), "b": tensor(storage("1", 2, "BFloat16Storage"), 0, (2,), (1,))}))
    half = b"\x3f\xc0\xc0\x00"
    path = archive(tmp_path / "f", root, {"0": numbers, "1": half}, byteorder=b"big")
    assert {name: t.tolist() for name, t in read_all(path)} == {"w": [1.5, -2.0], "b": [1.5, -2.0]}
    path.write_bytes(legacy(program(dict_of({"w": floats("0", 2)})), {"0": numbers}, little_endian=False))
    assert dict(read_all(path))["w"].tolist() == [1.5, -2.0]


def test_a_few_numbers_expanded_to_many_stay_few(tmp_path: pathlib.Path) -> None:
    huge = tensor(storage("0", 1), 0, (1 << 20, 1 << 20), (0, 0))
    path = archive(tmp_path / "f", program(dict_of({"w": huge})), {"0": ramp(1)})
    tracemalloc.start()
    [(_, t)] = read_all(path)
    assert nn.VarBuilder.from_pth(path).get_unchecked("w").shape == t.shape == (1 << 20, 1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


# -- hostile files: refused by name, and nothing happens


class Reduces:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def attacks(sign: str) -> dict[str, tuple[bytes, str]]:
    """Pickles that would make the file `sign`, and the dotted name that gives each away."""
    touch = f"touch {sign}"
    script = f"open({sign!r}, 'w').close()"
    return {
        "os.system": (pickle.dumps(Reduces(os.system, touch), 2), f"{os.system.__module__}.system"),
        "builtins.eval": (pickle.dumps(Reduces(eval, script), 4), "builtins.eval"),
        "nested tuples": (pickle.dumps({"w": ((((Reduces(os.system, touch),),),),)}, 2), f"{os.system.__module__}.system"),
        "STACK_GLOBAL": (b"\x80\x04\x8c\x05posix\x8c\x06system\x93" + plain(touch) + b"\x85R.", "posix.system"),
        "protocol 0": (b"cposix\nsystem\n(S'" + touch.encode() + b"'\ntR.", "posix.system"),
        "INST": (b"(S'" + touch.encode() + b"'\niposix\nsystem\n.", "posix.system"),
        "OBJ": (b"(cposix\nsystem\nS'" + touch.encode() + b"'\no.", "posix.system"),
        "NEWOBJ": (b"\x80\x02csubprocess\nPopen\n" + plain((touch,)) + b"\x81.", "subprocess.Popen"),
        "BUILD": (b"\x80\x02ctypes\nModuleType\n" + plain(("m",)) + b"R" + plain({"__init__": 1}) + b"b.", "types.ModuleType"),
        "extension": (b"\x80\x02\x82\x05(tR.", "copyreg.extension 5"),
        "dotted": (b"\x80\x04\x8c\x05torch\x8c\x14serialization.os.sys\x93)R.", "torch.serialization.os.sys"),
        "object array": (pickle.dumps(np.array([None, {}], dtype=object), 2), "numpy._core.multiarray._reconstruct"),
        "after a tensor": (program(dict_of({"w": floats("0", 1)}) + b"0" + named("os", "system") + plain((touch,)) + b"R"), "os.system"),
        "then damaged": (b"\x80\x02" + named("os", "system") + plain((touch,)) + b"R\xff", "os.system"),
        "a class of storage": (program(storage("0", 1, "_C.FloatStorage")), "torch._C.FloatStorage"),
        "a whole module": (program(plain("module") + named("__main__", "Net") + b"\x86Q"), "__main__.Net"),
    }


@pytest.mark.parametrize("form", ["zip", "legacy", "bare"])
@pytest.mark.parametrize("attack", attacks(""))
def test_what_could_run_is_refused_by_name(tmp_path: pathlib.Path, attack: str, form: str) -> None:
    sign = tmp_path / "sign"
    data, name = attacks(str(sign))[attack]
    path = tmp_path / "f.pth"
    if form == "zip":
        archive(path, data, {"0": ramp(1)})
    else:
        path.write_bytes(legacy(data, {"0": ramp(1)}) if form == "legacy" else data)
    if form == "bare" and attack in ("a class of storage", "a whole module", "after a tensor"):
        with pytest.raises(FormatError):  # a bare pickle must not even refer to storages
            PthTensors.new(path)
        return
    for read in (PthTensors.new, read_all, nn.VarBuilder.from_pth):
        with raises(FormatError, f"the file asks for `{name}`, which is refused: tensors are read, nothing is run", f"in {path}"):
            read(path)
    assert survey(path)[1][0] == name
    assert not sign.exists()


def test_the_attack_would_work_on_a_reader_that_runs_things(tmp_path: pathlib.Path) -> None:
    sign = tmp_path / "sign"
    pickle.loads(attacks(str(sign))["builtins.eval"][0])
    assert sign.exists()


def test_nothing_that_is_named_is_even_imported(tmp_path: pathlib.Path) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    path = archive(tmp_path / "f", program(named("trap", "anything") + b")R"))
    program_text = f"from cafe.io.pth import survey; import sys; print(survey({str(path)!r})[1], 'trap' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", program_text], env=environment, capture_output=True, encoding="utf8")
    assert ran.stdout == "('trap.anything',) False\n", ran.stderr


def test_all_that_is_refused_is_named_and_the_cure_is_said(tmp_path: pathlib.Path) -> None:
    body = named("__main__", "Net") + named("os", "system") + b"\x86"
    text = "the file asks for `__main__.Net`, which is refused: tensors are read, nothing is run"
    with raises(FormatError, text, "refused, too: os.system"):
        PthTensors.new(archive(tmp_path / "f", program(body)))
    with pytest.raises(FormatError, match=r"__torch__\.Net") as caught:
        PthTensors.new(archive(tmp_path / "f", program(named("__torch__", "Net"))))
    assert any("TorchScript" in note for note in caught.value.__notes__)


def test_a_torchscript_archive_with_packed_programs_is_named_as_such(tmp_path: pathlib.Path) -> None:
    path = archive(tmp_path / "f", program(named("__torch__", "Net")))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/code/__torch__.py", bytes(100_000))
    with raises(FormatError, "the file asks for `__torch__.Net`, which is refused: tensors are read, nothing is run", "TorchScript"):
        PthTensors.new(path)


def test_a_tar_is_named(tmp_path: pathlib.Path) -> None:
    with tarfile.open(tmp_path / "f", "w") as tar:
        tar.addfile(tarfile.TarInfo("pickle"), io.BytesIO(b""))
    with raises(FormatError, "a tar archive: PyTorch 0.1 wrote these", "load it in PyTorch"):
        PthTensors.new(tmp_path / "f")


# -- damaged files


def nested(depth: int) -> bytes:
    return b"".join(b"}" + plain("k") for _ in range(depth)) + floats("0", 1) + b"s" * depth


def doubled(times: int) -> bytes:
    """A dict that holds the one before it twice, many times over: few opcodes, a million million names."""
    again = plain("a") + b"h\x01s" + plain("b") + b"h\x01s"
    return dict_of({"w": floats("0", 1)}) + b"q\x01" + b"".join(b"}" + again + b"q\x01" for _ in range(times))


DAMAGED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "the pickle breaks off"),
    "no stop": (b"\x80\x02}", "the pickle breaks off"),
    "an unknown op-code": (b"\x80\x02\xfe.", "unknown op-code 254"),
    "an empty stack": (b"\x80\x02a.", "unexpected empty stack"),
    "no mark": (b"\x80\x02t.", "marker object not found"),
    "an empty memo": (b"\x80\x02h\x07.", "missing object in memo 7"),
    "a list wanted": (b"\x80\x02}K\x01a.", "expected a list, got a dict"),
    "a dict wanted": (b"\x80\x02]K\x01K\x02s.", "expected a dict, got a list"),
    "an odd number": (b"\x80\x02}(K\x01u.", "setitems: not an even number of objects"),
    "a container for a key": (b"\x80\x02}]K\x02s.", "a key must be a plain value, got a list"),
    "a short string": (b"\x80\x02X\xff\xff\xff\x7fab.", "damaged argument of BINUNICODE: expected 2147483647 bytes"),
    "a long integer": (b"\x80\x02\x8a\x40" + b"\x7f" * 64 + b".", "an integer of 511 bits"),
    "a buffer outside": (b"\x80\x05\x97.", "unsupported op-code: the value lies outside the pickle"),
    "no storage": (program(tensor(plain(3), 0, (1,), (1,))), "expected a storage, got int"),
    "an odd id": (program(plain("0") + b"Q"), "expected a storage, got 0"),
    "a negative offset": (program(tensor(storage("0", 4), -1, (1,), (1,))), "an offset must be a whole number from 0 to 2**63 - 1, got -1"),
    "a size that is none": (program(tensor(storage("0", 4), 0, 3, (1,))), "a size must be whole numbers, got int"),
    "a huge stride": (
        program(tensor(storage("0", 4), 0, (1,), (2**63,))),
        "a stride must be a whole number from 0 to 2**63 - 1, got 9223372036854775808",
    ),
    "ranks that differ": (program(tensor(storage("0", 4), 0, (1, 1), (1,))), "a size of 2 dims has a stride of 1"),
    "beyond its storage": (program(tensor(storage("0", 4), 0, (5,), (1,))), "tensor  ends at number 5 of a storage of 16 bytes"),
    "far beyond": (
        program(tensor(storage("0", 4), 0, (2**40, 2**40), (2**40, 1))),
        f"tensor  ends at number {2**80} of a storage of 16 bytes",
    ),
    "no such storage": (program(floats("7", 1)), "tensor  lies in storage 7, which the file does not hold"),
    "two types": (
        program(dict_of({"a": floats("0", 1), "b": tensor(storage("0", 1, "LongStorage"), 0, (1,), (1,))})),
        "storage 0 has two types, FloatStorage and LongStorage",
    ),
    "negated": (program(tensor(storage("0", 4), 0, (1,), (1,), plain({"neg": True}))), "a tensor that is stored negated or conjugated"),
    "no dtype": (
        program(tensor(storage("0", 4, "UntypedStorage", "torch.storage"), 0, (1,), (1,), plain(1), function="_rebuild_tensor_v3")),
        "expected a dtype, got int",
    ),
    "one name twice": (
        program(dict_of({"a.b": floats("0", 1), "a": dict_of({"b": floats("0", 1)})})),
        "two tensors have the name a.b",
    ),
    "deep": (program(nested(100)), "containers nested more than 64 deep"),
    "doubled": (program(doubled(40)), "the names of all tensors are longer than the file that they are from"),
    "itself": (program(b"}q\x01" + plain("a") + b"h\x01s") + b"\0" * 2000, "containers nested more than 64 deep"),
    "a function that is none": (b"\x80\x02K\x01)R.", "expected a function, got 1"),
    "a state for a tensor": (program(floats("0", 1) + plain({}) + b"b"), "a TensorInfo takes no state"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_pickle_is_one_named_error(tmp_path: pathlib.Path, case: str) -> None:
    data, text = DAMAGED[case]
    path = archive(tmp_path / "f", data, {"0": ramp(4)})
    tracemalloc.start()
    with pytest.raises(FormatError) as caught:
        PthTensors.new(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value).startswith(text), str(caught.value)
    assert peak < 400_000 and f"in {path}" in caught.value.__notes__


def rezipped(path: pathlib.Path, compression: int, **sizes: bytes) -> pathlib.Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in sizes.items():
            file.writestr(f"archive/{name.replace('__', '/').replace('_', '.')}", data)
    return path


def test_zip_bombs_are_refused_before_they_unpack(tmp_path: pathlib.Path) -> None:
    bomb = rezipped(tmp_path / "f", zipfile.ZIP_DEFLATED, data_pkl=program(floats("0", 1 << 24)), data__0=bytes(1 << 26))
    assert bomb.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(FormatError, match="its members announce more than the"):
        PthTensors.new(bomb)
    assert tracemalloc.get_traced_memory()[1] < 2 * bomb.stat().st_size
    tracemalloc.stop()
    small = rezipped(tmp_path / "f", zipfile.ZIP_DEFLATED, data_pkl=program(b"}") + bytes(100), other=os.urandom(1000))
    with raises(FormatError, "unsupported Zip archive: archive/data.pkl is compressed", "PyTorch stores it as it is"):
        PthTensors.new(small)


def test_members_that_lie_on_each_other_are_refused(tmp_path: pathlib.Path) -> None:
    path = archive(tmp_path / "f", program(dict_of({"a": floats("0", 300), "b": floats("1", 300)})), {"0": ramp(300), "1": ramp(300)})
    data = bytearray(path.read_bytes())
    last = data.rindex(b"PK\x01\x02")
    first = data.rindex(b"PK\x01\x02", 0, last)
    data[last + 42 : last + 46] = data[first + 42 : first + 46]  # both at one place, and the second's bytes are gone
    gone = data.rindex(b"PK\x03\x04")
    cut = data[:gone] + data[data.index(b"PK\x01\x02") :]
    cut[-6:-2] = gone.to_bytes(4, "little")
    path.write_bytes(cut)
    with pytest.raises(FormatError, match="its members announce more than"):
        PthTensors.new(path)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"other": b""}, "a .pth archive holds one data.pkl: this one has none"),
        ({"data.pkl": b"", "a/data.pkl": b""}, "a .pth archive holds one data.pkl, this one 2"),
    ],
)
def test_an_archive_that_is_no_pytorch_file(tmp_path: pathlib.Path, members: dict[str, bytes], text: str) -> None:
    with zipfile.ZipFile(tmp_path / "f", "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    with raises(FormatError, text):
        PthTensors.new(tmp_path / "f")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "the pickle breaks off"),
        (b"PK\x03\x04", "invalid Zip archive: File is not a zip file"),
        (pickle.dumps(3, 2), "not a PyTorch file: it is neither a zip archive nor begins with PyTorch's magic number"),
        (legacy(program(floats("0", 4)), {"0": ramp(4)})[:-1], "storage 0 announces 16 bytes, 15 are left"),
        (legacy(program(floats("0", 4)), {"1": ramp(4)}), "storage 1 has no type"),
        (legacy(program(floats("0", 4))), "tensor  lies in storage 0, which the file does not hold"),
        (pickle.dumps(MAGIC, 2) + pickle.dumps(1001, 2), "the pickle breaks off"),
    ],
)
def test_a_file_of_the_old_formats_that_is_damaged(tmp_path: pathlib.Path, data: bytes, text: str) -> None:
    (tmp_path / "f").write_bytes(data)
    with raises(FormatError, text, f"in {tmp_path / 'f'}"):
        PthTensors.new(tmp_path / "f")


def test_files_that_the_system_refuses(tmp_path: pathlib.Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(Io):
            read_all(path)
    with pytest.raises(TypeError, match="expected a Device"):
        read_all(GOLDEN / "weights_zip.pth", "cpu")  # type: ignore[arg-type]


def read_or_refused(path: pathlib.Path, data: bytes) -> bool:
    """Whether the file is taken; what is not raises an error of ours."""
    path.write_bytes(data)
    try:
        tensors = PthTensors.new(path)
        for name, info in tensors.tensor_infos().items():
            if info.dtype is not None:
                tensors.get(name)
    except Error:
        return False
    return True


def test_changed_files_are_taken_or_refused(tmp_path: pathlib.Path) -> None:
    seeds = [(GOLDEN / f"weights_{form}.pth").read_bytes() for form in ("zip", "legacy")]
    seeds.append(legacy(program(dict_of({"w": floats("0", 2), "n": plain([1, 2, "a"])})), {"0": ramp(2)}))
    taken = sum(read_or_refused(tmp_path / "f", data) for data in mutated(seeds, 1_500, seed=2, mend=lambda data: None))
    assert 20 < taken < 1_480


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_large_file_is_read_in_little_more_than_its_size(tmp_path: pathlib.Path) -> None:
    count = 25 << 20
    path = tmp_path / "f"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", program(dict_of({"w": floats("0", count)})))
        with file.open("archive/data/0", "w") as numbers:
            for _ in range(count >> 20):
                numbers.write(bytes(4 << 20))
    script = (
        "from cafe.io.pth import read_all\n"
        "peak = lambda: next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        f"before = peak(); t = read_all({str(path)!r}); print(peak() - before)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf8")
    assert 0.9 * path.stat().st_size < int(ran.stdout) * 1024 < 1.5 * path.stat().st_size, ran.stderr


def test_hand_made_files_are_what_pytorch_reads(tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    path = archive(tmp_path / "f", program(dict_of({"w": floats("0", 2, 3)})), {"0": ramp(6)}, version=b"3\n")
    assert torch.load(path)["w"].tolist() == dict(read_all(path))["w"].tolist()
    whole = storage("0", 6, more=plain(None))
    path.write_bytes(legacy(program(dict_of({"w": tensor(whole, 0, (2, 3), (3, 1))})), {"0": ramp(6)}))
    assert torch.load(path)["w"].tolist() == dict(read_all(path))["w"].tolist()
    assert pickles.MAGIC == torch.serialization.MAGIC_NUMBER
