"""Spans, guards and events; the trace file that Perfetto opens."""

from __future__ import annotations

import gc
import json
import os
import pathlib
import threading
from typing import Any

import pytest

from cafe import Tensor, Var, tracing
from cafe.errors import Error
from cafe.nn import SGD, Linear, loss
from cafe.tracing import ChromeTrace, Level, Span, Subscriber, event, span, subscriber


class Log(Subscriber):
    """Writes down what it is told."""

    def __init__(self, level: Level = Level.TRACE) -> None:
        super().__init__(level)
        self.lines: list[str] = []
        self.closed = 0

    def on_enter(self, span: Span, start: int) -> None:
        self.lines.append(f"> {span.name} {span.fields}")

    def on_exit(self, span: Span, start: int, end: int) -> None:
        assert start <= end
        self.lines.append(f"< {span.name} {span.fields}")

    def on_event(self, level: Level, message: str, fields: dict[str, Any]) -> None:
        self.lines.append(f"{level.name} {message} {fields}")

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def silence() -> Any:
    yield
    assert tracing.active is None, "a test left its subscriber behind"


# -- without a subscriber


def test_without_a_subscriber_a_span_is_disabled_and_shared() -> None:
    a, b = span(Level.TRACE, "mhsa"), span(Level.ERROR, "other", words=4)
    assert a.is_disabled() and a is b
    with a as inside:
        assert inside is a
    guard = a.enter()
    guard.exit()
    guard.exit()
    a.record(found=3)
    assert a.fields == {}, "a shared span must not collect fields"
    event(Level.WARN, "nobody hears this")


def test_active_is_the_subscriber_or_none() -> None:
    assert tracing.active is None
    with subscriber(Log()) as log:
        assert tracing.active is log
    assert tracing.active is None


# -- spans


def test_with_enters_and_leaves_with_the_fields() -> None:
    with subscriber(Log()) as log, span(Level.TRACE, "outer", words=4) as outer:
        assert not outer.is_disabled()
        with span(Level.DEBUG, "inner"):
            event(Level.WARN, "slow", step=1)
        outer.record(scores=16)
    assert log.lines == [
        "> outer {'words': 4}",
        "> inner {}",
        "WARN slow {'step': 1}",
        "< inner {}",
        "< outer {'words': 4, 'scores': 16}",
    ]


def test_a_guard_is_open_until_it_is_dropped() -> None:
    def work() -> int:
        guard = span(Level.TRACE, "work").enter()  # noqa: F841
        event(Level.INFO, "inside")
        return 16

    with subscriber(Log()) as log:
        assert work() == 16
        gc.collect()
        assert log.lines == ["> work {}", "INFO inside {}", "< work {}"]


def test_a_guard_leaves_once() -> None:
    with subscriber(Log()) as log:
        with span(Level.TRACE, "work").enter() as guard:
            guard.exit()
        guard.exit()
        del guard
    assert log.lines == ["> work {}", "< work {}"]


def test_a_span_is_left_when_its_block_raises() -> None:
    with subscriber(Log()) as log, pytest.raises(ZeroDivisionError), span(Level.TRACE, "work"):
        _ = 1 / 0
    assert log.lines == ["> work {}", "< work {}"]
    assert log.closed == 1


def test_a_span_can_be_entered_again_and_within_itself() -> None:
    with subscriber(Log()) as log:
        again = span(Level.TRACE, "again")
        with again, again:
            pass
        with again:
            pass
    assert log.lines == ["> again {}", "> again {}", "< again {}", "< again {}", "> again {}", "< again {}"]


def test_fields_may_bear_the_names_of_the_parameters() -> None:
    with subscriber(Log()) as log, span(Level.TRACE, "x", level=1, name=2, self=3):
        pass
    assert log.lines[0] == "> x {'level': 1, 'name': 2, 'self': 3}"


def test_a_span_keeps_its_subscriber_beyond_the_block() -> None:
    with subscriber(Log()) as log:
        late = span(Level.TRACE, "late").enter()
    late.exit()
    assert log.lines == ["> late {}", "< late {}"]


# -- who listens


def test_the_level_filters_spans_and_events() -> None:
    with subscriber(Log(Level.INFO)) as log:
        assert span(Level.DEBUG, "quiet").is_disabled()
        assert not span(Level.INFO, "loud").is_disabled()
        event(Level.TRACE, "quiet")
        event(Level.ERROR, "loud")
    assert log.lines == ["ERROR loud {}"]


def test_set_subscriber_stays_until_it_is_taken_away_and_yields_to_a_block() -> None:
    base, inner = Log(), Log()
    tracing.set_subscriber(base)
    try:
        event(Level.INFO, "one")
        with subscriber(inner):
            event(Level.INFO, "two")
        event(Level.INFO, "three")
    finally:
        tracing.set_subscriber(None)
    event(Level.INFO, "four")
    assert base.lines == ["INFO one {}", "INFO three {}"] and inner.lines == ["INFO two {}"]
    assert (base.closed, inner.closed) == (0, 1)


def test_blocks_of_two_threads_may_end_in_any_order() -> None:
    first, second = Log(), Log()
    a, b = subscriber(first), subscriber(second)
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    assert tracing.active is second, "the end of the older block must not silence the younger"
    b.__exit__(None, None, None)
    assert tracing.active is None


def test_threads_share_one_span() -> None:
    barrier = threading.Barrier(4)
    with subscriber(Log()) as log:
        shared = span(Level.TRACE, "shared")

        def work() -> None:
            for _ in range(50):
                barrier.wait(timeout=10)
                with shared:
                    pass

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert log.lines.count("> shared {}") == log.lines.count("< shared {}") == 200


# -- the trace file


def events_of(path: pathlib.Path) -> list[dict[str, Any]]:
    document = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    return list(document["traceEvents"])


def test_a_chrome_trace_holds_complete_events_that_nest(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.json"
    epoch = {"number": 3, "lr": 0.5, "done": False}
    with subscriber(ChromeTrace(path)), span(Level.INFO, "epoch", **epoch), span(Level.TRACE, "attention", dims=(2, 3)):
        event(Level.WARN, "odd", loss=float("nan"))
    inner, outer = (e for name in ("attention", "epoch") for e in events_of(path) if e["name"] == name)
    for e in (inner, outer):
        assert e["ph"] == "X" and e["pid"] == os.getpid() and e["tid"] == threading.get_native_id()
        assert e["dur"] >= 0 and e["ts"] >= 0
    assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-6
    assert (outer["cat"], outer["args"]) == ("INFO", epoch)
    assert inner["args"] == {"dims": "(2, 3)"}
    (odd,) = (e for e in events_of(path) if e["ph"] == "i")
    assert odd["name"] == "odd" and odd["args"] == {"loss": "nan"} and odd["s"] == "t"


def test_a_chrome_trace_measures_in_microseconds(tmp_path: pathlib.Path) -> None:
    trace = ChromeTrace(tmp_path / "trace.json")
    start = trace._origin + 2_000_000
    trace.on_exit(Span(trace, Level.TRACE, "two ms in, 1.5 µs long", {}), start, start + 1_500)
    trace.save()
    (e,) = (e for e in events_of(tmp_path / "trace.json") if e["ph"] == "X")
    assert (e["ts"], e["dur"]) == (2000.0, 1.5)


def test_a_chrome_trace_names_its_threads(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.json"

    def work() -> None:
        with span(Level.TRACE, "work"):
            pass

    with subscriber(ChromeTrace(path)):
        work()
        thread = threading.Thread(target=work, name="loader")
        thread.start()
        thread.join()
    names = {e["tid"]: e["args"]["name"] for e in events_of(path) if e["ph"] == "M"}
    assert sorted(names.values()) == ["MainThread", "loader"]
    assert {e["tid"] for e in events_of(path) if e["ph"] == "X"} == set(names)


def test_a_chrome_trace_is_written_when_the_block_raises(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.json"
    with pytest.raises(ZeroDivisionError), subscriber(ChromeTrace(path)), span(Level.TRACE, "work"):
        _ = 1 / 0
    assert [e["name"] for e in events_of(path)] == ["thread_name", "work"]


def test_a_chrome_trace_counts_what_goes_beyond_its_limit(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.json"
    with subscriber(ChromeTrace(path, limit=2)):
        for _ in range(5):
            event(Level.INFO, "tick")
    assert [e["name"] for e in events_of(path)] == ["thread_name", "tick", "tick"]
    assert json.loads(path.read_text())["otherData"] == {"dropped": 3}


def test_a_trace_keeps_no_field_alive(tmp_path: pathlib.Path) -> None:
    class Tensorlike:
        alive = 0

        def __init__(self) -> None:
            Tensorlike.alive += 1

        def __del__(self) -> None:
            Tensorlike.alive -= 1

    with subscriber(ChromeTrace(tmp_path / "trace.json")):
        with span(Level.TRACE, "op", x=Tensorlike()):
            assert Tensorlike.alive == 1
        gc.collect()
        assert Tensorlike.alive == 0


# -- the engine: a training step


def train_a_step(lr: float = 0.1) -> None:
    """Forward, loss, backward and step of a small classifier."""
    layer = Linear(Var.ones((3, 4)), Var.zeros(3))
    opt = SGD([layer.weight, layer.bias], lr)
    error = loss.cross_entropy(layer(Tensor.ones((2, 4))).relu(), Tensor([0, 2]))
    opt.step(error.backward())


def test_a_training_step_becomes_a_trace_of_ops_backwards_and_the_step(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "train.json"
    with subscriber(ChromeTrace(path)), span(Level.INFO, "training step", number=1):
        train_a_step()
    spans = [entry for entry in json.loads(path.read_text())["traceEvents"] if entry["ph"] == "X"]
    names = [entry["name"] for entry in spans]
    forward = ["linear", "relu", "cross_entropy"]
    assert names == [*forward, *(f"{name} backward" for name in reversed(forward)), "backward", "SGD step", "training step"]
    linear, walk, step = spans[0], spans[names.index("backward")], spans[-1]
    assert linear["args"] == {"inputs": "[(2, 4), (3, 4), (3,)]", "dtype": "float32"}
    assert spans[3]["args"] == {"shape": "()", "dtype": "float32"}
    for inner, outer in [(linear, step), (walk, step), (spans[4], walk), (spans[names.index("SGD step")], step)]:
        assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def test_levels_choose_how_much_of_a_training_step_is_seen() -> None:
    with subscriber(Log(Level.DEBUG)) as log:
        train_a_step()
    assert [line for line in log.lines if line.startswith(">")] == ["> backward {}", "> SGD step {'variables': 2}"]


def test_an_op_that_fails_closes_its_span() -> None:
    with subscriber(Log()) as log, pytest.raises(Error):
        Tensor.zeros((0, 2)).max(0)
    assert log.lines[-1].startswith("< max")


def test_without_a_subscriber_a_training_step_asks_for_no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(tracing, "span", lambda level, name, /, **fields: asked.append(name))
    train_a_step()
    assert asked == []
