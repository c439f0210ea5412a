"""Asset of claims: is each candidate policy better than the baseline?"""

from concurrent.futures import ThreadPoolExecutor

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
from hpcopt_assets.claims.judge import judge_claims
from hpcopt_assets.claims.robustness import robustness_of
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.simulate.shaken import ShakenReplayer


def claims_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """How robust each difference of a trace is, and its claim verdicts."""
    shaken = [policy for policy in configs.policies.policies if not policy.is_bound]
    # A bound is no candidate: nobody needs to know how surely it wins.

    @dg.asset(
        name=ROBUSTNESS.name,
        partitions_def=traces,
        ins=replay_inputs(configs) | estimates_input(*shaken),
        **declared(
            ROBUSTNESS,
            group="verdicts",
            rooms=("claims", "simulate"),
            reads=(configs.robustness.decisions, configs.objective.measures, *shaken),
            kinds=("numba",),
        ),
    )
    def robustness_of_trace(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        **inputs: pl.DataFrame,
    ) -> pl.DataFrame:
        replays = ShakenReplayer(
            sized_jobs(trace_jobs, ingest_report),
            shaken,
            capacity_of(ingest_report),
            configs.objective.measures,
            inputs.get(ESTIMATES),
        )
        replayed = by_policy(configs, inputs)
        with ThreadPoolExecutor(configs.robustness.threads) as pool:
            found = robustness_of(
                trace_id=context.partition_key,
                replays=replays,
                policies=shaken,
                schedules={policy.id: replayed[policy.id] for policy in shaken},
                capacity=capacity_of(ingest_report),
                objective=configs.objective,
                config=configs.robustness,
                is_synthetic=is_synthetic(ingest_report),
                executor=pool,
                say=context.log.info,
            )
        shown = found.filter(pl.col("measure") == configs.objective.claims.primary)
        context.add_output_metadata({"primary": dg.MetadataValue.md(markdown_table(shown.drop("trace_id")))})
        return found

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
        robustness: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> pl.DataFrame:
        verdicts = judge_claims(
            trace_id=context.partition_key,
            schedules=by_policy(configs, schedules),
            policies=configs.policies,
            capacity=capacity_of(ingest_report),
            fidelity=fidelity_verdicts,
            robustness=robustness,
            objective=configs.objective,
            is_synthetic=is_synthetic(ingest_report),
        )
        overall = verdicts.filter(pl.col("criterion") == "overall").select("policy", "outcome", "reason")
        context.add_output_metadata({"overall": dg.MetadataValue.md(markdown_table(overall))})
        return verdicts

    return [robustness_of_trace, claim_verdicts]
