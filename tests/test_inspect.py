"""A look into files of weights: what is in each format, what is refused, as a tree and as JSON."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from expect import raises
from pickles import archive, dict_of, floats, named, program, storage, tensor
from test_io_gguf import file_of, text

import cafe
from cafe import Error, Tensor
from cafe.__main__ import main
from cafe.errors import FormatError
from cafe.io import npy, safetensors
from cafe.tools.inspect import Entry, Statistics, inspect

GOLDEN = pathlib.Path(__file__).parent / "golden"


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An empty folder, in which we are, so that paths are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def some() -> dict[str, Tensor]:
    return {"out.weight": Tensor([[1.0, 2.0], [3.0, 6.0]]), "out.bias": Tensor([float("nan"), float("inf"), 4.0]), "n": Tensor([2, 4])}


# -- every format


def test_safetensors(here: pathlib.Path) -> None:
    safetensors.save(some(), "w.safetensors", {"made": "today"})
    assert str(inspect("w.safetensors")).splitlines() == [
        "w.safetensors: safetensors, 268 B, 3 tensors, 9 numbers",
        "made = today",
        "n         I64  [2]     16 B  min 2  max 4  mean 3  std 1",
        "out",
        "  bias    F32  [3]     12 B  min 4  max 4  mean 4  std 0  1 NaN  1 infinite",
        "  weight  F32  [2, 2]  16 B  min 1  max 6  mean 3  std 1.8708",
    ]


def test_npy_and_npz(here: pathlib.Path) -> None:
    npy.write_npy(Tensor([1.0, 3.0]), "w.npy")
    assert inspect("w.npy").entries == (Entry("", "F32", (2,), 8, Statistics(1.0, 3.0, 2.0, 1.0, 0, 0)),)
    npy.write_npz(some(), "w.npz")
    found = inspect("w.npz")
    assert (found.format, [e.name for e in found.entries]) == ("npz", ["out.weight", "out.bias", "n"])
    assert found.entries[0].statistics == Statistics(1.0, 6.0, 3.0, pytest.approx(1.8708287), 0, 0)  # type: ignore[arg-type]


def test_an_object_array_is_refused_and_its_sisters_are_shown(here: pathlib.Path) -> None:
    np.savez("w.npz", bad=np.array([{}], dtype=object), good=np.ones(2, np.float32))
    bad, good = inspect("w.npz").entries
    assert bad.problem is not None and "unrecognized descr O" in bad.problem and "never read" in bad.problem
    assert (good.problem, good.statistics) == (None, Statistics(1.0, 1.0, 1.0, 0.0, 0, 0))


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_pth(form: str) -> None:
    found = inspect(GOLDEN / f"weights_{form}.pth")
    entries = {entry.name: entry for entry in found.entries}
    assert (found.format, found.refused, found.values["step"]) == ("PyTorch", (), 10)
    assert entries["dtypes.int8"].dtype == "I8" and entries["dtypes.bool"].dtype == "BOOL"
    assert entries["dtypes.complex64"].problem == "unsupported storage type ComplexFloatStorage"
    assert entries["dtypes.uint64"].dtype == "U64" and entries["shared.expanded"].problem == "2 numbers, each shown several times"
    assert entries["shared.whole"].statistics == Statistics(0.0, 59.0, 29.5, pytest.approx(17.318102), 0, 0)  # type: ignore[arg-type]
    assert entries["empty"].statistics == Statistics(None, None, None, None, 0, 0)


def test_gguf(here: pathlib.Path) -> None:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter("w.gguf", "cafe")
    writer.add_tensor("blk.0.w", np.zeros((2, 34), np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    lines = str(inspect("w.gguf")).splitlines()
    assert lines[0].startswith("w.gguf: GGUF version 3, ") and lines[0].endswith("1 tensor, 64 numbers")
    assert "general.architecture = cafe" in lines
    assert lines[-3:] == ["blk", "  0", "    w  Q8_0  [2, 32]  68 B  min 0  max 0  mean 0  std 0"]


def test_the_numbers_can_be_left_alone(here: pathlib.Path) -> None:
    for path, write in (("w.safetensors", safetensors.save), ("w.npz", npy.write_npz)):
        write(some(), path)  # type: ignore[operator]
        assert all(entry.statistics is None and entry.problem is None for entry in inspect(path, statistics=False).entries)
    assert all(entry.statistics is None for entry in inspect(GOLDEN / "weights_zip.pth", statistics=False).entries)


# -- hostile files


def test_what_a_pth_asks_for_is_named_and_no_number_is_read(here: pathlib.Path) -> None:
    body = dict_of({"w": floats("0", 2), "attack": named("posix", "system") + b"(X\x0a\x00\x00\x00touch signtR"})
    path = archive(here / "f.pth", program(body), {"0": bytes(8)})
    found = inspect(path)
    assert found.refused == ("posix.system",)
    assert [(e.name, e.shape, e.statistics) for e in found.entries] == [("w", (2,), None)]
    assert "refused: posix.system (the file asks for it; nothing was run, and no number was read)" in str(found).splitlines()
    assert os.listdir(here) == ["f.pth"]
    with pytest.raises(SystemExit) as left:
        main(["inspect", "f.pth"])
    assert left.value.code == 1


def test_a_bare_pickle_is_looked_at_by_its_suffix(here: pathlib.Path) -> None:
    (here / "f.pth").write_bytes(b"cposix\nsystem\n(S'true'\ntR.")
    assert inspect("f.pth").refused == ("posix.system",)


def test_names_cannot_write_to_the_terminal(here: pathlib.Path) -> None:
    safetensors.save({"a\x1b[31m\n.b\u202e": Tensor([1.0])}, "f", {"k\r": "\x07"})
    shown = str(inspect("f"))
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert shown.splitlines()[1:] == [r"k\r = \x07", r"a\x1b[31m\n", r"  b\u202e  F32  [1]  4 B  min 1  max 1  mean 1  std 0"]


def test_what_is_no_text_is_said_in_its_place(here: pathlib.Path) -> None:
    (here / "f.gguf").write_bytes(file_of({"k": (8, text(b"\xff")), "n": (0, b"\7")}, []))
    assert str(inspect("f.gguf")).splitlines()[1:] == ["k = (a string is not UTF-8: invalid start byte at byte 0)", "n = 7"]


def test_sums_beyond_every_float_are_left_out(here: pathlib.Path) -> None:
    npy.write_npy(Tensor([1.7e308, 1.7e308, -1.0], dtype="f64"), "w.npy")
    assert inspect("w.npy").entries[0].statistics == Statistics(-1.0, 1.7e308, None, None, 0, 0)
    json.loads(inspect("w.npy").to_json())


def test_a_few_numbers_shown_often_are_not_measured(here: pathlib.Path) -> None:
    huge = tensor(storage("0", 1), 0, (1 << 20, 1 << 20), (0, 0))
    [entry] = inspect(archive(here / "f.pth", program(dict_of({"w": huge})), {"0": bytes(4)})).entries
    assert (entry.problem, entry.statistics) == ("1 numbers, each shown several times", None)


def test_files_that_are_none(here: pathlib.Path) -> None:
    (here / "notes.txt").write_text("hello")
    with raises(FormatError, "notes.txt: this is no file of weights", "read are safetensors"):
        inspect("notes.txt")
    (here / "empty").write_bytes(b"")
    with raises(FormatError, "empty: this is no file of weights"):
        inspect("empty")
    with zipfile.ZipFile("z.zip", "w") as file:
        file.writestr("a.txt", "x")
    with raises(FormatError, "z.zip: a zip archive, but neither of NumPy nor of PyTorch", "no data.pkl"):
        inspect("z.zip")
    (here / "cut.zip").write_bytes(b"PK\3\4")
    with pytest.raises(Error, match="invalid Zip archive"):
        inspect("cut.zip")


# -- the command


def test_the_command_prints_the_tree_or_json(here: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    safetensors.save(some(), "w.safetensors")
    main(["inspect", "w.safetensors"])
    assert capsys.readouterr().out == f"{inspect('w.safetensors')}\n"
    main(["inspect", "w.safetensors", "--json"])
    known = json.loads(capsys.readouterr().out)
    assert (known["format"], known["bytes"], known["refused"], known["values"]) == ("safetensors", os.path.getsize("w.safetensors"), [], {})
    assert known["tensors"][1] == {
        "name": "out.bias", "dtype": "F32", "shape": [3], "bytes": 12, "problem": None,
        "statistics": {"min": 4.0, "max": 4.0, "mean": 4.0, "std": 0.0, "nan": 1, "inf": 1},
    }  # fmt: skip
    main(["inspect", "w.safetensors", "--json", "--no-statistics"])
    assert all(entry["statistics"] is None for entry in json.loads(capsys.readouterr().out)["tensors"])


def test_json_holds_what_json_can(here: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = dict_of({"nan": b"G\x7f\xf8\x00\x00\x00\x00\x00\x00", "raw": b"C\x01\xff", "long": b"](" + b"K\x01" * 20 + b"e"})
    archive(here / "f.pth", program(body))
    main(["inspect", "f.pth", "--json"])
    values = json.loads(capsys.readouterr().out)["values"]
    assert values == {"nan": "nan", "raw": r"b'\xff'", "long": [1] * 16 + ["… 20 in all"]}


def test_a_reader_that_has_seen_enough_is_no_error(here: pathlib.Path) -> None:
    safetensors.save({f"{i}": Tensor([1.0]) for i in range(5000)}, "w.safetensors")
    command = [sys.executable, "-m", "cafe", "inspect", "w.safetensors"]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(cafe.__file__).resolve().parent.parent)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as ran:
        assert ran.stdout is not None and ran.stderr is not None
        assert ran.stdout.readline().startswith(b"w.safetensors: safetensors")
        ran.stdout.close()
        assert ran.stderr.read() == b""
    assert ran.returncode == 0


def test_what_goes_wrong_is_one_line_and_a_status(here: pathlib.Path) -> None:
    (here / "notes.txt").write_text("hello")
    for path, said in (("notes.txt", "this is no file of weights"), ("absent", 'path: "absent" No such file')):
        with pytest.raises(SystemExit) as left:
            main(["inspect", path])
        assert str(left.value.code).startswith(f"python -m cafe inspect: {path}: {said}")
    with pytest.raises(SystemExit) as left:
        main(["inspect"])
    assert left.value.code == 2


def test_an_archive_with_objects_shows_the_rest_and_has_a_status(here: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(here / "mixed.npz", a=np.ones(2), b=np.array([None], object))
    with pytest.raises(SystemExit) as left:
        main(["inspect", "mixed.npz"])

    assert left.value.code == 1
    assert "an object array is a pickle" in capsys.readouterr().out
