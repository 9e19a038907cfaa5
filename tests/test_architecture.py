"""The house's rules, read from the source: imports point down, sizes, names, docstrings, one door to C. Each check is seen to fail."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import cafe

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "cafe"

# -- floors: a module may import from floors below its own

FLOORS = {
    "cafe.errors": 0,
    "cafe.habits": 0,
    "cafe.dtype": 0,
    "cafe.shape": 0,
    "cafe.device": 0,
    "cafe.tracing": 0,
    "cafe.files": 0,
    "cafe.kernels": 1,
    "cafe.config": 2,
    "cafe.memory": 2,
    "cafe.ops": 2,
    "cafe.tape": 3,
    "cafe.tensor": 4,
    "cafe.io": 5,
    "cafe.nn": 6,
    "cafe.testing": 7,
    "cafe.tools": 8,
    "cafe.__main__": 9,
    "cafe": 9,  # the public list
}
# within these floors a family imports only what is shared; what assembles the families imports them all
SHARED = {
    "cafe.kernels": {"base", "_ffi", "_elementwise", "_integers", "memory"},
    "cafe.ops": {"base"},
    "cafe.tensor": {"base", "convert", "display", "grads", "habits", "keys", "pairs"},
    "cafe.io": {"base", "torch_file", "unpickle"},
}
ASSEMBLE = {"cafe.kernels", "cafe.ops", "cafe.io", "cafe.tensor", "cafe.tensor.core", "cafe.tensor.verbs"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(p): p.read_text(encoding="utf-8") for p in sorted(PACKAGE.rglob("*.py"))}
MODULES = [m for m in SOURCES if not m.endswith("__main__")]


def floor(module: str) -> int:
    """The floor of a module: that of the longest prefix in the table."""
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        if (name := ".".join(parts[:end])) in FLOORS and (end > 1 or module == "cafe"):
            return FLOORS[name]
    raise AssertionError(f"{module} has no floor")


def family(module: str) -> str:
    """The package of a floor that a module belongs to (`cafe.ops`), or the module itself."""
    return ".".join(module.split(".")[:2])


class Import:
    """One import of a module of ours: what, in which line, whether inside a function, whether for the type checker alone."""

    def __init__(self, target: str, node: ast.stmt, in_function: bool, typing_only: bool) -> None:
        self.target, self.line, self.in_function, self.typing_only = target, node.lineno, in_function, typing_only


def imports(module: str, source: str, known: Iterable[str]) -> Iterator[Import]:
    """Every import, ours by full name, others by their top name."""
    is_package = module in {family(k) for k in known if k.count(".") > 1} | {"cafe"} or f"{module}.base" in known
    modules = frozenset(known)
    for node, in_function, typing_only in statements(source):
        for target in _targets(node, module, is_package, modules):
            yield Import(target, node, in_function, typing_only)


@functools.cache
def statements(source: str) -> list[tuple[ast.stmt, bool, bool]]:
    """The import statements of a source, each with whether it stands in a function and whether for the type checker alone."""
    return list(_walk(ast.parse(source), False, False))


def _walk(node: ast.AST, in_function: bool, typing_only: bool) -> Iterator[tuple[ast.stmt, bool, bool]]:
    for child in ast.iter_child_nodes(node):
        inside = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing = typing_only or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, inside, typing
        yield from _walk(child, inside, typing)


def _targets(node: ast.stmt, module: str, is_package: bool, known: frozenset[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (a.name for a in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = module.split(".")
            parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
            base = ".".join([*parts, *([base] if base else [])])
        for alias in node.names:
            yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base


def wrong_arrows(sources: dict[str, str]) -> list[str]:
    """Imports that point up or sideways, imports inside functions."""
    found = []
    for module, source in sources.items():
        for i in imports(module, source, sources):
            where = f"{module}:{i.line}"
            if i.in_function:
                found.append(f"{where} imports {i.target} inside a function")
            if i.target.split(".")[0] == "cafe" and (why := wrong_arrow(module, i)):
                found.append(f"{where} imports {i.target}: {why}")
    return found


def wrong_arrow(module: str, i: Import) -> str | None:
    if floor(i.target) > floor(module):
        return "upward"
    here = family(module)
    if floor(i.target) < floor(module) or family(i.target) != here or here not in SHARED:
        return None if floor(i.target) < floor(module) or family(i.target) == here or floor(module) in (0, 9) else "a sister"
    if i.typing_only or module in ASSEMBLE or i.target == here:
        return None
    return None if i.target.removeprefix(f"{here}.") in SHARED[here] else "a sister"


def circles(sources: dict[str, str]) -> list[str]:
    """Modules that, through imports at run time, import themselves. A package's own list of its modules does not count."""
    graph = {
        m: {i.target for i in imports(m, s, sources) if not i.typing_only and i.target in sources and not m.startswith(f"{i.target}.")}
        for m, s in sources.items()
    }
    return sorted(m for m in graph if m in _reachable(graph, graph[m]))


def _reachable(graph: dict[str, set[str]], start: set[str]) -> set[str]:
    seen: set[str] = set()
    todo = list(start)
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += graph[module]
    return seen


def test_imports_point_down() -> None:
    assert wrong_arrows(SOURCES) == []


def test_there_are_no_circles() -> None:
    assert circles(SOURCES) == []


@pytest.mark.parametrize(
    "module, line, why",
    [
        ("cafe.kernels.softmax", "from cafe.ops.base import Op", "upward"),
        ("cafe.kernels.softmax", "from cafe import tape", "upward"),
        ("cafe.tape", "from cafe.tensor import core", "upward"),
        ("cafe.ops.unary", "import cafe", "upward"),
        ("cafe.nn.linear", "from cafe.testing import Case", "upward"),
        ("cafe.ops.softmax", "from .unary import Affine", "a sister"),
        ("cafe.ops.softmax", "from cafe.ops import unary", "a sister"),
        ("cafe.kernels.softmax", "from . import unary", "a sister"),
        ("cafe.tensor._unary", "from .core import Tensor", "a sister"),
        ("cafe.tensor._unary", "if TYPE_CHECKING:\n    from cafe.nn import linear", "upward"),
        ("cafe.ops.unary", "from cafe import config", "a sister"),
        ("cafe.tensor._unary", "def f():\n    from .base import wrap", "inside a function"),
    ],
)
def test_a_wrong_arrow_is_seen(module: str, line: str, why: str) -> None:
    found = [f for f in wrong_arrows({**SOURCES, module: line}) if f.startswith(f"{module}:")]

    assert len(found) == 1 and found[0].endswith(why), found


@pytest.mark.parametrize(
    "module, line",
    [
        ("cafe.ops.softmax", "from .base import Op\nfrom cafe import kernels\nimport numpy"),
        ("cafe.tensor._unary", "if TYPE_CHECKING:\n    from .core import Tensor"),
        ("cafe.tensor.core", "from ._unary import UnaryMethods"),
        ("cafe.nn.loss", "from .ops import softmax"),
        ("cafe.kernels", "from .softmax import softmax"),
        ("cafe.shape", "from cafe.errors import Error"),
    ],
)
def test_right_arrows_pass(module: str, line: str) -> None:
    assert [f for f in wrong_arrows({**SOURCES, module: line}) if f.startswith(f"{module}:")] == []


def test_a_circle_is_seen() -> None:
    listed = {"cafe.nn": "from .a import x"}
    around = {**listed, "cafe.nn.a": "from .b import x", "cafe.nn.b": "from cafe.nn import c", "cafe.nn.c": "from . import a"}

    assert circles(around) == ["cafe.nn.a", "cafe.nn.b", "cafe.nn.c"]
    assert circles({**around, "cafe.nn.c": "if TYPE_CHECKING:\n    from . import a"}) == []


def test_every_module_has_a_floor() -> None:
    for module in SOURCES:
        floor(module)
    with pytest.raises(AssertionError, match="has no floor"):
        floor("cafe.utils")


# -- one door to C


def doors(sources: dict[str, str]) -> list[str]:
    """Modules that touch cffi or the extension."""
    return [m for m, s in sources.items() if re.search(r"^\s*(import|from)\s+cffi\b|\b_cafe\b|\bctypes\b", s, re.MULTILINE)]


def test_only_ffi_touches_the_extension() -> None:
    assert doors(SOURCES) == ["cafe.kernels._ffi"]


@pytest.mark.parametrize("line", ["import cffi", "from cffi import FFI", "from . import _cafe", "from ._cafe import lib", "import ctypes"])
def test_another_door_is_seen(line: str) -> None:
    assert doors({"cafe.kernels.softmax": line}) == ["cafe.kernels.softmax"]


# -- sizes

LINES, BODY = 500, 40
TEXT = [
    p
    for folder, suffixes in {"cafe": ".py", "tests": ".py", "bench": ".py", "examples": ".py", "csrc": ".py .c .h .inc .def"}.items()
    for p in sorted((ROOT / folder).rglob("*"))
    if p.suffix and p.suffix in suffixes.split() and p.is_file()
]


def long_bodies(source: str) -> list[str]:
    """Functions whose body, without its docstring, is longer than BODY lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            if length > BODY:
                found.append(f"{node.name}: {length} lines")
    return found


def test_files_are_short() -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in TEXT}

    assert len(lengths) > 60
    assert {path: n for path, n in lengths.items() if n > LINES} == {}


def test_bodies_are_short() -> None:
    assert {module: found for module, source in SOURCES.items() if (found := long_bodies(source))} == {}


def test_a_long_body_is_seen() -> None:
    body = "".join(f"    x{i} = {i}\n" for i in range(BODY))

    assert long_bodies(f"def f():\n    '''Says.'''\n{body}") == []
    assert long_bodies(f"def f():\n    '''Says.'''\n{body}    return x0\n") == ["f: 41 lines"]


# -- docstrings


def undocumented(module: types.ModuleType) -> list[str]:
    """Public names without a docstring: the module, its functions and classes, their methods (an inherited docstring counts).

    A twin, `name_ref`, is documented by the kernel above it; what is bound to a name without a `def` (a lambda) by what it is bound to.
    """
    found = [] if module.__doc__ else [module.__name__]
    for name, value in vars(module).items():
        if name.startswith("_") or name.endswith("_ref") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            found += _undocumented_class(value)
        elif inspect.isfunction(value) and value.__name__ == name and not inspect.getdoc(value):
            found.append(f"{module.__name__}.{name}")
    return found


def _undocumented_class(cls: type) -> list[str]:
    where = f"{cls.__module__}.{cls.__qualname__}"
    found = [] if cls.__doc__ else [where]
    for name, value in vars(cls).items():
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if name.startswith("_") or not (inspect.isfunction(function) or isinstance(function, property)):
            continue
        if getattr(function, "__name__", name) == name and not inspect.getdoc(getattr(cls, name)):
            found.append(f"{where}.{name}")
    return found


def test_public_names_have_docstrings() -> None:
    assert [name for module in MODULES for name in undocumented(importlib.import_module(module))] == []


def test_a_missing_docstring_is_seen() -> None:
    module = types.ModuleType("bare")
    source = """
def public(): pass
def _private(): pass
class Parent:
    '''Says.'''
    def said(self):
        '''Says.'''
    def unsaid(self): pass
    @property
    def size(self): return 0
    @staticmethod
    def make(): pass
class Child(Parent):
    pass
"""
    exec(source, module.__dict__)

    assert undocumented(module) == [
        "bare", "bare.public", "bare.Parent.unsaid", "bare.Parent.size", "bare.Parent.make", "bare.Child",
    ]  # fmt: skip


# -- names


def sort_key(name: str) -> tuple[int, str]:
    """CONSTANTS, Classes, functions."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def untrue(module: types.ModuleType, source: str) -> list[str]:
    """What is wrong with `__all__`: order, names that are not there, public imports of a package's own that it leaves out."""
    listed = list(getattr(module, "__all__", []))
    found = [] if listed in (sorted(listed), sorted(listed, key=sort_key)) else ["not sorted"]
    found += [f"{n} is not there" for n in listed if not hasattr(module, n)]
    found += [f"{n} twice" for n in set(listed) if listed.count(n) > 1]
    if listed and hasattr(module, "__path__"):
        nodes = [n for n in ast.parse(source).body if isinstance(n, ast.ImportFrom) and n.module != "__future__"]
        imported = {a.asname or a.name for n in nodes for a in n.names}
        found += [f"{n} is imported and not listed" for n in sorted(imported - set(listed)) if not n.startswith("_")]
    return found


def test_lists_are_sorted_and_true() -> None:
    assert {m: found for m in MODULES if (found := untrue(importlib.import_module(m), SOURCES[m]))} == {}


@pytest.mark.parametrize("module", ["cafe", "cafe.kernels", "cafe.testing"])
def test_packages_list_their_names(module: str) -> None:
    assert importlib.import_module(module).__all__


def test_an_untrue_list_is_seen() -> None:
    module = types.ModuleType("m")
    module.b = module.a = 1  # type: ignore[attr-defined]
    module.__path__ = []  # type: ignore[attr-defined]
    module.__all__ = ["b", "a", "c", "a"]  # type: ignore[attr-defined]

    assert untrue(module, "from x import a, b, d") == ["not sorted", "c is not there", "a twice", "d is imported and not listed"]
    module.__all__ = ["a", "b"]  # type: ignore[attr-defined]
    assert untrue(module, "from x import a, b") == []


# words of the place where the code is written, in halves so that they do not stand here
WORDS = ["/wo" "rk/", "/tmp/br" "ief", "shared/(design|facts|guide)", r"\bses" r"sions?\b", r"\biss" r"ues?\b", r"\bsub-?age" r"nts?\b"]
PATTERN = re.compile("|".join(WORDS), re.IGNORECASE)
KINDS = (".py", ".c", ".h", ".inc", ".def", ".md", ".toml", ".txt", ".in", ".yml", "")


def everything(folder: Path) -> Iterator[Path]:
    """The texts of the project, without what is built or hidden."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in ("build", "__pycache__") or path.suffix == ".egg-info":
            continue
        if path.is_dir():
            yield from everything(path)
        elif path.suffix in KINDS:
            yield path


def words(text: str) -> list[str]:
    return [f"line {n}: {m.group()}" for n, line in enumerate(text.splitlines(), 1) for m in PATTERN.finditer(line)]


def test_the_workplace_is_not_named() -> None:
    found = {str(p.relative_to(ROOT)): words(p.read_text(encoding="utf-8", errors="replace")) for p in everything(ROOT)}

    assert {path: complaints for path, complaints in found.items() if complaints} == {}


def test_a_word_of_the_workplace_is_seen() -> None:
    assert words("fine\nsee iss" "ue 3") == ["line 2: iss" "ue"]
    assert words("in /wo" "rk/main") == ["line 1: /wo" "rk/"]


def test_there_are_no_drawers_for_odds_and_ends() -> None:
    bad = {"utils", "util", "hel" "pers", "misc", "common"}

    assert not [p for p in TEXT if p.stem in bad or bad & set(p.relative_to(ROOT).parts)]


def test_the_package_is_what_was_read() -> None:
    assert Path(cafe.__file__).parent == PACKAGE and len(SOURCES) > 30
