"""From records to trace_jobs: what every format shares.

In:  records (`parsed.RECORD_SCHEMA`).   Out: `trace_jobs` columns, as lazy expressions.
Not here: anything that only one format knows.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag

UNFINISHED = (JobState.RUNNING.value, JobState.PENDING.value)


def _credible_eligible() -> pl.Expr:
    """Eligible between submission and start; null where it is unknown or cannot be."""
    eligible = pl.col("eligible_s")
    return pl.when((eligible >= pl.col("submit_s")) & (pl.col("start_s").is_null() | (eligible <= pl.col("start_s")))).then(
        eligible
    )


def shared_flags() -> dict[QualityFlag, pl.Expr]:
    """Flags that follow from the columns alone; null counts as not flagged."""
    requested, allocated = pl.col("requested_procs"), pl.col("allocated_procs")
    return {
        QualityFlag.RUNTIME_OVER_REQUEST: pl.col("runtime_s") > pl.col("requested_runtime_s"),
        QualityFlag.ZERO_REQUEST: pl.col("requested_runtime_s") == 0,
        QualityFlag.ALLOCATED_DIFFERS: requested != allocated,
        QualityFlag.PROCS_FROM_ALLOCATION: requested.is_null() & allocated.is_not_null(),
        QualityFlag.ELIGIBLE_NOT_CREDIBLE: pl.col("eligible_s").is_not_null() & _credible_eligible().is_null(),
        QualityFlag.UNFINISHED: pl.col("state").is_in(UNFINISHED),
    }


def trace_jobs_of(records: pl.LazyFrame, trace_id: str) -> pl.LazyFrame:
    """`trace_jobs` of records, unsorted. Release is eligible where known and credible, else submit."""
    release = pl.coalesce(_credible_eligible(), "submit_s")
    flags = [
        pl.when(expression.fill_null(False)).then(pl.lit(flag.value)) for flag, expression in shared_flags().items()
    ]
    return records.with_columns(
        trace_id=pl.lit(trace_id),
        release_s=release,
        hold_s=release - pl.col("submit_s"),
        wait_s=pl.col("start_s") - release,
        procs=pl.coalesce("requested_procs", "allocated_procs"),
        quality_flags=pl.concat_list("quality_flags", pl.concat_list(flags).list.drop_nulls()),
    ).select(pl.col(column.name).cast(column.dtype.polars) for column in TRACE_JOBS.columns)
