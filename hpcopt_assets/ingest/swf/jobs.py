"""From SWF fields to records: what each field means, what it may hold, what is remarkable about a row.

In:  an `SwfLog` a file.   Out: records (`parsed.RECORD_SCHEMA`), and the lines that are none, with reasons.
Source: Standard Workload Format 2.2, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from hpcopt_assets.contracts.columns import BYTES_MAX, PROCS_MAX
from hpcopt_assets.contracts.vocabulary import JobState, QualityFlag, RejectCode, RequestKind
from hpcopt_assets.ingest.canonical import flag_list
from hpcopt_assets.ingest.lazily import lazy_records
from hpcopt_assets.ingest.parsed import Loss
from hpcopt_assets.ingest.swf.header import SPAN_MAX_S
from hpcopt_assets.ingest.swf.lines import FIELDS_COUNT
from hpcopt_assets.ingest.swf.log import SwfLog
from hpcopt_assets.ingest.swf.repeats import PARTS, UNKNOWN, WHERE, Lost, one_line_a_job

ID_MAX = 2**53
# Larger whole numbers are not exact in float64.
CPU_MAX_S = 2**40
KB = 1024
STATES = {
    0.0: JobState.FAILED,
    1.0: JobState.COMPLETED,
    3.0: JobState.COMPLETED,
    4.0: JobState.FAILED,
    5.0: JobState.CANCELLED,
}
CANCELLED = 5.0
TIMES = ("submit", "wait", "run", "requested_time", "think_time")
PIECE_ROWS = 50_000
# Lines that become records at a time: some 10 MB of them.


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
    if field.unknown is None:
        good |= value == UNKNOWN
    elif name == "submit":
        good |= (value == UNKNOWN) & pl.col("status").is_in(PARTS)  # the first part states it for all
    return ~good


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


def _judged(fields: pl.DataFrame) -> tuple[pl.DataFrame, list[Loss]]:
    """Records whose every field can be taken, and the others with the first field that cannot."""
    first_bad = pl.coalesce(
        pl.when(_is_bad(name, field)).then(pl.lit(name)) for name, field in FIELDS.items()
    )
    judged = fields.with_columns(first_bad.alias("bad"))
    if judged["bad"].null_count() == judged.height:
        return fields, []  # no copy of a large log
    refused = [
        Loss(row["source_line"], *_refusal(FIELDS[row["bad"]], row[row["bad"]]))
        for row in judged.filter(pl.col("bad").is_not_null()).iter_rows(named=True)
    ]
    return judged.filter(pl.col("bad").is_null()).drop("bad"), refused


def _with_memory(records: pl.DataFrame) -> tuple[pl.DataFrame, list[Loss]]:
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
    if not records.select(is_too_much.any()).item():
        return records, []
    refused = [
        Loss(line, RejectCode.OUT_OF_RANGE, f"memory of {size:.15g} bytes, at most {BYTES_MAX} needed")
        for line, size in records.filter(is_too_much).select("source_line", largest).iter_rows()
    ]
    return records.filter(~is_too_much), refused


def _with_submission(records: pl.DataFrame) -> tuple[pl.DataFrame, list[Lost]]:
    """Parts without a submit time take their job's; they are refused where no line of the job has one."""
    if not records["submit_s"].null_count():
        return records, []
    records = records.with_columns(pl.col("submit_s").fill_null(pl.col("submit_s").min().over("job")))
    field = FIELDS["submit"]
    lost = [
        Lost(name, number, *_refusal(field, UNKNOWN))
        for name, number in records.filter(pl.col("submit_s").is_null()).select(WHERE).iter_rows()
    ]
    return records.filter(pl.col("submit_s").is_not_null()), lost


def _known(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != UNKNOWN).then(pl.col(name))


def _positive(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(pl.col(name))


def _seconds(name: str) -> pl.Expr:
    """To the nearest second, half a second up: SWF's zero runtime means less than half a second."""
    return (_known(name) + 0.5).floor().cast(pl.Int64)


def _text(name: str) -> pl.Expr:
    return _known(name).cast(pl.Int64).cast(pl.String)


def _own_flags() -> pl.Expr:
    """The flags that only SWF lines can have, as a list."""
    conditions = {
        QualityFlag.EXTRA_FIELDS: pl.col("fields_count") > FIELDS_COUNT,
        QualityFlag.FRACTIONAL_TIME: pl.any_horizontal(
            pl.col(name) != pl.col(name).floor() for name in TIMES
        ),
        QualityFlag.OUT_OF_ORDER: pl.col("is_out_of_order"),
        QualityFlag.DANGLING_PREDECESSOR: pl.col("is_dangling"),
        QualityFlag.UNKNOWN_STATUS: ~pl.col("status").is_in([*STATES, UNKNOWN]),
        QualityFlag.PARTS_SUMMED: pl.col("is_summed"),
    }
    return flag_list(conditions)


def _records(whole: pl.DataFrame) -> pl.LazyFrame:
    """Records from lines in which every field can be taken, one line a job; made when they are asked for."""
    is_dangling = _known("preceding").is_not_null() & ~pl.col("preceding").is_in(whole["job"].implode())
    lines = whole.with_columns(is_dangling=is_dangling)
    return lazy_records(lambda: map(_piece, lines.iter_slices(PIECE_ROWS)))


def _piece(lines: pl.DataFrame) -> pl.DataFrame:
    """Records of some of the lines."""
    never_started = (pl.col("status") == CANCELLED) & (pl.col("run") == UNKNOWN)
    frame = lines.with_columns(
        queued_s=pl.when(~never_started).then(_seconds("wait")),
        runtime_s=_seconds("run"),
        requested_runtime_s=_seconds("requested_time"),
        requested_procs=_positive("requested").cast(pl.Int64),
        allocated_procs=_positive("allocated").cast(pl.Int64),
    )
    start_s = pl.col("submit_s") + pl.col("queued_s")
    own = {
        "job_id": _text("job"),
        "start_s": start_s,
        "end_s": start_s + pl.col("runtime_s"),
        "requested_runtime_kind": pl.when(pl.col("requested_runtime_s").is_null())
        .then(pl.lit(RequestKind.UNKNOWN.value))
        .otherwise(pl.lit(RequestKind.LIMIT.value)),
        "requested_memory_bytes": pl.col("requested_memory_bytes").round().cast(pl.Int64),
        "used_memory_bytes": pl.col("used_memory_bytes").round().cast(pl.Int64),
        "cpu_used_s": _known("cpu") * pl.coalesce("allocated_procs", "requested_procs"),
        "state": pl.col("status").replace_strict(
            {status: state.value for status, state in STATES.items()}, default=JobState.UNKNOWN.value
        ),
        "attempt": pl.lit(1),
        "attempt_count": pl.lit(1),
        "user": _text("user"),
        "group": _text("group"),
        "queue": _text("queue"),
        "partition": _text("partition"),
        "name": _text("executable"),
        "preceding_job_id": pl.when(~pl.col("is_dangling")).then(_text("preceding")),
        "think_time_s": _seconds("think_time"),
        "quality_flags": _own_flags(),
    }
    sizes = ("requested_procs", "allocated_procs")
    as_they_are = (*WHERE, *sizes, "submit_s", "runtime_s", "requested_runtime_s")
    return frame.select(
        (own[name] if name in own else pl.col(name)).alias(name) for name in (*as_they_are, *own)
    )


class SwfRecords(NamedTuple):
    """Records of a trace, every data line that is none, and what became of the others."""

    records: pl.LazyFrame
    lost: list[Lost]
    merged: int
    superseded: int


def swf_records(logs: Sequence[tuple[str, SwfLog]]) -> SwfRecords:
    """Records of a trace's SWF files (name, log), which are in the order of their names.

    A line is refused for the first of its fields that holds what it may not, then for too much memory, then
    for contradicting another line on the same job. Of a log that was cut in pieces only the first has the
    header: files that state no epoch count from the first one that the trace states.
    """
    stated = (log.header.unix_start_s for _, log in logs)
    first_epoch_s = next((epoch_s for epoch_s in stated if epoch_s is not None), 0)
    parts, lost = [], []
    for name, log in logs:
        epoch_s = first_epoch_s if log.header.unix_start_s is None else log.header.unix_start_s
        records, bad_fields = _judged(log.fields)
        records, bad_memory = _with_memory(records)
        lost += [Lost(name, *loss) for loss in (*log.lost, *bad_fields, *bad_memory)]
        parts.append(
            records.with_columns(
                source_file=pl.lit(name),
                submit_s=_seconds("submit") + epoch_s,
                is_out_of_order=_known("submit") < pl.col("submit").cum_max(),
            )
        )
    records, orphans = _with_submission(pl.concat(parts))
    whole = one_line_a_job(records)
    return SwfRecords(
        _records(whole.records),
        sorted([*lost, *orphans, *whole.lost]),
        records.height - len(whole.lost),
        whole.superseded,
    )
