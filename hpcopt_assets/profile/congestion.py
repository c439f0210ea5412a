"""Congestion as it was recorded: how long the queue was, and how full the machine.

In:  the observed schedule, the machine's size, a time zone.   Out: rows of the topic congestion.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hpcopt_assets.contracts.vocabulary import ProfileMeasure, ProfileTopic
from hpcopt_assets.measures.calendar import Zone, weeks
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.load import utilisation
from hpcopt_assets.measures.over_time import means_between, quantiles_over_time
from hpcopt_assets.measures.schedule import IntArray, Schedule
from hpcopt_assets.measures.usage import queued_jobs, usage
from hpcopt_assets.measures.window import Span, whole_span
from hpcopt_assets.profile.rows import ALL, Row, unknown

PERCENTILES = (50, 75, 90, 95, 99)
LONGEST_S = 100 * 366 * 86400
# A record that is longer has an instant which a broken clock wrote: there would be a row for each week.
_TOPIC = ProfileTopic.CONGESTION
_NO_STARTS = "no job has a known start, runtime and size"


def congestion_rows(observed: Schedule, capacity: Capacity | None, zone: Zone) -> list[Row]:
    """Queue length over time, utilisation of the whole record and week by week.

    `capacity` in the unit of the schedule. Jobs that never started are in neither: when they left the queue
    is not recorded.
    """
    return [*_queue(observed), *_utilisation(observed, capacity, zone)]


def _queue(observed: Schedule) -> list[Row]:
    measure = ProfileMeasure.QUEUE_LENGTH
    if len(observed) == 0:
        return [unknown(_TOPIC, measure, _NO_STARTS)]
    length = queued_jobs(observed)
    found = quantiles_over_time(length, np.array(PERCENTILES) / 100)
    if found is None:
        return [unknown(_TOPIC, measure, "all jobs were released and started at one instant", len(observed))]
    named = {f"p{at}": float(value) for at, value in zip(PERCENTILES, found.tolist(), strict=True)}
    named |= {"max": float(length.peak()), "mean": float(means_between(length, length.at_s[[0, -1]])[0])}
    return [Row(_TOPIC, measure, item, value, len(observed)) for item, value in named.items()]


def _utilisation(observed: Schedule, capacity: Capacity | None, zone: Zone) -> list[Row]:
    measure = ProfileMeasure.UTILISATION
    if capacity is None:
        return [unknown(_TOPIC, measure, "the size of the machine is not known", len(observed))]
    if len(observed) == 0:
        return [unknown(_TOPIC, measure, _NO_STARTS)]
    span = whole_span(observed)
    whole = utilisation(observed, capacity, span)
    if whole is None:
        return [unknown(_TOPIC, measure, "the record spans no time", len(observed))]
    total = Row(_TOPIC, measure, ALL, whole, len(observed), start_s=span.start_s, end_s=span.end_s)
    if span.seconds > LONGEST_S:
        return [total._replace(note="weeks are not listed: the record spans more than a century")]
    cut = weeks(span, zone)
    edges_s = np.array([span.start_s, *(week.span.end_s for week in cut)], dtype=np.int64)
    there = np.array([capacity.mean_over(Span(*pair)) for pair in pairwise(edges_s.tolist())])
    means = means_between(usage(observed), edges_s) / np.where(there > 0, there, np.nan)
    ran = _running_in(observed, edges_s)
    return [
        total,
        *(
            Row(
                _TOPIC,
                measure,
                f"week {week.name}",
                None if np.isnan(mean) else mean,
                count,
                zone.note,
                start_s=week.span.start_s,
                end_s=week.span.end_s,
            )
            for week, mean, count in zip(cut, means.tolist(), ran.tolist(), strict=True)
        ),
    ]


def _running_in(observed: Schedule, edges_s: IntArray) -> IntArray:
    """How many jobs ran in each stretch between edges: begun before its end, and not over before it."""
    begun = np.searchsorted(np.sort(observed.start_s), edges_s[1:], side="left")
    over = np.searchsorted(np.sort(observed.end_s), edges_s[:-1], side="right")
    ran: IntArray = np.maximum(begun - over, 0)
    return ran
