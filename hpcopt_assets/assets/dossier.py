"""Asset of dossier: the document on one trace, with the lineage of its numbers."""

from datetime import UTC, datetime

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import OWNER
from hpcopt_assets.assets._inputs import by_policy, replay_inputs
from hpcopt_assets.dossier.evidence import TraceEvidence
from hpcopt_assets.dossier.files import write_dossier
from hpcopt_assets.dossier.trace import build_trace_dossier
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import ancestry, code_version, latest
from hpcopt_assets.orchestration.versions import environment


def dossier_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The dossier of a trace."""

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs),
        group_name="dossier",
        owners=[OWNER],
        kinds={"html", "markdown"},
        code_version=code_version(
            ("dossier", "plots"), (configs.policies, configs.objective, configs.fidelity)
        ),
        description="What was found on a trace, with its evidence and lineage: data/dossiers/<trace>/.",
    )
    def trace_dossier(
        context: dg.AssetExecutionContext,
        project: dg.ResourceParam[Project],
        trace_jobs: pl.DataFrame,
        trace_rejects: pl.DataFrame,
        ingest_report: pl.DataFrame,
        invariant_report: pl.DataFrame,
        replay_measures: pl.DataFrame,
        fidelity_verdicts: pl.DataFrame,
        claim_verdicts: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> dg.MaterializeResult[None]:
        trace_id = context.partition_key
        made = (latest(context.instance, key, trace_id) for key in context.assets_def.dependency_keys)
        dossier = build_trace_dossier(
            TraceEvidence(
                trace_id=trace_id,
                report=ingest_report,
                rejects=trace_rejects,
                jobs=trace_jobs,
                schedules=by_policy(configs, schedules),
                measures=replay_measures,
                invariants=invariant_report,
                fidelity=fidelity_verdicts,
                claims=claim_verdicts,
                policies=configs.policies,
                objective=configs.objective,
                fidelity_config=configs.fidelity,
                lineage=ancestry(context.instance, tuple(item for item in made if item is not None)),
                environment=environment(),
                generated_at=datetime.now(UTC),
            )
        )
        written = write_dossier(project.dossier_of(trace_id).parent, dossier)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(dossier.substance_sha256),
            metadata={
                "dagster/uri": dg.MetadataValue.path(str(written.html)),
                "markdown": dg.MetadataValue.path(str(written.markdown)),
            },
        )

    return [trace_dossier]
