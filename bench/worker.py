"""The process of one library: builds a row's call, checks its result, takes samples when it is its turn.

The harness starts `python -m bench.worker LIBRARY` and they speak in lines of JSON over pipes. A library has a process to itself: the
idle threads of OpenMP, OpenBLAS and XLA spin for a while after each parallel region and would eat the core of whoever comes next.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from . import machine, probe, row
from .check import as_arrays, deviation
from .peers import LIBRARIES
from .row import Absent, Array, Call, Row

SEED = 20240311


class Worker:
    """What a library's process does with each message. `module` is the library, None for the reference."""

    def __init__(self, library: str, module: Any, find: Callable[[str, str], Row] = row.find) -> None:
        self.library, self.module, self.find = library, module, find
        self.call: Call = lambda: None
        self.scale = 1.0

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The reply to one message; what goes wrong becomes an `absent` or an `error`."""
        try:
            do = message.pop("do")
            reply: dict[str, Any] = getattr(self, f"do_{do}")(**message)
            return reply
        except (Absent, probe.NoProbe) as reason:
            return {"absent": str(reason)}
        except Exception as error:  # whatever a library raises must not end the run
            return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}

    def do_hello(self) -> dict[str, Any]:
        """What the library is."""
        return machine.about(self.library, self.module)

    def do_prepare(self, family: str, name: str, reference: str) -> dict[str, Any]:
        """Builds the row's call and holds what it gives to the reference; the reference's own process writes it."""
        which = self.find(family, name)
        if self.library == "probe":
            if which.limit is None:
                raise Absent("nothing physical bounds this row")
            self.call, self.scale = probe.make(self.module, which.limit)
            return {}
        inputs = which.inputs(np.random.default_rng(SEED))
        if self.library == "reference":
            arrays = as_arrays(which.reference(*inputs))
            for i, array in enumerate(arrays):
                np.save(f"{reference}.{i}.npy", array)
            return {"arrays": len(arrays)}
        build = getattr(which, LIBRARIES[self.library].method, None)
        if build is None:
            raise Absent("has no such operation")
        self.call = build(self.module, *inputs)
        got = [array for _ in range(which.checked_calls) for array in snapshot(self.call(), which)]
        return {"deviation": deviation(got, expected(Path(reference)))}

    def do_turn(self, warm: float, sample: float, samples: int, budget: float) -> dict[str, Any]:
        """Warms up, then takes samples: seconds a call, and whether nothing pushed this process off its core meanwhile."""
        each = self._warm_up(warm)
        calls = max(1, round(sample / each + 0.5))
        count = max(1, min(samples, int(budget / (calls * each))))
        taken = [self._sample(calls) for _ in range(count)]
        return {"seconds": [seconds * self.scale for seconds, _ in taken], "clean": [clean for _, clean in taken]}

    def _warm_up(self, warm: float) -> float:
        """Calls for about `warm` seconds; gives the seconds a call took at the end."""
        deadline = time.perf_counter() + warm
        calls, each = 1, 0.0
        while True:
            each = self._sample(calls)[0]
            left = deadline - time.perf_counter()
            if left <= 0:
                return max(each, 1e-8)
            calls = max(1, min(2 * calls, round(left / max(each, 1e-8))))

    def _sample(self, calls: int) -> tuple[float, bool]:
        call = self.call
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        start = time.perf_counter()
        for _ in range(calls):
            call()
        seconds = (time.perf_counter() - start) / calls
        return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw == before

    def do_drop(self) -> dict[str, Any]:
        """Lets go of the row."""
        self.call, self.scale = (lambda: None), 1.0
        gc.collect()
        return {}


def expected(reference: Path) -> list[Array]:
    """What the reference's process wrote."""
    paths = sorted(reference.parent.glob(f"{reference.name}.*.npy"), key=lambda path: int(path.suffixes[-2][1:]))
    return [np.load(path, mmap_mode="r") for path in paths]


def snapshot(result: Any, which: Row) -> list[Array]:
    """A call's result as arrays; copies where the next call to be checked would write over them."""
    arrays = which.compared(as_arrays(result))
    return [array.copy() for array in arrays] if which.checked_calls > 1 else arrays


def start(library: str) -> Worker:
    """Imports the library and sets what its environment cannot say. Raises ImportError when it is not installed."""
    entry = LIBRARIES[library]
    if entry.affinity:  # XLA counts the CPUs it may run on and has no other setting
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cpus[: int(os.environ["OMP_NUM_THREADS"])])
    modules = [importlib.import_module(name) for name in entry.modules]
    module: Any = modules[0] if modules else None
    if library == "jax":
        module.config.update("jax_enable_x64", True)  # float64 rows; float32 arrays stay float32
    return Worker(library, module)


def _serve(worker: Worker, answers: TextIO) -> None:
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)


def main() -> None:
    """Answers until the harness closes the pipe. What libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        worker = start(sys.argv[1])
    except ImportError as missing:
        print(json.dumps({"absent": str(missing)}), file=answers, flush=True)
        return
    print(json.dumps(worker.do_hello()), file=answers, flush=True)
    _serve(worker, answers)


if __name__ == "__main__":
    main()
