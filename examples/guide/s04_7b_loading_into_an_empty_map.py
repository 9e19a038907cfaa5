"""4.7 Rust asks for a mutable map; in Python every map can be loaded into.
A load sets the variables that are there, so build the model first; it tells what it did.
"""

from __future__ import annotations

import contextlib
import tempfile

from rust import unwrap_err, with_help

from cafe import DType
from cafe.nn import VarBuilder, VarMap, linear

varmap = VarMap()
linear(3, 2, VarBuilder.from_varmap(varmap, DType.F32).pp("hidden"))
with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    varmap.save("model.safetensors")
    print(with_help(unwrap_err(VarMap().load, "model.safetensors")))
    print(varmap.load("model.safetensors"))
