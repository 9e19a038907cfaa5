"""Spans: where the time goes, floor by floor, in a file that Perfetto opens (floor 0).

    with tracing.subscriber(tracing.ChromeTrace("train.json")):
        with tracing.span(Level.INFO, "epoch", number=3):
            …
            tracing.event(Level.WARN, "loss is not finite", step=12)

Without a subscriber nothing is measured: `span(…)` gives back one shared, disabled span. A caller on the hot path saves
even that, and the building of the fields, by testing the module's `active` first. It is the subscriber or None, so the
test is one attribute and one comparison:

    if tracing.active is None:
        y = op.forward(xp, x)
    else:
        with tracing.span(Level.TRACE, op.name, shape=x.shape):
            y = op.forward(xp, x)

(Write `tracing.active`; `from cafe.tracing import active` would copy today's value.) Measured on a 2-core x86-64 cloud
machine with Python 3.11, without a subscriber: the test 6 ns; `with span(Level.TRACE, "attention", words=4): pass`
370 ns, of which looking up `Level.TRACE` takes 100; with a ChromeTrace 4.4 µs.

There is one subscriber for all threads of the process. Threads may open and close spans at the same time; a guard
belongs to the thread that entered it.
"""

from __future__ import annotations

import contextlib
import enum
import json
import math
import os
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from cafe.files import PathLike, replacing


class Level(enum.IntEnum):
    """How much a span or an event matters; a higher level is more urgent.

    >>> Level.TRACE < Level.DEBUG < Level.INFO < Level.WARN < Level.ERROR
    True
    """

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4


class Subscriber:
    """Who is told of spans and events: subclass it and override what is of interest.

    The methods are called by the thread that enters, leaves or reports, possibly by several at once.
    """

    def __init__(self, level: Level = Level.TRACE) -> None:
        self.level = level

    def enabled(self, level: Level, name: str) -> bool:
        """Whether a span or event of this level and name is wanted: by default from `self.level` upwards."""
        return level >= self.level

    def on_enter(self, span: Span, start: int) -> None:
        """A span was entered at `start` (nanoseconds of `time.perf_counter_ns`)."""

    def on_exit(self, span: Span, start: int, end: int) -> None:
        """The visit of a span that began at `start` ended at `end`."""

    def on_event(self, level: Level, message: str, fields: dict[str, Any]) -> None:
        """Something happened at this moment."""

    def close(self) -> None:
        """The block that this subscriber was for has ended."""


class Span:
    """A stretch of work with a name and fields; made by `span(…)`, entered by `with` or by `enter()`."""

    __slots__ = ("_open", "_subscriber", "fields", "level", "name")

    def __init__(self, subscriber: Subscriber | None, level: Level, name: str, fields: dict[str, Any]) -> None:
        self._subscriber = subscriber
        self._open: dict[int, list[Guard]] = {}  # by thread: two of them may be inside one span
        self.level = level
        self.name = name
        self.fields = fields

    def is_disabled(self) -> bool:
        """Whether nobody listens, so that entering does nothing."""
        return self._subscriber is None

    def record(self, **fields: Any) -> None:
        """Adds fields, or replaces them, while the span is open: what is only known at the end of the work."""
        if self._subscriber is not None:
            self.fields = {**self.fields, **fields}

    def enter(self) -> Guard:
        """Enters the span, until the guard's `exit()`, the end of its `with`, or the end of the guard itself.

        >>> def score(words):
        ...     guard = span(Level.TRACE, "attention", words=words).enter()  # open until the function returns
        ...     return words * words
        >>> score(4)
        16
        """
        if self._subscriber is None:
            return _NO_GUARD
        return Guard(self, self._subscriber)

    def __enter__(self) -> Self:
        if self._subscriber is not None:
            self._open.setdefault(threading.get_ident(), []).append(self.enter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._subscriber is not None:
            self._open[threading.get_ident()].pop().exit()

    def __repr__(self) -> str:
        return f"Span({self.level.name}, {self.name!r}{', disabled' if self.is_disabled() else ''})"


class Guard:
    """A span's visit: the span is open as long as the guard is."""

    __slots__ = ("_span", "_start", "_subscriber")

    def __init__(self, span: Span, subscriber: Subscriber | None) -> None:
        self._span = span
        self._subscriber = subscriber
        self._start = time.perf_counter_ns()
        if subscriber is not None:
            subscriber.on_enter(span, self._start)

    def exit(self) -> None:
        """Leaves the span; a second time does nothing."""
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            subscriber.on_exit(self._span, self._start, time.perf_counter_ns())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.exit()

    def __del__(self) -> None:
        self.exit()


_DISABLED = Span(None, Level.TRACE, "", {})
_NO_GUARD = Guard(_DISABLED, None)

active: Subscriber | None = None
"""The subscriber of this moment, or None: the cheapest question a caller can ask."""

_lock = threading.Lock()
_default: Subscriber | None = None
_scopes: list[_Scope] = []


class _Scope:
    """One `with subscriber(…)` block; blocks of several threads may end in any order."""

    def __init__(self, subscriber: Subscriber) -> None:
        self.subscriber = subscriber


def _choose() -> None:
    global active
    active = _scopes[-1].subscriber if _scopes else _default


def set_subscriber(subscriber: Subscriber | None) -> None:
    """Sends spans and events to `subscriber` from now on, outside of `with subscriber(…)` blocks; None stops that."""
    global _default
    with _lock:
        _default = subscriber
        _choose()


_S = TypeVar("_S", bound=Subscriber)


@contextlib.contextmanager
def subscriber(subscriber: _S) -> Iterator[_S]:
    """Sends the spans and events of all threads to `subscriber` during the block, then closes it.

    A ChromeTrace then writes its file, also when the block failed.

    >>> class Names(Subscriber):
    ...     def on_enter(self, span, start):
    ...         print(span.name, span.fields)
    >>> with subscriber(Names()), span(Level.INFO, "epoch", number=3):
    ...     pass
    epoch {'number': 3}
    """
    scope = _Scope(subscriber)
    with _lock:
        _scopes.append(scope)
        _choose()
    try:
        yield subscriber
    finally:
        with _lock:
            _scopes.remove(scope)
            _choose()
        subscriber.close()


def span(level: Level, name: str, /, **fields: Any) -> Span:
    """A span that the subscriber hears of when it is entered; a disabled one where nobody wants it.

    >>> span(Level.TRACE, "attention", words=4).is_disabled()
    True
    """
    listener = active
    if listener is None or not listener.enabled(level, name):
        return _DISABLED
    return Span(listener, level, name, fields)


def event(level: Level, message: str, /, **fields: Any) -> None:
    """Tells the subscriber that something happened now."""
    listener = active
    if listener is not None and listener.enabled(level, message):
        listener.on_event(level, message, fields)


class ChromeTrace(Subscriber):
    """Collects spans and events and writes them as Chrome trace events: open the file at https://ui.perfetto.dev.

    Each visit of a span is a complete event (`"ph": "X"`) with its thread, its start and duration in microseconds,
    and its fields as `args`; an event is an instant (`"ph": "i"`). Fields are made plain at once, so a trace keeps no
    tensor alive. After `limit` entries further ones are only counted: `otherData.dropped` in the file says how many.
    """

    def __init__(self, path: PathLike, level: Level = Level.TRACE, limit: int = 1_000_000) -> None:
        super().__init__(level)
        self.path = path
        self.limit = limit
        self.dropped = 0
        self._entries: list[dict[str, Any]] = []
        self._threads: dict[tuple[int, int], str] = {}
        self._origin = time.perf_counter_ns()
        self._lock = threading.Lock()

    def on_exit(self, span: Span, start: int, end: int) -> None:
        """Adds a complete event."""
        entry = {"name": span.name, "cat": span.level.name, "ph": "X", "dur": (end - start) / 1e3}
        self._add(entry, start, span.fields)

    def on_event(self, level: Level, message: str, fields: dict[str, Any]) -> None:
        """Adds an instant of this thread."""
        self._add({"name": message, "cat": level.name, "ph": "i", "s": "t"}, time.perf_counter_ns(), fields)

    def _add(self, entry: dict[str, Any], at: int, fields: dict[str, Any]) -> None:
        pid, tid = os.getpid(), threading.get_native_id()
        args = {key: _plain(value) for key, value in fields.items()}
        entry |= {"pid": pid, "tid": tid, "ts": (at - self._origin) / 1e3, "args": args}
        with self._lock:
            self._threads.setdefault((pid, tid), threading.current_thread().name)
            if len(self._entries) < self.limit:
                self._entries.append(entry)
            else:
                self.dropped += 1

    def save(self) -> None:
        """Writes what has been collected so far to `path`, whole or not at all.

        Raises: Io.
        """
        with self._lock:
            entries, threads, dropped = list(self._entries), dict(self._threads), self.dropped
        names = [
            {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}
            for (pid, tid), name in threads.items()
        ]
        document = {"traceEvents": names + entries, "displayTimeUnit": "ns", "otherData": {"dropped": dropped}}
        with replacing(self.path) as file:
            file.write(json.dumps(document, allow_nan=False).encode())

    def close(self) -> None:
        """Saves the trace."""
        self.save()


def _plain(value: Any) -> str | int | float | bool | None:
    """What JSON can hold: a number, a bool, None or text. Infinities and NaN become text: JSON has no word for them."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, bool | int | str) or value is None:
        return value
    return str(value)
