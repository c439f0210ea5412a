"""What every format's reader hands over: records of jobs, refused lines, and an account of all lines.

In:  nothing.   Out: `SourceFile`, `Options`, `Parsed`, the schema of records.
Not here: what all formats share of turning records into trace_jobs (canonical.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import polars as pl

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.contracts.tables import TRACE_JOBS
from hpcopt_assets.contracts.vocabulary import Dialect, RejectCode

DERIVED = ("trace_id", "wait_s", "release_s", "hold_s", "procs", "partition_limit_s")
# Columns of trace_jobs that canonical.py derives in the same way for every format.
RECORD_SCHEMA = pl.Schema(
    {name: dtype for name, dtype in TRACE_JOBS.polars_schema().items() if name not in DERIVED}
)
# One row per attempt of a job that ran, waits or was cancelled. `end_s` is `start_s + runtime_s` where both
# are known. `quality_flags` holds the flags that only the format knows.


@dataclass(frozen=True)
class SourceFile:
    """One file of a trace. `name` is how tables call it: its path below data/raw."""

    path: Path
    name: str


@dataclass(frozen=True)
class Options:
    """What is known beside the files. None: the file speaks, or the format's usual value holds (UTC)."""

    limits: IngestConfig
    timezone: str | None = None
    fields: tuple[str, ...] | None = None
    dialect: Dialect | None = None


class Refused(NamedTuple):
    """A line that became no job; `text` is its first 200 characters."""

    source_file: str
    source_line: int
    code: RejectCode
    reason: str
    text: str


class Loss(NamedTuple):
    """A line of a file that became no job, before its text is looked up (`source.with_texts`)."""

    source_line: int
    code: RejectCode
    reason: str


@dataclass
class LineCounts:
    """An account of lines (rows, in parquet): their sum with the refused lines is `lines`."""

    lines: int = 0
    header: int = 0
    comment: int = 0
    blank: int = 0
    merged: int = 0
    # Merged into jobs: several lines (steps, events, repeated dumps) may tell of one job.


@dataclass(frozen=True)
class Machine:
    """What the files say of machine and log; None where they are silent."""

    computer: str | None = None
    installation: str | None = None
    timezone: str | None = None
    notes: tuple[str, ...] = ()
    unix_start_s: int | None = None
    max_procs: int | None = None


@dataclass(frozen=True)
class Parsed:
    """A log as it was read. `records` has `RECORD_SCHEMA`, in no particular order.

    `facts` counts what else is worth telling (cancelled array tasks, suspended seconds ...), by name.
    """

    records: pl.LazyFrame
    refused: list[Refused]
    counts: LineCounts
    machine: Machine = Machine()
    facts: dict[str, int] = field(default_factory=dict)
