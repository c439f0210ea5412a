"""sacct dumps of our making, and the one call that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.ingest.canonical import trace_jobs_of
from hpcopt_assets.ingest.parsed import Options, Parsed, SourceFile
from hpcopt_assets.ingest.slurm.reader import read_sacct
from hpcopt_assets_tests.ingest.helpers import LIMITS as LIMITS

DAY = "2024-06-02T"
PLAIN = {
    "JobID": "1",
    "Submit": f"{DAY}09:00:00",
    "Start": f"{DAY}10:00:00",
    "End": f"{DAY}10:30:00",
    "State": "COMPLETED",
}


def job(**fields: Any) -> dict[str, str]:
    """One row: a job that ran from 10:00 to 10:30, with these columns beside or instead."""
    return PLAIN | {name: str(value) for name, value in fields.items()}


def step(job_id: str, **fields: Any) -> dict[str, str]:
    """One row of a step, such as `1.batch`: what it says of times is what `job` says."""
    return job(JobID=job_id, **{"Submit": PLAIN["Start"]} | fields)


def dump(*rows: dict[str, str], columns: list[str] | None = None, end: str = "") -> str:
    """The rows as `sacct --parsable2` writes them (`-p` with `end="|"`), columns in order of appearance."""
    names = columns or list(dict.fromkeys(name for row in rows for name in row))
    lines = ["|".join(names), *("|".join(row.get(name, "") for name in names) for row in rows)]
    return "".join(f"{line}{end}\n" for line in lines)


@dataclass(frozen=True)
class Found:
    """What a trace became: `jobs` as the table, by id and attempt, and all that the reader says."""

    jobs: pl.DataFrame
    parsed: Parsed

    @property
    def rejects(self) -> dict[int, str]:
        """Line -> code (of traces with one file)."""
        return {refused.source_line: refused.code.value for refused in self.parsed.refused}

    @property
    def reasons(self) -> list[str]:
        """Why lines were refused, in their order."""
        return [refused.reason for refused in sorted(self.parsed.refused)]

    @property
    def flags(self) -> dict[str, set[str]]:
        """Job id -> quality flags."""
        return {name: set(found) for name, found in self.jobs.select("job_id", "quality_flags").iter_rows()}

    def only(self) -> dict[str, Any]:
        """The one job there is."""
        (row,) = self.jobs.iter_rows(named=True)
        return row

    def of(self, *columns: str) -> list[Any]:
        """Values of the columns, a row a job (bare values for one column)."""
        rows = self.jobs.select(columns).rows()
        return [row[0] for row in rows] if len(columns) == 1 else rows


def read_files(
    texts: dict[str, str | bytes],
    folder: Path,
    *,
    timezone: str | None = None,
    fields: tuple[str, ...] | None = None,
    is_validated: bool = True,
) -> Found:
    """The files as one trace; the table is held against its contract, and no line is lost."""
    files = []
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
        files.append(SourceFile(folder / name, name))
    parsed = read_sacct(tuple(files), Options(LIMITS, timezone, fields))
    jobs = trace_jobs_of(parsed.records, "made", {}).collect().sort("job_id", "attempt")
    if is_validated:
        validate(TRACE_JOBS, jobs)
    counts = parsed.counts
    accounted = counts.header + counts.comment + counts.blank + counts.merged + len(parsed.refused)
    assert counts.lines == accounted, (counts, parsed.refused)
    places = [(refused.source_file, refused.source_line) for refused in parsed.refused]
    assert len(set(places)) == len(places)
    assert not set(places) & set(jobs.select("source_file", "source_line").rows())
    assert all(1 <= line <= counts.lines for _, line in places)
    return Found(jobs, parsed)


def read(text: str | bytes, folder: Path, **about: Any) -> Found:
    """One file as a trace."""
    return read_files({"made.log": text}, folder, **about)
