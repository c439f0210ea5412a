"""Rows of text become jobs and steps: ids, times, states, and the rows that are no jobs.

In:  rows of text (lines.py) and the machines' time zone.   Out: `Rows`.
Not here: which rows tell of one job (whose.py, jobs.py), sizes (sizes.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode
from hpcopt_assets.ingest.parsed import Loss
from hpcopt_assets.ingest.slurm.durations import durations
from hpcopt_assets.ingest.slurm.layout import USED
from hpcopt_assets.ingest.slurm.lookup import looked_up
from hpcopt_assets.ingest.slurm.sizes import count, sizes, used_memory
from hpcopt_assets.ingest.slurm.times import ORDER, instants, settle
from hpcopt_assets.ingest.slurm.values import NO_NODES, state

ID = r"^(\d+)(?:_(\d+)|\+(\d+)|_\[(.*)\])?(?:\.([^|]+))?$"
ID_PARTS = ("root", "task", "component", "range", "step")
RAW_ID = r"^(\d+)(?:\.[^|]+)?$"
DURATIONS = ("elapsed", "suspended", "totalcpu")
REPLACED = "\ufffd"
LABELS = {
    "cluster": pl.col("cluster"),
    "user": pl.col("user"),
    "uid": pl.col("uid"),
    "group": pl.coalesce("group", "gid"),
    "account": pl.col("account"),
    "partition": pl.col("partition"),
    "name": pl.col("jobname").str.extract(r"^([^\n]+)"),
    # Its first line: of free text in the last column the others are not kept.
}
CANCELLED, RUNNING, PENDING, REQUEUED, UNKNOWN = (
    word.value
    for word in (
        JobState.CANCELLED,
        JobState.RUNNING,
        JobState.PENDING,
        JobState.REQUEUED,
        JobState.UNKNOWN,
    )
)
FLAGS = (
    QualityFlag.FRACTIONAL_TIME,
    QualityFlag.UNKNOWN_STATUS,
    QualityFlag.RECOVERED_FIELDS,
    QualityFlag.ELIGIBLE_UNKNOWN,
    QualityFlag.INVALID_LIMIT,
    QualityFlag.MALFORMED_DURATION,
    QualityFlag.MALFORMED_VALUE,
    QualityFlag.ELAPSED_DIFFERS,
    QualityFlag.TYPED_GPUS_DIFFER,
    QualityFlag.AMBIGUOUS_LOCAL_TIME,
    QualityFlag.SUSPENDED,
    QualityFlag.NO_END_RECORD,
)
# Each is a column of jobs, named by its word.


@dataclass(frozen=True)
class Rows:
    """Rows of one kind of dump as typed columns: jobs, steps, ranges of waiting tasks; and lost lines.

    Of jobs and steps, `base_id` is null where the dump tells only the number that Slurm itself calls the job
    by (`number`, JobIDRaw): which task of which array that is, another dump may tell.
    """

    jobs: pl.DataFrame
    steps: pl.DataFrame
    ranges: pl.DataFrame
    lost: list[Loss]


def read_rows(text: pl.DataFrame, zone: str) -> Rows:
    """Jobs and steps of rows of text. A row is lost for the first thing that keeps it from being a job."""
    have = frozenset(text.columns)
    text = text.with_columns(pl.lit(None, pl.String).alias(name) for name in USED if name not in have)
    text = text.with_columns(
        id=pl.coalesce("jobid", "jobidraw"), number=pl.col("jobidraw").str.extract(RAW_ID)
    ).with_columns(pl.col("id").str.extract_groups(ID).struct.rename_fields(list(ID_PARTS)).struct.unnest())
    no_id = text.filter(pl.col("root").is_null())
    of_jobs = text.filter(pl.col("root").is_not_null() & pl.col("range").is_null())
    jobs, lost = _jobs(of_jobs.filter(pl.col("step").is_null()), have, zone)
    lost += [
        Loss(line, *_refusal("JobID", value, "a job id such as 123, 123_4 or 123+0", RejectCode.NO_JOB_ID))
        for line, value in no_id.select("source_line", "id").iter_rows()
    ]
    spans = dict(text.filter(pl.col("lines_count") > 1).select("source_line", "lines_count").iter_rows())
    lost += [
        Loss(loss.source_line + more, loss.code, goes_on(loss))
        for loss in lost
        for more in range(1, spans.get(loss.source_line, 1))
    ]
    return Rows(
        jobs,
        steps=_steps(of_jobs.filter(pl.col("step").is_not_null()), zone),
        ranges=_ranges(text.filter(pl.col("range").is_not_null()), zone),
        lost=lost,
    )


def goes_on(loss: Loss) -> str:
    """The reason of a further line of a record that is lost."""
    return f"{loss.reason} (goes on from line {loss.source_line})"


def _refusal(
    column: str, found: str | None, needed: str, code: RejectCode, silent: RejectCode | None = None
) -> tuple[RejectCode, str]:
    """Why a column that a job needs cannot be read; `silent` is the code where it says nothing."""
    if found and REPLACED in found:
        code = RejectCode.UNDECODABLE
    elif silent is not None and not found:
        code = silent
    return code, f"{column} is {(found or '')[:60]!r}, {needed} needed"


def _base_id() -> pl.Expr:
    """The id of the job that a row tells of, without its step; null where only its number is told."""
    task = pl.when(pl.col("task").is_not_null()).then(pl.concat_str(pl.lit("_"), "task"))
    component = pl.when(pl.col("component").is_not_null()).then(pl.concat_str(pl.lit("+"), "component"))
    place = pl.coalesce(task, component)
    is_told = pl.col("jobid").is_not_null() | place.is_not_null()
    return pl.when(is_told).then(pl.concat_str("root", place.fill_null("")))


def _steps(text: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Steps: what they used, and when they began; what cannot be read is null."""
    rss = used_memory(text["maxrss"])
    cpu = durations(text["totalcpu"])
    return text.select(
        "source_line",
        "lines_count",
        "cluster",
        _base_id().alias("base_id"),
        "number",
        "step",
        instants(text["start"], zone).seconds.alias("start_s"),
        (rss["size_bytes"] * text.select(count("ntasks").fill_null(1)).to_series()).alias("memory_bytes"),
        pl.select(pl.when(cpu >= 0).then(cpu)).to_series().alias("cpu_used_s"),
    )


def _ranges(text: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Ranges of tasks that wait: of no job, but told of by some cluster and user at some time."""
    return _with_times(text, zone).select(
        "source_line",
        "lines_count",
        "root",
        pl.col("id").alias("base_id"),
        "range",
        "cluster",
        "user",
        "uid",
        "submit_s",
        "state",
    )


def _with_times(text: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Adds `<time>_s`, `<time>_bad`, durations as float, and whether local times stayed ambiguous."""
    read = {name: instants(text[name], zone) for name in ORDER}
    frame = text.with_columns(
        *(found.seconds.alias(f"{name}_s") for name, found in read.items()),
        *(found.is_bad.alias(f"{name}_bad") for name, found in read.items()),
        *(durations(text[name]).alias(f"{name}_told") for name in DURATIONS),
        pl.col("elapsedraw").cast(pl.Int64, strict=False).alias("elapsed_raw"),
    )
    told = pl.col("elapsed_told")
    frame = frame.with_columns(elapsed_s=pl.coalesce("elapsed_raw", (told + 0.5).floor().cast(pl.Int64)))
    return _settled(frame, {name: found.unsettled for name, found in read.items()}, ZoneInfo(zone))


def _settled(frame: pl.DataFrame, unsettled: dict[str, pl.Series], zone: ZoneInfo) -> pl.DataFrame:
    """Chooses among the instants of local times that are not one; few rows have any."""
    open_rows = (
        pl.DataFrame(unsettled).with_row_index("row").filter(pl.any_horizontal(pl.col(ORDER).is_not_null()))
    )
    is_ambiguous = pl.zeros(frame.height, dtype=pl.Int8, eager=True).cast(pl.Boolean)
    columns = {name: frame[f"{name}_s"] for name in ORDER}
    for index, *local in open_rows.iter_rows():
        known = {name: columns[name][index] for name in ORDER}
        odd: dict[str, datetime] = {
            name: moment for name, moment in zip(ORDER, local, strict=True) if moment is not None
        }
        elapsed, suspended = frame["elapsed_s"][index], frame["suspended_told"][index]
        held_s = None if elapsed is None else elapsed + int(suspended or 0)
        found = settle(known, odd, held_s, zone)
        is_ambiguous[index] = found.is_ambiguous
        for name in odd:
            columns[name][index] = found.times[name]
    return frame.with_columns(
        is_ambiguous.alias(QualityFlag.AMBIGUOUS_LOCAL_TIME.value),
        *(column.alias(f"{name}_s") for name, column in columns.items()),
    )


def _never_started(have: frozenset[str]) -> pl.Expr:
    """Whether no node was ever given to the job.

    Slurm may write the end of a job that was cancelled in the queue as its start too.
    """
    if "nodelist" in have:
        has_no_nodes = pl.col("nodelist").is_null() | pl.col("nodelist").str.to_lowercase().is_in(
            list(NO_NODES)
        )
    elif "alloctres" in have:
        has_no_nodes = pl.col("alloctres").is_null()
    else:
        has_no_nodes = pl.lit(True)
    word_for_none = pl.col("nodelist").str.to_lowercase().is_in(list(NO_NODES)).fill_null(False)
    lasted_not = pl.col("elapsed_s").fill_null(0) == 0
    ends_at_start = pl.col("end_s").is_null() | (pl.col("end_s") == pl.col("start_s"))
    is_cut_off = (pl.col("state_word") == CANCELLED) & has_no_nodes & ends_at_start
    return (
        pl.col("start_s").is_null()
        | (pl.col("state_word") == PENDING)
        | (lasted_not & (word_for_none | is_cut_off) & (pl.col("state_word") != RUNNING))
    )


def _with_states(frame: pl.DataFrame, have: frozenset[str]) -> pl.DataFrame:
    """Adds the state, and start, end and runtime as the state has them."""

    def read(value: str) -> tuple[Any, ...]:
        found = state(value)
        return found.state.value if found.state else None, found.canceller, found.is_suspended

    frame = frame.hstack(
        looked_up(
            frame["state"],
            read,
            {"state_word": pl.String, "canceller": pl.Int64, "is_suspended": pl.Boolean},
        )
    )
    is_open = pl.col("end_s").is_null() & pl.lit("end" in have)
    frame = frame.with_columns(
        state_word=pl.when((pl.col("state_word") == REQUEUED) & is_open & pl.col("start_s").is_not_null())
        .then(pl.lit(RUNNING))
        .otherwise(pl.col("state_word").fill_null(UNKNOWN)),
        has_state=pl.col("state_word").is_not_null(),
        logged_end_s="end_s",
    )
    frame = frame.with_columns(is_never=_never_started(have))
    start = pl.when(~pl.col("is_never")).then("start_s")
    is_running = pl.col("state_word") == RUNNING
    held = pl.col("end_s") - start
    runtime = (
        pl.when(start.is_null())
        .then(None)
        .when(is_running)
        .then("elapsed_s")
        .when(held.is_not_null())
        .then(held)
        .when(~(is_open & (pl.col("state_word") == UNKNOWN)))
        .then("elapsed_s")
    )
    return frame.with_columns(
        start_s=start,
        runtime_s=runtime,
        end_s=pl.when(~is_running).then(start + runtime),
        is_held_differently=(held != pl.col("elapsed_s")) & ~is_running,
        has_no_end=is_open & start.is_not_null() & ~is_running,
    )


def _jobs(text: pl.DataFrame, have: frozenset[str], zone: str) -> tuple[pl.DataFrame, list[Loss]]:
    frame = _with_states(_with_times(text, zone), have)
    reasons = {
        "submit_bad": pl.col("submit_bad"),
        "no_submit": pl.col("submit_s").is_null(),
        "start_bad": pl.col("start_bad"),
        "end_bad": pl.col("end_bad"),
        "negative_elapsed": (pl.col("elapsed_s") < 0) | (pl.col("elapsed_told") < 0),
        "negative_runtime": pl.col("runtime_s") < 0,
        "negative_wait": pl.col("start_s") < pl.col("submit_s"),
        "too_long": pl.col("elapsed_s") > TIME_MAX_S,
    }
    why = pl.coalesce(pl.when(bad.fill_null(False)).then(pl.lit(word)) for word, bad in reasons.items())
    frame = frame.with_columns(why=why)
    lost = [
        Loss(row["source_line"], *_why(row))
        for row in frame.filter(pl.col("why").is_not_null()).iter_rows(named=True)
    ]
    frame = frame.filter(pl.col("why").is_null())
    frame = frame.hstack(sizes(frame.select(USED), ~frame["is_never"]))
    own = used_memory(frame["maxrss"])
    is_malformed = [
        pl.col(name).is_not_null() & ~(pl.col(f"{name}_told") >= 0).fill_null(False) for name in DURATIONS
    ]
    is_malformed.append(pl.col("elapsedraw").is_not_null() & pl.col("elapsed_raw").is_null())
    own_tasks = frame.select(count("ntasks").fill_null(1)).to_series()
    flags = {
        QualityFlag.FRACTIONAL_TIME: pl.col("elapsed_told") != pl.col("elapsed_told").floor(),
        QualityFlag.UNKNOWN_STATUS: ~pl.col("has_state"),
        QualityFlag.RECOVERED_FIELDS: pl.col("is_recovered"),
        QualityFlag.ELIGIBLE_UNKNOWN: pl.col("eligible_s").is_null() & pl.lit("eligible" in have),
        QualityFlag.MALFORMED_DURATION: pl.any_horizontal(is_malformed),
        QualityFlag.MALFORMED_VALUE: pl.col(QualityFlag.MALFORMED_VALUE.value) | own["is_malformed"],
        QualityFlag.ELAPSED_DIFFERS: pl.col("is_held_differently"),
        QualityFlag.SUSPENDED: pl.col("is_suspended") | (pl.col("suspended_told") > 0),
        QualityFlag.NO_END_RECORD: pl.col("has_no_end"),
    }
    frame = frame.with_columns(**{flag.value: is_set.fill_null(False) for flag, is_set in flags.items()})
    cpu = pl.col("totalcpu_told")
    return frame.select(
        "source_line",
        "lines_count",
        _base_id().alias("base_id"),
        "number",
        *(value.alias(name) for name, value in LABELS.items()),
        "submit_s",
        "eligible_s",
        "start_s",
        "end_s",
        "logged_end_s",
        "runtime_s",
        pl.col("state_word").alias("state"),
        "requested_runtime_s",
        "requested_runtime_kind",
        "requested_procs",
        "allocated_procs",
        "nodes",
        "gpus",
        "names_tres",
        "names_gpus",
        "requested_memory_bytes",
        (own["size_bytes"] * own_tasks).alias("memory_bytes"),
        pl.when(cpu >= 0).then(cpu).alias("cpu_used_s"),
        "canceller",
        *(flag.value for flag in FLAGS),
    ), lost


def _why(row: dict[str, Any]) -> tuple[RejectCode, str]:
    """Code and reason of a row that `_jobs` found to be no job."""
    match row["why"]:
        case "submit_bad":
            return _refusal("Submit", row["submit"], "a time", RejectCode.NOT_A_TIME)
        case "no_submit":
            return _refusal("Submit", row["submit"], "a time", RejectCode.NO_SUBMIT_TIME)
        case "start_bad":
            return _refusal("Start", row["start"], "a time or Unknown", RejectCode.NOT_A_TIME)
        case "end_bad":
            return _refusal("End", row["end"], "a time or Unknown", RejectCode.NOT_A_TIME)
        case "negative_elapsed":
            found = row["elapsedraw"] or row["elapsed"]
            return RejectCode.NEGATIVE_RUNTIME, f"Elapsed is {found[:60]!r}, at least 0 s needed"
        case "negative_runtime":
            return (
                RejectCode.NEGATIVE_RUNTIME,
                f"End {row['end']} is {-row['runtime_s']} s before Start {row['start']}, at least 0 s needed",
            )
        case "negative_wait":
            return (
                RejectCode.NEGATIVE_WAIT,
                f"Start {row['start']} is {row['submit_s'] - row['start_s']} s before Submit "
                f"{row['submit']}, at least 0 s needed",
            )
        case _:
            return RejectCode.OUT_OF_RANGE, f"Elapsed is {row['elapsed_s']} s, at most {TIME_MAX_S} s needed"
