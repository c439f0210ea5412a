"""Assets of fidelity: is each replay like what was observed, and which is closest to it?"""

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.assets._inputs import (
    ESTIMATES,
    by_policy,
    capacity_of,
    estimates_input,
    is_synthetic,
    replay_inputs,
    sized_jobs,
)
from hpcopt_assets.contracts.frozen import Frozen
from hpcopt_assets.contracts.tables import FIDELITY_VERDICTS, POLICY_CLOSENESS
from hpcopt_assets.contracts.vocabulary import WHOLE, CapacitySource
from hpcopt_assets.fidelity.closeness import rank_closeness
from hpcopt_assets.fidelity.judge import judge_fidelity
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.simulate.windows import WindowReplayer


def fidelity_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The fidelity verdicts of a trace, and its policies by closeness to the record."""
    policies = configs.policies.policies
    seeds = configs.fidelity.quarters.seeded_start
    # Only then are quarters replayed here, and only then do replays' code, policies and forecasts matter.
    rooms = ("fidelity", "simulate") if seeds else ("fidelity",)
    replayed: tuple[Frozen, ...] = policies if seeds else ()
    forecasts = estimates_input(*policies) if seeds else {}

    def seeded(
        jobs: pl.DataFrame, report: pl.DataFrame, estimates: pl.DataFrame | None
    ) -> WindowReplayer | None:
        return WindowReplayer(jobs, policies, capacity_of(report), estimates) if seeds else None

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs) | forecasts,
        **declared(
            FIDELITY_VERDICTS,
            group="verdicts",
            rooms=rooms,
            reads=(configs.fidelity, configs.objective.measures, *replayed),
        ),
    )
    def fidelity_verdicts(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        **inputs: pl.DataFrame,
    ) -> pl.DataFrame:
        jobs = sized_jobs(trace_jobs, ingest_report)
        verdicts = judge_fidelity(
            trace_id=context.partition_key,
            trace_jobs=jobs,
            schedules=by_policy(configs, inputs),
            capacity=capacity_of(ingest_report),
            capacity_source=CapacitySource(ingest_report["capacity_source"].item()),
            timezone=ingest_report["timezone"].item(),
            config=configs.fidelity,
            measures=configs.objective.measures,
            is_synthetic=is_synthetic(ingest_report),
            seeded=seeded(jobs, ingest_report, inputs.get(ESTIMATES)),
        )
        overall = verdicts.filter(period=WHOLE, criterion="overall").select("policy", "verdict", "reason")
        context.add_output_metadata({"overall": dg.MetadataValue.md(markdown_table(overall))})
        return verdicts

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs) | forecasts,
        **declared(
            POLICY_CLOSENESS,
            group="verdicts",
            rooms=rooms,
            reads=(configs.fidelity, configs.policies),
        ),
    )
    def policy_closeness(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        fidelity_verdicts: pl.DataFrame,
        **inputs: pl.DataFrame,
    ) -> pl.DataFrame:
        jobs = sized_jobs(trace_jobs, ingest_report)
        schedules = by_policy(configs, inputs)
        ranking = rank_closeness(
            trace_id=context.partition_key,
            trace_jobs=jobs,
            schedules={policy.id: schedules[policy.id] for policy in policies if not policy.is_bound},
            verdicts=fidelity_verdicts,
            timezone=ingest_report["timezone"].item(),
            config=configs.fidelity,
            seeded=seeded(jobs, ingest_report, inputs.get(ESTIMATES)),
        )
        shown = ranking.filter(period=WHOLE).select("rank", "policy", "distance", "fidelity", "reason")
        context.add_output_metadata({"closest": dg.MetadataValue.md(markdown_table(shown))})
        return ranking

    return [fidelity_verdicts, policy_closeness]
