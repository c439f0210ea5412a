"""The columns that follow from those a scenario changes: nothing in a stressed trace contradicts itself.

In:  a trace with other releases, runtimes or requests; forecasts.   Out: the same, consistent.
Not here: what is changed (tail.py, arrivals.py, users.py, requests.py).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.order import JOB_KEY, in_trace_order
from hpcopt_assets.contracts.vocabulary import QualityFlag
from hpcopt_assets.measures.schedule import FloatArray, IntArray

FORECAST_TIMES = ("p10_s", "p50_s", "p90_s", "split_p10_s", "split_p90_s")
_OVER = QualityFlag.RUNTIME_OVER_REQUEST.value


def in_whole_seconds(seconds: FloatArray) -> IntArray:
    """Rounded, at most the last instant of the tables."""
    return np.minimum(np.rint(seconds), TIME_MAX_S).astype(np.int64)


def with_releases(jobs: pl.DataFrame, release_s: IntArray) -> pl.DataFrame:
    """The jobs released at other instants, one a row.

    Holds and recorded waits stay as they were: submissions, starts and ends move along. What a user thought
    between two jobs is not known of such a trace. Rows are sorted again.
    """
    moved_s = pl.Series(release_s) - jobs["release_s"]
    instants = ("submit_s", "release_s", "eligible_s", "start_s", "end_s")
    return in_trace_order(
        jobs.with_columns(
            *(pl.col(name) + moved_s for name in instants), think_time_s=pl.lit(None, dtype=pl.Int64)
        )
    )


def with_runtimes(jobs: pl.DataFrame, runtime_s: pl.Series, request_s: pl.Series) -> pl.DataFrame:
    """The jobs running, and asking, for other times; ends and used processor time follow."""
    factor = (runtime_s / jobs["runtime_s"]).fill_nan(1.0).fill_null(1.0)  # 0 / 0: of no runtime either way
    return _with_its_flag(
        jobs.with_columns(
            runtime_s=runtime_s,
            end_s=pl.col("end_s") + (runtime_s - pl.col("runtime_s")).fill_null(0),
            cpu_used_s=pl.col("cpu_used_s") * factor,
            requested_runtime_s=request_s,
        )
    )


def with_requests(jobs: pl.DataFrame, request_s: IntArray, where: pl.Series) -> pl.DataFrame:
    """The jobs that ask for other runtimes, one entry for each row `where` is true."""
    asked = pl.Series(np.cumsum(where.to_numpy()) - 1).zip_with(where, pl.Series([None], dtype=pl.Int64))
    return _with_its_flag(
        jobs.with_columns(
            requested_runtime_s=pl.when(where)
            .then(pl.Series(request_s).gather(asked))
            .otherwise("requested_runtime_s")
        )
    )


def _with_its_flag(jobs: pl.DataFrame) -> pl.DataFrame:
    """Jobs that no longer run past their request are no longer remarkable for it."""
    is_over = (pl.col("runtime_s") > pl.col("requested_runtime_s")).fill_null(False)
    rest = pl.col("quality_flags").list.eval(pl.element().filter(pl.element() != _OVER))
    return jobs.with_columns(quality_flags=pl.when(is_over).then("quality_flags").otherwise(rest))


def forecasts_for(estimates: pl.DataFrame, jobs: pl.DataFrame, stressed: pl.DataFrame) -> pl.DataFrame:
    """`runtime_estimates` of a trace, for one of other releases and requests made of it: not forecast anew.

    A job's quantiles grow as its request does. What it ran for is nothing that a forecast may follow.
    """
    now, before = (frame.select(*JOB_KEY, "submit_s", "requested_runtime_s") for frame in (stressed, jobs))
    both = now.join(before, on=JOB_KEY, how="left", suffix="_before", maintain_order="left")
    asked, asked_before = pl.col("requested_runtime_s"), pl.col("requested_runtime_s_before")
    factors = both.select(
        *JOB_KEY,
        now_submit_s="submit_s",
        factor=pl.when(asked_before > 0).then(asked / asked_before).otherwise(1.0),
    )
    times = [name for name in FORECAST_TIMES if name in estimates.columns]
    return (
        estimates.join(factors, on=JOB_KEY, how="inner", maintain_order="left")
        .with_columns(pl.col(times) * pl.col("factor"), submit_s="now_submit_s")
        .drop("factor", "now_submit_s")
    )
