"""From attempts to records of jobs, and the attempts that are none.

In:  attempts (`attempts.attempts_of`).   Out: `records_of`: `RECORD_SCHEMA` columns and a verdict each.
Not here: how an attempt ended (states.py), columns that all formats share (canonical.py).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode, RequestKind
from hpcopt_assets.ingest.canonical import flag_list
from hpcopt_assets.ingest.parsed import RECORD_SCHEMA
from hpcopt_assets.ingest.pbs.states import state

ELAPSED_SLACK_S = 10
# Daemons sample a job's walltime every few seconds, and stop it while the job is suspended.
SUBJOB = r"^(\d+)(?:\[\d+\]|-\d+)(?:\.|$)"
# `123[4].server`; Torque before 2.5 wrote `123-4.server`.
NOT_IN_PBS = ("partition", "het_group_id", "preceding_job_id", "think_time_s")


def _is_row() -> pl.Expr:
    """Whether an attempt says something of a job: a run, or a wait that has a beginning.

    A request to delete begins none, unless the job had been given back to the queue.
    """
    ran = pl.col("start_s").is_not_null() | pl.col("ended_s").is_not_null()
    was_dropped = pl.col("after_requeue") & (pl.col("is_deleted") | pl.col("is_aborted"))
    return ran | pl.col("queued_s").is_not_null() | was_dropped


def _with_times(attempts: pl.DataFrame) -> pl.DataFrame:
    """Adds submission, end and runtime. The submission of an attempt that says none is that of its job."""
    submit = pl.coalesce("ctime", "qtime", "queued_s")
    end = pl.coalesce("ended_s", "requeued_s")
    return (
        attempts.filter(_is_row())
        .with_columns(order_s=pl.coalesce("start_s", "first_s"), submit_s=submit, end_s=end)
        .sort("job", "order_s", "attempt_key")
        .with_columns(
            submit_s=pl.col("submit_s").forward_fill().backward_fill().over("job"),
            runtime_s=pl.when(pl.col("start_s").is_not_null())
            .then(pl.col("end_s") - pl.col("start_s"))
            .otherwise((pl.col("used_walltime") + 0.5).floor().cast(pl.Int64)),
        )
    )


def _refusal() -> dict[str, pl.Expr]:
    """Why an attempt is no row of a table after all: `code` and `reason`, null if it is one."""
    start, submit, end = pl.col("start_s"), pl.col("submit_s"), pl.col("end_s")
    has_no_submit, ends_early, starts_early = submit.is_null(), end < start, start < submit
    return {
        "code": pl.when(has_no_submit)
        .then(pl.lit(RejectCode.NO_SUBMIT_TIME.value))
        .when(ends_early)
        .then(pl.lit(RejectCode.NEGATIVE_RUNTIME.value))
        .when(starts_early)
        .then(pl.lit(RejectCode.NEGATIVE_WAIT.value)),
        "reason": pl.when(has_no_submit)
        .then(
            pl.format("nothing tells when job {} was submitted, ctime, qtime or a Q record needed", "job_id")
        )
        .when(ends_early)
        .then(pl.format("start {}, end {}, an end not before the start needed", start, end))
        .when(starts_early)
        .then(pl.format("submission {}, start {}, a start not before the submission needed", submit, start)),
    }


def _eligible() -> pl.Expr:
    """When the attempt could first be scheduled: a rerun not before the run that it repeats had ended."""
    requeued_s = pl.when(pl.col("state").shift(1) == JobState.REQUEUED.value).then(pl.col("end_s").shift(1))
    return pl.max_horizontal("etime", requeued_s.over("job"))


def _flags() -> dict[QualityFlag, pl.Expr]:
    runtime, used = pl.col("runtime_s"), pl.col("used_walltime")
    differs = pl.min_horizontal((runtime - used).abs(), (runtime - pl.col("suspended_s") - used).abs())
    has_started = pl.col("start_s").is_not_null()
    return {
        QualityFlag.DUPLICATE_ATTRIBUTE: pl.col("is_duplicate"),
        QualityFlag.MALFORMED_DURATION: pl.col("is_odd_duration"),
        QualityFlag.MALFORMED_VALUE: pl.col("is_malformed_value"),
        QualityFlag.INVALID_LIMIT: pl.col("is_invalid_limit"),
        QualityFlag.AMBIGUOUS_LOCAL_TIME: pl.col("is_ambiguous"),
        QualityFlag.ELIGIBLE_UNKNOWN: has_started & pl.col("eligible_s").is_null(),
        QualityFlag.ELAPSED_DIFFERS: has_started & (differs > ELAPSED_SLACK_S),
        QualityFlag.SUSPENDED: pl.col("is_suspended"),
        QualityFlag.RERUN: pl.col("after_requeue"),
        QualityFlag.NO_END_RECORD: has_started & pl.col("ended_s").is_null() & pl.col("requeued_s").is_null(),
    }


def judged(attempts: pl.DataFrame) -> pl.DataFrame:
    """Attempts that say something of a job, with times and state; the refused with `code` and `reason`."""
    return _with_times(attempts).with_columns(state=state(), **_refusal())


def records_of(attempts: pl.DataFrame, files: tuple[str, ...]) -> pl.DataFrame:
    """`RECORD_SCHEMA` of judged attempts that are not refused; `files` are the names that `source` numbers.

    Attempts of a job are counted in the order of their starts.
    """
    kind = (
        pl.when(pl.col("limit_s").is_not_null())
        .then(pl.lit(RequestKind.LIMIT.value))
        .when("is_unlimited")
        .then(pl.lit(RequestKind.UNLIMITED.value))
        .otherwise(pl.lit(RequestKind.UNKNOWN.value))
    )
    return (
        attempts.filter(pl.col("code").is_null())
        .sort("job", "order_s", "attempt_key")
        .with_columns(eligible_s=_eligible())
        .with_columns(
            source_file=pl.col("source").replace_strict(dict(enumerate(files)), return_dtype=pl.String),
            requested_runtime_s=pl.col("limit_s"),
            requested_runtime_kind=kind,
            used_memory_bytes=pl.col("used_memory"),
            cpu_used_s=pl.col("used_cput"),
            attempt=pl.int_range(1, pl.len() + 1).over("job"),
            attempt_count=pl.len().over("job"),
            job_id=pl.col("job_id") + pl.col("suffix"),
            array_job_id=pl.col("job_id").str.extract(SUBJOB) + pl.col("suffix"),
            quality_flags=flag_list(_flags()),
            **{name: pl.lit(None) for name in NOT_IN_PBS},
        )
        .select(pl.col(name).cast(dtype) for name, dtype in RECORD_SCHEMA.items())
    )
