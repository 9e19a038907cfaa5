"""Sound as the models take it: one channel, 16,000 samples a second, F32 between −1 and 1."""

from __future__ import annotations

import math
import pathlib
import wave

import numpy as np

import cafe
from cafe import Tensor

RATE = 16_000


def read_wav(path: str | pathlib.Path) -> Tensor:
    """(samples): a 16-bit .wav whose rate is a multiple of 16 kHz; of several channels, and of samples too close, the mean."""
    try:
        with wave.open(str(path)) as file:
            channels, width, rate, frames = file.getnchannels(), file.getsampwidth(), file.getframerate(), file.getnframes()
            data = file.readframes(frames)
    except wave.Error as error:
        cafe.bail(f"{path}: {error}")
    if width != 2 or rate % RATE:
        cafe.bail(f"{path}: expected 16 bits at a multiple of {RATE} Hz, got {8 * width} bits at {rate} Hz")
    samples = np.frombuffer(data, "<i2").astype(np.float32) / 32768
    step = rate // RATE * channels
    return Tensor.from_numpy(samples[: len(samples) // step * step].reshape(-1, step).mean(axis=1))


def sine(frequency: float, count: int, amplitude: float = 0.5) -> Tensor:
    """(count): a pure tone."""
    return Tensor([amplitude * math.sin(2 * math.pi * frequency * t / RATE) for t in range(count)])
