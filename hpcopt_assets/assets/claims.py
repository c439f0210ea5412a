"""Asset of claims: is each candidate policy better than the baseline?"""

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.assets._inputs import by_policy, capacity_of, is_synthetic, replay_inputs
from hpcopt_assets.claims.judge import judge_claims
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces


def claims_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The claim verdicts of a trace."""

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs),
        **declared(
            CLAIM_VERDICTS, group="verdicts", rooms=("claims",), reads=(configs.objective, configs.policies)
        ),
    )
    def claim_verdicts(
        context: dg.AssetExecutionContext,
        ingest_report: pl.DataFrame,
        fidelity_verdicts: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> pl.DataFrame:
        verdicts = judge_claims(
            trace_id=context.partition_key,
            schedules=by_policy(configs, schedules),
            policies=configs.policies,
            capacity=capacity_of(ingest_report),
            fidelity=fidelity_verdicts,
            objective=configs.objective,
            is_synthetic=is_synthetic(ingest_report),
        )
        overall = verdicts.filter(pl.col("criterion") == "overall").select("policy", "outcome", "reason")
        context.add_output_metadata({"overall": dg.MetadataValue.md(markdown_table(overall))})
        return verdicts

    return [claim_verdicts]
