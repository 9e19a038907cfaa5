"""Pictures of a run: cafe's time over each peer's as bars, growth curves as lines. Needs matplotlib, which the examples' extra installs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt


def draw(run: dict[str, Any], path: Path) -> None:
    """One file with a panel for the ratios, if rows were measured, and one for each curve."""
    timed = [row for row in run["rows"] if "seconds" in row["libraries"].get("cafe", {})]
    panels = [0.3 * len(timed) + 1.5] * bool(timed) + [3.5] * len(run["curves"])
    if not panels:
        raise ValueError("nothing was measured: there is nothing to draw")
    figure, axes = plt.subplots(len(panels), 1, figsize=(9, sum(panels)), height_ratios=panels, squeeze=False, layout="constrained")
    places = iter(axes[:, 0])
    if timed:
        _ratios(next(places), timed)
    for curve in run["curves"]:
        _curve(next(places), curve)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _ratios(axes: Any, rows: list[dict[str, Any]]) -> None:
    for peer in dict.fromkeys(name for row in rows for name in row["libraries"] if name != "cafe"):
        points = [(row["libraries"].get(peer, {}).get("ratio"), -i) for i, row in enumerate(rows)]
        known = [(ratio, y) for ratio, y in points if ratio is not None]
        axes.plot([ratio for ratio, _ in known], [y for _, y in known], "o", label=peer, alpha=0.8)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks([-i for i in range(len(rows))], [row["name"] for row in rows], fontsize=7)
    axes.set_xlabel("cafe's time / the peer's (left of the line cafe is faster)")
    axes.legend(fontsize=7)


def _curve(axes: Any, curve: dict[str, Any]) -> None:
    for library, points in curve["points"].items():
        axes.plot([x for x, _ in points], [y for _, y in points], "o-", markersize=3, label=library)
    axes.set_xscale("log", base=2 if curve["unit"] != "ns" else 10)
    axes.set_ylim(bottom=0)
    axes.set_title(curve["name"], fontsize=9)
    axes.set_xlabel(curve["axis"])
    axes.set_ylabel(curve["unit"])
    axes.legend(fontsize=7)
