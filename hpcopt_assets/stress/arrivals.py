"""Other arrivals: further apart, or many at once.

In:  trace_jobs, the machine.   Out: trace_jobs, and the machine whose dates moved along.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from hpcopt_assets.measures.burstiness import window_of
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.stress.columns import with_releases
from hpcopt_assets.stress.statistics import Obstacle, counts


def low_congestion(jobs: pl.DataFrame, factor: float, capacity: Capacity) -> tuple[pl.DataFrame, Capacity]:
    """The jobs with an offered load `factor` times what it is: time between releases is divided by it.

    Dates at which the machine changes its size move along. Days become longer than days: the daily cycle goes
    with them.
    """
    first_s = jobs["release_s"].min()
    if not isinstance(first_s, int):
        raise Obstacle("the trace has no jobs")

    def stretched(at_s: IntArray) -> IntArray:
        return first_s + np.floor((at_s - first_s) / factor).astype(np.int64)

    steps = tuple((int(stretched(np.array(at_s))), procs) for at_s, procs in capacity.steps)
    moved = with_releases(jobs, stretched(jobs["release_s"].to_numpy().astype(np.int64)))
    return moved, Capacity(capacity.procs, steps)


def burst_shock(jobs: pl.DataFrame, factor: float, capacity: Capacity, peak_windows: int) -> pl.DataFrame:
    """The jobs with `factor` times as many in the busiest window, taken from those released nearest to it.

    What came shortly before and after comes at once, in its order, and leaves a lull. The first and the last
    release stay where they are. Where there are not so many other jobs, `Obstacle`.
    """
    release_s = jobs["release_s"].to_numpy().astype(np.int64)
    counted = np.flatnonzero(jobs.select(counts(capacity)).to_series().to_numpy())
    if counted.size == 0:
        raise Obstacle("no job counts")
    at_s = release_s[counted]
    window = window_of(at_s, peak_windows)
    peak = int(np.bincount(window).argmax())
    start_s, end_s = _window_span(at_s, peak, peak_windows)
    first, last = np.searchsorted(at_s, [start_s, end_s], side="left").tolist()
    wanted = round(factor * (last - first))
    low, high = _nearest(at_s, (first, last), (start_s, end_s), wanted)
    chosen = counted[low:high]
    rows = np.arange(chosen[0], chosen[-1] + 1)  # those that do not count come along with their neighbours
    from_s, to_s = int(release_s[rows[0]]), int(release_s[rows[-1]]) + 1
    if factor > 1:
        within = (release_s[rows] - from_s) * (end_s - start_s) // (to_s - from_s)
        release_s = release_s.copy()
        release_s[rows] = start_s + within
    return with_releases(jobs, release_s)


def _window_span(at_s: IntArray, window: int, windows: int) -> tuple[int, int]:
    """First second of a window, and of the one after it, as `window_of` cuts them."""
    first, length = int(at_s.min()), int(at_s.max() - at_s.min()) + 1
    start, end = (math.ceil(edge * length / windows) for edge in (window, window + 1))
    return first + start, first + end


def _nearest(
    at_s: IntArray, inside: tuple[int, int], span_s: tuple[int, int], wanted: int
) -> tuple[int, int]:
    """[low, high) of `wanted` jobs in a row: those inside a window, and those released nearest to it."""
    low, high = inside
    lowest = int(np.searchsorted(at_s, at_s[0], side="right")) if low else 0
    highest = int(np.searchsorted(at_s, at_s[-1], side="left")) if high < at_s.size else at_s.size
    if wanted > max(highest - lowest, high - low):
        raise Obstacle(f"{wanted:,} jobs in one window: the trace has no more than {highest - lowest:,}")
    before = span_s[0] - at_s[lowest:low]
    after = at_s[high:highest] - span_s[1]
    order = np.argsort(np.concatenate([before, after]), kind="stable")[: wanted - (high - low)]
    from_before = int((order < before.size).sum())
    return low - from_before, high + order.size - from_before
