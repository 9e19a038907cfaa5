"""5.4 AdamW takes its parameters as one value; a bare learning rate is refused when the line runs.
`AdamW.new_lr` is the short way.
"""

from __future__ import annotations

from rust import rust_debug, unwrap_err, with_help

from cafe.nn import AdamW, ParamsAdamW, VarMap

varmap = VarMap()
print(with_help(unwrap_err(AdamW, varmap.all_vars(), 0.001)))
print(rust_debug(AdamW(varmap.all_vars(), ParamsAdamW(lr=0.001)).params, width=64))
