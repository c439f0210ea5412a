"""A trace's dossier from the tables of a bundle, as the asset makes it from those of the graph.

In:  tables by asset, configs, lineage, versions.   Out: `Dossier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.contracts.lineage import Materialization
    from hpcopt_assets.dossier.finished import Dossier

ASSET = "trace_dossier"


def render(
    trace_id: str,
    tables: Mapping[str, pl.DataFrame],
    decisions: Mapping[str, Any],
    records: tuple[Materialization, ...],
    environment: Mapping[str, str],
) -> Dossier:
    """The dossier of a trace, dated as the asset's; same input, same bytes.

    `decisions` maps the names of the files of configs/ that a dossier tells of to their models; `records` end
    with the asset's own. EvidenceError where the tables do not fit together.
    """
    from hpcopt_assets.contracts.bundle import REPLAY
    from hpcopt_assets.dossier.evidence import READ, TraceEvidence
    from hpcopt_assets.dossier.trace import build_trace_dossier

    read = [table.name for table in READ]
    read += [f"{REPLAY}/{policy_id}" for policy_id in decisions["policies"].ids]
    made_at_s = max(record.at_s for record in records if record.asset == ASSET)
    return build_trace_dossier(
        TraceEvidence(
            trace_id=trace_id,
            tables={asset: tables[asset] for asset in read},
            errors=(),
            **decisions,
            lineage=_behind(records, read),
            environment=environment,
            generated_at=datetime.fromtimestamp(made_at_s, UTC),
        )
    )


def _behind(records: tuple[Materialization, ...], assets: Iterable[str]) -> tuple[Materialization, ...]:
    """The latest record of each asset and all that these were made from, in the order of the records."""
    by_id = {record.record_id: record for record in records}
    latest = {record.asset: record.record_id for record in records}
    known: set[int] = set()
    to_visit = [latest[asset] for asset in assets if asset in latest]
    while to_visit:
        at = to_visit.pop()
        if at not in known:
            known.add(at)
            to_visit += [source.record_id for source in by_id[at].inputs if source.record_id is not None]
    return tuple(record for record in records if record.record_id in known)
