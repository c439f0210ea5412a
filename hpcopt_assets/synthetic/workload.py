"""A whole synthetic workload: the model's jobs with users, requests and a given offered load.

In:  config models and a seed.   Out: `Workload`, also as a `trace_jobs` frame.
Not here: starts and waits, which neither the model nor its users know (demo.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.synthetic_config import LublinModel, UserHabits
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RequestKind
from hpcopt_assets.measures import load
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import BoolArray, IntArray
from hpcopt_assets.synthetic.lublin import arrivals, cycle_weights, draw_gaps, draw_runtimes, draw_sizes
from hpcopt_assets.synthetic.users import draw_requests, share_out

SMALLEST_WORKLOAD = 2
# One job spans no time, and one processor leaves the size distribution nothing to choose from.


@dataclass(frozen=True)
class Workload:
    """Jobs in order of submission; arrays have one entry a job. Users and applications count from 1."""

    submit_s: IntArray
    runtime_s: IntArray
    procs: IntArray
    user: IntArray
    application: IntArray
    requested_s: IntArray
    capacity_procs: int

    def __len__(self) -> int:
        return int(self.submit_s.size)

    @property
    def is_over_request(self) -> BoolArray:
        """Jobs that were ended within the grace after their request."""
        return self.runtime_s > self.requested_s

    @property
    def offered_load(self) -> float | None:
        """Processor-seconds asked of the machine over those it has between first and last submission."""
        return load.offered_load(self.submit_s, self.runtime_s, self.procs, Capacity(self.capacity_procs))


def make_workload(
    model: LublinModel,
    habits: UserHabits,
    *,
    jobs: int,
    capacity_procs: int,
    offered_load: float,
    unix_start_s: int,
    seed: int,
) -> Workload:
    """Draw a workload; equal arguments give equal arrays. The first job is submitted at `unix_start_s`.

    That instant is taken for midnight of the daily cycle. Gaps are scaled so that the offered load is met up
    to the rounding of times to seconds. Raises `InputError` for fewer than two jobs or processors.
    """
    if min(jobs, capacity_procs) < SMALLEST_WORKLOAD:
        raise InputError(
            found=f"{jobs} jobs on {capacity_procs} processors",
            needed=f"at least {SMALLEST_WORKLOAD} of each",
            where="synthetic workload",
            next_step="Ask for more jobs or a larger machine.",
        )
    sizes_rng, runtimes_rng, gaps_rng, users_rng, requests_rng = np.random.default_rng(seed).spawn(5)
    # A stream a quantity: changing how one is drawn leaves the others as they were.
    procs = draw_sizes(model, jobs, capacity_procs, sizes_rng)
    runtime_s = draw_runtimes(model, procs, runtimes_rng)
    span_s = float((procs * runtime_s).sum()) / (capacity_procs * offered_load)
    offset_s = arrivals(draw_gaps(model, jobs - 1, gaps_rng), cycle_weights(model), span_s)
    by = share_out(habits, runtime_s, procs, users_rng)
    return Workload(
        submit_s=unix_start_s + offset_s,
        runtime_s=runtime_s[by.job],
        procs=procs[by.job],
        user=by.user,
        application=by.application,
        requested_s=draw_requests(habits, by, runtime_s[by.job], requests_rng),
        capacity_procs=capacity_procs,
    )


def trace_jobs_of(workload: Workload, trace_id: str) -> pl.DataFrame:
    """The workload as a `trace_jobs` frame without starts, as ingest would read it from a file."""
    known = pl.DataFrame(
        {
            "submit_s": workload.submit_s,
            "runtime_s": workload.runtime_s,
            "requested_runtime_s": workload.requested_s,
            "procs": workload.procs,
            "user": workload.user,
            "name": workload.application,
        }
    ).with_row_index("source_line", offset=1)
    is_over = pl.col("runtime_s") > pl.col("requested_runtime_s")
    flag = pl.lit([QualityFlag.RUNTIME_OVER_REQUEST.value])
    filled = known.with_columns(
        trace_id=pl.lit(trace_id),
        job_id=pl.col("source_line").cast(pl.String),
        source_file=pl.lit(f"{trace_id}.swf"),
        release_s=pl.col("submit_s"),
        hold_s=pl.lit(0),
        requested_runtime_kind=pl.lit(RequestKind.LIMIT.value),
        requested_procs=pl.col("procs"),
        state=pl.when(is_over)
        .then(pl.lit(JobState.FAILED.value))
        .otherwise(pl.lit(JobState.COMPLETED.value)),
        attempt=pl.lit(1),
        attempt_count=pl.lit(1),
        user=pl.col("user").cast(pl.String),
        name=pl.col("name").cast(pl.String),
        queue=pl.lit("1"),
        partition=pl.lit("1"),
        quality_flags=pl.when(is_over).then(flag).otherwise(pl.lit([], dtype=pl.List(pl.String))),
    )
    unknown = [
        pl.lit(None, dtype=column.dtype.polars).alias(column.name)
        for column in TRACE_JOBS.columns
        if column.name not in filled.columns
    ]
    return TRACE_JOBS.shape(filled.with_columns(unknown))
