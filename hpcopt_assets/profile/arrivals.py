"""Arrivals: when jobs are submitted, and how unevenly.

In:  submissions (s since the epoch), a time zone.   Out: rows of the topic arrivals.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.contracts.vocabulary import ProfileMeasure, ProfileTopic
from hpcopt_assets.measures.burstiness import dispersion, variation
from hpcopt_assets.measures.calendar import Zone, hours_and_weekdays
from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.profile.jobs import spread
from hpcopt_assets.profile.rows import ALL, Row, unknown

HOUR_S = 3600
HOURS = tuple(f"hour {hour:02}" for hour in range(24))
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOPIC = ProfileTopic.ARRIVALS


def arrival_rows(submit_s: IntArray, zone: Zone) -> list[Row]:
    """Daily and weekly cycle, gaps, and two measures of burstiness. `submit_s` ascending."""
    hour, weekday = hours_and_weekdays(submit_s, zone)
    gaps_s = np.diff(submit_s)
    return [
        *_cycle(ProfileMeasure.HOUR_OF_DAY, hour, HOURS, zone.note),
        *_cycle(ProfileMeasure.WEEKDAY, weekday, WEEKDAYS, zone.note),
        *spread(_TOPIC, ProfileMeasure.GAP, gaps_s.astype(np.float64), "fewer than two jobs: no gap"),
        _variation(gaps_s),
        _dispersion(submit_s),
    ]


def _cycle(measure: ProfileMeasure, place: IntArray, names: tuple[str, ...], note: str) -> list[Row]:
    if place.size == 0:
        return [unknown(_TOPIC, measure, "the trace has no jobs")]
    counts = np.bincount(place, minlength=len(names)).tolist()
    return [
        Row(_TOPIC, measure, name, count / place.size, count, note)
        for name, count in zip(names, counts, strict=True)
    ]


def _variation(gaps_s: IntArray) -> Row:
    found = variation(gaps_s)
    if found is None:
        why = "fewer than two gaps" if gaps_s.size < 2 else "all jobs were submitted at one instant"
        return unknown(_TOPIC, ProfileMeasure.GAP_VARIATION, why, gaps_s.size)
    return Row(_TOPIC, ProfileMeasure.GAP_VARIATION, ALL, found, gaps_s.size)


def _dispersion(submit_s: IntArray) -> Row:
    found = dispersion(submit_s, HOUR_S)
    if found is None:
        return unknown(_TOPIC, ProfileMeasure.HOURLY_DISPERSION, "submissions span less than two hours")
    return Row(_TOPIC, ProfileMeasure.HOURLY_DISPERSION, ALL, found.ratio, found.periods_count)
