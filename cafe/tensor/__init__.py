"""The facade: Tensor, Var, GradStore and their methods (floor 4)."""

from cafe.habits import no_function as _no_function

_no_function(__name__, "`cafe.Tensor(data)` makes a tensor, `cafe.Var(data)` a variable")
