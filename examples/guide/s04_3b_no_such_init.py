"""4.3 An initialisation that does not exist: the name is looked up when the line runs.
What exists is a value, `init.DEFAULT_KAIMING_NORMAL`, not a function.
"""

from __future__ import annotations

from rust import unwrap_err, with_help

from cafe.nn import init

print(with_help(unwrap_err(lambda: init.kaiming_normal())))
print(repr(init.DEFAULT_KAIMING_NORMAL))
