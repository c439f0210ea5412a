"""A trace's dossier from tables that are at hand, as the asset makes it from those of the graph.

In:  tables by asset, configs, lineage, versions, an instant.   Out: `Dossier`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hpcopt_assets.contracts.bundle import REPLAY
from hpcopt_assets.contracts.config import FidelityConfig, ObjectiveConfig, PoliciesConfig

if TYPE_CHECKING:
    import polars as pl

    from hpcopt_assets.contracts.lineage import Materialization
    from hpcopt_assets.dossier.trace import Dossier

ASSET = "trace_dossier"


def render(
    trace_id: str,
    tables: Mapping[str, pl.DataFrame],
    configs: tuple[PoliciesConfig, ObjectiveConfig, FidelityConfig],
    lineage: tuple[Materialization, ...],
    environment: Mapping[str, str],
) -> Dossier:
    """The dossier of a trace, dated as the asset's; same input, same bytes.

    EvidenceError where the tables do not fit together.
    """
    from hpcopt_assets.dossier.evidence import TraceEvidence
    from hpcopt_assets.dossier.trace import build_trace_dossier

    policies, objective, fidelity = configs
    made_at_s = max(record.at_s for record in lineage if record.asset == ASSET)
    return build_trace_dossier(
        TraceEvidence(
            trace_id=trace_id,
            report=tables["ingest_report"],
            rejects=tables["trace_rejects"],
            jobs=tables["trace_jobs"],
            schedules={policy: tables[f"{REPLAY}/{policy}"] for policy in policies.ids},
            measures=tables["replay_measures"],
            invariants=tables["invariant_report"],
            fidelity=tables["fidelity_verdicts"],
            claims=tables["claim_verdicts"],
            policies=policies,
            objective=objective,
            fidelity_config=fidelity,
            lineage=lineage,
            environment=environment,
            generated_at=datetime.fromtimestamp(made_at_s, UTC),
        )
    )
