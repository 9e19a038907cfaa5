"""15.2 Sines and cosines of falling frequency tell the positions apart.
They are added to the embeddings, so the shape stays.
"""

from __future__ import annotations

from cafe import DType, Tensor


def sinusoidal(seq: int, d_model: int) -> Tensor:
    """(seq, d_model): at position p, sin and cos of p / 10000^(2i/d_model) in columns 2i and 2i + 1."""
    position = Tensor.arange(0, seq, dtype=DType.F64).unsqueeze(1)
    frequency = Tensor([10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)], dtype=DType.F64).unsqueeze(0)
    angle = position.matmul(frequency)
    return Tensor.stack([angle.sin(), angle.cos()], 2).reshape((seq, d_model)).to_dtype(DType.F32)


pe = sinusoidal(5, 8)
for pos, row in enumerate(pe.to_vec2()):
    print(f"pos {pos}: {' '.join(f'{v:6.3f}' for v in row)}")
embeddings = Tensor.zeros((1, 5, 8))  # (batch, seq, d_model)
with_position = embeddings.broadcast_add(pe)
print(f"embeddings {embeddings.dims()} + pe {pe.dims()} -> {with_position.dims()}")
