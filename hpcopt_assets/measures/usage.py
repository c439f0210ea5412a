"""Step functions over time: processors in use and jobs in the queue, for observed and replayed alike.

In:  arrays of instants (s) and processors.   Out: `Steps`, right-continuous, and integrals over them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.measures.schedule import IntArray, Schedule, has_run, held_procs


@dataclass(frozen=True)
class Steps:
    """A right-continuous step function: `values[i]` holds on [at_s[i], at_s[i+1]); 0 before at_s[0].

    `at_s` is strictly increasing; the last value holds for ever (it is 0 for usage and queues).
    """

    at_s: IntArray
    values: IntArray

    def sample(self, grid_s: IntArray) -> IntArray:
        """Values at the instants of `grid_s`."""
        if self.at_s.size == 0:
            return np.zeros(grid_s.size, dtype=np.int64)
        index = np.searchsorted(self.at_s, grid_s, side="right") - 1
        return np.where(index >= 0, self.values[np.maximum(index, 0)], 0)

    def evenly(self, points: int) -> IntArray:
        """Values at `points` evenly spaced instants, first to last; none for an empty function."""
        if self.at_s.size == 0:
            return np.zeros(0, dtype=np.int64)
        return self.sample(np.linspace(self.at_s[0], self.at_s[-1], points).astype(np.int64))

    def within(self, start_s: int, end_s: int) -> Steps:
        """The function on [start_s, end_s), and 0 outside."""
        inside = (self.at_s > start_s) & (self.at_s < end_s)
        edge = self.sample(np.array([start_s], dtype=np.int64))
        return Steps(
            np.concatenate([[start_s], self.at_s[inside], [end_s]]).astype(np.int64),
            np.concatenate([edge, self.values[inside], [0]]).astype(np.int64),
        )

    def peak(self) -> int:
        """Largest value; 0 for an empty function."""
        return int(self.values.max(initial=0))

    def seconds_above(self, limit: int) -> int:
        """How long the value exceeds `limit`."""
        held = np.diff(self.at_s)
        return int(held[self.values[:-1] > limit].sum()) if self.at_s.size else 0


def steps(up_s: IntArray, down_s: IntArray, weight: IntArray) -> Steps:
    """The sum of `weight` over the half-open intervals [up_s, down_s). Empty intervals add nothing."""
    at = np.concatenate([up_s, down_s])
    order = np.argsort(at)
    at = at[order]
    total = np.cumsum(np.concatenate([weight, -weight])[order], dtype=np.int64)
    is_last_at_instant = np.append(at[1:] != at[:-1], at.size > 0)[: at.size]
    return Steps(at[is_last_at_instant].astype(np.int64), total[is_last_at_instant])


def usage(schedule: Schedule) -> Steps:
    """Processors in use over time."""
    return steps(schedule.start_s, schedule.end_s, schedule.procs)


def observed_usage(trace_jobs: pl.LazyFrame) -> Steps:
    """Processors in use as the log tells it; of a large trace only the columns that tell it are held."""
    ran = trace_jobs.filter(has_run()).select("start_s", "runtime_s", procs=held_procs()).collect()
    start, runtime, procs = (ran[name].to_numpy() for name in ("start_s", "runtime_s", "procs"))
    return steps(start, start + runtime, procs)


def queued_jobs(schedule: Schedule) -> Steps:
    """Number of jobs released and not yet started, after each instant's scheduling pass."""
    return steps(schedule.release_s, schedule.start_s, np.ones(len(schedule), dtype=np.int64))
