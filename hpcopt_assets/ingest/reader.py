"""The face of the room: a raw file becomes tables, and every line of it is accounted for.

In:  a path and what the registry says of the trace.   Out: `Ingested`, and the `raw_trace` row.
Not here: writing tables (the io manager, the command line).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hpcopt_assets.contracts.config import TraceEntry
from hpcopt_assets.contracts.errors import ConservationError, TraceError
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.tables import INGEST_REPORT, RAW_TRACE, TRACE_REJECTS
from hpcopt_assets.contracts.vocabulary import CapacitySource
from hpcopt_assets.ingest.source import format_of, sha256_of, texts
from hpcopt_assets.ingest.swf import SwfLog, read_swf
from hpcopt_assets.ingest.swf_header import Header
from hpcopt_assets.ingest.swf_jobs import swf_jobs
from hpcopt_assets.ingest.swf_lines import Refused
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.usage import usage

Breakdown = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Ingested:
    """What became of one raw file: `trace_jobs`, `trace_rejects`, `ingest_report` (one row) and counts."""

    jobs: pl.DataFrame
    rejects: pl.DataFrame
    report: pl.DataFrame
    breakdown: Breakdown


def raw_trace_row(path: Path, *, trace_id: str, raw_dir: Path, entry: TraceEntry) -> pl.DataFrame:
    """`raw_trace`: what the file is and what the registry says of it; `TraceError` if it is no text."""
    row = {
        "trace_id": trace_id,
        "source_file": str(path.relative_to(raw_dir)) if path.is_relative_to(raw_dir) else path.name,
        "format": format_of(path),
        "sha256": sha256_of(path),
        "size_bytes": path.stat().st_size,
        **entry.model_dump(include={"capacity_procs", "timezone", "is_synthetic", "note"}),
    }
    return pl.DataFrame([row], schema=RAW_TRACE.polars_schema())


def ingest(
    path: Path,
    *,
    trace_id: str,
    source_file: str,
    capacity_procs: int | None,
    timezone: str | None,
    is_synthetic: bool,
) -> Ingested:
    """Read one SWF file into canonical tables; `capacity_procs` and `timezone` are the registry's.

    Raises `TraceError` if the file is no text log, holds no job or changes while it is read, and
    `ConservationError` if a line is unaccounted for.
    """
    sha256 = sha256_of(path)
    log = read_swf(path)
    jobs, refused = swf_jobs(log, trace_id=trace_id, source_file=source_file)
    if jobs.is_empty():
        raise _no_jobs(path, log, refused)
    text = texts(path, (line.source_line for line in refused))
    if sha256_of(path) != sha256:
        raise TraceError(
            found="the file changed while it was being read",
            needed="a finished file is needed",
            where=str(path),
            next_step="Wait until it is copied, then ingest it again.",
        )
    rejects = _rejects(refused, text, trace_id, source_file)
    capacity, source, peak, over_s = _capacity(jobs, capacity_procs, log.header)
    report = pl.DataFrame(
        [
            {
                "trace_id": trace_id,
                "sha256": sha256,
                "lines_count": log.lines_count,
                "header_lines_count": log.header_lines_count,
                "comment_lines_count": log.comment_lines_count,
                "blank_lines_count": log.blank_lines_count,
                "job_lines_count": jobs.height,
                "rejects_count": rejects.height,
                "jobs_count": jobs.height,
                "started_jobs_count": jobs.height - jobs["start_s"].null_count(),
                "computer": log.header.computer,
                "installation": log.header.installation,
                "timezone": timezone or log.header.timezone,
                "notes": list(log.header.notes),
                "unix_start_s": log.header.unix_start_s,
                "first_release_s": jobs["release_s"].min(),
                "last_end_s": jobs["end_s"].max(),
                "capacity_procs": capacity,
                "capacity_source": source,
                "observed_peak_procs": peak,
                "observed_over_capacity_s": over_s,
                "is_synthetic": is_synthetic,
            }
        ],
        schema=INGEST_REPORT.polars_schema(),
    )
    _check_conservation(report, path)
    return Ingested(jobs, rejects, report, _breakdown(jobs, rejects, log.header))


def _no_jobs(path: Path, log: SwfLog, refused: list[Refused]) -> TraceError:
    other = log.lines_count - len(refused)
    found = f"no job line among {plural(log.lines_count, 'line')} ({other} header, comment or blank"
    if refused:
        first = refused[0]
        found += f", {len(refused)} refused; line {first.source_line}: {first.code}, {first.reason}"
    return TraceError(
        found=found + ")",
        needed="at least one job of 18 numbers in Standard Workload Format is needed",
        where=str(path),
        next_step="Check that this is an SWF log and that it was copied whole.",
    )


def _rejects(refused: list[Refused], text: dict[int, str], trace_id: str, source_file: str) -> pl.DataFrame:
    rows = [
        (trace_id, source_file, line.source_line, line.code.value, line.reason, text[line.source_line])
        for line in refused
    ]
    return pl.DataFrame(rows, schema=TRACE_REJECTS.polars_schema(), orient="row")


def _capacity(
    jobs: pl.DataFrame, configured: int | None, header: Header
) -> tuple[int | None, CapacitySource | None, int | None, int | None]:
    """Capacity and its source, the observed peak, and seconds above capacity; None where nothing tells.

    MaxNodes is not taken for a capacity: on machines with several processors a node it is too small.
    """
    observed = Schedule.of(jobs)
    in_use = usage(observed)
    peak = in_use.peak() or None
    capacity, source = next(
        (
            (procs, source)
            for procs, source in (
                (configured, CapacitySource.CONFIG),
                (header.max_procs, CapacitySource.HEADER),
                (peak, CapacitySource.OBSERVED_PEAK),
            )
            if procs is not None
        ),
        (None, None),
    )
    over_s = in_use.seconds_above(capacity) if capacity is not None and peak is not None else None
    return capacity, source, peak, over_s


def _check_conservation(report: pl.DataFrame, path: Path) -> None:
    row = report.row(0, named=True)
    parts = ("header", "comment", "blank", "job")
    counted = {part: row[f"{part}_lines_count"] for part in parts} | {"rejected": row["rejects_count"]}
    if row["lines_count"] != sum(counted.values()):
        raise ConservationError(
            found=f"{row['lines_count']} lines read, {sum(counted.values())} accounted for ({counted})",
            needed="every line as a header, comment, blank, job or rejected line is needed",
            where=str(path),
            next_step="This is a fault of the reader, not of the file: please report it with the file.",
        )


def _breakdown(jobs: pl.DataFrame, rejects: pl.DataFrame, header: Header) -> Breakdown:
    """Counts for people, in tables of name -> count, the most frequent first."""

    def tally(values: pl.Series) -> dict[str, int]:
        return dict(sorted(values.value_counts().iter_rows(), key=lambda pair: (-pair[1], pair[0])))

    machine = {"max_procs": header.max_procs, "max_nodes": header.max_nodes}

    return {
        "rejects_by_code": tally(rejects["code"]),
        "nulls_by_column": {
            name: jobs[name].null_count() for name in jobs.columns if jobs[name].null_count()
        },
        "flags_by_kind": tally(jobs["quality_flags"].explode().drop_nulls()),
        "jobs_by_state": tally(jobs["state"]),
        "jobs_by_requested_runtime_kind": tally(jobs["requested_runtime_kind"]),
        "header": {name: value for name, value in machine.items() if value is not None},
    }
