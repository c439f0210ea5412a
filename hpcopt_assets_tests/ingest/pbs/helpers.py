"""PBS logs of our making, and the one call that reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.ingest.canonical import trace_jobs_of
from hpcopt_assets.ingest.parsed import RECORD_SCHEMA, Options, Parsed, SourceFile
from hpcopt_assets.ingest.pbs.reader import read_pbs
from hpcopt_assets_tests.ingest.helpers import LIMITS as LIMITS

Logs = str | bytes | dict[str, str]


def parsed(logs: Logs, folder: Path, timezone: str | None = None) -> Parsed:
    """One log, or several by name, as they are read; every line must be accounted for."""
    named = logs if isinstance(logs, dict) else {"made.log": logs}
    files = []
    for name, text in named.items():
        path = folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        files.append(SourceFile(path, name))
    found = read_pbs(tuple(files), Options(LIMITS, timezone=timezone))
    counts = found.counts
    assert counts.lines == counts.header + counts.comment + counts.blank + counts.merged + len(found.refused)
    assert found.records.collect_schema() == RECORD_SCHEMA
    return found


def jobs_of(found: Parsed) -> pl.DataFrame:
    """`trace_jobs` of what was read, held against its contract, by job and attempt."""
    jobs = trace_jobs_of(found.records, "made", {}).sort("job_id", "attempt").collect()
    validate(TRACE_JOBS, jobs)
    return jobs


def read(logs: Logs, folder: Path, timezone: str | None = None) -> pl.DataFrame:
    """`trace_jobs` of one log, or of several by name."""
    return jobs_of(parsed(logs, folder, timezone))


def only(jobs: pl.DataFrame, **where: Any) -> dict[str, Any]:
    """The one row that is wanted."""
    return jobs.filter(**where).row(0, named=True) if where else jobs.row(0, named=True)


def ended(attributes: str, job_id: str = "1.srv", run_s: int = 60) -> str:
    """The E record of a job that waited an hour, with attributes besides."""
    return (
        f"03/10/2024 12:00:00;E;{job_id};user=u1 group=g queue=workq ctime=1710064800 qtime=1710064800 "
        f"etime=1710064800 start=1710068400 end={1710068400 + run_s} {attributes}\n"
    )


def refused(found: Parsed) -> dict[int, str]:
    """Line -> reject code."""
    return {line.source_line: line.code.value for line in found.refused}
