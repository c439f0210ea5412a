"""Windows of a schedule, and what part of an interval lies in one.

In:  a schedule in trace order.   Out: `Span`s, half-open, in whole seconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hpcopt_assets.contracts.config import MeasuresConfig
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.schedule import BoolArray, FloatArray, IntArray, Schedule


class Span(NamedTuple):
    """The interval [start_s, end_s)."""

    start_s: int
    end_s: int

    @property
    def seconds(self) -> int:
        """Its length."""
        return self.end_s - self.start_s


def span_of(schedule: Schedule, window: Window, config: MeasuresConfig) -> Span | None:
    """The window of a schedule; None for a schedule without jobs.

    Whole: from the first release to the last end. Steady: from the release of the job at `steady_skip_ratio`
    of the jobs (counted from 0, rounded down) to one second after the last release. Times are whole seconds,
    so that this half-open window is the shortest that holds the last release: every job released from its
    start on is released in it. Selection: the first `selection_time_ratio` of the steady window's time (down
    to a second; may be empty). Confirmation: the rest of it.
    """
    if len(schedule) == 0:
        return None
    if window is Window.WHOLE:
        return whole_span(schedule)
    steady = tail_span(schedule, config.steady_skip_ratio)
    cut_s = steady.start_s + int(config.selection_time_ratio * steady.seconds)
    parts = {
        Window.STEADY: steady,
        Window.SELECTION: Span(steady.start_s, cut_s),
        Window.CONFIRMATION: Span(cut_s, steady.end_s),
    }
    return parts[window]


def is_released_in(schedule: Schedule, window: Window, span: Span) -> BoolArray:
    """Which jobs are released in the window of this span.

    A job may be released at the very end of the whole window, which is the last end of any job.
    """
    since: BoolArray = schedule.release_s >= span.start_s
    return since if window is Window.WHOLE else since & (schedule.release_s < span.end_s)


def whole_span(schedule: Schedule) -> Span:
    """From the first release to the last end of a schedule that has jobs."""
    return Span(int(schedule.release_s.min()), int(schedule.end_s.max()))


def tail_span(schedule: Schedule, skip_ratio: float) -> Span:
    """From the release of the job at `skip_ratio` of the jobs to one second after the last release."""
    first = min(int(skip_ratio * len(schedule)), len(schedule) - 1)
    return Span(int(schedule.release_s[first]), int(schedule.release_s.max()) + 1)


def seconds_within(from_s: IntArray, to_s: IntArray, span: Span) -> FloatArray:
    """How long each interval [from_s, to_s) lies within the span."""
    inside: IntArray = np.minimum(to_s, span.end_s) - np.maximum(from_s, span.start_s)
    return np.maximum(inside, 0).astype(np.float64)
