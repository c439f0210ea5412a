"""Which format a trace's files have, from their content; the names do not matter.

In:  files.   Out: one `TraceFormat` for all, or a TraceError that says what was found and looked for.
"""

from __future__ import annotations

import re
from pathlib import Path

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.vocabulary import TraceFormat
from hpcopt_assets.ingest.parquet.columns import schema_of
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets.ingest.source import first_lines, is_parquet

SAMPLE_LINES = 200
# Which are no comments.
PBS_LINE = re.compile(rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];[^;]*;")
SWF_FIELDS = 18
COMMENTS = (b";", b"#")
# Of SWF and PBS, and of sacct.
PARQUET_COLUMNS = {
    TraceFormat.PM100: {"job_id", "run_time", "time_limit"},
    TraceFormat.FDATA: {"jid", "adt", "sdt", "edt"},
}


def detect(files: tuple[SourceFile, ...], limits: IngestConfig, trace_id: str) -> TraceFormat:
    """The format of a trace's files. Raises `TraceError` where none fits, or they differ.

    A file of nothing but comments or blank lines is of the format of the others: the log of a quiet day.
    """
    found: dict[TraceFormat, str] = {}
    for file in files:
        kind = _format_of(file.path, limits)
        if kind is not None:
            found.setdefault(kind, file.name)
    if len(found) > 1:
        named = ", ".join(f"{kind} ({name})" for kind, name in sorted(found.items()))
        raise TraceError(
            found=f"files of formats {named}",
            needed="one format for each trace",
            where=f"trace {trace_id}",
            next_step="Keep logs of different kinds as traces of their own.",
        )
    if found:
        return next(iter(found))
    # Nobody tells. PBS servers write such comments too, but a header alone is one of SWF.
    for file in files:
        if any(line.startswith(b";") for line in _lines(file.path, limits)):
            return TraceFormat.SWF
    raise _unknown(files[0].path)


def _format_of(path: Path, limits: IngestConfig) -> TraceFormat | None:
    """The format of a file; None where no line tells. Raises `TraceError` where its lines are of none."""
    if is_parquet(path):
        return _parquet_format(path)
    lines = _lines(path, limits)
    data = [line for line in lines if not line.startswith(COMMENTS)][:SAMPLE_LINES]
    if not data:
        return None
    if any(PBS_LINE.match(line) for line in data):
        return TraceFormat.PBS  # sought first: its comments look like those of SWF
    if lines[0].startswith(b";"):
        return TraceFormat.SWF
    for line in data:
        if b"|" not in line and _numbers(line) >= SWF_FIELDS:
            return TraceFormat.SWF
        if b"|" in line or b"jobid" in line.lower():
            return TraceFormat.SACCT
    raise _unknown(path)


def _lines(path: Path, limits: IngestConfig) -> list[bytes]:
    """The first lines that are not blank."""
    return [line for raw in first_lines(path, limits) if (line := raw.strip())]


def _unknown(path: Path) -> TraceError:
    return TraceError(
        found="no line of a known format among the first lines",
        needed="an SWF, sacct or PBS accounting log, or PM100 or F-DATA parquet",
        where=str(path),
        next_step="Name the format with --format or in configs/traces.yaml.",
    )


def _numbers(line: bytes) -> int:
    return sum(token.lstrip(b"+-")[:1].isdigit() for token in line.split())


def _parquet_format(path: Path) -> TraceFormat:
    names = set(schema_of(path)[0].names)
    for found, needed in PARQUET_COLUMNS.items():
        if names >= needed:
            return found
    raise TraceError(
        found=f"parquet with columns {', '.join(sorted(names)[:12])} ...",
        needed="the columns of PM100 (run_time, time_limit, ...) or F-DATA (jid, adt, sdt, edt, ...)",
        where=str(path),
        next_step="Name the format with --format, or write trace_jobs.parquet yourself and replay that.",
    )
