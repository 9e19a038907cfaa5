"""8.1 A configuration in Rust names every field; in Python each has a default.
A field that does not exist is refused when the line runs.
"""

from __future__ import annotations

from rust import rust_debug, unwrap_err

from cafe.nn import Conv2dConfig

print(rust_debug(Conv2dConfig(padding=0, stride=1, dilation=1, groups=1)))
print(unwrap_err(Conv2dConfig, speed=2))
