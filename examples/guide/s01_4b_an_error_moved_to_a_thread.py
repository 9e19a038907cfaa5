"""1.4 An error made here and read by another thread.
Nothing needs to be said for it: the worker gets a reference.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cafe

error = cafe.Error("moved to a worker thread")
with ThreadPoolExecutor(max_workers=1) as pool:
    handle = pool.submit(lambda: f"worker saw: {error}")
print(handle.result())
print(int("7"))
