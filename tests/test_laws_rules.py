"""Rules are written in verbs alone: the source of every rule and composition is read, not run.

The same lines compute with arrays and, for second derivatives, with Tensors; an operator or a NumPy call would work on one of the two only,
and a value put on `self` would make a rule depend on which application came last.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cafe

PACKAGE = Path(cafe.__file__).parent
RULES = sorted((PACKAGE / "ops").glob("*.py"))
KERNELS = sorted((PACKAGE / "kernels").glob("*.py"))
FACTS = {"shape", "dtype", "ndim"}  # what may be asked of an array or of an input that was not kept
NOT_ARRAYS = {"self", "xp", "r"}


def complaints(source: str) -> list[str]:
    """What is wrong in the functions that take `xp`, and where values are put on `self`."""
    tree = ast.parse(source)
    found = [f"line {n.lineno}: imports numpy" for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) and _names_numpy(n)]
    return found + complaints_about_functions(tree)


def complaints_about_functions(tree: ast.AST) -> list[str]:
    found: list[str] = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.Lambda) and any(a.arg == "xp" for a in function.args.args):
            found += Rule(function).complaints()
    return found


def _names_numpy(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
    return any(name.split(".")[0] == "numpy" for name in names)


def stored(node: ast.AST) -> bool:
    """Whether this is a name that is assigned to (in `self.x = …` that is not `self`)."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


class Rule:
    """One function that takes `xp`, and which of its names stand for arrays: the parameters said to, and what verbs gave."""

    def __init__(self, function: ast.FunctionDef | ast.Lambda) -> None:
        self.function = function
        self.body: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
        self.arrays = {a.arg for a in self.parameters() if a.arg not in NOT_ARRAYS and self.says_array(a.annotation)}
        self.spread()

    def parameters(self) -> Iterator[ast.arg]:
        args = self.function.args
        yield from args.args
        yield from args.kwonlyargs
        if args.vararg:
            yield args.vararg

    def says_array(self, annotation: ast.expr | None) -> bool:
        return annotation is None or any(isinstance(n, ast.Name) and n.id in ("Array", "Any") for n in ast.walk(annotation))

    def nodes(self) -> Iterator[ast.AST]:
        for statement in self.body:
            yield from ast.walk(statement)

    def spread(self) -> None:
        """Names assigned from arrays are arrays, until nothing new is found."""
        before = -1
        while before != len(self.arrays):
            before = len(self.arrays)
            for node in self.nodes():
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        self.assign(target, node.value)
                if isinstance(node, ast.comprehension | ast.For) and self.is_array(node.iter):
                    self.arrays |= {n.id for n in ast.walk(node.target) if stored(n)}  # type: ignore[attr-defined]

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Marks the names in the target that stand for arrays; `a, b = …, …` one by one."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for t, v in zip(target.elts, value.elts):
                self.assign(t, v)
        elif self.is_array(value):
            self.arrays |= {n.id for n in ast.walk(target) if stored(n)}  # type: ignore[attr-defined]

    def is_array(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self.arrays
            case ast.Attribute(value=ast.Name(id="r"), attr="y" | "saved" | "const"):
                return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id="xp"))):
                return True
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="xp"), *_]):
                return True
            case ast.Call(args=[ast.Name(id="xp"), *_]):  # a function of verbs
                return True
            case ast.IfExp(body=a, orelse=b):
                return self.is_array(a) or self.is_array(b)
            case ast.Starred(value=a):
                return self.is_array(a)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return any(map(self.is_array, elements))
        return False

    def complaints(self) -> list[str]:
        return [f"line {n.lineno}: {what}" for n in self.nodes() if (what := self.complaint(n))]  # type: ignore[attr-defined]

    def complaint(self, node: ast.AST) -> str | None:
        match node:
            case ast.BinOp(left=a, right=b) if self.is_array(a) or self.is_array(b):
                return f"an operator on an array: `{ast.unparse(node)}`"
            case ast.UnaryOp(operand=a) if self.is_array(a) and not isinstance(node.op, ast.Not):
                return f"an operator on an array: `{ast.unparse(node)}`"
            case ast.Compare(left=a, ops=ops, comparators=bs):
                plain = all(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in ops)
                if not plain and any(map(self.is_array, [a, *bs])):
                    return f"a comparison of an array: `{ast.unparse(node)}`"
            case ast.AugAssign(target=a, value=b) if self.is_array(a) or self.is_array(b):
                return f"an operator on an array: `{ast.unparse(node)}`"
            case ast.Subscript(value=ast.Name(id=name)) if name in self.arrays and not self.is_collection(name):
                return f"a subscript of an array: `{ast.unparse(node)}`"
            case ast.Attribute(value=a, attr=attr) if self.is_array(a) and attr not in FACTS:
                return f"a method or attribute of an array: `{ast.unparse(node)}`"
            case ast.Attribute(value=ast.Name(id="np")):
                return f"NumPy: `{ast.unparse(node)}`"
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                return f"a value put on self: `{ast.unparse(node)}`"
        return None

    def is_collection(self, name: str) -> bool:
        """Whether this name is the `*inputs` of the function: a tuple of arrays, which may be subscripted."""
        vararg = self.function.args.vararg
        return vararg is not None and vararg.arg == name


@pytest.mark.parametrize("path", RULES, ids=[p.name for p in RULES])
def test_rules_use_verbs_alone(path: Path) -> None:
    assert complaints(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", KERNELS, ids=[p.name for p in KERNELS])
def test_compositions_use_verbs_alone(path: Path) -> None:
    assert complaints_about_functions(ast.parse(path.read_text(encoding="utf-8"))) == []


RULE = """
class Mine(Op):
    def __init__(self, k):
        self.k = k
    def forward(self, xp: XP, x: Array, *ys: Array) -> Array:
        {forward}
    def backward(self, xp: XP, g: Array, r: Record, x: Any) -> Grads:
        {backward}
"""


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("return x * 2.0", "an operator on an array: `x * 2.0`"),
        ("return -x", "an operator on an array: `-x`"),
        ("y = xp.exp(x); return y + 1.0", "an operator on an array: `y + 1.0`"),
        ("return xp.where(x > 0.0, x, x)", "a comparison of an array: `x > 0.0`"),
        ("return x[0]", "a subscript of an array: `x[0]`"),
        ("return x.sum()", "a method or attribute of an array: `x.sum`"),
        ("return np.exp(x)", "NumPy: `np.exp`"),
        ("self.x = x; return x", "a value put on self: `self.x`"),
        ("x += 1.0; return x", "an operator on an array: `x += 1.0`"),
        ("return xp.exp(x).T", "a method or attribute of an array: `xp.exp(x).T`"),
        ("n, y = x.shape[0] * 2, xp.exp(x); return xp.affine(y * n, 1.0, 0.0)", "an operator on an array: `y * n`"),
        ("return [y * 2.0 for y in ys]", "an operator on an array: `y * 2.0`"),
    ],
)
def test_the_reader_sees_what_is_no_verb(line: str, complaint: str) -> None:
    bad = complaints(RULE.format(forward=line, backward="return (xp.neg(g),)"))

    assert [c.split(": ", 1)[1] for c in bad] == [complaint]


@pytest.mark.parametrize("line", ["return (r.y * g,)", "return (xp.mul(r.saved * 2.0, g),)", "return (g / x.shape[0],)"])
def test_the_reader_looks_into_backward(line: str) -> None:
    assert complaints(RULE.format(forward="return xp.neg(x)", backward=line)) != []


@pytest.mark.parametrize(
    "line",
    ["return xp.affine(x, self.k * 2.0, 0.0)", "return xp.reshape(x, (x.shape[0] * 2,))", "return xp.exp(x) if ys else ys[0]"],
)
def test_the_reader_lets_verbs_and_shapes_pass(line: str) -> None:
    assert complaints(RULE.format(forward=line, backward="return (g if r.need[0] else None,)")) == []


def test_the_reader_sees_numpy_imported() -> None:
    assert complaints("import numpy as np") == ["line 1: imports numpy"]
    assert complaints("from numpy import exp") == ["line 1: imports numpy"]


def test_there_is_something_to_read() -> None:
    assert len(RULES) > 5 and any("softmax_ref(xp" in p.read_text(encoding="utf-8") for p in KERNELS)
