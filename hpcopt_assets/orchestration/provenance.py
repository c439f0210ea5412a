"""Provenance: what code and decisions made a table, and what the event log remembers of it.

In:  source files, config models, a Dagster instance.
Out: code versions; `Materialization` records found by following input pointers, never by file name.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

import dagster as dg
from dagster._core.definitions.data_version import (
    CODE_VERSION_TAG,
    DATA_VERSION_TAG,
    INPUT_DATA_VERSION_TAG_PREFIX,
    INPUT_EVENT_POINTER_TAG_PREFIX,
    NULL_EVENT_POINTER,
)

from hpcopt_assets.contracts.config import Frozen
from hpcopt_assets.contracts.errors import EvidenceError
from hpcopt_assets.contracts.lineage import InputVersion, Materialization

PACKAGE = Path(__file__).resolve().parents[1]
FLOORS = ("contracts", "measures")
VERSION_DIGITS = 16
RECORDED_PACKAGES = ("dagster", "duckdb", "numba", "numpy", "polars", "pyarrow")


@cache
def source_hash(folder: str) -> str:
    """SHA-256 over the names and bytes of the Python files of one room or floor."""
    digest = hashlib.sha256()
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def code_version(rooms: tuple[str, ...], reads: tuple[Frozen, ...]) -> str:
    """Version of an asset: its rooms' and the floors' source, and exactly the config models it reads."""
    digest = hashlib.sha256()
    for folder in (*FLOORS, *rooms):
        digest.update(source_hash(folder).encode())
    for model in reads:
        digest.update(type(model).__name__.encode() + model.model_dump_json().encode())
    return digest.hexdigest()[:VERSION_DIGITS]


def environment() -> dict[str, str]:
    """Versions of what computes the numbers."""
    import platform

    versions = {"python": platform.python_version(), "machine": platform.machine()}
    return versions | {name: metadata.version(name) for name in ("hpcopt-assets", *RECORDED_PACKAGES)}


def _materialization(record: dg.EventLogRecord) -> Materialization:
    event = record.asset_materialization
    if event is None:
        raise EvidenceError(
            found=f"record {record.storage_id} is no materialization",
            needed="the materialization that an input pointer names",
            where="Dagster's event log",
            next_step="Materialize the trace again: its lineage then points to records that exist.",
        )
    tags = event.tags or {}
    inputs = tuple(
        InputVersion(
            asset=name.removeprefix(f"{INPUT_EVENT_POINTER_TAG_PREFIX}/"),
            record_id=None if value == NULL_EVENT_POINTER else int(value),
            data_version=tags.get(
                f"{INPUT_DATA_VERSION_TAG_PREFIX}/" + name.removeprefix(f"{INPUT_EVENT_POINTER_TAG_PREFIX}/")
            ),
        )
        for name, value in sorted(tags.items())
        if name.startswith(f"{INPUT_EVENT_POINTER_TAG_PREFIX}/")
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


def latest(instance: dg.DagsterInstance, key: dg.AssetKey, partition: str) -> Materialization | None:
    """The latest materialization of one partition of an asset, or None."""
    found = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=key, asset_partitions=[partition]), limit=1
    ).records
    return _materialization(found[0]) if found else None


def ancestry(instance: dg.DagsterInstance, start: tuple[Materialization, ...]) -> tuple[Materialization, ...]:
    """All materializations that `start` was made from, itself included, by following input pointers.

    Sorted by record, so upstream comes first. Raises EvidenceError where a pointer leads nowhere.
    """
    known = {item.record_id: item for item in start}
    to_visit = list(start)
    while to_visit:
        item = to_visit.pop()
        for source in item.inputs:
            if source.record_id is None or source.record_id in known:
                continue
            found = instance.fetch_materializations(
                dg.AssetRecordsFilter(
                    asset_key=dg.AssetKey.from_user_string(source.asset), storage_ids=[source.record_id]
                ),
                limit=1,
            ).records
            if not found:
                raise EvidenceError(
                    found=f"no record {source.record_id} of {source.asset}",
                    needed=f"the input that {item.asset} was made from",
                    where="Dagster's event log",
                    next_step="Materialize the trace again; its history was wiped.",
                )
            known[source.record_id] = _materialization(found[0])
            to_visit.append(known[source.record_id])
    return tuple(known[record_id] for record_id in sorted(known))
