"""Which format a file has, from its content; the name does not matter.

In:  a file.   Out: a `TraceFormat`, or a TraceError that says what was looked for.
"""

from __future__ import annotations

import re
from pathlib import Path

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.contracts.errors import TraceError
from hpcopt_assets.contracts.vocabulary import TraceFormat
from hpcopt_assets.ingest.parquet.columns import schema_of
from hpcopt_assets.ingest.source import first_lines, is_parquet

SAMPLE_LINES = 200
# Which are no comments.
PBS_LINE = re.compile(rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];[^;]*;")
SWF_FIELDS = 18
PARQUET_COLUMNS = {
    TraceFormat.PM100: {"job_id", "run_time", "time_limit"},
    TraceFormat.FDATA: {"jid", "adt", "sdt", "edt"},
}


def detect(path: Path, limits: IngestConfig) -> TraceFormat:
    """The format of a file. Raises `TraceError` where none fits."""
    if is_parquet(path):
        return _parquet_format(path)
    lines = [line for raw in first_lines(path, limits) if (line := raw.strip())]
    data = [line for line in lines if not line.startswith(b";")][:SAMPLE_LINES]
    if any(PBS_LINE.match(line) for line in data):
        return TraceFormat.PBS  # sought first: its comments look like those of SWF
    if len(data) < len(lines) and lines[0].startswith(b";"):
        return TraceFormat.SWF
    for line in data:
        if b"|" not in line and _numbers(line) >= SWF_FIELDS:
            return TraceFormat.SWF
        if b"|" in line or b"jobid" in line.lower():
            return TraceFormat.SACCT
    raise TraceError(
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
