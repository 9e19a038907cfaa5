"""Files: bytes to tensors and back, a module a format (floor 5)."""
