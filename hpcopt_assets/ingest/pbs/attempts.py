"""From records to attempts: which records tell of one start of a job, and what they tell together.

In:  typed records of all files.   Out: `attempts_of`: the attempt of each record, and one row an attempt.
Not here: what becomes of an attempt in `trace_jobs` (records.py).
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.ingest.pbs.lines import (
    ABORTED,
    CHECKPOINTED,
    DELETED,
    ENDED,
    MOVED,
    QUEUED,
    RERUN,
    RESTARTED,
    RESUMED,
    STARTED,
    SUSPENDED,
)
from hpcopt_assets.ingest.pbs.lives import with_jobs
from hpcopt_assets.ingest.pbs.times import with_times

OPENING = (STARTED, RESTARTED)
REQUEUING = (RERUN, CHECKPOINTED)
CLOSING = (ENDED, *REQUEUING)
RANK = {ENDED: 0, RERUN: 1, STARTED: 2, RESTARTED: 2, QUEUED: 3}
# Which record's word counts where several describe an attempt: the last one knows best.
SILENT_RANK = 4
EVENT = ("number", "kind", "local_s", "epoch_s", "start", "ctime", "qtime", "user")
PLACE = ("text_hash", "source", "source_line")
# What tells events apart and orders them. Wide rows are sorted only once, when that is settled.
FIRST = (
    "job_id",
    "user",
    "group",
    "account",
    "queue",
    "name",
    "ctime",
    "qtime",
    "etime",
    "limit_s",
    "requested_procs",
    "allocated_procs",
    "nodes",
    "gpus",
    "requested_memory_bytes",
    "exit_status",
    "used_walltime",
    "used_cput",
    "used_memory",
)
MARKS = (
    "is_duplicate",
    "is_unlimited",
    "is_invalid_limit",
    "is_odd_duration",
    "is_malformed_value",
    "is_pbs_pro",
)
CLOCK_MARKS = ("is_ambiguous", "is_other_clock")


def _in_order(events: pl.DataFrame) -> pl.DataFrame:
    """Events of each job in the order of what they tell, also where they tell of one second.

    A run that began earlier ends before another begins; one of zero length begins before it ends; a request
    to delete precedes the end that it leads to. An end that names no start is that of a run before, if one
    goes on.
    """
    kind, ends = pl.col("kind"), pl.col("kind").is_in(CLOSING)
    events = events.join(_running(events), on=["job", "time_s"], how="left", maintain_order="left")
    began_earlier = pl.coalesce(pl.col("start") < pl.col("time_s"), "is_running")
    place = (
        pl.when(kind.is_in((QUEUED, DELETED, ABORTED)))
        .then(0)
        .when(ends & began_earlier)
        .then(1)
        .when(kind.is_in(OPENING))
        .then(2)
        .when(ends)
        .then(4)
        .otherwise(3)
    )
    return events.with_columns(place=place).sort("job", "time_s", "place", "kind", *PLACE)


def _running(events: pl.DataFrame) -> pl.DataFrame:
    """Whether a run goes on when a second begins: by `job` and `time_s`, where something begins or ends.

    Where an unnamed end and a start fall in one second, what was so before is so after: one run ended and
    another began, or one began and ended.
    """
    kind, start, time_s = pl.col("kind"), pl.col("start"), pl.col("time_s")
    ends = kind.is_in(CLOSING)
    goes_on_after = (
        pl.when(pl.col("ends_at_once"))
        .then(False)
        .when(pl.col("begins") & ~pl.col("ends_unnamed"))
        .then(True)
        .when(~pl.col("begins"))
        .then(False)
    )
    return (
        events.filter(ends | kind.is_in(OPENING))
        .group_by("job", "time_s")
        .agg(
            begins=kind.is_in(OPENING).any(),
            ends_unnamed=(ends & start.is_null()).any(),
            ends_at_once=(ends & (start == time_s)).fill_null(False).any(),
        )
        .sort("job", "time_s")
        .select(
            "job",
            "time_s",
            is_running=goes_on_after.forward_fill().shift(1).over("job").fill_null(False),
        )
    )


def _with_attempts(events: pl.DataFrame) -> pl.DataFrame:
    """Adds `attempt_key`, and `after_requeue`: the job was given back to the queue before.

    E, R and C close an attempt. Starts that nothing closes (a failed start has no end) belong to the attempt
    that follows. Records that name the same start tell of the same attempt: a rerun told twice is one.
    """
    kind, job = pl.col("kind"), pl.col("job")
    record = pl.struct("job", "kind", "time_s", "text_hash")
    is_repeated = (record == record.shift(-1)).fill_null(False)
    follows = pl.col("closes").shift(1).fill_null(False)
    last_closing = pl.when("is_first").then(pl.lit("")).when(follows).then(kind.shift(1)).forward_fill()
    own_start = pl.when("closes").then("start").max().over("stretch")
    last_start = pl.when(kind.is_in(OPENING)).then(pl.coalesce("start", "time_s")).max().over("stretch")
    return (
        events.with_columns(
            closes=kind.is_in(CLOSING) & ~is_repeated,
            # Of a record that stands there twice the last closes, for both to be of one attempt.
            is_first=(job != job.shift(1)).fill_null(True),
        )
        .with_columns(
            stretch=(pl.col("is_first") | follows).cum_sum(), after_requeue=last_closing.is_in(REQUEUING)
        )
        .with_columns(start_s=pl.coalesce(own_start, last_start))
        .with_columns(
            attempt_key=pl.when(pl.col("start_s").is_not_null())
            .then(pl.col("stretch").min().over("job", "start_s"))
            .otherwise("stretch")
        )
    )


def _pauses(keyed: pl.DataFrame) -> pl.DataFrame:
    """Seconds from each suspension to the record that ends it, by `attempt_key`; none if nothing ends it."""
    marks = keyed.filter(pl.col("kind").is_in((SUSPENDED, RESUMED, *CLOSING)))
    is_same_job = pl.col("job") == pl.col("job").shift(-1)
    paused_s = pl.when(is_same_job).then(pl.col("time_s").shift(-1)) - pl.col("time_s")
    return (
        marks.with_columns(suspended_s=paused_s)
        .filter(pl.col("kind") == SUSPENDED)
        .group_by("attempt_key")
        .agg(pl.col("suspended_s").sum(), is_suspended=pl.lit(True))
    )


def _merged(keyed: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """One row an attempt: of each attribute the word of the record that knows best."""
    kind, time_s = pl.col("kind"), pl.col("time_s")
    rank = kind.replace_strict(RANK, default=SILENT_RANK, return_dtype=pl.Int64)
    latest_start_first = pl.when(kind.is_in(OPENING)).then(-time_s).otherwise(time_s)
    ordered = keyed.sort("attempt_key", rank, latest_start_first, *PLACE)

    def has(*kinds: str) -> pl.Expr:
        return kind.is_in(kinds).any()

    return (
        ordered.drop("start")
        .hstack(records.select(*FIRST, *MARKS)[ordered["row"]])
        .group_by("attempt_key", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in ("source", "source_line", "start_s", "job", "suffix")),
            *(pl.col(name).first(ignore_nulls=True) for name in FIRST),
            *(pl.col(name).any() for name in (*MARKS, *CLOCK_MARKS)),
            pl.col("after_requeue").sort_by("stretch").first(),
            ended_s=time_s.filter(kind == ENDED).min(),
            requeued_s=time_s.filter(kind.is_in(REQUEUING)).min(),
            queued_s=time_s.filter(kind == QUEUED).min(),
            first_s=time_s.min(),
            starts_count=time_s.filter(kind.is_in(OPENING)).n_unique(),
            is_deleted=has(DELETED),
            is_aborted=has(ABORTED),
            is_moved=has(MOVED),
        )
        .join(_pauses(keyed), on="attempt_key", how="left", maintain_order="left")
        .with_columns(pl.col("suspended_s").fill_null(0), pl.col("is_suspended").fill_null(False))
    )


def attempts_of(records: pl.DataFrame, timezone: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(`source`, `source_line`, `job`, `job_id`, `attempt_key`) of records, and one row an attempt.

    An attempt is a start of a job, or a wait that no start ended. `job` numbers the jobs, of which several
    may have had one `job_id`; `suffix` tells their ids apart. The order of the lines does not matter, nor
    whether a line is repeated.
    """
    records = records.with_columns(number=pl.col("job_id").rank("dense"))
    events = records.select(*EVENT, *PLACE).with_row_index("row")
    keyed = _with_attempts(_in_order(with_jobs(with_times(events, timezone))))
    attempts = _merged(keyed, records)
    lines = keyed.select("source", "source_line", "job", "attempt_key").hstack(
        records.select("job_id")[keyed["row"]]
    )
    return lines, attempts
