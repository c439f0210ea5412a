"""What the event log says of one trace, asset by asset, and whether that is complete and up to date.

In:  the definitions, a Dagster instance, the store.   Out: `TraceRecords`, or an error that says what to run.
Not here: what leaves the project (cli/export.py, bundle/).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from hpcopt_assets.contracts.errors import EvidenceError, InputError
from hpcopt_assets.contracts.lineage import Materialization
from hpcopt_assets.orchestration.io import TABLE_METADATA, part_path
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.provenance import ancestry, latest

PROBLEMS_SHOWN = 4


@dataclass(frozen=True)
class Stored:
    """A table of the trace: the asset that made it, its contract's name, its file, and its record."""

    asset: str
    table: str
    path: Path
    record: Materialization


@dataclass(frozen=True)
class TraceRecords:
    """Every asset of a trace as last made, its tables in the graph's order, and all they were made from."""

    trace_id: str
    tables: tuple[Stored, ...]
    records: Mapping[str, Materialization]
    lineage: tuple[Materialization, ...]


def trace_records(
    defs: dg.Definitions, instance: dg.DagsterInstance, store: Path, trace_id: str
) -> TraceRecords:
    """The latest record of every per-trace asset, none missing, and none made by or from what has changed.

    InputError for a trace that was never run. EvidenceError where an asset was not made, where its code or
    configuration is not that which made it, where one of its inputs has been made anew with another content,
    and where its file is not in the store.
    """
    if not instance.has_dynamic_partition(traces.name or "", trace_id):
        known = sorted(instance.get_dynamic_partitions(traces.name or ""))
        raise InputError(
            found="no such trace among those that were run",
            needed=f"one of {', '.join(known)}" if known else "a trace that was run",
            where=trace_id,
            next_step="See `hpcopt traces`; `hpcopt run` takes one through the graph.",
        )
    graph = defs.resolve_asset_graph()
    keys = [key for key in graph.toposorted_asset_keys if graph.get(key).partitions_def == traces]
    problems: list[str] = []
    records: dict[str, Materialization] = {}
    tables: list[Stored] = []
    for key in keys:
        name, node = key.to_user_string(), graph.get(key)
        made = latest(instance, key, trace_id)
        if made is None:
            problems.append(f"{name} was not made")
            continue
        records[name] = made
        if made.code_version != node.code_version:
            problems.append(f"{name} was made by other code or configs than there are now")
        if TABLE_METADATA in node.metadata:
            path = part_path(store, tuple(key.path), trace_id)
            if not path.is_file():
                problems.append(f"the table of {name} is not at {path}")
            tables.append(Stored(name, node.metadata[TABLE_METADATA], path, made))
    if problems:
        raise _out_of_date(trace_id, problems)
    lineage = ancestry(instance, tuple(records.values()))
    exact = {item.record_id: item for item in lineage}
    problems += [
        f"{source.asset} was made anew after {name} had read it"
        for name, made in records.items()
        for source in exact[made.record_id].inputs
        if source.data_version != records[source.asset].data_version
    ]
    if problems:
        raise _out_of_date(trace_id, problems)
    return TraceRecords(trace_id, tuple(tables), records, lineage)


def _out_of_date(trace_id: str, problems: list[str]) -> EvidenceError:
    more = len(problems) - PROBLEMS_SHOWN
    return EvidenceError(
        found="; ".join(problems[:PROBLEMS_SHOWN]) + (f"; and {more} more" if more > 0 else ""),
        needed="every asset of the trace, as the code and configs of now make it",
        where=f"trace {trace_id}",
        next_step=f"Run `hpcopt run {trace_id}`.",
    )
