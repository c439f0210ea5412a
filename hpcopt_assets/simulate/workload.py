"""Workload: which jobs of a trace are replayed, and what stands in for a missing request.

In:  a `trace_jobs` frame in any row order, and the machine's processors.   Out: `Workload`.
Not here: anything that depends on a schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.order import ROW_ORDER, job_order
from hpcopt_assets.contracts.vocabulary import (
    Estimate,
    EstimateSource,
    JobState,
    LeftOut,
    Overrun,
    RequestKind,
)
from hpcopt_assets.measures.schedule import BoolArray, IntArray

DEFAULT_LIMIT_S = 86_400
# Stands in for a request when no earlier job of the trace has one.
SHORTEST_ESTIMATE_S = 1
# A job believed to run for no time at all would never hold a processor in the shadow time.

_NEEDED = (
    *("trace_id", "job_id", "source_file", "source_line", "attempt", "submit_s", "release_s", "start_s"),
    *("runtime_s", "procs", "state", "requested_runtime_s", "requested_runtime_kind"),
    *("partition_limit_s", "queue", "partition", "user"),
)


@dataclass(frozen=True)
class Workload:
    """What a replay needs of a trace. Arrays are int64 with one entry per replayed job, in trace order.

    `jobs` holds every job of the trace in trace order, with `left_out` (a `LeftOut` word, null for the
    replayed). `limit_s` is the requested runtime or its fallback; times are in seconds.
    """

    jobs: pl.DataFrame
    capacity_procs: int
    release_s: IntArray
    runtime_s: IntArray
    procs: IntArray
    limit_s: IntArray
    is_fallback: BoolArray

    def __len__(self) -> int:
        return int(self.release_s.size)

    @property
    def is_replayed(self) -> pl.Series:
        """For every row of `jobs`, whether the job is replayed."""
        return self.jobs["left_out"].is_null()

    @property
    def job_id(self) -> pl.Series:
        """Ids of the replayed jobs."""
        return self.jobs["job_id"].filter(self.is_replayed)

    @property
    def left_out(self) -> dict[LeftOut, int]:
        """How many jobs are left out, for every reason."""
        counts = dict(self.jobs["left_out"].drop_nulls().value_counts().iter_rows())
        return {reason: counts.get(reason.value, 0) for reason in LeftOut}

    def replayed_runtime_s(self, overrun: Overrun) -> IntArray:
        """How long each job runs: under `kill` no longer than its request, which a fallback is not."""
        if overrun is Overrun.KILL:
            return np.where(self.is_fallback, self.runtime_s, np.minimum(self.runtime_s, self.limit_s))
        return self.runtime_s

    def believed_s(self, estimate: Estimate) -> IntArray:
        """What each job is believed to run for: at least 1 s, at most its limit."""
        if estimate is Estimate.ACTUAL:
            return np.clip(self.runtime_s, SHORTEST_ESTIMATE_S, self.limit_s)
        return self.limit_s

    def estimate_sources(self, estimate: Estimate) -> dict[EstimateSource, int]:
        """How many estimates of the replayed jobs come from each source."""
        fallbacks = int(self.is_fallback.sum())
        counts = (
            {EstimateSource.ACTUAL: len(self)}
            if estimate is Estimate.ACTUAL
            else {EstimateSource.REQUEST: len(self) - fallbacks, EstimateSource.FALLBACK: fallbacks}
        )
        return {source: counts.get(source, 0) for source in EstimateSource}


def select_workload(jobs: pl.DataFrame, capacity_procs: int) -> Workload:
    """The replayable jobs of a trace, whatever the order of its rows.

    A job is replayed if its runtime and processors are known and it fits the machine; a start is not
    needed. A capacity below 1 raises `InputError`.
    """
    if capacity_procs < 1:
        raise InputError(
            found=f"a capacity of {capacity_procs} processors",
            needed="at least 1 is needed",
            where="replay",
            next_step="Give the machine's processors with --capacity or in configs/traces.yaml.",
        )
    ordered = in_trace_order(jobs.select(_NEEDED))
    known = ordered.with_columns(*_limit(ordered), _left_out(capacity_procs).alias("left_out"))
    kept = known.filter(pl.col("left_out").is_null())

    def column(name: str) -> IntArray:
        return np.ascontiguousarray(kept[name].to_numpy(), dtype=np.int64)

    return Workload(
        known.drop("limit_s", "is_fallback"),
        capacity_procs,
        column("release_s"),
        column("runtime_s"),
        column("procs"),
        column("limit_s"),
        kept["is_fallback"].to_numpy(),
    )


def in_trace_order(jobs: pl.DataFrame) -> pl.DataFrame:
    """Rows in the contract's order, which does not depend on the order of the rows handed in."""
    number = jobs["job_id"].cast(pl.Int64, strict=False)
    if number.null_count() == 0 and _is_increasing(jobs["release_s"], jobs["submit_s"], number):
        return jobs  # most logs are; numbers order as `job_order` does
    return jobs.with_columns(job_order=job_order(pl.col("job_id"))).sort(ROW_ORDER).drop("job_order")


def _is_increasing(*columns: pl.Series) -> bool:
    """Whether rows are already in strictly increasing lexicographic order."""
    rises = np.zeros(max(len(columns[0]) - 1, 0), dtype=np.bool_)
    for column in reversed(columns):
        step = np.diff(column.to_numpy())
        rises = (step > 0) | ((step == 0) & rises)
    return bool(rises.all())


def _left_out(capacity_procs: int) -> pl.Expr:
    """The first reason that holds, in the vocabulary's order.

    A pending job never started, nor did a cancelled one without start and runtime. The runtime of a job
    still running is not known, whatever the log has counted so far.
    """
    state, runtime = pl.col("state"), pl.col("runtime_s")
    never_ran = (state == JobState.CANCELLED.value) & runtime.is_null() & pl.col("start_s").is_null()
    return (
        pl.when((state == JobState.PENDING.value) | never_ran)
        .then(pl.lit(LeftOut.NEVER_STARTED.value))
        .when(runtime.is_null() | (state == JobState.RUNNING.value))
        .then(pl.lit(LeftOut.UNKNOWN_RUNTIME.value))
        .when(pl.col("procs").is_null())
        .then(pl.lit(LeftOut.UNKNOWN_PROCS.value))
        .when(pl.col("procs") > capacity_procs)
        .then(pl.lit(LeftOut.WIDER_THAN_MACHINE.value))
    )


def _limit(ordered: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Columns `limit_s` and `is_fallback` of jobs in trace order.

    A request that is not a positive time counts as missing. In its place stands the registry's limit of the
    job's partition, else the largest request among jobs, replayed or not, released strictly earlier in the
    same queue (partition, if no job of the trace has a queue; jobs without one form a queue of their own),
    else in the trace, else `DEFAULT_LIMIT_S`.
    """
    is_limit = (pl.col("requested_runtime_kind") == RequestKind.LIMIT.value) & (
        pl.col("requested_runtime_s") > 0
    )
    queue = "partition" if ordered["queue"].null_count() == ordered.height else "queue"
    asked = ordered.select(
        "release_s",
        "partition_limit_s",
        queue=pl.col(queue),
        request=pl.when(is_limit).then(pl.col("requested_runtime_s")),
    )
    is_fallback = asked["request"].is_null().alias("is_fallback")
    if not is_fallback.any():
        return asked["request"].alias("limit_s"), is_fallback
    before = pl.col("request").cum_max().forward_fill().shift(1)
    # Largest request in the rows above. The first row of an instant has only strictly earlier ones above it.
    limit = (
        asked.with_columns(in_queue=before.over("queue"), in_trace=before)
        .with_columns(
            pl.col("in_queue").first().over("queue", "release_s"),
            pl.col("in_trace").first().over("release_s"),
        )
        .select(
            limit_s=pl.coalesce(
                "request", "partition_limit_s", "in_queue", "in_trace", pl.lit(DEFAULT_LIMIT_S)
            )
        )
    )
    return limit["limit_s"], is_fallback
