"""The face of the room: a trace's raw files become tables, and every line of them is accounted for.

In:  files and what the registry says of the trace.   Out: `Ingested`, and the `raw_trace` rows.
Not here: where tables are kept (the io manager, the command line).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.contracts.errors import ConservationError, TraceError
from hpcopt_assets.contracts.sentences import plural
from hpcopt_assets.contracts.tables import RAW_TRACE
from hpcopt_assets.contracts.traces_config import Select, TraceEntry
from hpcopt_assets.contracts.vocabulary import TraceFormat
from hpcopt_assets.ingest.canonical import trace_jobs_of
from hpcopt_assets.ingest.detect import detect
from hpcopt_assets.ingest.parquet.fdata import read_fdata
from hpcopt_assets.ingest.parquet.pm100 import read_pm100
from hpcopt_assets.ingest.parsed import Options, Parsed, SourceFile
from hpcopt_assets.ingest.pbs.reader import read_pbs
from hpcopt_assets.ingest.report import Breakdown, Read, breakdown_of, rejects_of, report_of
from hpcopt_assets.ingest.slurm.reader import read_sacct
from hpcopt_assets.ingest.source import check_size, is_empty, sha256_of
from hpcopt_assets.ingest.staging import write_sorted
from hpcopt_assets.ingest.swf.reader import read_swf

READERS: dict[TraceFormat, Callable[[tuple[SourceFile, ...], Options], Parsed]] = {
    TraceFormat.SWF: read_swf,
    TraceFormat.SACCT: read_sacct,
    TraceFormat.PBS: read_pbs,
    TraceFormat.PM100: read_pm100,
    TraceFormat.FDATA: read_fdata,
}
STAGED = "trace_jobs.parquet"


@dataclass(frozen=True)
class Ingested:
    """What became of a trace: `trace_jobs` as a parquet file, rejects and report as frames, and counts."""

    jobs_path: Path
    rejects: pl.DataFrame
    report: pl.DataFrame
    breakdown: Breakdown

    @property
    def jobs(self) -> pl.DataFrame:
        """The table `trace_jobs`, read from its file."""
        return pl.read_parquet(self.jobs_path, hive_partitioning=False, glob=False)


def raw_trace_rows(
    files: tuple[SourceFile, ...], *, trace_id: str, entry: TraceEntry, limits: IngestConfig
) -> pl.DataFrame:
    """`raw_trace`: what each file is, and the registry's entry.

    Raises `TraceError` for files of no known format or of several, and for one that is too large or is not
    the one whose hash the registry states.
    """
    for file in files:
        check_size(file.path, limits)
    kind = entry.format or detect(_with_lines(files), limits, trace_id)
    rows = [
        {
            "trace_id": trace_id,
            "source_file": file.name,
            "format": kind,
            "sha256": sha256_of(file.path),
            "size_bytes": file.path.stat().st_size,
            "entry": entry.model_dump_json(exclude_defaults=True),
        }
        for file in files
    ]
    found = combined_sha256([(str(row["source_file"]), str(row["sha256"])) for row in rows])
    if entry.sha256 is not None and found != entry.sha256:
        raise TraceError(
            found=f"SHA-256 {found} ({sum(file.path.stat().st_size for file in files):,} bytes)",
            needed=f"SHA-256 {entry.sha256}, which configs/traces.yaml locks",
            where=f"trace {trace_id}",
            next_step="Fetch the file again, or lock the new one with `hpcopt lock --replace`.",
        )
    return pl.DataFrame(rows, schema=RAW_TRACE.polars_schema())


def _with_lines(files: tuple[SourceFile, ...]) -> tuple[SourceFile, ...]:
    """The files that are not empty: a day without jobs leaves an empty file. All, where all are empty."""
    return tuple(file for file in files if not is_empty(file.path)) or files


def combined_sha256(hashes: list[tuple[str, str]]) -> str:
    """The hash of one file; of several, the hash of their lines `sha256  name`, sorted by name."""
    if len(hashes) == 1:
        return hashes[0][1]
    text = "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(hashes))
    return hashlib.sha256(text.encode()).hexdigest()


def ingest(
    files: tuple[SourceFile, ...],
    *,
    trace_id: str,
    entry: TraceEntry,
    limits: IngestConfig,
    staging: Path,
) -> Ingested:
    """Read a trace into canonical tables; `trace_jobs` is written into the folder `staging`.

    Raises `TraceError` if a file cannot be read, passes a limit, holds no job or changes while it is read,
    and `ConservationError` if a line is unaccounted for.
    """
    files = tuple(sorted(files, key=lambda file: file.name))
    # Whatever order they come in: where files disagree (in their headers, say), the first by name holds.
    hashes = [(file.name, sha256_of(file.path)) for file in files]
    to_read = _with_lines(files)
    kind = entry.format or detect(to_read, limits, trace_id)
    if entry.dialect is not None and kind is not TraceFormat.PBS:
        raise TraceError(
            found=f"dialect {entry.dialect} with a log of format {kind}",
            needed=f"a log of format {TraceFormat.PBS}, or no dialect",
            where=f"trace {trace_id}",
            next_step="Leave the dialect away, or name the format as well.",
        )
    parsed = READERS[kind](to_read, Options(limits, entry.timezone, entry.fields, entry.dialect))
    _check_conservation(parsed, trace_id)
    target = staging / STAGED
    records, unselected = _selected(parsed.records, entry)
    rows = write_sorted(
        trace_jobs_of(records, trace_id, entry.max_runtime_s), target, memory_bytes=limits.sort_memory_bytes
    )
    if rows == 0:
        raise _no_jobs(files, parsed, unselected)
    if [(file.name, sha256_of(file.path)) for file in files] != hashes:
        raise TraceError(
            found="a file changed while it was being read",
            needed="finished files",
            where=f"trace {trace_id}",
            next_step="Wait until they are copied, then ingest the trace again.",
        )
    jobs = pl.scan_parquet(target, hive_partitioning=False, glob=False)
    rejects = rejects_of(parsed.refused, trace_id)
    read = Read(trace_id, kind, combined_sha256(hashes), len(files), unselected)
    return Ingested(
        target, rejects, report_of(jobs, parsed, entry, read), breakdown_of(jobs, rejects, parsed)
    )


def _selected(records: pl.LazyFrame, entry: TraceEntry) -> tuple[pl.LazyFrame, int]:
    """The jobs that the entry keeps, and how many others there are."""
    select = entry.select or Select()
    if select == Select() and not entry.exclude:
        return records, 0
    keep = pl.lit(True)
    for column, wanted in (("partition", select.partitions), ("queue", select.queues)):
        if wanted is not None:
            keep &= pl.col(column).is_in(list(wanted)).fill_null(False)
    for left_out in entry.exclude:
        is_meant = (pl.col("user") == left_out.user).fill_null(False)
        since_s, until_s = (instant.timestamp() for instant in (left_out.since, left_out.until))
        keep &= ~(is_meant & (pl.col("submit_s") >= since_s) & (pl.col("submit_s") < until_s))
    others = records.filter(~keep).select(pl.len()).collect(engine="streaming").item()
    return records.filter(keep), int(others)


def _no_jobs(files: tuple[SourceFile, ...], parsed: Parsed, unselected: int) -> TraceError:
    counts, refused = parsed.counts, parsed.refused
    silent = counts.header + counts.comment + counts.blank
    found = f"no job line among {plural(counts.lines, 'line')} ({silent} header, comment or blank"
    if refused:
        first = min(refused)
        found += f", {len(refused)} refused; line {first.source_line}: {first.code}, {first.reason}"
    if unselected:
        found += f", {unselected} jobs that the registry does not select"
    return TraceError(
        found=found + ")",
        needed="at least one job",
        where=", ".join(str(file.path) for file in files[:3]),
        next_step="Check that this is the log you mean and that it was copied whole.",
    )


def _check_conservation(parsed: Parsed, trace_id: str) -> None:
    counts = parsed.counts
    parts = {
        "header": counts.header,
        "comment": counts.comment,
        "blank": counts.blank,
        "merged into jobs": counts.merged,
        "rejected": len(parsed.refused),
    }
    if counts.lines != sum(parts.values()):
        raise ConservationError(
            found=f"{counts.lines} lines read, {sum(parts.values())} accounted for ({parts})",
            needed="every line as a header, comment, blank, merged or rejected line",
            where=f"trace {trace_id}",
            next_step="This is a fault of the reader, not of the file: please report it with the file.",
        )
