"""What C does for whole tensors and their arrays, where Python's part would outweigh the work (csrc/tensors.c; floor 1).

Each has its plain way one floor up, which is taken where the extension is missing or gives None or False.
"""

from __future__ import annotations

from . import _ffi

alike = _ffi.door("alike")  # (a, b): whether two arrays have one shape and one dtype
conformable = _ffi.door("conformable")  # (a, b): whether they are matrices of one dtype, F32 or F64, that can be multiplied
apply = _ffi.door("apply")  # (op, tensors): the op on them, recorded if it has to be; None for what the tape is to look at
know = _ffi.door("know")  # (Tensor, verbs, tracing, record): told once, before anything is applied
