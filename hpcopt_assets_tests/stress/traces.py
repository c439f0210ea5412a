"""Traces to be stressed: drawn from the synthetic model, or job by job.

In:  nothing.   Out: `trace_jobs` frames, the machine's processors.
"""

from functools import cache

import numpy as np
import polars as pl
from hypothesis import strategies as st

from hpcopt_assets.contracts.synthetic_config import SyntheticConfig
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.synthetic.workload import make_workload, trace_jobs_of
from hpcopt_assets_tests.builders import job, trace
from hpcopt_assets_tests.schedules import shipped

PROCS = 8
MACHINE = Capacity(128)


@cache
def modelled(jobs: int = 3000, seed: int = 3) -> pl.DataFrame:
    """The synthetic model's jobs, with users and requests, some two months of them."""
    settings = shipped(SyntheticConfig)
    workload = make_workload(
        settings.model,
        settings.users,
        jobs=jobs,
        capacity_procs=MACHINE.procs,
        offered_load=0.75,
        unix_start_s=1_700_000_000,
        seed=seed,
    )
    return trace_jobs_of(workload, "made")


@st.composite
def odd_jobs(draw, min_size=2, max_size=25):
    """What logs hold: unknown runtimes, sizes and users, no requests, overruns, holds, jobs still running."""
    submit_s, rows = draw(st.integers(-100, 100)), []
    for number in range(draw(st.integers(min_size, max_size))):
        submit_s += draw(st.sampled_from([0, 0, 1, 7, 60, 3600]))
        runtime_s = draw(st.sampled_from([None, 0, 1, 2, 30, 31, 600, 86_400, 900_000]))
        asked = draw(st.sampled_from([None, 0, 1, 5, 60, 3600, 864_000]))
        is_over = runtime_s is not None and asked is not None and runtime_s > asked
        flags = [QualityFlag.ALLOCATED_DIFFERS.value] * draw(st.integers(0, 1))
        wait_s = draw(st.sampled_from([None, 0, 5, 4000]))
        rows.append(
            job(
                number,
                submit_s,
                draw(st.sampled_from([None, 1, 2, 3, PROCS, PROCS + 4])),
                runtime_s,
                asked,
                wait_s=wait_s,
                eligible_s=submit_s + draw(st.sampled_from([0, 0, 90])),
                user=draw(st.sampled_from([None, "u", "u", "v", "w"])),
                group=draw(st.sampled_from([None, "g", "h"])),
                state=draw(st.sampled_from([JobState.COMPLETED] * 6 + list(JobState))),
                cpu_used_s=draw(st.sampled_from([None, 0.0, 12.5])),
                think_time_s=draw(st.sampled_from([None, 12])),
                partition_limit_s=draw(st.sampled_from([None, 1_000_000])),
                quality_flags=flags + [QualityFlag.RUNTIME_OVER_REQUEST.value] * is_over,
            )
        )
    return trace(rows)


def estimates_of(jobs: pl.DataFrame) -> pl.DataFrame:
    """Forecasts of every job: a tenth, half and all of its request, or of an hour."""
    asked = pl.col("requested_runtime_s").fill_null(3600).cast(pl.Float64)
    return jobs.select(
        "trace_id",
        "job_id",
        "attempt",
        "submit_s",
        p10_s=asked * 0.1,
        p50_s=asked * 0.5,
        p90_s=asked,
        source=pl.lit("model"),
    )


def column(jobs: pl.DataFrame, name: str) -> np.ndarray:
    """A column by job id, whatever the order of the rows."""
    return jobs.sort(pl.col("job_id").cast(pl.Int64))[name].to_numpy()
