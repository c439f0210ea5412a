"""History as of an instant: what jobs that had ended tell when another is submitted.

In:  int64 arrays with one entry a job: group number (`NOBODY` for none), end, submission.
Out: float64 arrays with one entry a job, NaN where there is no history.
Not here: which jobs form a group, and what is made of the numbers (jobs.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcopt_assets.measures.schedule import NO_USER, BoolArray, FloatArray, IntArray

NOBODY = NO_USER
# Jobs of unknown users are nobody's history.
RECENT = 5


@dataclass(frozen=True)
class Past:
    """For every job, which events of its group (ends, starts, submissions) had come at an instant of its own.

    `order` holds the positions of the jobs with an event, one group after another, each by (instant,
    position); `group` their groups. Entry i of `begin` and `end` bounds those that job i may know.
    """

    order: IntArray
    group: IntArray
    begin: IntArray
    end: IntArray

    @classmethod
    def of(cls, group: IntArray, event_s: IntArray, has_event: BoolArray, now_s: IntArray) -> Past:
        """Events at or before `now_s` (a tie counts as known); `event_s` is read where `has_event` is set."""
        there = np.flatnonzero(has_event & (group != NOBODY))
        order = there[np.lexsort((there, event_s[there], group[there]))]
        instants = np.unique(event_s[order])
        width = instants.size + 1
        # Of a group's stretch of numbers: an instant by its rank, so that group and instant fit one integer.
        number = group[order] * width + np.searchsorted(instants, event_s[order], side="right")
        now = np.searchsorted(instants, now_s, side="right")
        begin = np.searchsorted(number, group * width, side="left")
        end = np.searchsorted(number, group * width + now, side="right")
        return cls(order, group[order], begin, np.where(group == NOBODY, begin, end))

    @property
    def count(self) -> IntArray:
        """How many events each job may know."""
        return self.end - self.begin

    def last(self, values: FloatArray, back: int = 0) -> FloatArray:
        """Value of the job with the last event known, or `back` events before it. `values`: one a job."""
        at = self.end - 1 - back
        return _take(values[self.order], at, at >= self.begin)

    def total(self, values: FloatArray) -> FloatArray:
        """Sum of the values of all known, whole numbers; 0 where there is none.

        Of fractions it would depend, in the last bits, on what comes later elsewhere in the running sum.
        """
        sums = np.concatenate(([0.0], np.cumsum(values[self.order])))
        return sums[self.end] - sums[self.begin]

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean of the values of all known."""
        return self._expanding("mean", values)

    def recent_mean(self, values: FloatArray) -> FloatArray:
        """Mean of the values, whole numbers, of the last `RECENT` known, or of as many as there are."""
        sums = np.concatenate(([0.0], np.cumsum(values[self.order])))
        first = np.maximum(self.begin, self.end - RECENT)
        return (sums[self.end] - sums[first]) / np.where(self.count > 0, self.end - first, np.nan)

    def median(self, values: FloatArray) -> FloatArray:
        """Median of the values of all known."""
        return self._expanding("median", values)

    def spread(self, values: FloatArray) -> FloatArray:
        """Standard deviation (of the population) of the values of all known."""
        return self._expanding("std", values, ddof=0)

    def _expanding(self, statistic: str, values: FloatArray, **how: int) -> FloatArray:
        """A statistic of each group's first, first two, first three ... values, looked up for each job."""
        import pandas as pd

        grown = pd.Series(values[self.order]).groupby(self.group, sort=False).expanding()
        return _take(getattr(grown, statistic)(**how).to_numpy(), self.end - 1, self.count > 0)


def _take(values: FloatArray, at: IntArray, is_known: BoolArray) -> FloatArray:
    """values[at] where known, else NaN."""
    found = np.full(at.size, np.nan)
    found[is_known] = values[at[is_known]]
    return found
