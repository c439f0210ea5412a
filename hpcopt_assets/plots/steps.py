"""Step lines over time: a recorded series held against replayed ones, one panel each.

In:  step functions.   Out: a Drawing whose caption says how many changes a drawn point stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hpcopt_assets.plots.style import OBSERVED, Drawing, Line, add_legend, draw, line

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BUCKETS_MAX = 240
# One bucket is then about 2 pt wide on paper: finer detail could not be seen.
PANEL_INCHES = 1.75
SECONDS_PER_DAY = 86400
FIRST_DATE, LAST_DATE = -719_162.0, 2_932_896.0
# 0001-01-01 and 9999-12-31 in days since the epoch: matplotlib knows no others, a broken clock may.


class Steps(Protocol):
    """A right-continuous step function: `values[i]` holds on [at_s[i], at_s[i+1]); 0 before at_s[0].

    Instants are seconds since the epoch, strictly increasing.
    """

    @property
    def at_s(self) -> IntArray: ...

    @property
    def values(self) -> IntArray: ...

    def sample(self, grid_s: IntArray, /) -> IntArray: ...


@dataclass(frozen=True)
class Buckets:
    """A step function cut into equal stretches of time, with the time-weighted mean and maximum of each.

    `edges_s` has one entry more than `mean` and `maximum`.
    """

    edges_s: IntArray
    mean: FloatArray
    maximum: IntArray


@dataclass(frozen=True)
class StepPanel:
    """One panel: one replayed series with its label, and the recorded series where there is one."""

    recorded: Steps | None
    replayed: Steps
    replayed_label: str


def buckets(series: Steps, start_s: int, end_s: int, count: int) -> Buckets:
    """`count` buckets over [start_s, end_s), fewer where that would make them shorter than a second."""
    edges = np.unique(np.linspace(start_s, max(end_s, start_s + 1), count + 1).astype(np.int64))
    inside = series.at_s[(series.at_s > edges[0]) & (series.at_s < edges[-1])]
    at = np.sort(np.concatenate([inside, edges]))  # an instant that stands twice lasts no time between
    values = series.sample(at[:-1])
    first = np.searchsorted(at[:-1], edges[:-1])
    held = np.add.reduceat(values * np.diff(at).astype(np.float64), first)
    return Buckets(edges, held / np.diff(edges), np.maximum.reduceat(values, first))


def step_lines(
    panels: Sequence[StepPanel], *, file_name: str, title: str, y_label: str, recorded_label: str
) -> Drawing:
    """One panel a replayed series, all over the same time axis (dates, UTC), each on its own scale.

    Each stretch of time is drawn as its mean (strong) and its maximum (pale). `panels` must not be empty.
    """
    series = [steps for panel in panels for steps in (panel.recorded, panel.replayed) if steps is not None]
    known = [steps for steps in series if steps.at_s.size]
    start_s = min((int(steps.at_s[0]) for steps in known), default=0)
    end_s = max((int(steps.at_s[-1]) for steps in known), default=0)

    def cut(steps: Steps) -> Buckets:
        return buckets(steps, start_s, end_s, BUCKETS_MAX)

    def paint(figure: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for i, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
            if panel.recorded is not None:
                _series(ax, cut(panel.recorded), OBSERVED, recorded_label, has_area=True)
            _series(ax, cut(panel.replayed), line(i), panel.replayed_label, has_area=False)
            ax.set_ylabel(y_label)
            add_legend(ax, columns=2)
            ax.margins(x=0.01)
            ax.set_ylim(bottom=0)
            ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
            ax.yaxis.set_major_formatter("{x:,.0f}")
        dates(axes[-1])

    svg = draw(file_name, 0.45 + PANEL_INCHES * len(panels), title, paint)
    drawn = cut(panels[0].replayed)
    width = _words((int(drawn.edges_s[-1]) - int(drawn.edges_s[0])) / drawn.mean.size)
    scales = "; each panel has its own scale" if len(panels) > 1 else ""
    has_record = any(panel.recorded is not None for panel in panels)
    area = f"Grey area ({recorded_label}) and strong line (replay)" if has_record else "Strong line"
    return Drawing(
        file_name,
        svg,
        title,
        f"{area}: mean over each {width}; thin lines: the maximum reached within it. "
        f"All {drawn.mean.size} such stretches are drawn{scales}.",
    )


def _series(ax: Any, cut: Buckets, look: Line, label: str, *, has_area: bool) -> None:
    days = cut.edges_s / SECONDS_PER_DAY
    ax.stairs(cut.maximum, days, color=look.colour, alpha=0.4, linewidth=0.5, baseline=None)
    if has_area:
        ax.stairs(cut.mean, days, color="#bbbbbb", fill=True, label=label)
    else:
        ax.stairs(cut.mean, days, color=look.colour, linewidth=look.width, baseline=None, label=label)


def dates(ax: Any) -> None:
    """Dates (UTC) on a time axis in days since the epoch; the days themselves where there are no dates."""
    from matplotlib.dates import UTC, AutoDateLocator, ConciseDateFormatter

    first, last = ax.get_xlim()
    if first < FIRST_DATE or last > LAST_DATE:
        ax.set_xlabel("days since 1970-01-01 (UTC)")
        return
    locator = AutoDateLocator(tz=UTC, minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    ax.set_xlabel("time (UTC)")


def _words(seconds: float) -> str:
    units = (("days", SECONDS_PER_DAY), ("h", 3600), ("min", 60), ("s", 1))
    unit, length = next(((unit, length) for unit, length in units if seconds >= 2 * length), units[-1])
    return f"{seconds / length:.3g} {unit}"
