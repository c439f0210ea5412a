"""SWF texts of our making, and the one call that reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hpcopt_assets.contracts.config import IngestConfig
from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.swf import SWF_FIELDS
from hpcopt_assets.contracts.tables import INGEST_REPORT, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.contracts.traces_config import TraceEntry
from hpcopt_assets.ingest.parsed import SourceFile
from hpcopt_assets.ingest.reader import Ingested, ingest

LIMITS = IngestConfig(
    max_file_bytes=10**9,
    max_expanded_bytes=10**9,
    max_line_characters=2**20,
    max_rows=10**7,
    warn_reject_ratio=0.01,
    max_reject_ratio=0.2,
    sort_memory_bytes=10**8,
)


def line(**fields: Any) -> str:
    """One SWF line; fields that are not given are -1, the job number 1, the submit time 0, the status 1."""
    foreign = set(fields) - set(SWF_FIELDS)
    assert not foreign, foreign
    return " ".join(str(({"job": 1, "submit": 0, "status": 1} | fields).get(name, -1)) for name in SWF_FIELDS)


def tables_of(text: str | bytes, folder: Path, name: str = "made.swf", **about: Any) -> Ingested:
    """The tables of an SWF text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return ingest_files([path], folder, **about)


def ingest_files(paths: list[Path], folder: Path, *, limits: IngestConfig = LIMITS, **about: Any) -> Ingested:
    """The tables of some files as one trace; `about` are keys of its registry entry."""
    staging = folder / "staging"
    staging.mkdir(exist_ok=True)
    files = tuple(SourceFile(path, path.name) for path in paths)
    return ingest(files, trace_id="made", entry=TraceEntry(**about), limits=limits, staging=staging)


def read_text(text: str | bytes, folder: Path, name: str = "made.swf", **about: Any) -> Ingested:
    """The tables of an SWF text, each held against its contract."""
    found = tables_of(text, folder, name, **about)
    validate(TRACE_JOBS, found.jobs)
    validate(TRACE_REJECTS, found.rejects)
    validate(INGEST_REPORT, found.report)
    return found


def rejected(found: Ingested) -> dict[int, str]:
    """Line -> reject code."""
    return dict(found.rejects.select("source_line", "code").iter_rows())


def flags(found: Ingested) -> dict[str, list[str]]:
    """Job id -> quality flags."""
    return dict(found.jobs.select("job_id", "quality_flags").iter_rows())
