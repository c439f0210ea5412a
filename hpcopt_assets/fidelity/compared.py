"""The same jobs as observed and as replayed, over the whole trace or a part of it.

In:  trace_jobs, a replay_schedule.   Out: `Compared`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.measures.schedule import IntArray, Schedule
from hpcopt_assets.measures.usage import queued_jobs
from hpcopt_assets.measures.window import Span

NOTHING_TO_COMPARE = "no job ran both in the record and in the replay"


@dataclass(frozen=True)
class Compared:
    """Two schedules of the same jobs in the same order, and the queue lengths of both at the instants `at_s`.

    `jobs_count` is how many jobs there are in all: those that did not run in both, too. `lacking` says why
    there is nothing to compare, where there is not.
    """

    observed: Schedule
    replayed: Schedule
    at_s: IntArray
    observed_queue: IntArray
    replayed_queue: IntArray
    jobs_count: int
    lacking: str = NOTHING_TO_COMPARE

    @classmethod
    def of(cls, trace_jobs: pl.DataFrame, replay: pl.DataFrame, every_s: int) -> Compared:
        """The jobs that ran in both; queues are sampled from their first release to their last start."""
        observed, replayed = Schedule.paired(trace_jobs, replay)
        at_s = _grid(observed, replayed, every_s)
        seen, other = (queued_jobs(schedule).sample(at_s) for schedule in (observed, replayed))
        return cls(observed, replayed, at_s, seen, other, trace_jobs.height)

    @classmethod
    def nothing(cls, jobs_count: int, lacking: str) -> Compared:
        """Nothing to compare, and why."""
        none = np.empty(0, dtype=np.int64)
        empty = Schedule(none, none, none, none, none, jobs_count)
        return cls(empty, empty, none, none, none, jobs_count, lacking)

    def within(self, span: Span, jobs_count: int) -> Compared:
        """The jobs released in a span, of which there are `jobs_count` in all; everybody's queue in it."""
        released = (self.observed.release_s >= span.start_s) & (self.observed.release_s < span.end_s)
        sampled = slice(*np.searchsorted(self.at_s, span))
        return Compared(
            self.observed.where(released),
            self.replayed.where(released),
            self.at_s[sampled],
            self.observed_queue[sampled],
            self.replayed_queue[sampled],
            jobs_count,
            self.lacking,
        )

    def __len__(self) -> int:
        return len(self.observed)


def _grid(observed: Schedule, replayed: Schedule, every_s: int) -> IntArray:
    """From the first release to the last start of either schedule: outside, both queues are empty."""
    if len(observed) == 0:
        return np.empty(0, dtype=np.int64)
    last_s = max(int(observed.start_s.max()), int(replayed.start_s.max()))
    return np.arange(observed.release_s.min(), last_s + 1, every_s, dtype=np.int64)
