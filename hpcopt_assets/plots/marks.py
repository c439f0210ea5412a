"""Marked lines: a number for each of a few things (folds, sizes) or stretches of time, with its interval.

In:  series of numbers at places that all share.   Out: a Drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcopt_assets.plots.steps import SECONDS_PER_DAY, dates
from hpcopt_assets.plots.style import Drawing, add_legend, draw, legend_columns, line

FloatArray = npt.NDArray[np.float64]
HEIGHT_INCHES = 2.9
MARKS = ("o", "s", "^", "D", "v", "P")
SHIFT = 0.07
# Between series at one place, so that intervals stand side by side.


@dataclass(frozen=True)
class Series:
    """Numbers with what they are; NaN where there is none. `low` and `high` are an interval's ends."""

    label: str
    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


def marked_lines(
    series: Sequence[Series],
    *,
    places: Sequence[str] | FloatArray,
    file_name: str,
    title: str,
    caption: str,
    x_label: str,
    y_label: str,
    targets: Sequence[float] = (),
    is_share: bool = False,
) -> Drawing:
    """One line a series. `places` are names, or instants in seconds (a time axis); `targets` dotted lines."""
    is_time = not isinstance(places[0], str) if len(places) else False

    def paint(figure: Any) -> None:
        ax = figure.subplots()
        spread = 0.0 if is_time else SHIFT * (len(series) - 1)
        for i, each in enumerate(series):
            look = line(i)
            at: FloatArray = np.arange(len(places), dtype=np.float64) + (i * SHIFT - spread / 2)
            if is_time:
                at = np.asarray(places, dtype=np.float64) / SECONDS_PER_DAY
            style = {"color": look.colour, "linewidth": look.width, "dashes": look.dash or (None, None)}
            marks = {} if is_time else {"marker": MARKS[i % len(MARKS)], "markersize": 4}
            ax.plot(at, each.values, label=each.label, **style, **marks)
            if each.low is not None and each.high is not None:
                ax.vlines(at, each.low, each.high, color=look.colour, linewidth=0.9)
        for target in targets:
            ax.axhline(target, color="#555555", linewidth=0.9, linestyle=(0, (1, 2)))
        ax.set_ylabel(y_label)
        if is_time:
            dates(ax)
        else:
            ax.set_xticks(range(len(places)), list(places))
            ax.set_xlabel(x_label)
            ax.set_xlim(-0.5, len(places) - 0.5)
        ax.set_ylim(bottom=0, top=1 if is_share else None)
        ax.yaxis.set_major_formatter((lambda y, _: f"{100 * y:.3g} %") if is_share else "{x:,.4g}")
        add_legend(ax, columns=legend_columns([each.label for each in series]))

    return Drawing(file_name, draw(file_name, HEIGHT_INCHES, title, paint), title, caption)
