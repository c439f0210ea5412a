"""Requested runtimes, what stands in for a missing one, and which runtimes are known to whom.

In:  a `trace_jobs` frame in trace order.
Out: a limit a job, and whether it is a stand-in; requested ends; requests over runtimes.
Not here: what a policy believes (simulate/) or a model predicts (forecast/).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.vocabulary import JobState, RequestKind
from hpcopt_assets.measures.schedule import FloatArray, IntArray

DEFAULT_LIMIT_S = 86_400
# Stands in for a request when no earlier job of the trace has one.
SHORTEST_ESTIMATE_S = 1
# A job believed to run for no time at all would never hold a processor in the shadow time.
HOURS_100_S = 360_000
EXTENSIONS_S = (0, 60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000)
# Beyond the requested end, of a job that outlives what was believed; from there on every 100 h
# (Tsafrir, Etsion and Feitelson, TPDS 18(6), 2007).


def limits(ordered: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
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


def expected_end_s(start_s: IntArray, limit_s: IntArray, now_s: int) -> IntArray:
    """When jobs that run at `now_s` are expected to end by their requests: strictly after it.

    A job that has outlived its request is expected to end at the first extension of it that lies ahead.
    """
    beyond = now_s - (start_s + limit_s)
    place = np.searchsorted(EXTENSIONS_S, beyond, side="right")
    listed = np.append(np.array(EXTENSIONS_S, dtype=np.int64), 0)[place]
    every_100_h = (beyond // HOURS_100_S + 1) * HOURS_100_S
    ahead: IntArray = np.where(place < len(EXTENSIONS_S), listed, every_100_h)
    return start_s + limit_s + ahead


def request_over_runtime(request_s: IntArray, runtime_s: IntArray) -> FloatArray:
    """How many times its runtime each job asked for.

    A runtime of 0 is one of less than half a second: it counts as a second, so that no job is left out.
    """
    return request_s / np.maximum(runtime_s, 1)


def has_runtime() -> pl.Expr:
    """Whether the log tells how long a job ran; of one that still runs it has counted only so far."""
    return (pl.col("state") != JobState.RUNNING.value) & pl.col("runtime_s").is_not_null()


def is_completed() -> pl.Expr:
    """Whether a job has ended and its runtime and end are on record: known at `end_s`, to nobody before."""
    return has_runtime() & pl.col("end_s").is_not_null()
