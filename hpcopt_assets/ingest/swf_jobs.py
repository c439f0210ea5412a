"""From SWF fields to jobs: what each field means, what it may hold, what is remarkable about a row.

In:  an `SwfLog`.   Out: `trace_jobs` columns, and the records that are no jobs, each with its reason.
Source: Standard Workload Format 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from hpcopt_assets.contracts.columns import BYTES_MAX, PROCS_MAX
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode, RequestKind
from hpcopt_assets.ingest.swf import SwfLog
from hpcopt_assets.ingest.swf_header import SPAN_MAX_S
from hpcopt_assets.ingest.swf_lines import FIELDS_COUNT, Refused

UNKNOWN = -1.0
ID_MAX = 2**53
# Larger whole numbers are not exact in float64.
CPU_MAX_S = 2**40
KB = 1024
STATES = {0.0: JobState.FAILED, 1.0: JobState.COMPLETED, 5.0: JobState.CANCELLED}
CANCELLED = 5.0
TIMES = ("submit", "wait", "run", "requested_time", "think_time")
PARTS = (2.0, 3.0, 4.0)
# Status of a line that tells one burst of a job which was swapped out; another line sums the job up.


@dataclass(frozen=True)
class Field:
    """What an SWF field may hold: numbers from 0 to `hi`, or -1 for unknown."""

    means: str
    hi: float
    is_whole: bool = True
    negative: RejectCode = RejectCode.NEGATIVE_VALUE
    unknown: RejectCode | None = None
    # Why the line is no job where the field is -1; None: such a line is a job all the same.


FIELDS: dict[str, Field] = {
    "job": Field("job number", ID_MAX, unknown=RejectCode.NO_JOB_ID),
    "submit": Field("submit time", SPAN_MAX_S, is_whole=False, unknown=RejectCode.NO_SUBMIT_TIME),
    "wait": Field("wait time", SPAN_MAX_S, is_whole=False, negative=RejectCode.NEGATIVE_WAIT),
    "run": Field("run time", SPAN_MAX_S, is_whole=False, negative=RejectCode.NEGATIVE_RUNTIME),
    "allocated": Field("allocated processors", PROCS_MAX),
    "cpu": Field("average CPU time", CPU_MAX_S, is_whole=False),
    "used_memory": Field("used memory", BYTES_MAX / KB, is_whole=False),
    "requested": Field("requested processors", PROCS_MAX),
    "requested_time": Field("requested time", SPAN_MAX_S, is_whole=False),
    "requested_memory": Field("requested memory", BYTES_MAX / KB, is_whole=False),
    "status": Field("status", ID_MAX),
    "user": Field("user number", ID_MAX),
    "group": Field("group number", ID_MAX),
    "executable": Field("executable number", ID_MAX),
    "queue": Field("queue number", ID_MAX),
    "partition": Field("partition number", ID_MAX),
    "preceding": Field("preceding job number", ID_MAX),
    "think_time": Field("think time", SPAN_MAX_S, is_whole=False),
}


def _is_bad(name: str, field: Field) -> pl.Expr:
    value = pl.col(name)
    good = value.is_between(0.0, field.hi)
    if field.is_whole:
        good &= value == value.floor()
    return ~(good if field.unknown is not None else good | (value == UNKNOWN))


def _refusal(field: Field, value: float) -> tuple[RejectCode, str]:
    """Why a value that `_is_bad` found cannot be taken."""
    kind = "a whole number" if field.is_whole else "a number"
    needed = f"{kind} from 0 to {field.hi:.0f} needed"
    found = f"{field.means} {value:.15g}"
    if value == UNKNOWN and field.unknown is not None:
        return field.unknown, f"{found} (unknown), {needed}"
    if math.isfinite(value) and value < 0:
        return field.negative, f"{found}, {needed} (-1 where unknown)"
    return RejectCode.OUT_OF_RANGE, f"{found}, {needed}"


def _judged(fields: pl.DataFrame) -> tuple[pl.DataFrame, list[Refused]]:
    """Records whose every field can be taken, and the others with the first field that cannot."""
    first_bad = pl.coalesce(
        pl.when(_is_bad(name, field)).then(pl.lit(name)) for name, field in FIELDS.items()
    )
    judged = fields.with_columns(first_bad.alias("bad"))
    refused = [
        Refused(row["source_line"], *_refusal(FIELDS[row["bad"]], row[row["bad"]]))
        for row in judged.filter(pl.col("bad").is_not_null()).iter_rows(named=True)
    ]
    return judged.filter(pl.col("bad").is_null()).drop("bad"), refused


def _with_memory(records: pl.DataFrame) -> tuple[pl.DataFrame, list[Refused]]:
    """Memory of the whole job in bytes (SWF gives KB per processor); more than 2^62 bytes is refused."""

    def whole_job(name: str, first: str, second: str) -> pl.Expr:
        procs = pl.coalesce(_positive(first), _positive(second))
        return (_known(name) * KB * procs).alias(f"{name}_bytes")

    records = records.with_columns(
        whole_job("used_memory", "allocated", "requested"),
        whole_job("requested_memory", "requested", "allocated"),
    )
    largest = pl.max_horizontal("used_memory_bytes", "requested_memory_bytes").fill_null(0.0)
    is_too_much = largest > BYTES_MAX
    refused = [
        Refused(line, RejectCode.OUT_OF_RANGE, f"memory of {size:.15g} bytes, at most {BYTES_MAX} needed")
        for line, size in records.filter(is_too_much).select("source_line", largest).iter_rows()
    ]
    return records.filter(~is_too_much), refused


def _one_line_a_job(records: pl.DataFrame) -> tuple[pl.DataFrame, list[Refused]]:
    """The line that stands for each job: its first, but a line of a part only where no other sums it up.

    SWF 2.2, usage note: a job that was swapped out has a summary line (status 0 or 1) and a line for each
    burst (2, 3 or 4) under the same number; studies of the workload use the summary alone.
    """
    if records["job"].n_unique() == records.height:
        return records, []
    records = records.with_columns(is_part=pl.col("status").is_in(PARTS))
    kept = pl.col("source_line").sort_by("is_part", "source_line").first().over("job")
    records = records.with_columns(kept.alias("kept_line"))
    is_kept = pl.col("source_line") == pl.col("kept_line")
    refused = [
        Refused(
            row["source_line"],
            RejectCode.DUPLICATE_JOB_ID,
            f"{'part of ' if row['is_part'] else ''}job {row['job']:.0f}, which line {row['kept_line']} "
            "tells, one line for each job needed",
        )
        for row in records.filter(~is_kept).iter_rows(named=True)
    ]
    return records.filter(is_kept), refused


def _known(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != UNKNOWN).then(pl.col(name))


def _positive(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(pl.col(name))


def _seconds(name: str) -> pl.Expr:
    """To the nearest second, half a second up: SWF's zero runtime means less than half a second."""
    return (_known(name) + 0.5).floor().cast(pl.Int64)


def _text(name: str) -> pl.Expr:
    return _known(name).cast(pl.Int64).cast(pl.String)


def _flags(dangling: pl.Expr) -> dict[QualityFlag, pl.Expr]:
    """When a row carries a flag; columns are those of `_canonical`'s first step beside the raw fields."""
    return {
        QualityFlag.EXTRA_FIELDS: pl.col("fields_count") > FIELDS_COUNT,
        QualityFlag.FRACTIONAL_TIME: pl.any_horizontal(
            pl.col(name) != pl.col(name).floor() for name in TIMES
        ),
        QualityFlag.OUT_OF_ORDER: pl.col("submit") < pl.col("submit").cum_max(),
        QualityFlag.RUNTIME_OVER_REQUEST: pl.col("runtime_s") > pl.col("requested_runtime_s"),
        QualityFlag.ZERO_REQUEST: pl.col("requested_runtime_s") == 0,
        QualityFlag.ALLOCATED_DIFFERS: pl.col("allocated_procs") != pl.col("requested_procs"),
        QualityFlag.DANGLING_PREDECESSOR: dangling,
        QualityFlag.PROCS_FROM_ALLOCATION: (
            pl.col("requested_procs").is_null() & pl.col("allocated_procs").is_not_null()
        ),
        QualityFlag.UNKNOWN_STATUS: ~pl.col("status").is_in([*STATES, UNKNOWN]),
    }


def _with_flags(frame: pl.DataFrame, flags: dict[QualityFlag, pl.Expr]) -> pl.DataFrame:
    """Adds `quality_flags`. Few combinations occur, so each list is made once and joined by its bit mask."""
    mask = pl.sum_horizontal(
        expression.fill_null(False).cast(pl.Int64) * 2**flag.code for flag, expression in flags.items()
    )
    frame = frame.with_columns(mask.alias("mask"))
    masks = frame["mask"].unique().to_list()
    lists = pl.DataFrame(
        {
            "mask": masks,
            "quality_flags": [[flag.value for flag in flags if mask & 2**flag.code] for mask in masks],
        },
        schema={"mask": pl.Int64, "quality_flags": pl.List(pl.String)},
    )
    return frame.join(lists, on="mask", how="left", maintain_order="left")


def _canonical(records: pl.DataFrame, unix_start_s: int, trace_id: str, source_file: str) -> pl.DataFrame:
    """`trace_jobs` from records in which every field can be taken, in the table's row order."""
    never_started = (pl.col("status") == CANCELLED) & (pl.col("run") == UNKNOWN)
    is_dangling = _known("preceding").is_not_null() & ~pl.col("preceding").is_in(records["job"].implode())
    frame = records.with_columns(
        submit_s=_seconds("submit") + unix_start_s,
        queued_s=pl.when(~never_started).then(_seconds("wait")),
        runtime_s=_seconds("run"),
        requested_runtime_s=_seconds("requested_time"),
        requested_procs=_positive("requested").cast(pl.Int64),
        allocated_procs=_positive("allocated").cast(pl.Int64),
        is_dangling=is_dangling,
    )
    frame = _with_flags(frame, _flags(pl.col("is_dangling"))).sort("submit_s", "job")
    start_s = pl.col("submit_s") + pl.col("queued_s")
    procs = pl.coalesce("requested_procs", "allocated_procs")

    def nothing(name: str, dtype: type[pl.DataType]) -> pl.Expr:
        return pl.lit(None, dtype=dtype).alias(name)

    jobs = frame.select(
        pl.lit(trace_id).alias("trace_id"),
        _text("job").alias("job_id"),
        pl.lit(source_file).alias("source_file"),
        "source_line",
        "submit_s",
        nothing("eligible_s", pl.Int64),
        start_s.alias("start_s"),
        (start_s + pl.col("runtime_s")).alias("end_s"),
        pl.col("queued_s").alias("wait_s"),
        "runtime_s",
        pl.col("submit_s").alias("release_s"),
        pl.lit(0, dtype=pl.Int64).alias("hold_s"),
        "requested_runtime_s",
        pl.when(pl.col("requested_runtime_s").is_null())
        .then(pl.lit(RequestKind.UNKNOWN.value))
        .otherwise(pl.lit(RequestKind.LIMIT.value))
        .alias("requested_runtime_kind"),
        procs.alias("procs"),
        "requested_procs",
        "allocated_procs",
        nothing("nodes", pl.Int64),
        nothing("gpus", pl.Int64),
        pl.col("requested_memory_bytes").round().cast(pl.Int64),
        pl.col("used_memory_bytes").round().cast(pl.Int64),
        (_known("cpu") * pl.coalesce("allocated_procs", "requested_procs")).alias("cpu_used_s"),
        pl.col("status")
        .replace_strict(
            {status: state.value for status, state in STATES.items()}, default=JobState.UNKNOWN.value
        )
        .alias("state"),
        pl.lit(1, dtype=pl.Int64).alias("attempt"),
        pl.lit(1, dtype=pl.Int64).alias("attempt_count"),
        _text("user"),
        _text("group"),
        nothing("account", pl.String),
        _text("queue"),
        _text("partition"),
        nothing("array_job_id", pl.String),
        nothing("het_group_id", pl.String),
        pl.when(~pl.col("is_dangling")).then(_text("preceding")).alias("preceding_job_id"),
        _seconds("think_time").alias("think_time_s"),
        "quality_flags",
    )
    return TRACE_JOBS.shape(jobs)


def swf_jobs(log: SwfLog, *, trace_id: str, source_file: str) -> tuple[pl.DataFrame, list[Refused]]:
    """`trace_jobs` of an SWF log, and every data line that became no job, by line.

    A record is refused for the first of its fields that holds what it may not, then for too much memory,
    then for a job number that another line has.
    """
    records, bad_fields = _judged(log.fields)
    records, bad_memory = _with_memory(records)
    records, twice = _one_line_a_job(records)
    jobs = _canonical(records, log.header.unix_start_s or 0, trace_id, source_file)
    return jobs, sorted([*log.refused, *bad_fields, *bad_memory, *twice])
