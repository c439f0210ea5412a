"""How full the machine is and how much work waits for it.

In:  a schedule, the capacity, spans of time.   Out: ratios and hours of the whole machine.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import FloatArray, IntArray, Schedule
from hpcopt_assets.measures.window import Span, seconds_within, tail_span

SECONDS_PER_HOUR = 3600


def offered_load(
    release_s: IntArray, runtime_s: IntArray, procs: IntArray, capacity: Capacity
) -> float | None:
    """Processor-seconds asked for over those the machine has between first and last release.

    None where that is no time, or there is no machine meanwhile.
    """
    if release_s.size == 0:
        return None
    span = Span(int(release_s.min()), int(release_s.max()))
    if span.seconds == 0 or capacity.mean_over(span) == 0:
        return None
    work = (procs.astype(np.float64) * runtime_s).sum()
    return float(work / (capacity.mean_over(span) * span.seconds))


class LateBacklog(NamedTuple):
    """Mean backlog (hours of the whole machine) of consecutive parts of time, each `part_hours` long."""

    hours: FloatArray
    part_hours: float

    @property
    def growth_ratio(self) -> float:
        """Growth per hour from the first to the last part: the share of the machine by which work outruns it.

        0 where any part does not exceed the one before it: then the backlog does not keep growing.
        """
        if not (np.diff(self.hours) > 0).all():
            return 0.0
        return float((self.hours[-1] - self.hours[0]) / ((self.hours.size - 1) * self.part_hours))


def utilisation(schedule: Schedule, capacity: Capacity, span: Span) -> float | None:
    """Processor-seconds used within the span over those the machine has in it.

    None for an empty span, and for one without a machine.

    Above 1 where a recorded schedule uses more processors than the machine has.
    """
    if span.seconds <= 0 or capacity.mean_over(span) == 0:
        return None
    used = (schedule.procs * seconds_within(schedule.start_s, schedule.end_s, span)).sum()
    return float(used / (capacity.mean_over(span) * span.seconds))


def backlog_hours(schedule: Schedule, capacity: Capacity, spans: list[Span]) -> FloatArray:
    """Mean backlog over each span (not empty): the work of queued jobs, in hours of the whole machine.

    A job's work counts from its release until its start.
    """
    return np.array(
        [
            (schedule.work * seconds_within(schedule.release_s, schedule.start_s, span)).sum()
            / (span.seconds * capacity.mean_over(span) * SECONDS_PER_HOUR)
            for span in spans
        ],
        dtype=np.float64,
    )


def late_backlog(schedule: Schedule, capacity: Capacity, parts: int) -> LateBacklog | None:
    """Mean backlog of each of `parts` equal parts of the last third of the submissions.

    The third runs from the release of the job at two thirds of the jobs to the last release. None where it
    is shorter than a second a part, or the machine is gone in one of them.
    """
    if len(schedule) == 0:
        return None
    third = tail_span(schedule, 2 / 3)
    if third.seconds < parts:
        return None
    edges = [third.start_s + third.seconds * part // parts for part in range(parts + 1)]
    spans = [Span(*pair) for pair in pairwise(edges)]
    if any(capacity.mean_over(span) == 0 for span in spans):
        return None
    hours = backlog_hours(schedule, capacity, spans)
    return LateBacklog(hours, third.seconds / (parts * SECONDS_PER_HOUR))
