"""Artefacts as they are found, held against what the event log recorded of them.

In:  a Dagster instance, the store, data/raw.   Out: tables that are what was recorded; ArtefactErrors else.
Not here: what a dossier makes of either (dossier/).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import polars as pl

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.lineage import ArtefactError, Materialization, SourceFile
from hpcopt_assets.contracts.tables import REPLAY_SCHEDULE, TABLES
from hpcopt_assets.orchestration.io import part_path
from hpcopt_assets.orchestration.provenance import ancestry, latest

NEVER_MADE = "never materialized"
DIGITS = 12
# Of a hash, in a sentence.


@dataclass(frozen=True)
class Found:
    """Tables by asset key, what is wrong with others or with what these were made from, and the lineage."""

    tables: dict[str, pl.DataFrame]
    errors: tuple[ArtefactError, ...]
    lineage: tuple[Materialization, ...]


def gather(
    instance: dg.DagsterInstance, store: Path, keys: Iterable[dg.AssetKey], partition: str | None
) -> Found:
    """The latest table of each asset, and everything they were made from, judged against the event log.

    Nothing is raised for an artefact that is missing, unreadable or other than recorded: it is an error of
    its own, and the rest is handed over.
    """
    tables: dict[str, pl.DataFrame] = {}
    errors: list[ArtefactError] = []
    made: list[Materialization] = []
    for key in sorted(keys):
        record = latest(instance, key, partition)
        if record is None:
            errors.append(
                ArtefactError(key.to_user_string(), partition, NEVER_MADE, "a record in the event log")
            )
            continue
        made.append(record)
        table = _read(store, record)
        if isinstance(table, ArtefactError):
            errors.append(table)
        else:
            tables[record.asset] = table
    line, gaps = _line(instance, made)
    read = {record.record_id for record in made}
    behind = (_other_than_recorded(store, item) for item in line if item.record_id not in read)
    return Found(tables, (*errors, *gaps, *(error for error in behind if error is not None)), line)


def changed_sources(raw: Path, sources: Sequence[SourceFile], partition: str) -> list[ArtefactError]:
    """What is wrong with the files that a trace was read from."""
    found = (_wrong(raw / item.source_file, item.sha256, "SHA-256") for item in sources)
    return [
        ArtefactError(item.source_file, partition, *wrong)
        for item, wrong in zip(sources, found, strict=True)
        if wrong is not None
    ]


def changed_files(record: Materialization, paths: Sequence[Path]) -> list[ArtefactError]:
    """What is wrong with files whose bytes, one after the other, hash to an asset's data version."""
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        found = f"no file {', '.join(missing)}"
    else:
        sha256 = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
        if sha256 == record.data_version:
            return []
        found = f"files of SHA-256 {sha256[:DIGITS]}"
    needed = f"the files of data version {(record.data_version or 'none')[:DIGITS]}"
    return [ArtefactError(record.asset, record.partition, found, needed)]


def _line(
    instance: dg.DagsterInstance, made: list[Materialization]
) -> tuple[tuple[Materialization, ...], list[ArtefactError]]:
    """All that these were made from; where the event log has a gap, what can be followed, and the gap."""
    try:
        return ancestry(instance, tuple(made)), []
    except EvidenceError:
        known: dict[int, Materialization] = {}
        errors = []
        for item in made:
            try:
                known |= {each.record_id: each for each in ancestry(instance, (item,))}
            except EvidenceError as error:
                errors.append(ArtefactError(item.asset, item.partition, error.found, error.needed))
        return tuple(known[record_id] for record_id in sorted(known)), errors


def _read(store: Path, record: Materialization) -> pl.DataFrame | ArtefactError:
    wrong = _other_than_recorded(store, record)
    if wrong is not None:
        return wrong
    path = part_path(store, tuple(record.asset.split("/")), record.partition)
    try:
        found = pl.read_parquet(path, hive_partitioning=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        # Not its words: they quote the path, and a dossier leaves the site.
        told = f"unreadable ({type(error).__name__})"
        return ArtefactError(record.asset, record.partition, told, "a parquet file")
    needed = TABLES.get(record.asset, REPLAY_SCHEDULE).names
    # A policy's schedule bears the policy's name.
    if tuple(found.columns) != needed:
        other = sorted({*found.columns}.symmetric_difference(needed))
        told = f"columns of another version of this program ({', '.join(other) or 'in another order'})"
        return ArtefactError(record.asset, record.partition, told, "a table made by this one: run it again")
    return found


def _other_than_recorded(store: Path, record: Materialization) -> ArtefactError | None:
    """Whether a table in the store is not the one that a record speaks of; other assets are not judged."""
    if record.rows_count is None or record.data_version is None:
        return None
    path = part_path(store, tuple(record.asset.split("/")), record.partition)
    wrong = _wrong(path, record.data_version, "data version")
    return None if wrong is None else ArtefactError(record.asset, record.partition, *wrong)


def _wrong(path: Path, sha256: str, what: str) -> tuple[str, str] | None:
    """What is found and needed where a file's bytes are not those of a hash."""
    needed = f"the file of {what} {sha256[:DIGITS]}"
    if not path.is_file():
        return "no file", needed
    try:
        with path.open("rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable ({error.strerror})", needed
    return None if found == sha256 else (f"a file of SHA-256 {found[:DIGITS]}", needed)
