"""From records to trace_jobs: what every format shares.

In:  records (`parsed.RECORD_SCHEMA`).   Out: `trace_jobs` columns, as lazy expressions.
Not here: anything that only one format knows.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag

UNFINISHED = (JobState.RUNNING.value, JobState.PENDING.value)


def _credible_eligible() -> pl.Expr:
    """Eligible between submission and start; null where it is unknown or cannot be."""
    eligible = pl.col("eligible_s")
    return pl.when(
        (eligible >= pl.col("submit_s")) & (pl.col("start_s").is_null() | (eligible <= pl.col("start_s")))
    ).then(eligible)


def shared_flags() -> dict[QualityFlag, pl.Expr]:
    """Flags that follow from the columns alone; null counts as not flagged."""
    requested, allocated = pl.col("requested_procs"), pl.col("allocated_procs")
    return {
        QualityFlag.RUNTIME_OVER_REQUEST: pl.col("runtime_s") > pl.col("requested_runtime_s"),
        QualityFlag.ZERO_REQUEST: pl.col("requested_runtime_s") == 0,
        QualityFlag.ALLOCATED_DIFFERS: requested != allocated,
        QualityFlag.PROCS_FROM_ALLOCATION: requested.is_null() & allocated.is_not_null(),
        QualityFlag.ELIGIBLE_NOT_CREDIBLE: pl.col("eligible_s").is_not_null()
        & _credible_eligible().is_null(),
        QualityFlag.UNFINISHED: pl.col("state").is_in(UNFINISHED),
    }


def flag_list(conditions: dict[QualityFlag, pl.Expr]) -> pl.Expr:
    """The words of the flags whose condition holds, as a list; null counts as not holding.

    Few combinations occur: a bit mask a row is looked up among lists that are made once.
    """
    mask = pl.sum_horizontal(
        expression.fill_null(False).cast(pl.Int64) * 2**place
        for place, expression in enumerate(conditions.values())
    )
    # Elementwise, or polars would hold the whole table to make this column.
    return mask.map_batches(
        lambda masks: _lists(masks, tuple(conditions)), return_dtype=pl.List(pl.String), is_elementwise=True
    )


def _lists(masks: pl.Series, flags: tuple[QualityFlag, ...]) -> pl.Series:
    found = masks.unique()
    words = [[flag.value for place, flag in enumerate(flags) if mask & 2**place] for mask in found.to_list()]
    table = pl.DataFrame({"mask": found, "words": pl.Series(words, dtype=pl.List(pl.String))})
    return masks.to_frame("mask").join(table, on="mask", how="left", maintain_order="left")["words"]


def trace_jobs_of(records: pl.LazyFrame, trace_id: str, max_runtime_s: Mapping[str, int]) -> pl.LazyFrame:
    """`trace_jobs` of records, unsorted. Release is eligible where known and credible, else submit.

    `max_runtime_s` gives the registry's limit by partition; by queue for a job that names no partition.
    """
    release = pl.coalesce(_credible_eligible(), "submit_s")
    place = pl.coalesce("partition", "queue")
    return records.with_columns(
        trace_id=pl.lit(trace_id),
        release_s=release,
        hold_s=release - pl.col("submit_s"),
        wait_s=pl.col("start_s") - release,
        procs=pl.coalesce("requested_procs", "allocated_procs"),
        partition_limit_s=place.replace_strict(dict(max_runtime_s), default=None, return_dtype=pl.Int64)
        if max_runtime_s
        else pl.lit(None, dtype=pl.Int64),
        quality_flags=pl.concat_list("quality_flags", flag_list(shared_flags())),
    ).select(pl.col(column.name).cast(column.dtype.polars) for column in TRACE_JOBS.columns)
