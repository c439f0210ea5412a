"""SWF texts of our making, and the one call that reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hpcopt_assets.contracts.schemas import validate
from hpcopt_assets.contracts.swf import SWF_FIELDS
from hpcopt_assets.contracts.tables import INGEST_REPORT, TRACE_JOBS, TRACE_REJECTS
from hpcopt_assets.ingest.reader import Ingested, ingest


def line(**fields: Any) -> str:
    """One SWF line; fields that are not given are -1, the job number 1, the submit time 0, the status 1."""
    foreign = set(fields) - set(SWF_FIELDS)
    assert not foreign, foreign
    return " ".join(str(({"job": 1, "submit": 0, "status": 1} | fields).get(name, -1)) for name in SWF_FIELDS)


def tables_of(text: str | bytes, folder: Path, name: str = "made.swf", **about: Any) -> Ingested:
    """The tables of an SWF text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    about = {"capacity_procs": None, "timezone": None, "is_synthetic": False} | about
    return ingest(path, trace_id="made", source_file=name, **about)


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
