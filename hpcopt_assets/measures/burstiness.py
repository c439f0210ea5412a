"""Burstiness of arrivals: how far they are from coming at random at a constant rate.

In:  instants or gaps in seconds.   Out: one number, 1 for a Poisson process or a clock; None for too few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hpcopt_assets.measures.schedule import IntArray


class Dispersion(NamedTuple):
    """Variance over mean of the counts of consecutive periods, and how many periods there were."""

    ratio: float
    periods_count: int


def variation(gaps_s: IntArray) -> float | None:
    """Coefficient of variation: sample standard deviation over mean; 0 where gaps are equal.

    None for fewer than two gaps, and where all are 0. Cox and Lewis, The Statistical Analysis of Series of
    Events, 1966.
    """
    if gaps_s.size < 2 or not gaps_s.any():
        return None
    return float(gaps_s.std(ddof=1) / gaps_s.mean())


def dispersion(at_s: IntArray, period_s: int) -> Dispersion | None:
    """Index of dispersion of counts per period, from the first event on, without a last, unfinished one.

    Sample variance over mean; None for fewer than two periods. Days and weeks with their rush hours raise
    it as bursts do. `at_s` in any order. Cox and Lewis, 1966.
    """
    if at_s.size == 0:
        return None
    first = int(at_s.min())
    periods = (int(at_s.max()) + 1 - first) // period_s
    if periods < 2:
        return None
    # Periods without an event are not listed: a log may hold one instant that lies millennia off.
    index, counts = np.unique((at_s - first) // period_s, return_counts=True)
    counts = counts[index < periods].astype(np.float64)
    mean = counts.sum() / periods
    variance = (((counts - mean) ** 2).sum() + (periods - counts.size) * mean**2) / (periods - 1)
    return Dispersion(float(variance / mean), periods)


def window_of(at_s: IntArray, windows: int) -> IntArray:
    """In which of `windows` equal parts of the time from first to last each instant lies, from 0."""
    first = int(at_s.min())
    return (at_s - first) * windows // (int(at_s.max()) - first + 1)


def arrival_peak(at_s: IntArray, windows: int) -> float | None:
    """Events in the busiest of `windows` equal parts of the time, over the mean of all: 1 for a clock.

    Parts of the time, not hours: the same events twice as slow have the same peak. None without events.
    `at_s` in any order.
    """
    if at_s.size == 0:
        return None
    busiest = np.unique(window_of(at_s, windows), return_counts=True)[1].max()
    return float(busiest * windows / at_s.size)
