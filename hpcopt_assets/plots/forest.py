"""Forest plots: for each of a few things its value with two intervals, about a line where nothing changes.

In:  rows of changes.   Out: a Drawing, its panels side by side over the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hpcopt_assets.plots.style import INK, Drawing, Line, draw, line

ROW_INCHES, HEAD_INCHES = 0.33, 1.0
APART = 0.16
# Between the two intervals of a row.
CUT_ABOVE = 0.75
# The axis reaches as far as anything falls, and as most values rise (this quantile of all ends). What rises
# further is cut off at the edge, where its number stands: it would press the others together at zero.
MARKS = ("o", "s")


@dataclass(frozen=True)
class Interval:
    """From `low` to `high`; None where there is none."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    """One thing: how it differs from what it is compared with, and two intervals of that, in one unit."""

    label: str
    value: float | None
    first: Interval
    second: Interval


@dataclass(frozen=True)
class Panel:
    """Rows under a title; every panel of a figure has the same labels in the same order."""

    title: str
    rows: Sequence[Row]


def forest(
    panels: Sequence[Panel],
    *,
    file_name: str,
    title: str,
    caption: str,
    x_label: str,
    value_label: str,
    interval_labels: tuple[str, str],
) -> Drawing:
    """Rows from top to bottom, each with a cross for its value and a bar for each interval."""
    reach = _reach(panels)

    def paint(figure: Any) -> None:
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, panel in zip(axes, panels, strict=True):
            ax.axvline(0, color=INK, linewidth=1.1)
            for place, row in enumerate(panel.rows):
                for shift, look, mark, interval in zip(
                    (-APART, APART), (line(0), line(1)), MARKS, (row.first, row.second), strict=True
                ):
                    _bar(ax, place + shift, interval, look, mark, reach)
                _cross(ax, place, row.value, reach)
            ax.set_title(panel.title)
            ax.set_xlim(-1.05 * reach, 1.05 * reach)
            ax.set_ylim(len(panel.rows) - 0.5, -0.5)
            ax.xaxis.set_major_formatter(lambda x, _: f"{x:+,.4g}" if x else "0")
            ax.locator_params(axis="x", nbins=5)
            ax.set_xlabel(x_label)
            ax.grid(visible=False, axis="y")
        axes[0].set_yticks(range(len(panels[0].rows)), [row.label for row in panels[0].rows])
        figure.legend(
            handles=_keys(value_label, interval_labels),
            loc="outside upper left",
            ncols=3,
            borderaxespad=0,
        )

    height = HEAD_INCHES + ROW_INCHES * max(len(panel.rows) for panel in panels)
    return Drawing(file_name, draw(file_name, height, title, paint), title, caption)


def _reach(panels: Sequence[Panel]) -> float:
    """How far the axis goes to either side."""
    ends = [
        end
        for panel in panels
        for row in panel.rows
        for end in (row.value, row.first.low, row.first.high, row.second.low, row.second.high)
        if end is not None and math.isfinite(end)
    ]
    sizes = sorted(abs(end) for end in ends)
    most = sizes[int(CUT_ABOVE * (len(sizes) - 1))] if sizes else 0.0
    return max(-min([0.0, *ends]), most) or 1.0


def _bar(ax: Any, at: float, interval: Interval, look: Line, mark: str, reach: float) -> None:
    if interval.low is None or interval.high is None:
        return
    low, high = (max(-reach, min(reach, end)) for end in (interval.low, interval.high))
    ax.plot([low, high], [at, at], color=look.colour, linewidth=2.2, solid_capstyle="butt")
    shown = [end for end in (interval.low, interval.high) if abs(end) <= reach]
    ax.plot(shown, [at] * len(shown), mark, color=look.colour, markersize=3.2)


def _cross(ax: Any, at: float, value: float | None, reach: float) -> None:
    if value is None:
        ax.annotate("not known", (0, at), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    elif value > reach:
        # Only upwards: the axis reaches as far down as anything does.
        ax.annotate(
            f"{value:+,.0f} \N{RIGHTWARDS ARROW}",
            (reach, at),
            ha="right",
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    else:
        ax.plot(value, at, "x", color=INK, markersize=5.5, markeredgewidth=1.3)


def _keys(value_label: str, interval_labels: tuple[str, str]) -> list[Any]:
    from matplotlib.lines import Line2D

    bars = [
        Line2D([], [], color=line(i).colour, linewidth=2.2, marker=MARKS[i], markersize=3.2, label=label)
        for i, label in enumerate(interval_labels)
    ]
    return [Line2D([], [], color=INK, marker="x", linestyle="", markersize=5.5, label=value_label), *bars]
