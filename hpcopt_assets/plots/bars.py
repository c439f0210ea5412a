"""Bars over a cycle: what share of all falls on each hour of the day, each weekday.

In:  shares in order, with their names.   Out: a Drawing, its panels side by side, with the even share marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hpcopt_assets.plots.style import Drawing, draw, line

HEIGHT_INCHES = 2.3
EDGE = 0.5
# Bars stand at 0, 1, 2 ...: half a step of room on both sides.


@dataclass(frozen=True)
class Cycle:
    """One panel: shares (0..1) that sum to 1, the label of each bar ('' for none), and what a bar is."""

    shares: Sequence[float]
    labels: Sequence[str]
    x_label: str


def cycle_bars(cycles: Sequence[Cycle], *, file_name: str, title: str, y_label: str) -> Drawing:
    """A panel for each cycle, as wide as it has bars; each on its own scale, which begins at 0."""

    def paint(figure: Any) -> None:
        widths = [len(cycle.shares) + 4 for cycle in cycles]  # a bar's width, and room for the axis
        axes = figure.subplots(1, len(cycles), squeeze=False, width_ratios=widths)[0]
        for ax, cycle in zip(axes, cycles, strict=True):
            ax.bar(range(len(cycle.shares)), cycle.shares, width=0.8, color=line(0).colour)
            ax.axhline(1 / len(cycle.shares), color="#555555", linewidth=0.9, linestyle=(0, (1, 2)))
            named = [(i, label) for i, label in enumerate(cycle.labels) if label]
            ax.set_xticks([i for i, _ in named], [label for _, label in named])
            ax.tick_params(axis="x", length=0)
            ax.set_xlim(-EDGE - 0.1, len(cycle.shares) - EDGE + 0.1)
            ax.grid(visible=False, axis="x")
            ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g} %")
            ax.set_xlabel(cycle.x_label)
        axes[0].set_ylabel(y_label)

    return Drawing(
        file_name,
        draw(file_name, HEIGHT_INCHES, title, paint),
        title,
        "Bars: share of all jobs; each panel sums to 100 % and has its own scale. Dotted: each bar's height "
        "if all were equal.",
    )
