"""`python -m bench.misses FILE`: the rows of a results file that miss a goal, as a table in Markdown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bench.report import misses


def table(results: dict[str, Any]) -> str:
    """A line for each row that misses: its name, cafe's time over PyTorch's and what it may be, its share of the machine's limit."""
    lines = ["| row | cafe's time over PyTorch's (at most) | of the limit |", "| --- | --- | --- |"]
    for row in results["rows"]:
        share = row["libraries"]["cafe"].get("of_limit")
        missed = [f"{ratio:.2f}{peer.removeprefix('torch')} ({goal:.2f})" for peer, ratio, goal in misses(row)]
        if missed:
            lines.append(f"| {row['name']} | {', '.join(missed)} | {'' if share is None else f'{100 * share:.0f} %'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
