"""Assets of dossier: the document on one trace, and the one over all, with the lineage of their numbers."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import OWNER
from hpcopt_assets.assets._inputs import replay_key
from hpcopt_assets.assets.placement import BUNDLE_FILE, MODEL, MODEL_FILE
from hpcopt_assets.bundle.hiding import Hider, keyed
from hpcopt_assets.bundle.key import Pseudonyms, pseudonyms
from hpcopt_assets.contracts.identities import Holds, may_name
from hpcopt_assets.contracts.lineage import ArtefactError, Materialization
from hpcopt_assets.contracts.tables import RAW_TRACE, REPLAY_SCHEDULE, TABLES
from hpcopt_assets.dossier.across import OF_PLACEMENT, OF_TRACES, AcrossEvidence
from hpcopt_assets.dossier.credibility import build_credibility_dossier
from hpcopt_assets.dossier.evidence import DECISIONS, READ, TraceEvidence, source_files
from hpcopt_assets.dossier.files import DossierPaths, write_dossier
from hpcopt_assets.dossier.finished import Dossier
from hpcopt_assets.dossier.trace import build_trace_dossier
from hpcopt_assets.orchestration.artefacts import NEVER_MADE, Found, changed_files, changed_sources, gather
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.orchestration.provenance import code_version
from hpcopt_assets.orchestration.versions import environment

ROOMS = ("dossier", "plots", "bundle")
HASH = re.compile(r"\b[0-9a-f]{12}\b")
# As sentences on artefacts quote one.
Told = tuple[Dossier, tuple[ArtefactError, ...]]
# A dossier, and what is wrong with its evidence or was never made, names and all.


def dossier_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The dossier of a trace.

    It reads its tables itself: one that is not what was recorded is an error that the dossier tells.
    """
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
        deps=_read_of_a_trace(configs),
        group_name="dossier",
        owners=[OWNER],
        kinds={"html", "markdown", "json"},
        code_version=code_version(ROOMS, decisions),
        description="What was found on a trace, with its evidence and lineage: data/dossiers/<trace>/.",
    )
    def trace_dossier(
        context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]
    ) -> dg.MaterializeResult[None]:
        trace_id = context.partition_key
        dossier, errors = tell_trace(
            project, configs, context.instance, trace_id, datetime.now(UTC), pseudonyms(project.export_key)
        )
        for error in errors:
            context.log.error(error.sentence)
        written = write_dossier(project.dossier_of(trace_id).parent, dossier)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(dossier.substance_sha256),
            metadata=_paths(written) | {"errors_count": len(errors)},
        )

    return [trace_dossier]


def credibility_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The dossier over all traces. It scans the store, so what it reads only draws its edges."""

    @dg.asset(
        deps=[*(table.name for table in (*OF_TRACES, *OF_PLACEMENT)), "trace_dossier"],
        group_name="publish",
        owners=[OWNER],
        kinds={"html", "markdown", "json"},
        code_version=code_version(
            ROOMS,
            (configs.policies, configs.objective, configs.robustness.shaking, configs.robustness.intervals),
        ),
        description="What can be believed over all traces, and why: data/dossiers/credibility/.",
    )
    def credibility_dossier(
        context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]
    ) -> dg.MaterializeResult[None]:
        dossier, errors = tell_all(
            project, configs, context.instance, datetime.now(UTC), pseudonyms(project.export_key)
        )
        wrong = [error for error in errors if error.found != NEVER_MADE]
        for error in wrong:
            context.log.error(error.sentence)
        written = write_dossier(project.credibility.parent, dossier)
        return dg.MaterializeResult(
            data_version=dg.DataVersion(dossier.substance_sha256),
            metadata=_paths(written)
            | {
                "traces_count": len(known_partitions(context.instance)),
                "missing_count": len(errors) - len(wrong),
                "errors_count": len(wrong),
            },
        )

    return [credibility_dossier]


def _paths(written: DossierPaths) -> dict[str, dg.MetadataValue]:
    """Where the files are, for the asset's page."""
    return {
        "dagster/uri": dg.MetadataValue.path(str(written.html)),
        "markdown": dg.MetadataValue.path(str(written.markdown)),
        "json": dg.MetadataValue.path(str(written.json)),
    }


def tell_trace(
    project: Project,
    configs: Configs,
    instance: dg.DagsterInstance,
    trace_id: str,
    generated_at: datetime,
    hide: Pseudonyms | None,
) -> Told:
    """The dossier of a trace from its latest tables, with names as pseudonyms unless there are none."""
    found = gather(instance, project.store, _read_of_a_trace(configs), trace_id)
    errors = (*found.errors, *_wrong_sources(project, found, trace_id))
    tables, shown, lineage = _hidden(found, errors, hide)
    evidence = TraceEvidence(
        trace_id=trace_id,
        tables=tables,
        errors=shown,
        **{name: getattr(configs, name) for name in DECISIONS},
        lineage=lineage,
        environment=environment(),
        generated_at=generated_at,
    )
    return build_trace_dossier(evidence), errors


def tell_all(
    project: Project,
    configs: Configs,
    instance: dg.DagsterInstance,
    generated_at: datetime,
    hide: Pseudonyms | None,
) -> Told:
    """The dossier over all traces from whatever was made of each, with names as `tell_trace` has them."""
    known = known_partitions(instance)
    per_trace = [dg.AssetKey(table.name) for table in OF_TRACES]
    once = gather(instance, project.store, [dg.AssetKey(table.name) for table in OF_PLACEMENT], None)
    tables: dict[str, Mapping[str, pl.DataFrame]] = {}
    errors = [*once.errors, *_wrong_model(project, once)]
    shown = [*errors]
    lineage = {item.record_id: item for item in once.lineage}
    for trace_id in known:
        found = gather(instance, project.store, per_trace, trace_id)
        wrong = (*found.errors, *_wrong_sources(project, found, trace_id))
        tables[trace_id], told, line = _hidden(found, wrong, hide)
        errors += wrong
        shown += told
        lineage |= {item.record_id: item for item in line}
    evidence = AcrossEvidence(
        traces=known,
        tables=tables,
        placement=once.tables,
        missing=tuple(error for error in shown if error.found == NEVER_MADE),
        errors=tuple(error for error in shown if error.found != NEVER_MADE),
        policies=configs.policies,
        objective=configs.objective,
        seeds={
            "shaken replicas": configs.robustness.shaking.seed,
            "weeks drawn anew": configs.robustness.intervals.seed,
        },
        sources={
            trace_id: source_files(of_trace[RAW_TRACE.name])
            for trace_id, of_trace in tables.items()
            if RAW_TRACE.name in of_trace
        },
        lineage=tuple(lineage[record_id] for record_id in sorted(lineage)),
        environment=environment(),
        generated_at=generated_at,
    )
    return build_credibility_dossier(evidence), tuple(errors)


def known_partitions(instance: dg.DagsterInstance) -> tuple[str, ...]:
    """Every trace that was ever taken through the graph, in order."""
    return tuple(sorted(instance.get_dynamic_partitions(traces.name or "")))


def _read_of_a_trace(configs: Configs) -> list[dg.AssetKey]:
    """What the dossier of a trace reads."""
    tables = [dg.AssetKey(table.name) for table in READ]
    return [*tables, *(replay_key(policy_id) for policy_id in configs.policies.ids)]


def _wrong_sources(project: Project, found: Found, trace_id: str) -> tuple[ArtefactError, ...]:
    """What is wrong with the raw files; nothing where no hash is known (an error already)."""
    known = found.tables.get(RAW_TRACE.name)
    return () if known is None else tuple(changed_sources(project.raw, source_files(known), trace_id))


def _wrong_model(project: Project, found: Found) -> list[ArtefactError]:
    """What is wrong with the placement model that the scores are of."""
    made = [record for record in found.lineage if record.asset == MODEL.to_user_string()]
    files = [project.placement / name for name in (MODEL_FILE, BUNDLE_FILE)]
    return changed_files(made[-1], files) if made else []


def _hidden(
    found: Found, errors: tuple[ArtefactError, ...], hide: Pseudonyms | None
) -> tuple[Mapping[str, pl.DataFrame], tuple[ArtefactError, ...], tuple[Materialization, ...]]:
    """Tables, errors and lineage in which nobody is named, as they leave the site.

    The plain hash of a table with names goes, too: who has the rest of it could try names until it comes out.
    """
    if hide is None:
        return found.tables, errors, found.lineage
    hider = Hider.of_trace(hide, found.tables)
    tables = {
        asset: hider.table(TABLES.get(asset, REPLAY_SCHEDULE), table) for asset, table in found.tables.items()
    }
    known = found.tables.get(RAW_TRACE.name)
    files = set() if known is None else {file.source_file for file in source_files(known)}

    def names(asset: str) -> bool:
        if asset in tables:
            return not tables[asset].equals(found.tables[asset])
        return asset in TABLES and may_name(TABLES[asset])

    plain = {record.data_version or "" for record in found.lineage if not names(record.asset)}
    told = tuple(
        replace(error, asset=hide.of(Holds.FILE, error.asset))
        if error.asset in files
        else _without_hashes(error)
        if names(error.asset)
        else error
        for error in errors
    )
    return tables, told, keyed(found.lineage, plain, hide.mark)


def _without_hashes(error: ArtefactError) -> ArtefactError:
    found, needed = (HASH.sub("(keyed)", text) for text in (error.found, error.needed))
    return replace(error, found=found, needed=needed)
