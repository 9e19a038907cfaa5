"""cafe: a small autograd engine on NumPy with candle's semantics."""
