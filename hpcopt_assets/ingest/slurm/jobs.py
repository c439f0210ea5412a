"""Which rows of sacct tell of one job: repeated dumps, attempts, ids used again, and steps.

In:  rows of jobs, steps and ranges of tasks (rows.py), of all files of a trace.   Out: records.
Not here: what one row says; what it leaves open and other rows tell (whose.py).
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from hpcopt_assets.contracts.vocabulary import JobState
from hpcopt_assets.ingest.canonical import flag_list
from hpcopt_assets.ingest.parsed import RECORD_SCHEMA
from hpcopt_assets.ingest.slurm.ranges import cancelled_tasks, with_left
from hpcopt_assets.ingest.slurm.rows import FLAGS
from hpcopt_assets.ingest.slurm.whose import eras, identified, of_one_cluster, steps_of_jobs

JOB = ("cluster", "base_id")
SUBMISSION = (*JOB, "owner", "submit_s")
NUMBER = ("root", "cluster", "owner")
PLACE = ("source_file", "source_line", "lines_count")
IDENTITY = ("number", "user", "uid", "name")
# Of rows that tell the same of a job, these are the last to choose by: what they say, all rows were given.
USAGE_SCHEMA = {"row": pl.get_index_type(), "step_memory_bytes": pl.Float64, "step_cpu_s": pl.Float64}
PENDING, RUNNING, REQUEUED, UNKNOWN = (
    state.value for state in (JobState.PENDING, JobState.RUNNING, JobState.REQUEUED, JobState.UNKNOWN)
)


class Joined(NamedTuple):
    """Records of all jobs, steps and ranges that are of no job, how many lines were merged into records."""

    records: pl.DataFrame
    lost_steps: pl.DataFrame
    lost_ranges: pl.DataFrame
    merged: int
    facts: dict[str, int]


def join_rows(jobs: pl.DataFrame, steps: pl.DataFrame, ranges: pl.DataFrame) -> Joined:
    """One record for each attempt of each job."""
    jobs, steps, ranges = of_one_cluster(jobs, steps, ranges)
    known = identified(pl.concat([jobs, ranges], how="diagonal"))
    is_range = pl.col("range").is_not_null()
    rows = known.filter(~is_range).drop("range")
    steps = steps_of_jobs(steps, rows)
    numbered = pl.concat([_latest(rows), known.filter(is_range)], how="diagonal").with_row_index("row")
    numbered = numbered.join(_eras(numbered), on="row", how="left")
    ranges = with_left(numbered.filter(is_range), numbered.filter(~is_range))
    kept = _with_attempts(numbered.filter(~is_range))
    usage, lost_steps = _usage(kept, steps)
    lost_ranges = ranges.filter(pl.col("left").fill_null(1) > 0)
    facts = {
        "records_superseded": rows.height - kept.height + ranges.height - lost_ranges.height,
        "steps_folded": steps.height - lost_steps.height,
        "jobs_with_a_reused_id": kept.filter((pl.col("suffix") != "") & (pl.col("attempt") == 1)).height,
        "cancelled_by_another_user": _cancelled_by_others(kept),
        "cancelled_array_tasks": cancelled_tasks(ranges),
    }
    merged = sum(int(frame["lines_count"].sum()) for frame in (rows, steps, ranges))
    merged -= sum(int(frame["lines_count"].sum()) for frame in (lost_steps, lost_ranges))
    records = _records(kept.join(usage, on="row", how="left"))
    return Joined(records, lost_steps, lost_ranges, merged, facts)


def _cancelled_by_others(jobs: pl.DataFrame) -> int:
    """Jobs that another uid cancelled than the one they belong to, where both are known."""
    return int((jobs["canceller"] != jobs["uid"].cast(pl.Int64, strict=False)).sum())


def _latest(jobs: pl.DataFrame) -> pl.DataFrame:
    """Of rows that tell of one attempt, the one that knows its end, else the one that saw it longest.

    Rows tell of one attempt if cluster, id, owner, submission and start agree. A row of a pending job tells
    nothing where another of its submission knows how it went on; after a requeue it waits again.
    """
    is_repeated = jobs.select(pl.struct(JOB).is_duplicated()).to_series()
    if not is_repeated.any():
        return jobs
    state = pl.col("state")
    is_open = state.is_in([RUNNING, UNKNOWN]) & pl.col("logged_end_s").is_null()
    rank = pl.when(state == PENDING).then(0).when((state == RUNNING) | is_open).then(1).otherwise(2)
    rows = jobs.filter(is_repeated).with_columns(
        *(pl.coalesce(name, pl.col(name).max().over(SUBMISSION)) for name in ("user", "name")), rank=rank
    )
    first = ["rank", "logged_end_s", "runtime_s", *(flag.value for flag in FLAGS)]
    content = [name for name in jobs.columns if name not in (*first, *IDENTITY, *PLACE)]
    order = [*first, *content, *IDENTITY, *PLACE]
    down = [name not in (*PLACE, *first[3:]) for name in order]
    # Of rows that know as much: one that needed less repair, then any, but the same in every order.
    rows = rows.sort(order, descending=down, nulls_last=True)
    rows = rows.unique([*SUBMISSION, "start_s"], keep="first", maintain_order=True)
    went_on = ((pl.col("rank") > 0) & (state != REQUEUED)).any().over(SUBMISSION)
    is_stale = (pl.col("rank") == 0) & went_on
    return pl.concat([jobs.filter(~is_repeated), rows.filter(~is_stale).drop("rank")])


def _eras(rows: pl.DataFrame) -> pl.DataFrame:
    """Tells jobs apart that had one number at different times: `row`, `era`, `suffix` of shared numbers.

    The first of a number keeps it as it is; the others get `@<submission, UTC>`.
    """
    found = eras(rows, NUMBER)
    told = found.join(rows.select("row", "range", *NUMBER, "submit_s"), on="row")
    named = told.group_by("era").agg(
        pl.col(*NUMBER).first(), pl.col("submit_s").min(), is_job=pl.col("range").is_null().any()
    )
    # A number that only a range of waiting tasks had takes no other's name away.
    named = named.filter("is_job").sort("root", "submit_s", "cluster", "owner", nulls_last=True)
    since = pl.from_epoch("submit_s", time_unit="s").dt.strftime("@%Y-%m-%dT%H:%M:%SZ")
    place = pl.int_range(pl.len()).over("root")
    twin = pl.int_range(pl.len()).over("root", "submit_s")
    # Two jobs of one number and second differ by cluster or user.
    named = named.select(
        "era",
        suffix=pl.when(place == 0)
        .then(pl.lit(""))
        .when(twin == 0)
        .then(since)
        .otherwise(pl.concat_str(since, pl.lit("."), twin + 1)),
    )
    return found.join(named, on="era", how="left")


def _with_attempts(jobs: pl.DataFrame) -> pl.DataFrame:
    """Jobs without the rows that a later attempt overtook, the others numbered, and released one by one."""
    jobs = jobs.with_columns(pl.col("suffix").fill_null(""))
    jobs = jobs.join(_attempts(jobs), on="row", how="left").filter(~pl.col("is_past").fill_null(False))
    return jobs.with_columns(
        pl.col("attempt", "attempt_count").fill_null(1),
        pl.coalesce("ended_before_s", "eligible_s").alias("eligible_s"),
    )


def _attempts(jobs: pl.DataFrame) -> pl.DataFrame:
    """Numbers the attempts of jobs that have several rows, by submission and start.

    `is_past`: the row saw the job wait or run, and a later attempt overtook it. `ended_before_s`: the end of
    the attempt before, where that released this one, its submission being still that of the first.
    """
    one_job = ("era", "base_id")
    rows = jobs.filter(pl.col("era").is_not_null()).select(
        "row", *one_job, "submit_s", "eligible_s", "start_s", "end_s", "logged_end_s", "state"
    )
    rows = rows.filter(pl.struct(one_job).is_duplicated())
    rows = rows.sort("submit_s", pl.coalesce("start_s", "logged_end_s"), "state", "row", nulls_last=True)
    is_last = pl.int_range(pl.len()).over(one_job) == pl.len().over(one_job) - 1
    rows = rows.with_columns(is_past=pl.col("state").is_in([PENDING, RUNNING]) & ~is_last)
    before = pl.col("end_s").shift(1).over(one_job)
    is_released = before > pl.coalesce("eligible_s", "submit_s")
    is_possible = (before <= pl.col("start_s")).fill_null(True)
    attempts = rows.filter(~pl.col("is_past")).select(
        "row",
        "is_past",
        attempt=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(one_job),
        attempt_count=pl.len().over(one_job).cast(pl.Int64),
        ended_before_s=pl.when(is_released & is_possible).then(before),
    )
    past = rows.filter("is_past").select("row", "is_past")
    return pl.concat([attempts, past], how="diagonal")


def _usage(jobs: pl.DataFrame, steps: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What the steps of each job (`row`) used, and the steps of no job.

    A step belongs to the last attempt that had started when it began; one without a start, to the last.
    """
    if steps.is_empty():
        return pl.DataFrame(schema=USAGE_SCHEMA), steps
    once = steps.group_by(*JOB, "step", "start_s").agg(pl.col("memory_bytes", "cpu_used_s").max())
    attempts = jobs.select(*JOB, "row", at=pl.coalesce("start_s", "submit_s")).sort("at")
    placed = (
        once.with_columns(at=pl.col("start_s").fill_null(2**62))
        .sort("at")
        .join_asof(attempts, on="at", by=JOB, strategy="backward", check_sortedness=False)
        .join_asof(attempts, on="at", by=JOB, strategy="forward", check_sortedness=False)
        .with_columns(row=pl.coalesce("row", "row_right"))
    )
    usage = (
        placed.filter(pl.col("row").is_not_null())
        .group_by("row")
        .agg(step_memory_bytes=pl.col("memory_bytes").max(), step_cpu_s=_sum("cpu_used_s"))
    )
    return usage, steps.join(jobs.select(JOB).unique(), on=JOB, how="anti")


def _sum(name: str) -> pl.Expr:
    """The sum of what is known; null where nothing is."""
    return pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum())


def _records(jobs: pl.DataFrame) -> pl.DataFrame:
    tracks_gpus = pl.col("names_gpus").any().over("cluster")
    jobs = jobs.with_columns(
        user=pl.coalesce("user", "uid"),
        array_job_id=pl.when(pl.col("base_id").str.contains("_", literal=True)).then("root"),
        het_group_id=pl.when(pl.col("base_id").str.contains("+", literal=True)).then("root"),
    )
    nothing = {name: pl.lit(None, dtype) for name, dtype in RECORD_SCHEMA.items() if name not in jobs.columns}
    jobs = jobs.with_columns(**nothing).with_columns(
        gpus=pl.when(pl.col("gpus").is_null() & pl.col("names_tres") & tracks_gpus).then(0).otherwise("gpus"),
        used_memory_bytes=pl.max_horizontal("memory_bytes", "step_memory_bytes")
        .round()
        .cast(pl.Int64, strict=False),
        cpu_used_s=pl.coalesce("cpu_used_s", "step_cpu_s"),
        job_id=pl.col("base_id") + pl.col("suffix"),
        array_job_id=pl.col("array_job_id") + pl.col("suffix"),
        het_group_id=pl.col("het_group_id") + pl.col("suffix"),
        quality_flags=flag_list({flag: pl.col(flag.value) for flag in FLAGS}),
    )
    return jobs.select(pl.col(name).cast(dtype) for name, dtype in RECORD_SCHEMA.items())
