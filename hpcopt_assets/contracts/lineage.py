"""Lineage: what the event log says of one materialization, as plain values.

In:  nothing.   Out: `InputVersion`, `Materialization`.
Not here: reading the event log (orchestration/provenance.py).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InputVersion:
    """One input of a materialization: which record of which asset was read, and its content's version."""

    asset: str
    record_id: int | None
    data_version: str | None


@dataclass(frozen=True)
class Materialization:
    """One materialization as recorded. `at_s` is seconds since the epoch; `data_version` a content hash."""

    asset: str
    partition: str | None
    record_id: int
    at_s: float
    run_id: str
    code_version: str | None
    data_version: str | None
    rows_count: int | None
    inputs: tuple[InputVersion, ...]
