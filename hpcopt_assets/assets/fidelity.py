"""Asset of fidelity: is each replay like what was observed?"""

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.assets._inputs import by_policy, capacity_of, is_synthetic, replay_inputs, sized_jobs
from hpcopt_assets.contracts.tables import FIDELITY_VERDICTS
from hpcopt_assets.contracts.vocabulary import CapacitySource
from hpcopt_assets.fidelity.judge import judge_fidelity
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces


def fidelity_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The fidelity verdicts of a trace."""

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs),
        **declared(
            FIDELITY_VERDICTS,
            group="verdicts",
            rooms=("fidelity",),
            reads=(configs.fidelity, configs.objective.measures),
        ),
    )
    def fidelity_verdicts(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> pl.DataFrame:
        verdicts = judge_fidelity(
            trace_id=context.partition_key,
            trace_jobs=sized_jobs(trace_jobs, ingest_report),
            schedules=by_policy(configs, schedules),
            capacity=capacity_of(ingest_report),
            capacity_source=CapacitySource(ingest_report["capacity_source"].item()),
            config=configs.fidelity,
            measures=configs.objective.measures,
            is_synthetic=is_synthetic(ingest_report),
        )
        overall = verdicts.filter(pl.col("criterion") == "overall").select("policy", "verdict", "reason")
        context.add_output_metadata({"overall": dg.MetadataValue.md(markdown_table(overall))})
        return verdicts

    return [fidelity_verdicts]
