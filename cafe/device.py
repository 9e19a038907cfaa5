"""Devices: there is one, the CPU, and it can be seeded (floor 0).

The generator's state is plain data here (a key and a counter); floor 1 draws from it.
"""

from __future__ import annotations

import threading
from typing import ClassVar

from cafe.errors import Error, NotCompiledWithCudaSupport, NotCompiledWithMetalSupport
from cafe.habits import Unlike
from cafe.shape import whole

_MASK64 = (1 << 64) - 1


class GeneratorState:
    """Where the random numbers are: a key (the seed) and a counter of what has been drawn.

    `reserve(n)` hands out a stretch of n counter values; two draws never share one, whichever thread makes them.
    """

    __slots__ = ("_lock", "counter", "key")

    def __init__(self, key: int = 0) -> None:
        self.key = key & _MASK64
        self.counter = 0
        self._lock = threading.Lock()

    def reserve(self, blocks: int) -> tuple[int, int]:
        """The key and the first of `blocks` counter values that nobody else will use."""
        with self._lock:
            first = self.counter
            self.counter += blocks
        return self.key, first

    def set(self, key: int, counter: int = 0) -> None:
        """Moves the generator to this key and counter.

        Raises: TypeError for what is no int, Error for a negative counter.
        """
        key, counter = whole("manual_seed", "a seed", key), whole("set_rng_state", "a counter", counter)
        if counter < 0:
            raise Error(f"set_rng_state: the counter must be at least 0, got {counter}")
        with self._lock:
            self.key, self.counter = key & _MASK64, counter


generator = GeneratorState(299792458)


class Device:
    """Where a tensor lives. `Device.Cpu` is the only one.

    >>> Device.Cpu, Device.cuda_if_available(0)
    (Cpu, Cpu)
    """

    __slots__ = ()
    Cpu: ClassVar[Device]
    cpu = Unlike("it is `Device.Cpu`")
    cuda = Unlike("there is the CPU alone, `Device.Cpu`")
    Cuda = Unlike("there is the CPU alone, `Device.Cpu`")

    @staticmethod
    def new_cuda(ordinal: int) -> Device:
        """Raises NotCompiledWithCudaSupport: cafe runs on the CPU."""
        raise NotCompiledWithCudaSupport

    @staticmethod
    def new_metal(ordinal: int) -> Device:
        """Raises NotCompiledWithMetalSupport: cafe runs on the CPU."""
        raise NotCompiledWithMetalSupport

    @staticmethod
    def cuda_if_available(ordinal: int = 0) -> Device:
        """The CPU, since there is no CUDA here."""
        return Device.Cpu

    @staticmethod
    def metal_if_available(ordinal: int = 0) -> Device:
        """The CPU, since there is no Metal here."""
        return Device.Cpu

    def is_cpu(self) -> bool:
        """True."""
        return True

    def is_cuda(self) -> bool:
        """False."""
        return False

    def is_metal(self) -> bool:
        """False."""
        return False

    def location(self) -> str:
        """`Cpu`."""
        return "Cpu"

    def same_device(self, other: Device) -> bool:
        """Whether both are one device."""
        return self is other

    def synchronize(self) -> None:
        """Nothing to wait for: every op has run when its call returns."""

    def supports_bf16(self) -> bool:
        """False, as in candle: BF16 computes through F32."""
        return False

    def bf16_default_to_f32(self) -> str:
        """`f32`: what candle picks for BF16 weights on a CPU."""
        return "f32"

    def set_seed(self, seed: int) -> None:
        """Starts the generator anew from this seed (any integer, taken modulo 2⁶⁴)."""
        generator.set(seed)

    def get_current_seed(self) -> int:
        """The seed that the generator was last started from."""
        return generator.key

    def __repr__(self) -> str:
        return "Cpu"

    def __reduce__(self) -> str:
        return "_CPU"


_CPU = Device.Cpu = Device()


def manual_seed(seed: int) -> None:
    """Seeds every random number of cafe: initial weights, dropout masks, `rand`, `randn`.

    The same seed gives the same numbers on any number of threads and on both backends; normal ones differ in the last places of F64.

    Raises: TypeError for what is no int.

    >>> manual_seed(7)
    >>> get_rng_state()
    (7, 0)
    """
    generator.set(seed)


def get_rng_state() -> tuple[int, int]:
    """The generator's key and counter; give it to `set_rng_state` to draw the same numbers again."""
    return generator.key, generator.counter


def set_rng_state(state: tuple[int, int]) -> None:
    """Puts the generator back to where `get_rng_state` found it.

    Raises: TypeError for what is no pair of ints, Error for a negative counter.
    """
    if not isinstance(state, tuple | list) or len(state) != 2:
        raise TypeError(f"set_rng_state: expected a key and a counter, got {state!r}")
    generator.set(*state)
