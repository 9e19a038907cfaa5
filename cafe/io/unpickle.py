"""What a pickle says, as plain values, without running anything of it (floor 5).

A pickle is a program for a small machine: most of its opcodes push plain values, a few name a function of any module and call it.
Python's own machine imports and calls what is named; this one does neither. A name is a `Name`, inert; a call is answered by a function of
ours if the caller gave one for that name, and by a `Refused` if not. So `read` reads every pickle and runs none of it:

    pickle = read(Cursor(data), {"collections.OrderedDict": ordered_dict}, …)
    pickle.value, pickle.refused              # the value, and the names that were asked for and not given
"""

from __future__ import annotations

import pickletools
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from cafe.errors import FormatError
from cafe.io.base import brief

#: How a name's call is answered: from its arguments, which are plain values.
Builders: TypeAlias = Mapping[str, Callable[[tuple[Any, ...]], Any]]

INTEGER_LIMIT = 32  # bytes: no honest integer is longer, and Python prints none of a thousand
PLAIN = (str, int, float, bytes, type(None))  # bool is an int


@dataclass(frozen=True, eq=False)
class Name:
    """A class or a function that a pickle names, by its dotted name; nothing has been imported."""

    dotted: str


@dataclass(frozen=True, eq=False)
class Refused:
    """Stands for what a refused name would have made."""

    dotted: str


class Pickle(NamedTuple):
    """What was read: the value, and the dotted names that were asked for and refused, in order."""

    value: Any
    refused: tuple[str, ...]


class Cursor:
    """A place in a buffer; reading beyond its end gives less, as in a file."""

    def __init__(self, buffer: memoryview, at: int = 0) -> None:
        self.buffer, self.at = buffer, at

    def read(self, count: int) -> bytes:
        """At most so many bytes."""
        piece = bytes(self.buffer[self.at : self.at + count])
        self.at += len(piece)
        return piece

    def readline(self) -> bytes:
        """All up to a newline, which is included, or to the end."""
        window = 64
        while True:
            piece = bytes(self.buffer[self.at : self.at + window])
            if (end := piece.find(b"\n")) >= 0:
                return self.read(end + 1)
            if len(piece) < window:
                return self.read(len(piece))
            window *= 4


def read(source: Cursor, builders: Builders, names: Collection[str], outside: Callable[[Any], Any]) -> Pickle:
    """The value of the pickle that begins here; the cursor then stands behind it.

    builders: what answers the calls of these names; names: those that may be named, not called; outside: what stands for something
    outside the pickle, from the id that it goes by in there.

    Raises: FormatError for bytes that are no pickle.

    >>> read(Cursor(memoryview(b"cos\\nsystem\\n(S'rm'\\ntR.")), {}, (), id)
    Pickle(value=Refused(dotted='os.system'), refused=('os.system',))
    """
    machine = _Machine(builders, names, outside)
    try:
        while not machine.step(source):
            pass
        value = machine.pop()
    except FormatError:
        if not machine.refused:
            raise
        value = None  # what was refused says more about such a file than where it breaks off
    return Pickle(value, tuple(machine.refused))


class _Machine:
    """The stack, the marks in it, and the memo."""

    def __init__(self, builders: Builders, names: Collection[str], outside: Callable[[Any], Any]) -> None:
        self.builders, self.names, self.outside = builders, names, outside
        self.refused: dict[str, None] = {}
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under the marks
        self.memo: dict[int, Any] = {}

    def step(self, source: Cursor) -> bool:
        """Does one opcode; whether it was the last."""
        code = source.read(1)
        op = _OPCODES.get(code)
        if op is None:
            raise FormatError(f"unknown op-code {code[0]}" if code else "the pickle breaks off")
        if op.name == "STOP":
            return True
        try:
            argument = _argument(op, source)
        except (ValueError, OverflowError, IndexError) as error:
            raise FormatError(f"damaged argument of {op.name}: {brief(str(error))}") from error
        _ACTIONS[op.name](self, argument)
        return False

    # -- the stack

    def push(self, value: Any) -> None:
        """Puts a value on top; an integer must be one that can be shown."""
        if isinstance(value, int) and value.bit_length() > 8 * INTEGER_LIMIT:
            raise FormatError(f"an integer of {value.bit_length()} bits")
        self.stack.append(value)

    def pop(self) -> Any:
        """The topmost value, taken off."""
        if not self.stack:
            raise FormatError("unexpected empty stack")
        return self.stack.pop()

    def top(self) -> Any:
        """The topmost value, which stays."""
        if not self.stack:
            raise FormatError("unexpected empty stack")
        return self.stack[-1]

    def several(self, count: int) -> tuple[Any, ...]:
        """The topmost values, taken off, the topmost last."""
        return tuple(reversed([self.pop() for _ in range(count)]))

    def mark(self, _: Any = None) -> None:
        """From here on values go above a mark."""
        self.below.append(self.stack)
        self.stack = []

    def above_mark(self) -> list[Any]:
        """What is above the last mark, taken off with the mark."""
        if not self.below:
            raise FormatError("marker object not found")
        above, self.stack = self.stack, self.below.pop()
        return above

    # -- the memo

    def put(self, place: int) -> None:
        """Remembers the topmost value."""
        self.memo[place] = self.top()

    def get(self, place: int) -> None:
        """Pushes what was remembered."""
        if place not in self.memo:
            raise FormatError(f"missing object in memo {brief(str(place))}")
        self.stack.append(self.memo[place])

    # -- containers

    def extend(self, items: list[Any]) -> None:
        """Adds to the list on top."""
        target = self.top()
        if isinstance(target, list):
            target.extend(items)
        elif not isinstance(target, Refused):
            raise FormatError(f"expected a list, got {_kind(target)}")

    def update(self, items: list[Any]) -> None:
        """Adds keys and values, in turn, to the dict on top."""
        if len(items) % 2:
            raise FormatError("setitems: not an even number of objects")
        target = self.top()
        if isinstance(target, dict):
            _fill(target, zip(items[::2], items[1::2]))
        elif not isinstance(target, Refused):
            raise FormatError(f"expected a dict, got {_kind(target)}")

    # -- names and calls

    def name(self, module: Any, name: Any) -> None:
        """Pushes what stands for a name of a module."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise FormatError(f"a name is two strings, got {_kind(module)} and {_kind(name)}")
        dotted = f"{module}.{name}"
        if dotted not in self.builders and dotted not in self.names:
            self.refused.setdefault(dotted)
        self.stack.append(Name(dotted))

    def call(self, function: Any, arguments: Any) -> None:
        """Pushes what our own builder makes of these arguments, or what stands for a refused call."""
        if isinstance(function, Refused):  # a method of something refused
            self.stack.append(function)
        elif not isinstance(function, Name):
            raise FormatError(f"expected a function, got {_kind(function)}")
        elif function.dotted in self.builders and isinstance(arguments, tuple):
            self.stack.append(self.builders[function.dotted](arguments))
        else:
            self.refused.setdefault(function.dotted)
            self.stack.append(Refused(function.dotted))

    def build(self) -> None:
        """Drops the state that an object would be given: the attributes of a dict are not its items."""
        self.pop()
        if not isinstance(self.top(), dict | Refused):
            raise FormatError(f"{_kind(self.top())} takes no state")


def _fill(target: dict[Any, Any], items: Any) -> None:
    """Adds items whose keys are plain, or tuples of plain values (the hash of tuples nested in tuples may take for ever)."""
    for key, value in items:
        if not isinstance(key, PLAIN) and not (isinstance(key, tuple) and all(isinstance(part, PLAIN) for part in key)):
            raise FormatError(f"a key must be a plain value, got {_kind(key)}")
        target[key] = value


def ordered_dict(arguments: tuple[Any, ...]) -> dict[Any, Any]:
    """The builder for `collections.OrderedDict`: of nothing, or of pairs as Python 2 wrote them."""
    made: dict[Any, Any] = {}
    if arguments:
        pairs = arguments[0]
        if not isinstance(pairs, list) or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            raise FormatError(f"expected a list of pairs, got {_kind(pairs)}")
        _fill(made, pairs)
    return made


def _kind(value: Any) -> str:
    """A value as an error can show it without walking through it."""
    return brief(repr(value)) if isinstance(value, PLAIN) else getattr(value, "dotted", f"a {type(value).__name__}")


# -- the opcodes: their arguments, and what each does to the machine

_OPCODES = {op.code.encode("latin-1"): op for op in pickletools.opcodes}
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}

_Action: TypeAlias = Callable[[_Machine, Any], None]


def _argument(op: pickletools.OpcodeInfo, source: Cursor) -> Any:
    """What follows the opcode, as the standard library reads it; lines of text apart, whose odd escapes make that warn."""
    if op.arg is None:
        return None
    if op.arg.name == "stringnl":
        return _quoted(source.readline().strip())
    if op.arg.name == "stringnl_noescape":
        return _line(source)
    if op.arg.name == "stringnl_noescape_pair":
        return _line(source), _line(source)
    return op.arg.reader(source)  # type: ignore[arg-type]


def _line(source: Cursor) -> str:
    line = source.readline()
    if not line.endswith(b"\n"):
        raise ValueError("no newline")
    return line[:-1].decode()


def _quoted(text: bytes) -> str:
    if len(text) < 2 or text[:1] not in b"'\"" or text[-1:] != text[:1]:
        raise ValueError("a string without quotes")
    return re.sub(rb"\\(?:x([0-9a-fA-F]{2})|(.))", _unescaped, text[1:-1]).decode("latin-1")


def _unescaped(found: re.Match[bytes]) -> bytes:
    code, letter = found.groups()
    return bytes([int(code, 16)]) if code else _ESCAPES.get(letter, letter)


def _nothing(machine: _Machine, argument: Any) -> None:
    """For what tells how the bytes are framed."""


def _constant(value: Any) -> _Action:
    return lambda machine, _: machine.push(value)


def _wrapped(kind: Callable[[list[Any]], Any]) -> _Action:
    """All above the mark, in one."""
    return lambda machine, _: machine.push(kind(machine.above_mark()))


def _tuple_of(count: int) -> _Action:
    return lambda machine, _: machine.push(machine.several(count))


def _pop(machine: _Machine, _: Any) -> None:
    if machine.stack:
        machine.stack.pop()
    else:
        machine.above_mark()


def _pop_mark(machine: _Machine, _: Any) -> None:
    machine.above_mark()


def _dict(machine: _Machine, _: Any) -> None:
    items = machine.above_mark()
    machine.push({})
    machine.update(items)


def _inst(machine: _Machine, names: tuple[str, str]) -> None:
    """A call of what is named here with all above the mark."""
    arguments = tuple(machine.above_mark())
    machine.name(*names)
    machine.call(machine.pop(), arguments)


def _obj(machine: _Machine, _: Any) -> None:
    """A call of the first above the mark with the others."""
    above = machine.above_mark()
    machine.call(above[0] if above else None, tuple(above[1:]))


def _extension(machine: _Machine, code: int) -> None:
    """A name by a number that copyreg would know."""
    machine.name("copyreg", f"extension {code}")


def _unsupported(machine: _Machine, _: Any) -> None:
    raise FormatError("unsupported op-code: the value lies outside the pickle")


_PUSHED = (
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE SHORT_BINUNICODE BINUNICODE"
    " BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8"
)

_ACTIONS: dict[str, _Action] = {
    **dict.fromkeys(_PUSHED.split(), _Machine.push),
    **dict.fromkeys(["PROTO", "FRAME"], _nothing),
    **dict.fromkeys(["NEXT_BUFFER", "READONLY_BUFFER"], _unsupported),
    **dict.fromkeys(["EXT1", "EXT2", "EXT4"], _extension),
    **dict.fromkeys(["PUT", "BINPUT", "LONG_BINPUT"], _Machine.put),
    **dict.fromkeys(["GET", "BINGET", "LONG_BINGET"], _Machine.get),
    "MEMOIZE": lambda machine, _: machine.put(len(machine.memo)),
    "NONE": _constant(None),
    "NEWTRUE": _constant(True),
    "NEWFALSE": _constant(False),
    "EMPTY_TUPLE": _constant(()),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_SET": lambda machine, _: machine.push([]),  # a list, lest something be hashed
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "LIST": _wrapped(list),
    "TUPLE": _wrapped(tuple),
    "FROZENSET": _wrapped(tuple),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "DICT": _dict,
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.above_mark()),
    "ADDITEMS": lambda machine, _: machine.extend(machine.above_mark()),
    "SETITEM": lambda machine, _: machine.update(list(machine.several(2))),
    "SETITEMS": lambda machine, _: machine.update(machine.above_mark()),
    "MARK": _Machine.mark,
    "POP": _pop,
    "POP_MARK": _pop_mark,
    "DUP": lambda machine, _: machine.push(machine.top()),
    "GLOBAL": lambda machine, names: machine.name(*names),
    "STACK_GLOBAL": lambda machine, _: machine.name(*machine.several(2)),
    "REDUCE": lambda machine, _: machine.call(*machine.several(2)),
    "NEWOBJ": lambda machine, _: machine.call(*machine.several(2)),
    "NEWOBJ_EX": lambda machine, _: machine.call(*machine.several(3)[:2]),
    "INST": _inst,
    "OBJ": _obj,
    "BUILD": lambda machine, _: machine.build(),
    "PERSID": lambda machine, text: machine.push(machine.outside(text)),
    "BINPERSID": lambda machine, _: machine.push(machine.outside(machine.pop())),
}
