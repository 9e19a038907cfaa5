"""What can go wrong, one class a failure, each with candle's own sentence (floor 0).

`str(error)` is the bare sentence. What we add as help (the method to call instead, a near name) is a note, which a traceback shows
and `str` does not. Each class also derives from the built-in that a Python user would catch.

    Error
    ├── UnexpectedDType               (TypeError)   DTypeMismatchBinaryOp (TypeError)   UnsupportedDTypeForOp (TypeError)
    ├── UnexpectedShape, ShapeMismatch, ShapeMismatchBinaryOp, ShapeMismatchCat, UnexpectedNumberOfDims,
    │   BroadcastIncompatibleShapes, EmptyTensor, NarrowInvalidArgs, Conv1dInvalidArgs, RequiresContiguous,
    │   OpRequiresAtLeastOneTensor, OpRequiresAtLeastTwoTensors, DuplicateDimIndex, OnlySingleDimension,
    │   ShapeMismatchSplit, CannotSetVar, DTypeParse, IntegerOverflow    (ValueError)
    ├── DimOutOfRange, InvalidIndex   (IndexError)
    │   └── InvalidTarget, an InvalidIndex
    ├── CannotFindTensor              (KeyError)
    ├── BackwardNotSupported, GraphReleased, VersionMismatch, NotCompiledWithCudaSupport, NotCompiledWithMetalSupport (RuntimeError)
    └── Npy, SafeTensor, UnsupportedSafeTensorDtype, Io, FormatError      (ValueError; Io: OSError)
        └── TensorNotFound, a SafeTensor  (KeyError)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NoReturn, Self, TypeVar

E = TypeVar("E", bound=Exception)


def show(dims: Iterable[int]) -> str:
    """Dims as candle's Debug prints them: `[2, 3]`."""
    return str(list(dims))


class Error(Exception):
    """The base of all errors of cafe, and the class of a plain message.

    >>> from cafe import errors
    >>> try:
    ...     errors.bail("takings cannot be negative, got -5")
    ... except errors.Error as error:
    ...     print(error)
    takings cannot be negative, got -5
    """

    def __str__(self) -> str:  # KeyError would quote its argument
        return str(self.args[0]) if self.args else ""

    def help(self, note: str) -> Self:
        """The same error with a line of advice under its traceback."""
        self.add_note(f"help: {note}")
        return self

    def context(self, text: str) -> Error:
        """A new error that puts `text` above this one, as candle's `.context(…)` does: `text` newline `self`.

        >>> print(Error("inner").context("while loading"))
        while loading
        inner
        """
        outer = Error(f"{text}\n{self}")
        outer.__cause__ = self
        return outer


def helped(error: E, note: str | None) -> E:
    """One of Python's own errors with a line of advice under its traceback, as `Error.help` gives to ours; None adds none.

    >>> helped(TypeError("expected tea"), "`brew()` makes some").__notes__
    ['help: `brew()` makes some']
    """
    if note is not None:
        error.add_note(f"help: {note}")
    return error


def bail(message: str) -> NoReturn:
    """Raises a plain `Error` with this message."""
    raise Error(message)


def near(name: str, known: Iterable[str]) -> str | None:
    """A line of help that offers the names most like `name`, or None where nothing is like it.

    The same name a few levels deeper or higher is more like it than any other.
    """
    name, names = str(name), list(map(str, known))
    close = [k for k in names if k.endswith(f".{name}") or name.endswith(f".{k}")][:3]
    close = close or difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    return "did you mean " + " or ".join(f"`{c}`" for c in close) + "?" if close else None


# -- dtypes


class UnexpectedDType(Error, TypeError):
    """A value of one dtype was asked for under another."""

    def __init__(self, msg: str, expected: object, got: object) -> None:
        super().__init__(f"{msg}, expected: {expected!r}, got: {got!r}")


class DTypeMismatchBinaryOp(Error, TypeError):
    """Two operands of unlike dtype; nothing is promoted."""

    def __init__(self, op: str, lhs: object, rhs: object) -> None:
        super().__init__(f"dtype mismatch in {op}, lhs: {lhs!r}, rhs: {rhs!r}")
        self.add_note("help: nothing is promoted; convert one side with `to_dtype`")


class UnsupportedDTypeForOp(Error, TypeError):
    """The op is not defined on this dtype."""

    def __init__(self, dtype: object, op: str) -> None:
        super().__init__(f"unsupported dtype {dtype!r} for op {op}")


class DTypeParse(Error, ValueError):
    """A string that names no dtype."""

    def __init__(self, text: object) -> None:
        super().__init__(f"cannot parse '{text}' as a dtype")


class IntegerOverflow(Error, ValueError, OverflowError):
    """An integer result that does not fit the tensor's dtype."""


# -- shapes and dims


class DimOutOfRange(Error, IndexError):
    """A dim that the shape does not have."""

    def __init__(self, shape: Sequence[int], dim: int, op: str) -> None:
        super().__init__(f"{op}: dimension index {dim} out of range for shape {show(shape)}")


class DuplicateDimIndex(Error, ValueError):
    """The same dim named twice."""

    def __init__(self, shape: Sequence[int], dims: Sequence[int], op: str) -> None:
        super().__init__(f"{op}: duplicate dim index {show(dims)} for shape {show(shape)}")


class UnexpectedNumberOfDims(Error, ValueError):
    """Another rank than the one asked for."""

    def __init__(self, expected: int, got: int, shape: Sequence[int]) -> None:
        super().__init__(f"unexpected rank, expected: {expected}, got: {got} ({show(shape)})")


class UnexpectedShape(Error, ValueError):
    """Another shape than the one asked for."""

    def __init__(self, msg: str, expected: Sequence[int], got: Sequence[int]) -> None:
        super().__init__(f"{msg}, expected: {show(expected)}, got: {show(got)}")


class ShapeMismatch(Error, ValueError):
    """A buffer whose count of elements is not the shape's."""

    def __init__(self, buffer_size: int, shape: Sequence[int]) -> None:
        super().__init__(f"Shape mismatch, got buffer of size {buffer_size} which is compatible with shape {show(shape)}")


class ShapeMismatchBinaryOp(Error, ValueError):
    """Two operands whose shapes do not go together."""

    def __init__(self, op: str, lhs: Sequence[int], rhs: Sequence[int]) -> None:
        super().__init__(f"shape mismatch in {op}, lhs: {show(lhs)}, rhs: {show(rhs)}")


class ShapeMismatchCat(Error, ValueError):
    """Tensors to be joined that differ off the joined dim; `n` counts from 1."""

    def __init__(self, dim: int, first: Sequence[int], n: int, nth: Sequence[int]) -> None:
        super().__init__(
            f"shape mismatch in cat for dim {dim}, shape for arg 1: {show(first)} shape for arg {n}: {show(nth)}"
        )


class ShapeMismatchSplit(Error, ValueError):
    """A dim that does not divide into equal parts."""

    def __init__(self, shape: Sequence[int], dim: int, n_parts: int) -> None:
        super().__init__(f"Cannot divide tensor of shape {show(shape)} equally along dim {dim} into {n_parts}")


class OnlySingleDimension(Error, ValueError):
    """An op that reduces one dim was given several."""

    def __init__(self, op: str) -> None:
        super().__init__(f"{op} can only be performed on a single dimension")


class EmptyTensor(Error, ValueError):
    """An op that has no value on nothing."""

    def __init__(self, op: str) -> None:
        super().__init__(f"empty tensor for {op}")


class NarrowInvalidArgs(Error, ValueError, IndexError):
    """A range that leaves the dim."""

    def __init__(self, shape: Sequence[int], dim: int, start: int, length: int, msg: str) -> None:
        super().__init__(f"narrow invalid args {msg}: {show(shape)}, dim: {dim}, start: {start}, len:{length}")


class Conv1dInvalidArgs(Error, ValueError):
    """Input and kernel of a conv1d that do not go together."""

    def __init__(self, inp: Sequence[int], k: Sequence[int], padding: int, stride: int, msg: str) -> None:
        super().__init__(f"conv1d invalid args {msg}: inp: {show(inp)}, k: {show(k)}, pad: {padding}, stride: {stride}")


class InvalidIndex(Error, IndexError):
    """An id that the dim does not have."""

    def __init__(self, op: str, index: int, size: int) -> None:
        super().__init__(f"{op} invalid index {index} with dim size {size}")


class InvalidTarget(InvalidIndex):
    """A row's target that is no class."""

    def __init__(self, op: str, row: int, target: int, classes: int) -> None:
        Error.__init__(self, f"{op}: the target of row {row} is {target}, and there are {classes} classes, numbered from 0")
        self.add_note("help: `ignore_index` leaves rows of one target out")


class BroadcastIncompatibleShapes(Error, ValueError):
    """A shape that cannot be broadcast to the one wanted."""

    def __init__(self, src: Sequence[int], dst: Sequence[int]) -> None:
        super().__init__(f"cannot broadcast {show(src)} to {show(dst)}")


class CannotSetVar(Error, ValueError):
    """A variable that cannot take this value."""

    def __init__(self, msg: str) -> None:
        super().__init__(f"cannot set variable {msg}")


class RequiresContiguous(Error, ValueError):
    """An op that takes contiguous tensors only."""

    def __init__(self, op: str) -> None:
        super().__init__(f"{op} only supports contiguous tensors")


class OpRequiresAtLeastOneTensor(Error, ValueError):
    """An op on a list of tensors was given none."""

    def __init__(self, op: str) -> None:
        super().__init__(f"{op} expects at least one tensor")


class OpRequiresAtLeastTwoTensors(Error, ValueError):
    """An op on a list of tensors was given fewer than two."""

    def __init__(self, op: str) -> None:
        super().__init__(f"{op} expects at least two tensors")


# -- the graph


class BackwardNotSupported(Error, RuntimeError):
    """A differentiation through an op that has no rule."""

    def __init__(self, op: str) -> None:
        super().__init__(f"backward is not supported for {op}")


class GraphReleased(Error, RuntimeError):
    """A second backward through a graph that the first let go of."""

    def __init__(self) -> None:
        super().__init__("graph already released")
        self.add_note("help: call the first `backward(retain_graph=True)` to walk the same graph twice")


class VersionMismatch(Error, RuntimeError):
    """A backward that needs a value which has been overwritten since."""

    def __init__(self, op: str, recorded: int, now: int) -> None:
        super().__init__(
            f"backward of {op} needs a variable's value from before it was set: version {recorded} was recorded, it is at {now}"
        )
        self.add_note("help: call `backward` before `Var.set` or an optimizer's `step`, or run the forward pass again")


# -- devices


class NotCompiledWithCudaSupport(Error, RuntimeError):
    """There is no CUDA here."""

    def __init__(self) -> None:
        super().__init__("cafe has not been built with cuda support")


class NotCompiledWithMetalSupport(Error, RuntimeError):
    """There is no Metal here."""

    def __init__(self) -> None:
        super().__init__("cafe has not been built with metal support")


# -- names and files


class CannotFindTensor(Error, KeyError):
    """A name that the source of weights does not hold."""

    def __init__(self, path: str, known: Iterable[str] = ()) -> None:
        super().__init__(f"cannot find tensor {path}")
        if (note := near(path, known)) is not None:
            self.help(note)


class Npy(Error, ValueError):
    """A damaged or unsupported npy or npz file."""

    def __init__(self, msg: str) -> None:
        super().__init__(f"npy/npz error {msg}")


class SafeTensor(Error, ValueError):
    """A damaged safetensors file."""


class TensorNotFound(SafeTensor, KeyError):
    """A name that a safetensors file does not hold."""

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        super().__init__(f"tensor `{name}` not found")
        if (note := near(name, known)) is not None:
            self.help(note)


class UnsupportedSafeTensorDtype(Error, ValueError):
    """A dtype of safetensors that cafe has no home for."""

    def __init__(self, dtype: str) -> None:
        super().__init__(f"unsupported safetensor dtype {dtype}")


class FormatError(Error, ValueError):
    """A file that is not what it should be."""


class Io(Error, OSError):
    """The operating system's word on a file, with the path: `path: "x" No such file or directory (os error 2)`."""

    def __init__(self, path: object, error: OSError) -> None:
        OSError.__init__(self, f'path: "{path}" {error.strerror} (os error {error.errno})')
