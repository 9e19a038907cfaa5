"""5.1 A neuron's score is a dot product: how well the input lines up with what it looks for.
Divided by both lengths it is the cosine of the angle between them.
"""

from __future__ import annotations

from cafe import Tensor

inputs = {"saturday lunch": Tensor([0.9, 0.5, 1.0]), "tuesday dawn": Tensor([0.1, 0.05, 0.0])}
detectors = {"busy": Tensor([0.8, 0.3, 0.6]), "quiet": Tensor([-0.8, -0.3, -0.6])}

for name, x in inputs.items():
    for detector, w in detectors.items():
        score = x.dot(w)
        cos = score / (x.norm() * w.norm())
        print(f"{name:<15} vs {detector:<5} detector: score {score:>6.3f}  cos θ {cos:>6.3f}")
