"""The rules: each op's forward and backward together, in a small class or a row of a table (floor 2)."""
