"""Assets of claims: is each candidate policy better than the baseline, and would it be on another day?"""

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.assets._inputs import (
    ACCOUNTING,
    accounting_input,
    by_policy,
    capacity_of,
    is_synthetic,
    replay_inputs,
)
from hpcopt_assets.claims.judge import Evidence, judge_claims
from hpcopt_assets.claims.recommendation import recommend
from hpcopt_assets.claims.robustness import robustness as compare
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING
from hpcopt_assets.contracts.recommendation_tables import RECOMMENDATION
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces

SHOWN = (
    "policy",
    "time_window",
    "difference",
    "lower",
    "upper",
    "block_lower",
    "block_upper",
    "improved_ratio",
)


def claims_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """How robust each difference of a trace is, its claim verdicts, and what follows from them."""
    objective, config = configs.objective, configs.robustness

    @dg.asset(
        name=ROBUSTNESS.name,
        partitions_def=traces,
        ins=replay_inputs(configs),
        **declared(ROBUSTNESS, group="verdicts", rooms=("claims",), reads=(config.intervals, objective)),
    )
    def robustness(
        context: dg.AssetExecutionContext,
        ingest_report: pl.DataFrame,
        shaken_measures: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> pl.DataFrame:
        replayed = by_policy(configs, schedules)
        found = compare(
            trace_id=context.partition_key,
            shaken=shaken_measures,
            schedules={policy.id: replayed[policy.id] for policy in configs.policies.candidates},
            capacity=capacity_of(ingest_report),
            objective=objective,
            config=config.intervals,
        )
        shown = found.filter(
            pl.col("measure") == objective.claims.primary, pl.col("time_window") != Window.SELECTION.value
        )
        context.add_output_metadata({"primary": dg.MetadataValue.md(markdown_table(shown.select(SHOWN)))})
        return found

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs) | accounting_input(*configs.policies.policies),
        **declared(CLAIM_VERDICTS, group="verdicts", rooms=("claims",), reads=(objective, configs.policies)),
    )
    def claim_verdicts(
        context: dg.AssetExecutionContext,
        ingest_report: pl.DataFrame,
        fidelity_verdicts: pl.DataFrame,
        robustness: pl.DataFrame,
        **inputs: pl.DataFrame,
    ) -> pl.DataFrame:
        verdicts = judge_claims(
            trace_id=context.partition_key,
            schedules=by_policy(configs, inputs),
            policies=configs.policies,
            capacity=capacity_of(ingest_report),
            tables=Evidence(
                fidelity_verdicts, robustness, inputs.get(ACCOUNTING, ESTIMATE_ACCOUNTING.empty())
            ),
            objective=objective,
            is_synthetic=is_synthetic(ingest_report),
        )
        overall = verdicts.filter(pl.col("criterion") == "overall").select("policy", "outcome", "reason")
        context.add_output_metadata({"overall": dg.MetadataValue.md(markdown_table(overall))})
        return verdicts

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs),
        **declared(
            RECOMMENDATION,
            group="verdicts",
            rooms=("claims",),
            reads=(objective, configs.policies, configs.forecast.scores.bands),
        ),
    )
    def recommendation(
        context: dg.AssetExecutionContext,
        ingest_report: pl.DataFrame,
        replay_measures: pl.DataFrame,
        claim_verdicts: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> pl.DataFrame:
        found = recommend(
            trace_id=context.partition_key,
            policies=configs.policies.candidates,
            claims=claim_verdicts,
            measured=replay_measures,
            schedules=by_policy(configs, schedules),
            capacity=capacity_of(ingest_report),
            objective=objective,
            procs_bands=configs.forecast.scores.procs_bands,
            is_synthetic=is_synthetic(ingest_report),
        )
        shown = found.select("policy", "outcome", "is_recommended", "is_on_front", "dominated_by", "reason")
        context.add_output_metadata({"recommended": dg.MetadataValue.md(markdown_table(shown))})
        return found

    return [robustness, claim_verdicts, recommendation]
