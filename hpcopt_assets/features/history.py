"""History as of an instant: what a user's completed jobs tell when the next one is submitted.

In:  int64 arrays with one entry a job: group number (`NOBODY` for none), end, runtime, submission.
Out: float64 arrays with one entry a job, NaN where there is no history.
Not here: which jobs form a group, and what is made of the numbers (jobs.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcopt_assets.measures.schedule import NO_USER, BoolArray, FloatArray, IntArray

NOBODY = NO_USER
# Jobs of unknown users are nobody's history.


@dataclass(frozen=True)
class Completed:
    """The completed jobs of every group, one group after another, each in the order (end, position).

    `values` is what each left behind, shape (completed,); `begin` and `end` give for every job of the trace
    which of these were known at its submission: those that ended at or before it (a tie counts as known).
    """

    begin: IntArray
    end: IntArray
    group: IntArray
    order: IntArray

    @classmethod
    def by(
        cls, group: IntArray, *, end_s: IntArray, is_completed: BoolArray, submit_s: IntArray
    ) -> Completed:
        """Group the jobs that are completed at some time; `end_s` is not read where `is_completed` is not set."""
        done = np.flatnonzero(is_completed & (group != NOBODY))
        order = done[np.lexsort((done, end_s[done], group[done]))]
        instants = np.unique(end_s[order])
        # Instants by rank, so that group and instant fit one integer.
        step = instants.size + 1
        key = group[order] * step + np.searchsorted(instants, end_s[order], side="right")
        begin = np.searchsorted(key, group * step, side="left")
        end = np.searchsorted(key, group * step + np.searchsorted(instants, submit_s, side="right"), side="right")
        return cls(begin, np.where(group == NOBODY, begin, end), group[order], order)

    @property
    def count(self) -> IntArray:
        """How many were known."""
        return self.end - self.begin

    def last(self, values: FloatArray, back: int = 0) -> FloatArray:
        """The value of the last job known (`back` = 1: of the one before it). `values` has one entry a job."""
        at = self.end - 1 - back
        return _where(at >= self.begin, values[self.order], at)

    def expanding(self, statistic: str, values: FloatArray) -> FloatArray:
        """`median` or `std` (of the population) of the values of all jobs known."""
        import pandas as pd

        rolling = pd.Series(values[self.order]).groupby(self.group, sort=False).expanding()
        made = rolling.median() if statistic == "median" else rolling.std(ddof=0)
        return _where(self.count > 0, made.to_numpy(), self.end - 1)

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean of the values of all jobs known."""
        total = np.concatenate(([0.0], np.cumsum(values[self.order])))
        with np.errstate(invalid="ignore"):
            return (total[self.end] - total[self.begin]) / np.where(self.count > 0, self.count, np.nan)


def _where(is_known: BoolArray, values: FloatArray, at: IntArray) -> FloatArray:
    """values[at] where known, else NaN."""
    found = np.full(at.size, np.nan)
    found[is_known] = values[at[is_known]]
    return found
