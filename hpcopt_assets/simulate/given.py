"""Given: a schedule that somebody else made of a trace, as if it had been replayed.

In:  trace_jobs; starts and ends from a record or another simulator.   Out: `replay_schedule`.
Not here: whether it keeps the rules (invariants.py) or resembles the record (fidelity/).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.errors import InputError
from hpcopt_assets.contracts.order import JOB_KEY, in_trace_order
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE
from hpcopt_assets.contracts.vocabulary import LeftOut
from hpcopt_assets.measures.requests import limits

STATED = ("submit_s", "procs")
# What a schedule may say of a job beside its start and end; the trace must say the same.


def given_schedule(trace_jobs: pl.DataFrame, starts: pl.DataFrame, policy: str) -> pl.DataFrame:
    """The jobs of a trace as `starts` places them: job_id, start_s, end_s; attempt, submit_s, procs if known.

    Ids tell jobs apart where `starts` has no attempts. A job of the trace that is not among them, or whose
    start or end is null, has never started. What each policy believed is not known: estimates are null.
    `InputError` where a job is placed twice, is not in the trace, has no processors or differs from it, or
    starts before it is released or ends before it starts.
    """
    key = [name for name in JOB_KEY if name in starts.columns]
    placed = starts.drop_nulls(["start_s", "end_s"]).select(
        *key,
        "start_s",
        "end_s",
        *(pl.col(name).alias(f"{name}_said") for name in STATED if name in starts.columns),
    )
    ordered = in_trace_order(trace_jobs)
    jobs = ordered.with_columns(*limits(ordered)).drop("start_s", "end_s", "wait_s", "runtime_s")
    placed_keys, known_keys = placed.select(key), jobs.select(key)
    _refuse(placed_keys.filter(placed_keys.is_duplicated()), policy, "placed twice", "one row a job")
    _refuse(
        placed.join(known_keys.filter(known_keys.is_duplicated()), on=key, how="semi"),
        policy,
        "that the trace has several times",
        "a column attempt, to tell which",
    )
    _refuse(
        placed.join(jobs, on=key, how="anti"), policy, "that the trace does not have", "jobs of the trace"
    )
    found = jobs.join(placed, on=key, how="left", maintain_order="left", validate="1:1")
    start_s, end_s = pl.col("start_s"), pl.col("end_s")
    started = start_s.is_not_null()
    for name in STATED:
        if f"{name}_said" in found.columns:
            differs = found.filter(pl.col(f"{name}_said").ne_missing(pl.col(name)) & started)
            _refuse(differs, policy, f"with another {name} than the trace's", "the same arrivals and unit")
    _refuse(found.filter(started & pl.col("procs").is_null()), policy, "of unknown processors", "known sizes")
    is_credible = (start_s >= pl.col("release_s")) & (end_s >= start_s)
    _refuse(
        found.filter(~is_credible),
        policy,
        "before its release, or its end before its start",
        "credible times",
    )
    return REPLAY_SCHEDULE.shape(
        found.with_columns(
            policy=pl.lit(policy),
            wait_s=start_s - pl.col("release_s"),
            runtime_s=end_s - start_s,
            limit_s=pl.when(started).then("limit_s"),
            estimate_s=pl.lit(None, dtype=pl.Int64),
            estimate_source=pl.lit(None, dtype=pl.String),
            left_out=pl.when(~started).then(pl.lit(LeftOut.NEVER_STARTED.value)),
        ).select(REPLAY_SCHEDULE.names)
    )


def _refuse(jobs: pl.DataFrame, policy: str, what: str, needed: str) -> None:
    if jobs.height:
        raise InputError(
            found=f"job {jobs['job_id'][0]} {what} (one of {jobs.height:,})",
            needed=needed,
            where=policy,
            next_step="Give a schedule of this very trace, as `hpcopt replay --out` writes it.",
        )
