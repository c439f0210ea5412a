"""The statistics that scenarios move: what each says, of which jobs.

In:  trace_jobs, the machine.   Out: a number a statistic, None where a trace has none.
Not here: the formulas (measures/).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.stress_words import WorkloadStatistic
from hpcopt_assets.contracts.vocabulary import JobState
from hpcopt_assets.measures.burstiness import arrival_peak
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.inequality import largest_share
from hpcopt_assets.measures.load import offered_load
from hpcopt_assets.measures.requests import has_runtime, request_over_runtime
from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.measures.tails import tail_ratio

Statistics = dict[WorkloadStatistic, float | None]


class Obstacle(Exception):  # noqa: N818 -- no error: the trace is told not to be assessed, and why
    """Why a trace cannot carry a scenario, in words."""


def counts(capacity: Capacity) -> pl.Expr:
    """Whether a job counts in every statistic: those that a replay takes."""
    fits = (pl.col("procs") <= capacity.largest).fill_null(False)
    return has_runtime() & fits & (pl.col("state") != JobState.PENDING.value)


def has_request() -> pl.Expr:
    """Whether a job states a requested runtime that is a time."""
    return (pl.col("requested_runtime_s") > 0).fill_null(False)


def statistics_of(jobs: pl.DataFrame, capacity: Capacity, peak_windows: int) -> Statistics:
    """Every statistic of a trace, over the jobs that count.

    The busiest of `peak_windows` equal parts of the trace's time is its peak. Jobs of unknown users and jobs
    without a requested runtime are left out where these matter.
    """
    counted = jobs.filter(counts(capacity))
    asked = counted.filter(has_request())
    release_s, runtime_s, procs = (_column(counted, name) for name in ("release_s", "runtime_s", "procs"))
    ratio = request_over_runtime(_column(asked, "requested_runtime_s"), _column(asked, "runtime_s"))
    by_user = counted["user"].drop_nulls().value_counts()["count"].to_numpy().astype(np.float64)
    return {
        WorkloadStatistic.RUNTIME_TAIL: tail_ratio(runtime_s),
        WorkloadStatistic.OFFERED_LOAD: offered_load(release_s, runtime_s, procs, capacity),
        WorkloadStatistic.LARGEST_USER_SHARE: largest_share(by_user),
        WorkloadStatistic.ARRIVAL_PEAK: arrival_peak(release_s, peak_windows),
        WorkloadStatistic.OVERESTIMATION: float(np.median(ratio)) if ratio.size else None,
    }


def _column(jobs: pl.DataFrame, name: str) -> IntArray:
    return jobs[name].to_numpy().astype(np.int64)
