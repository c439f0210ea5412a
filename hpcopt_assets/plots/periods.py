"""Steps over periods of time: one mean a period, as a share of what there is.

In:  periods with their means.   Out: a Drawing with the whole marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hpcopt_assets.plots.steps import SECONDS_PER_DAY, dates
from hpcopt_assets.plots.style import Drawing, draw, line

HEIGHT_INCHES = 2.2
SHARE_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Periods:
    """Consecutive periods: `shares[i]` is the mean over [edges_s[i], edges_s[i+1]), in s since the epoch."""

    edges_s: Sequence[int]
    shares: Sequence[float]


def share_steps(periods: Periods, *, file_name: str, title: str, y_label: str, mean_of: str) -> Drawing:
    """A step a period; the axis begins at 0 and holds 100 %. `mean_of` says in the caption what is meant."""

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        days = [edge / SECONDS_PER_DAY for edge in periods.edges_s]
        look = line(0)
        ax.stairs(periods.shares, days, color=look.colour, alpha=0.25, fill=True)
        ax.stairs(periods.shares, days, color=look.colour, linewidth=look.width, baseline=None)
        ax.axhline(1.0, color="#555555", linewidth=0.9, linestyle=(0, (1, 2)))
        ax.margins(x=0.01)
        ax.set_ylim(0, 1.05 * max(1.0, *periods.shares))
        if max(periods.shares) <= 1.25:
            ax.set_yticks(SHARE_TICKS)
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        ax.set_ylabel(y_label)
        dates(ax)

    return Drawing(
        file_name,
        draw(file_name, HEIGHT_INCHES, title, paint),
        title,
        f"Each step: {mean_of}. Dotted: the whole machine.",
    )
