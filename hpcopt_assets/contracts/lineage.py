"""Lineage: what the event log says of one materialization, as plain values.

In:  nothing.   Out: `InputVersion`, `Materialization`, `SourceFile`, `ArtefactError`.
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


@dataclass(frozen=True)
class SourceFile:
    """A file in data/raw that a trace was read from: its path there, and its bytes' SHA-256."""

    source_file: str
    sha256: str


@dataclass(frozen=True)
class ArtefactError:
    """An artefact that evidence rests on and that is not what was recorded.

    `asset` is its key, or the source file's path in data/raw; `found` and `needed` are said to people.
    """

    asset: str
    partition: str | None
    found: str
    needed: str

    @property
    def sentence(self) -> str:
        """What is wrong with it, in one sentence."""
        whose = "" if self.partition is None else f" of {self.partition}"
        return f"{self.asset}{whose}: {self.found}; needed: {self.needed}."
