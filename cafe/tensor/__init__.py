"""The facade: Tensor, Var, GradStore and their methods (floor 4)."""
