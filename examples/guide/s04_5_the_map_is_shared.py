"""4.5 A builder refers to the map it was given; in Python there is no other way to pass one.
So the map sees what a layer makes, whoever keeps it.
"""

from __future__ import annotations

from cafe import DType
from cafe.nn import VarBuilder, VarMap, linear

varmap = VarMap()
vb = VarBuilder.from_varmap(varmap, DType.F32)
print(f"{vb.dtype!r}, {len(varmap.data())} variables")
linear(3, 2, vb.pp("hidden"))
print(f"after a layer was made through the builder: {sorted(varmap.data())}")
