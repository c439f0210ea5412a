"""Assets of dossier: the document on one trace, and the one over all, with the lineage of their numbers."""

from datetime import UTC, datetime

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import OWNER
from hpcopt_assets.assets._inputs import replay_key
from hpcopt_assets.contracts.lineage import ArtefactError
from hpcopt_assets.contracts.tables import RAW_TRACE
from hpcopt_assets.dossier.across import OF_PLACEMENT, OF_TRACES, AcrossEvidence
from hpcopt_assets.dossier.credibility import build_credibility_dossier
from hpcopt_assets.dossier.evidence import DECISIONS, READ, TraceEvidence, source_files
from hpcopt_assets.dossier.files import write_dossier
from hpcopt_assets.dossier.trace import build_trace_dossier
from hpcopt_assets.orchestration.artefacts import NEVER_MADE, changed_sources, gather
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import code_version
from hpcopt_assets.orchestration.versions import environment


def dossier_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The dossier of a trace.

    It reads its tables itself: one that is not what was recorded is an error that the dossier tells.
    """
    read = [
        *(dg.AssetKey(table.name) for table in READ),
        *(replay_key(policy_id) for policy_id in configs.policies.ids),
    ]
    decisions = (
        configs.policies,
        configs.objective,
        configs.fidelity,
        configs.robustness.shaking,
        configs.robustness.intervals,
        configs.forecast.splits,
        configs.forecast.model,
        configs.forecast.calibration,
        configs.forecast.scores,
        configs.forecast.importance,
        configs.stress.scenarios,
        configs.sensitivity.settings,
    )

    @dg.asset(
        partitions_def=traces,
        deps=read,
        group_name="dossier",
        owners=[OWNER],
        kinds={"html", "markdown", "json"},
        code_version=code_version(("dossier", "plots"), decisions),
        description="What was found on a trace, with its evidence and lineage: data/dossiers/<trace>/.",
    )
    def trace_dossier(
        context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]
    ) -> dg.MaterializeResult[None]:
        trace_id = context.partition_key
        found = gather(context.instance, project.store, read, trace_id)
        evidence = TraceEvidence(
            trace_id=trace_id,
            tables=found.tables,
            errors=(*found.errors, *_sources(project, found.tables, trace_id)),
            **{name: getattr(configs, name) for name in DECISIONS},
            lineage=found.lineage,
            environment=environment(),
            generated_at=datetime.now(UTC),
        )
        for error in evidence.errors:
            context.log.error(error.sentence)
        dossier = build_trace_dossier(evidence)
        written = write_dossier(project.dossier_of(trace_id).parent, dossier)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(dossier.substance_sha256),
            metadata={
                "dagster/uri": dg.MetadataValue.path(str(written.html)),
                "markdown": dg.MetadataValue.path(str(written.markdown)),
                "json": dg.MetadataValue.path(str(written.json)),
                "errors_count": len(evidence.errors),
            },
        )

    return [trace_dossier]


def credibility_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The dossier over all traces. It scans the store, so what it reads only draws its edges."""
    per_trace = [dg.AssetKey(table.name) for table in OF_TRACES]
    once = [dg.AssetKey(table.name) for table in OF_PLACEMENT]

    @dg.asset(
        deps=[*per_trace, *once, dg.AssetKey("trace_dossier")],
        group_name="publish",
        owners=[OWNER],
        kinds={"html", "markdown", "json"},
        code_version=code_version(
            ("dossier", "plots"),
            (configs.policies, configs.objective, configs.robustness.shaking, configs.robustness.intervals),
        ),
        description="What can be believed over all traces, and why: data/dossiers/credibility/.",
    )
    def credibility_dossier(
        context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]
    ) -> dg.MaterializeResult[None]:
        instance = context.instance
        known = sorted(instance.get_dynamic_partitions(traces.name or ""))
        found = {trace: gather(instance, project.store, per_trace, trace) for trace in known}
        placed = gather(instance, project.store, once, None)
        everything = [*found.values(), placed]
        problems = [error for each in everything for error in each.errors]
        for trace, each in found.items():
            problems += _sources(project, each.tables, trace)
        lineage = {item.record_id: item for each in everything for item in each.lineage}
        evidence = AcrossEvidence(
            traces=tuple(known),
            tables={trace: each.tables for trace, each in found.items()},
            placement=placed.tables,
            missing=tuple(error for error in problems if error.found == NEVER_MADE),
            errors=tuple(error for error in problems if error.found != NEVER_MADE),
            policies=configs.policies,
            objective=configs.objective,
            seeds={
                "shaken replicas": configs.robustness.shaking.seed,
                "weeks drawn anew": configs.robustness.intervals.seed,
            },
            sources={
                trace: source_files(each.tables[RAW_TRACE.name])
                for trace, each in found.items()
                if RAW_TRACE.name in each.tables
            },
            lineage=tuple(lineage[record_id] for record_id in sorted(lineage)),
            environment=environment(),
            generated_at=datetime.now(UTC),
        )
        for error in evidence.errors:
            context.log.error(error.sentence)
        dossier = build_credibility_dossier(evidence)
        written = write_dossier(project.credibility.parent, dossier)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(dossier.substance_sha256),
            metadata={
                "dagster/uri": dg.MetadataValue.path(str(written.html)),
                "traces_count": len(known),
                "missing_count": len(evidence.missing),
                "errors_count": len(evidence.errors),
            },
        )

    return [credibility_dossier]


def _sources(project: Project, tables: dict[str, pl.DataFrame], trace_id: str) -> list[ArtefactError]:
    """What is wrong with the raw files; nothing where no hash is known (an error already)."""
    known = tables.get(RAW_TRACE.name)
    return [] if known is None else changed_sources(project.raw, source_files(known), trace_id)
