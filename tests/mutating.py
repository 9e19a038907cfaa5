"""Damaged files for the readers' tests: small seeded changes to a good one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

_NUMBERS = [b"0", b"1", b"-1", b"3", b"4", b"65535", b"%d" % 2**32, b"%d" % 2**63, b"%d" % 2**64, b"1e3"]
_SYMBOLS = [b'"', b"'", b"{", b"}", b"[", b"]", b"(", b")", b",", b":", b"\\u0000", b"\xff", b"null", b"True", b">"]


def _flip(data: bytearray, rng: np.random.Generator) -> None:
    for _ in range(int(rng.integers(1, 4))):
        if data:
            data[int(rng.integers(len(data)))] = int(rng.integers(256))


def _cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[int(rng.integers(len(data) + 1)) :]


def _drop(data: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(len(data) + 1))
    del data[at : at + int(rng.integers(1, 9))]


def _insert(data: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(len(data) + 1))
    data[at:at] = rng.bytes(int(rng.integers(1, 9)))


def _number(data: bytearray, rng: np.random.Generator) -> None:
    places = list(re.finditer(rb"\d+", data))
    if places:
        place = places[int(rng.integers(len(places)))]
        data[place.start() : place.end()] = _NUMBERS[int(rng.integers(len(_NUMBERS)))]


def _symbol(data: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(len(data) + 1))
    data[at : at + int(rng.integers(2))] = _SYMBOLS[int(rng.integers(len(_SYMBOLS)))]


def _repeat(data: bytearray, rng: np.random.Generator) -> None:
    start, stop = sorted(int(i) for i in rng.integers(len(data) + 1, size=2))
    data[stop:stop] = data[start:stop]


_CHANGES = (_flip, _cut, _drop, _insert, _number, _symbol, _repeat)


def mutated(seeds: list[bytes], count: int, seed: int, mend: Callable[[bytearray], None]) -> Iterator[bytes]:
    """`count` variants of the seeds, each changed once or twice; `mend` repairs the lengths of every second one."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        data = bytearray(seeds[index % len(seeds)])
        for _ in range(int(rng.integers(1, 3))):
            _CHANGES[int(rng.integers(len(_CHANGES)))](data, rng)
        if index % 2:
            mend(data)
        yield bytes(data)
