"""7.4 The gradient of a convolution with respect to its input is a transposed convolution.
For the sum of conv(x) · y it is conv_transpose(y), exactly.
"""

from __future__ import annotations

from rust import rust_display

from cafe import Tensor, Var

x = Var.from_tensor(Tensor.arange(1.0, 17.0).reshape((1, 1, 4, 4)))
k = Tensor([[[[0.0, -1.0, 0.0], [-1.0, 5.0, -1.0], [0.0, -1.0, 0.0]]]])
y = x.conv2d(k, padding=0, stride=1, dilation=1, groups=1).detach()  # a constant

score = (x.conv2d(k, padding=0, stride=1, dilation=1, groups=1) * y).sum_all()
grad_x = score.backward()[x]
transposed = y.conv_transpose2d(k, padding=0, output_padding=0, stride=1, dilation=1)
difference = (grad_x - transposed).abs().max_all().to_scalar()
print(f"grad wrt input equals conv_transpose2d(y): {rust_display(difference == 0.0)}")
