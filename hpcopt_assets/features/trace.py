"""A trace as arrays, in trace order, with groups of alike jobs numbered.

In:  a `trace_jobs` frame in any row order.   Out: `Trace`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from hpcopt_assets.contracts.order import in_trace_order
from hpcopt_assets.features.history import NOBODY
from hpcopt_assets.measures.requests import is_completed, limits
from hpcopt_assets.measures.schedule import BoolArray, FloatArray, IntArray

KEYS = {
    "user": ("user",),
    "user_procs": ("user", "procs"),
    "user_request": ("user", "requested_runtime_s"),
    "user_procs_request": ("user", "procs", "requested_runtime_s"),
    "user_name": ("user", "name"),
}
# Prefix of a history's columns -> what its jobs have in common.


@dataclass(frozen=True)
class Trace:
    """Arrays with one entry a job, in trace order; times in seconds, NaN or 0 where not known.

    `is_completed` are the jobs whose runtime and end are known: at `end_s`, and to nobody before. `is_first`:
    the attempt that was submitted; later ones keep its submission and came after it.
    """

    jobs: pl.DataFrame
    submit_s: IntArray
    release_s: IntArray
    start_s: IntArray
    end_s: IntArray
    has_start: BoolArray
    has_end: BoolArray
    is_completed: BoolArray
    runtime_s: FloatArray
    procs: FloatArray
    limit_s: FloatArray
    has_request: BoolArray
    is_first: BoolArray

    @classmethod
    def of(cls, trace_jobs: pl.DataFrame) -> Trace:
        """The jobs of a trace."""
        jobs = in_trace_order(trace_jobs)
        limit_s, is_fallback = _limits_at_submission(jobs)
        has_end = jobs["end_s"].is_not_null().to_numpy()

        def instant(name: str) -> IntArray:
            return jobs[name].fill_null(0).to_numpy()

        def number(name: str, unknown: float) -> FloatArray:
            return jobs[name].cast(pl.Float64).fill_null(unknown).to_numpy()

        return cls(
            jobs=jobs,
            submit_s=instant("submit_s"),
            release_s=instant("release_s"),
            start_s=instant("start_s"),
            end_s=instant("end_s"),
            has_start=jobs["start_s"].is_not_null().to_numpy(),
            has_end=has_end,
            is_completed=jobs.select(is_completed()).to_series().to_numpy(),
            runtime_s=number("runtime_s", 0.0),
            procs=number("procs", np.nan),
            limit_s=limit_s.cast(pl.Float64).to_numpy(),
            has_request=~is_fallback.to_numpy(),
            is_first=(jobs["attempt"] == 1).to_numpy(),
        )

    def __len__(self) -> int:
        return self.jobs.height

    @cached_property
    def user(self) -> IntArray:
        """Users numbered from 0, `NOBODY` where unknown."""
        return self.group("user")

    @cached_property
    def submission_order(self) -> IntArray:
        """Positions by submission, then position: trace order is one of releases."""
        return np.argsort(self.submit_s, kind="stable")

    def group(self, prefix: str) -> IntArray:
        """Jobs that are alike by `KEYS`, numbered from 0; `NOBODY` where user or name is unknown."""
        names = KEYS[prefix]
        number = self.jobs.select(pl.struct(names).rank("dense").cast(pl.Int64) - 1).to_series()
        identities = [name for name in names if self.jobs.schema[name] == pl.String]
        is_known = self.jobs.select(pl.all_horizontal(pl.col(identities).is_not_null())).to_series()
        return np.where(is_known.to_numpy(), number.to_numpy(), NOBODY)


def _limits_at_submission(jobs: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """What stands in for a missing request, from requests of jobs *submitted* before; a replay asks later.

    A job that was held is released after jobs that came later.
    """
    place = pl.Series(np.argsort(jobs["submit_s"].to_numpy(), kind="stable"))
    submitted = jobs[place].with_columns(release_s=pl.col("submit_s"))
    limit_s, is_fallback = limits(submitted)
    back = pl.Series(np.argsort(place.to_numpy(), kind="stable"))
    return limit_s.gather(back), is_fallback.gather(back)
