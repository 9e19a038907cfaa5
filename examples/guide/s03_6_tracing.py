"""3.6 Spans cost next to nothing until somebody listens.
`tracing.subscriber(tracing.ChromeTrace("train.json"))` would write them to a file that Perfetto opens.
"""

from __future__ import annotations

from rust import rust_display

from cafe.tracing import Level, span


def score_slip(words: int) -> int:
    with span(Level.TRACE, "attention", words=words):
        return words * words  # the work being measured: one score per pair of words


s = span(Level.TRACE, "mhsa")
print(f"without a subscriber the span is disabled: {rust_display(s.is_disabled())}")
print(f"scores computed: {score_slip(4)}")
