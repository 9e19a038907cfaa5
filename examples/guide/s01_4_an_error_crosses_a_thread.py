"""1.4 Rust asks whether an error may go to another thread; in Python every exception may.
A future carries it over and raises it again, with its class and its text.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cafe


def work() -> None:
    cafe.bail("raised in a worker thread")


with ThreadPoolExecutor(max_workers=1) as pool:
    future = pool.submit(work)
try:
    future.result()
except cafe.Error as error:
    print(f"main thread caught {type(error).__name__}: {error}")
