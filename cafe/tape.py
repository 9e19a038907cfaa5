"""The tape: what was computed from what, and the walk back (floor 3). It knows ops and arrays, not Tensors.

    loss ──► node of `mean`   seq 7
                │
             node of `sqr`    seq 6        a node holds its op, the nodes of its inputs (None where an input
                │                          does not descend from a variable) and what the op's backward asked to keep
             node of `sub`    seq 5
              │       │
        leaf of w    None                  a leaf is a variable: its gradient goes into the store

A node is made after its inputs' nodes, so walking by falling sequence number meets every consumer of a node before the node itself.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from cafe import kernels, tracing
from cafe.dtype import Array
from cafe.errors import Error, GraphReleased, UnexpectedShape, VersionMismatch
from cafe.habits import told
from cafe.kernels.base import TAKES_HALVES, XP
from cafe.ops.base import Meta, Op, Record, Result

_next = itertools.count(1).__next__
_F32 = np.dtype(np.float32)
_ALONE = (True,)  # whose gradient is wanted of the one input of a node


class _Recording(threading.local):
    on = True


_recording = _Recording()


@contextmanager
@told({"no_grad": "`with no_grad():`, or `@no_grad()` above a function, with the parentheses"})
def no_grad() -> Iterator[None]:
    """Nothing computed inside is recorded (in this thread)."""
    before, _recording.on = _recording.on, False
    try:
        yield
    finally:
        _recording.on = before


class Version:
    """How often a variable's storage has been written; its views share this cell."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Operand(Protocol):
    """What floor 4 computes with: an array, its place in the graph (None outside it), and the version cell of the storage that it views."""

    @property
    def _data(self) -> Array: ...
    @property
    def _node(self) -> Node | None: ...
    @property
    def _version(self) -> Version | None: ...


class Node(Record):
    """One recorded application of an op: the record that the op's backward sees, and its place in the graph.

    inputs: what the backward is given: arrays that are kept, for the others their shape and dtype (of an input inside the graph its node,
    which has both); None once they were let go. half: whether F16 or BF16 are among what it keeps.
    """

    __slots__ = ("dtype", "half", "inputs", "op", "parents", "seq", "shape", "versions")

    op: Op | None
    half: bool
    inputs: Sequence[Any] | None
    parents: Sequence[Node | None]
    versions: Sequence[tuple[Version, int]]

    def __init__(
        self,
        op: Op,
        operands: Sequence[Operand],
        parents: list[Node | None],
        arrays: list[Any],
        half: bool,
        y: Array,
        saved: Any,
        const: Any,
    ) -> None:
        self.seq = _next()
        self.op = op
        self.parents = parents
        self.shape = y.shape
        self.dtype = y.dtype
        self.half = half
        self.saved = saved
        self.const = const
        self.versions = ()
        kept, others, output = _places(op.keep, len(arrays))
        self.y = y if output else None
        for i in kept:
            version = operands[i]._version
            if version is not None:
                self.versions = (*self.versions, (version, version.count))
        for i in others:  # the list of arrays is the node's from here on
            a, parent = arrays[i], parents[i]
            arrays[i] = Meta(a.shape, _F32 if is_half(a.dtype) else a.dtype) if parent is None or half else parent
        self.inputs = arrays

    def release(self) -> None:
        """Lets go of what the backward needed, and of the rest of the graph: a loss that is kept holds nothing but its number."""
        self.inputs = self.y = self.saved = self.const = None
        self.versions = self.parents = ()


@functools.cache
def _places(keep: str, count: int) -> tuple[list[int], list[int], bool]:
    """Which of so many inputs `keep` names, which it does not, and whether it names the output."""
    kept = [i for i in range(count) if "*" in keep or str(i) in keep]
    return kept, [i for i in range(count) if i not in kept], "y" in keep


class Leaf(Node):
    """A variable. owner: its id."""

    __slots__ = ("owner",)

    def __init__(self, data: Array, owner: int) -> None:
        self.seq, self.op, self.owner = _next(), None, owner
        self.shape, self.dtype = data.shape, data.dtype


def leaf(data: Array, owner: int) -> Leaf | None:
    """The node of the variable with this id; None for integers, which have no gradient."""
    return None if data.dtype.kind in "iu" else Leaf(data, owner)


def records(*operands: Operand) -> bool:
    """Whether a differentiable op on these would be recorded now."""
    return _recording.on and any(t._node is not None for t in operands)


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether this is F16 or BF16, which compute through F32."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def _widen(value: Any) -> Any:
    """F32 in place of an F16 or BF16 array."""
    return kernels.cast(value, _F32) if isinstance(value, np.ndarray) and is_half(value.dtype) else value


def run(op: Op, operands: Sequence[Operand]) -> tuple[Array, Node | None, Any]:
    """Computes an op and records it if it can be differentiated and an input descends from a variable; gives what has no derivative, too.

    Here F16 and BF16 become F32 and back unless the op's kernels do that. What csrc/tensors.c takes does not come by here.
    """
    arrays, parents, half = [], [], None
    for t in operands:
        a = t._data
        arrays.append(a)
        parents.append(t._node)
        if a.dtype is not _F32 and half is None and is_half(a.dtype):
            half = a.dtype
    if half is None or op.moves:
        return record(op, operands, parents, arrays, half, _forward(op, arrays))
    taken = TAKES_HALVES and op.halves and not (op.wide and any(p is not None for p in parents))
    out = _forward(op, arrays if taken else list(map(_widen, arrays)))
    y, saved, const = out if type(out) is Result else (out, None, None)
    narrow = kernels.cast(y, half) if y.dtype == _F32 else y
    narrow, node, const = record(op, operands, parents, arrays, half, Result(narrow, saved, const))
    if node is not None and op.wide:
        node.y = y  # it was computed in F32, because it is recorded
    return narrow, node, const


def _forward(op: Op, arrays: Sequence[Array]) -> Array | Result:
    if tracing.active is None:
        return op.forward(kernels, *arrays)
    with tracing.span(tracing.Level.TRACE, op.name, inputs=[a.shape for a in arrays], dtype=arrays[0].dtype if arrays else None):
        return op.forward(kernels, *arrays)


def record(
    op: Op, operands: Sequence[Operand], parents: list[Node | None], arrays: list[Any], half: np.dtype[Any] | None, out: Array | Result
) -> tuple[Array, Node | None, Any]:
    """What an op gave, with its node if there is to be one: the one place that decides about recording."""
    y, saved, const = out if type(out) is Result else (out, None, None)
    if not _recording.on or not op.differentiable:
        return y, None, const
    for parent in parents:
        if parent is not None:
            break
    else:
        return y, None, const
    dtype = y.dtype
    if dtype is not _F32 and dtype.kind in "iu":
        return y, None, const
    halves = half is not None or (dtype is not _F32 and is_half(dtype))
    return y, Node(op, operands, parents, arrays, halves, y, saved, const), const


class GraphMode(Protocol):
    """What floor 4 hands in so that a backward is itself recorded: the verbs on Tensors and a way to wrap an array with its node."""

    xp: XP

    def wrap(self, array: Array, node: Node | None) -> Any:
        """A Tensor over the array, with its place in the graph."""


def backward(root: Node, seed: Any, retained: frozenset[Node], keep_graph: bool, graph: GraphMode | None) -> dict[Node, Any]:
    """Walks from the root to the variables; gives the gradients of the leaves and of the retained nodes.

    Ordinarily gradients are arrays (F32 for F16 and BF16 until they reach a variable); with `graph` they are Tensors.
    """
    if tracing.active is None:
        return _walk(root, seed, retained, keep_graph, graph)
    with tracing.span(tracing.Level.DEBUG, "backward"):
        return _walk(root, seed, retained, keep_graph, graph)


def _walk(root: Node, seed: Any, retained: frozenset[Node], keep_graph: bool, graph: GraphMode | None) -> dict[Node, Any]:
    rule, push, pop = _rule if tracing.active is None else _traced_rule, heapq.heappush, heapq.heappop
    grads = {root: seed}
    heap = [(-root.seq, root)] if root.op is not None else []  # the latest first; variables stay out of it
    found: dict[Node, Any] = {}
    summed: set[Node] = set()  # whose gradient is an array that nobody else holds
    while heap:
        node = pop(heap)[1]
        g = grads.pop(node)
        if retained and node in retained:
            found[node] = g
        op: Any = node.op
        added, fresh = op.part and _add_part(node, g, grads, summed, graph), op.fresh
        for parent, contribution in zip(node.parents, () if added else rule(node, g, graph, keep_graph)):
            if parent is None or contribution is None:
                continue
            if contribution.shape != parent.shape:
                raise UnexpectedShape(f"gradient in the backward of {_name(node)}", parent.shape, contribution.shape)
            if parent in grads:
                grads[parent] = _added(grads[parent], contribution, parent, summed, graph)
                continue
            grads[parent] = contribution
            if parent.op is not None:
                push(heap, (-parent.seq, parent))
                if fresh:
                    summed.add(parent)
        if not keep_graph:
            node.release()
    return found | grads if found else grads  # what is left are the variables


def _add_part(node: Node, g: Any, grads: dict[Node, Any], summed: set[Node], graph: GraphMode | None) -> bool:
    """Adds the gradient of a part to the one that its whole has already; whether that was so."""
    if graph is not None or node.op is None or node.inputs is None or tracing.active is not None:
        return False
    whole = node.parents[0]
    total = grads.get(whole) if whole is not None else None
    if whole is None or total is None:
        return False
    if whole not in summed:
        total = grads[whole] = kernels.copy(total)
        summed.add(whole)
    node.op.add_to(kernels, total, g)
    return True


def _added(before: Any, g: Any, node: Node, summed: set[Node], graph: GraphMode | None) -> Any:
    """A contribution to a gradient that is there already: in place into an array that is the walk's own, else into a new one, which then
    is; with `graph` nothing is written to."""
    if graph is not None:
        return graph.xp.add(before, g)
    if node in summed:
        kernels.accumulate(before, g)
        return before
    summed.add(node)
    return kernels.add(before, g)


def _traced_rule(node: Node, g: Any, graph: GraphMode | None, keep_graph: bool) -> tuple[Any, ...]:
    with tracing.span(tracing.Level.TRACE, f"{_name(node)} backward", shape=node.shape, dtype=node.dtype):
        return _rule(node, g, graph, keep_graph)


def _name(node: Node) -> str:
    return getattr(node.op, "name", "")


def _rule(node: Node, g: Any, graph: GraphMode | None, keep_graph: bool) -> tuple[Any, ...]:
    """Runs the backward of one node; what goes to a variable shares memory with nothing."""
    op, inputs = node.op, node.inputs
    if op is None or inputs is None:
        raise GraphReleased
    for version, recorded in node.versions:
        if version.count != recorded:
            raise VersionMismatch(op.name, recorded, version.count)
    count, parents = len(inputs), node.parents
    need = _ALONE if count == 1 else (parents[0] is not None, parents[1] is not None) if count == 2 else [p is not None for p in parents]
    node.need = need
    record: Record = node
    if graph is not None:
        y = node.y if node.y is None or node.y.dtype == node.dtype else kernels.cast(node.y, node.dtype)
        record = Record(need, None if y is None else graph.wrap(y, node), None, _wrap_const(graph, node.const))
        inputs = [graph.wrap(a, p) if isinstance(a, np.ndarray) else a for a, p in zip(inputs, node.parents)]
    elif node.half or op.spends:
        record = Record(need, _widen(node.y), _to_spend(node, keep_graph) if op.spends else node.saved, node.const)
        inputs = list(map(_widen, inputs))
    xp = kernels if graph is None else graph.xp
    if count == 1:
        grads = op.backward(xp, g, record, inputs[0])
    elif count == 2:
        grads = op.backward(xp, g, record, inputs[0], inputs[1])
    else:
        grads = op.backward(xp, g, record, *inputs)
    if type(grads) is not tuple or len(grads) != count:
        got = len(grads) if type(grads) is tuple else type(grads).__name__
        raise Error(f"backward of {_name(node)}: a tuple with a gradient or None for each of {count} inputs is wanted, got {got}")
    if op.fresh or graph is not None:
        return grads
    saved = node.saved if keep_graph else None  # it is let go of otherwise
    return _owned(grads, node, [g, record.y, node.const, *inputs, saved])


def _to_spend(node: Node, keep_graph: bool) -> Any:
    """What the node saved, for a rule that may write over it: copies if the graph is kept, else the node lets go of it."""
    saved = node.saved
    if keep_graph:
        return tuple(map(kernels.copy, saved)) if isinstance(saved, tuple) else saved if saved is None else kernels.copy(saved)
    node.saved = None
    return saved


def _owned(grads: tuple[Any, ...], node: Node, others: list[Any]) -> tuple[Any, ...]:
    """The gradients, those of variables in memory of their own: apart from all that the rule was given (others) and gave."""
    for parent in node.parents:
        if parent is not None and parent.op is None:
            break
    else:  # no variable among the inputs
        return grads
    others = [a for array in others for a in (array if isinstance(array, tuple) else (array,)) if a is not None]
    owned = []
    for g, parent in zip(grads, node.parents):
        mine = g if g is None or parent is None or parent.op is not None else _own(g, others)
        owned.append(mine)
        others.append(g)
    return tuple(owned)


def _wrap_const(graph: GraphMode, const: Any) -> Any:
    if isinstance(const, tuple):
        return tuple(_wrap_const(graph, c) for c in const)
    return graph.wrap(const, None) if isinstance(const, np.ndarray) else const


def _own(g: Array, others: Sequence[Any]) -> Array:
    """g itself if it is row-major and provably shares memory with none of the others, else a copy.

    An array that is the root of its memory can be shared only by itself and by views, whose base it is (NumPy keeps no chains of views).
    """
    base = g.base
    if isinstance(base, np.ndarray) or not g.flags.c_contiguous:
        return kernels.copy(g)
    for other in others:
        if other is g or getattr(other, "base", None) is g:
            return kernels.copy(g)
    return g
