"""Assets of claims: is each candidate policy better than the baseline, and would it be on another day?"""

import os
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
from hpcopt_assets.claims.judge import Evidence, judge_claims
from hpcopt_assets.claims.replicas import shaken_measures as shake
from hpcopt_assets.claims.robustness import robustness as compare
from hpcopt_assets.contracts.robustness_tables import ROBUSTNESS, SHAKEN_MEASURES
from hpcopt_assets.contracts.tables import CLAIM_VERDICTS
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.simulate.shaken import ShakenReplayer

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
    """Shaken replicas of a trace, how robust each difference is, and the claim verdicts."""
    candidates = [policy for policy in configs.policies.policies if not policy.is_bound]
    # A bound is no candidate: nobody needs to know how surely it wins.
    objective, config = configs.objective, configs.robustness

    @dg.asset(
        name=SHAKEN_MEASURES.name,
        partitions_def=traces,
        ins=estimates_input(*candidates),
        **declared(
            SHAKEN_MEASURES,
            group="verdicts",
            rooms=("claims", "simulate"),
            reads=(config.shaking, objective.measures, *candidates),
            kinds=("numba",),
        ),
    )
    def shaken_measures(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        **forecasts: pl.DataFrame,
    ) -> pl.DataFrame:
        replays = ShakenReplayer(
            sized_jobs(trace_jobs, ingest_report),
            candidates,
            capacity_of(ingest_report),
            objective.measures,
            forecasts.get(ESTIMATES),
        )
        workers = len(os.sched_getaffinity(0)) if config.threads == "all" else config.threads
        with ThreadPoolExecutor(workers) as pool:
            return shake(
                trace_id=context.partition_key,
                replays=replays,
                policies=candidates,
                config=config.shaking,
                is_synthetic=is_synthetic(ingest_report),
                executor=pool,
                say=context.log.info,
            )

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
            schedules={policy.id: replayed[policy.id] for policy in candidates},
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
        ins=replay_inputs(configs),
        **declared(CLAIM_VERDICTS, group="verdicts", rooms=("claims",), reads=(objective, configs.policies)),
    )
    def claim_verdicts(
        context: dg.AssetExecutionContext,
        ingest_report: pl.DataFrame,
        fidelity_verdicts: pl.DataFrame,
        robustness: pl.DataFrame,
        estimate_accounting: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> pl.DataFrame:
        verdicts = judge_claims(
            trace_id=context.partition_key,
            schedules=by_policy(configs, schedules),
            policies=configs.policies,
            capacity=capacity_of(ingest_report),
            tables=Evidence(fidelity_verdicts, robustness, estimate_accounting),
            objective=objective,
            is_synthetic=is_synthetic(ingest_report),
        )
        overall = verdicts.filter(pl.col("criterion") == "overall").select("policy", "outcome", "reason")
        context.add_output_metadata({"overall": dg.MetadataValue.md(markdown_table(overall))})
        return verdicts

    return [shaken_measures, robustness, claim_verdicts]
