"""What the training programs beside this file share: a bar that shows how far they are, and numbers above 0 on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

try:
    from tqdm import tqdm
except ImportError:
    tqdm = None


class Bar:
    """The progress: a bar where there is tqdm, a line every hundred steps elsewhere."""

    def __init__(self, steps: int, start: int = 0) -> None:
        self.steps, self.at = steps, start
        self.bar = None if tqdm is None else tqdm(total=steps, initial=start, unit="step", mininterval=0.5)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def show(self, text: str) -> None:
        """One step further."""
        self.at += 1
        if self.bar is not None:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.update()
        elif self.at % 100 == 0 or self.at == self.steps:
            print(f"step {self.at}/{self.steps}, {text}", flush=True)

    def say(self, line: str) -> None:
        """A line of its own."""
        if self.bar is None:
            print(line, flush=True)
        else:
            self.bar.write(line)


def positive(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A number above 0 on the command line."""

    def parse(text: str) -> Any:
        number = kind(text)
        if not number > 0:
            raise argparse.ArgumentTypeError(f"a number above 0 is wanted, got {text}")
        return number

    parse.__name__ = kind.__name__  # argparse shows it where the text is no number
    return parse
