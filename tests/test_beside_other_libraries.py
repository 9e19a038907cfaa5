"""cafe beside PyTorch and NumPy in one process: whoever is imported first, all compute on several threads, and rightly."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from instances import needs_c

PROGRAM = """
import {}
import {}
import {}
import numpy as np

x = np.random.default_rng(0).standard_normal((600, 600), np.float32)
exact = x.astype(np.float64) @ x.astype(np.float64)
ours, theirs = cafe.Tensor(x), torch.from_numpy(x)
for _ in range(3):  # in turn: each finds the threads of the others awake
    for product in (ours.matmul(ours).numpy(), (theirs @ theirs).numpy(), x @ x):
        assert np.abs(product - exact).max() < 1e-3
    for total in (ours.exp().sum_all().to_scalar(), theirs.exp().sum().item()):
        assert abs(total / np.exp(x.astype(np.float64)).sum() - 1) < 1e-6
print(cafe.get_num_threads(), torch.get_num_threads())
"""


@needs_c
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("order", list(itertools.permutations(["cafe", "torch", "numpy"])), ids=" ".join)
def test_the_order_of_imports_does_not_matter(order: tuple[str, ...]) -> None:
    names = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(*order)], env=names, capture_output=True, encoding="utf8", timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "2"]
