"""3.5 Devices: cafe runs on the CPU, and code that asks for more falls back to it.
Asking for a device by name says plainly that it is not there.
"""

from __future__ import annotations

from rust import rust_display, unwrap_err

from cafe import Device, Tensor

cuda, metal = Device.cuda_if_available(0).is_cuda(), Device.metal_if_available(0).is_metal()
print(f"cuda available: {rust_display(cuda)}, metal available: {rust_display(metal)}")
dev = Device.cuda_if_available(0)
print(f"cuda_if_available -> {dev!r}")
print(f"metal: {unwrap_err(Device.new_metal, 0)}")
t = Tensor([1.0, 2.0], device=dev)
print(f"on {t.device!r}; moved to cpu: {t.to_device(Device.Cpu).dims()}")
