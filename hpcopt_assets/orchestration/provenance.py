"""Provenance: what code and decisions made a table, and what the event log remembers of it.

In:  source files, config models, a Dagster instance.
Out: code versions; `Materialization` records found by following input pointers, never by file name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_TAG,
    INPUT_DATA_VERSION_TAG_PREFIX,
    INPUT_EVENT_POINTER_TAG_PREFIX,
    NULL_EVENT_POINTER,
)

from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.frozen import Frozen
from hpcopt_assets.contracts.lineage import InputVersion, Materialization
from hpcopt_assets.orchestration.versions import PACKAGE, source_hash

FLOORS = ("contracts", "measures")
VERSION_DIGITS = 16
PAGE_RECORDS = 20


def fingerprint(configs: Path) -> str:
    """Hash of what decides what runs make: the package's source and all configs, read anew each time."""
    digest = hashlib.sha256()
    for path in (*sorted(PACKAGE.rglob("*.py")), *sorted(configs.glob("*.yaml"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def code_version(rooms: tuple[str, ...], reads: tuple[Frozen, ...], files: tuple[Path, ...] = ()) -> str:
    """Version of an asset: its rooms' and the floors' source, and exactly the config models it reads.

    `files`: what a config names and no asset makes; one that is not there counts as empty.
    """
    digest = hashlib.sha256()
    for folder in (*FLOORS, *rooms):
        digest.update(source_hash(folder).encode())
    for model in reads:
        digest.update(type(model).__name__.encode() + model.model_dump_json().encode())
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return digest.hexdigest()[:VERSION_DIGITS]


def _materialization(record: dg.EventLogRecord) -> Materialization:
    """A record as plain values; its inputs carry what Dagster tagged, which `_resolved` makes exact."""
    event = record.asset_materialization
    assert event is not None  # noqa: S101 -- only materializations are fetched; for the type checker
    tags = event.tags or {}
    prefix = f"{INPUT_EVENT_POINTER_TAG_PREFIX}/"
    inputs = tuple(
        InputVersion(
            asset=name.removeprefix(prefix),
            record_id=None if value == NULL_EVENT_POINTER else int(value),
            data_version=tags.get(f"{INPUT_DATA_VERSION_TAG_PREFIX}/{name.removeprefix(prefix)}"),
        )
        for name, value in sorted(tags.items())
        if name.startswith(prefix)
    )
    rows = event.metadata.get("dagster/row_count")
    return Materialization(
        asset=event.asset_key.to_user_string(),
        partition=event.partition,
        record_id=record.storage_id,
        at_s=record.timestamp,
        run_id=record.run_id,
        code_version=tags.get(CODE_VERSION_TAG),
        data_version=tags.get(DATA_VERSION_TAG),
        rows_count=int(rows.value) if rows is not None else None,  # type: ignore[arg-type]
        inputs=inputs,
    )


def latest(instance: dg.DagsterInstance, key: dg.AssetKey, partition: str | None) -> Materialization | None:
    """The latest materialization of one partition of an asset (of all of it: None), or None."""
    found = _history(instance, key, partition)
    return next(found, None)


def _history(
    instance: dg.DagsterInstance, key: dg.AssetKey, partition: str | None, before: int | None = None
) -> Iterator[Materialization]:
    """Materializations of one partition, newest first, those recorded before a record id if one is given."""
    cursor, has_more = None, True
    wanted = dg.AssetRecordsFilter(
        asset_key=key,
        asset_partitions=None if partition is None else [partition],
        before_storage_id=before,
    )
    while has_more:
        page = instance.fetch_materializations(wanted, limit=PAGE_RECORDS, cursor=cursor)
        yield from map(_materialization, page.records)
        cursor, has_more = page.cursor, page.has_more


def ancestry(instance: dg.DagsterInstance, start: tuple[Materialization, ...]) -> tuple[Materialization, ...]:
    """All materializations that `start` was made from, itself included, each with its inputs resolved.

    Sorted by record, so upstream comes first. Raises EvidenceError where an input is not in the log.
    """
    known: dict[int, Materialization] = {}
    to_visit = list(start)
    while to_visit:
        item = to_visit.pop()
        if item.record_id in known:
            continue
        sources = [_resolved(instance, item, source) for source in item.inputs]
        exact = tuple(InputVersion(s.asset, s.record_id, s.data_version) for s in sources)
        known[item.record_id] = replace(item, inputs=exact)
        to_visit += sources
    return tuple(known[record_id] for record_id in sorted(known))


def _resolved(instance: dg.DagsterInstance, item: Materialization, source: InputVersion) -> Materialization:
    """The very record that an input was read from.

    For a partitioned input Dagster tags a pointer to the asset's latest record of *any* partition, and as
    version the SHA-256 of the versions of the partitions read. With two traces at work the pointer may name
    the other trace's record; partition and version together name the right one.
    """
    for made in _history(
        instance, dg.AssetKey.from_user_string(source.asset), item.partition, item.record_id
    ):
        tagged = made.data_version
        if tagged is not None and item.partition is not None:
            tagged = partition_version(tagged)
        if tagged is not None and tagged == source.data_version:
            return made
    raise EvidenceError(
        found=f"no record of {source.asset} with the version that {item.asset} was made from",
        needed=f"its materialization before record {item.record_id}",
        where=f"Dagster's event log, partition {item.partition}",
        next_step="Materialize the trace again; its history was wiped.",
    )


def partition_version(data_version: str) -> str:
    """What Dagster tags as input version where one partition of this data version was read."""
    return hashlib.sha256(data_version.encode()).hexdigest()
