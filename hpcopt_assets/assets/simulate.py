"""Assets of simulate: replay/<policy>, one a policy, and what is read off them."""

from concurrent.futures import ThreadPoolExecutor
from typing import cast

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.assets._inputs import (
    ESTIMATES,
    OF_POLICY,
    by_policy,
    capacity_of,
    estimates_input,
    is_synthetic,
    replay_inputs,
    replay_key,
    sized_jobs,
)
from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING
from hpcopt_assets.contracts.robustness_tables import SHAKEN_MEASURES
from hpcopt_assets.contracts.tables import INVARIANT_REPORT, REPLAY_MEASURES, REPLAY_SCHEDULE
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.table import measure_all
from hpcopt_assets.measures.usage import queued_jobs
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.cores import cores
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.plots.sparkline import sparkline_markdown
from hpcopt_assets.simulate.accounting import account_estimates
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.replicas import shaken_measures as shake
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets.simulate.shaken import ShakenReplayer

SPARK_POINTS = 40


def _replay_asset(policy: Policy, *, is_strict: bool) -> dg.AssetsDefinition:
    made = declared(REPLAY_SCHEDULE, group="replay", rooms=("simulate",), reads=(policy,), kinds={"numba"})

    @dg.asset(
        key=replay_key(policy.id),
        partitions_def=traces,
        ins=estimates_input(policy),
        **(made | {"description": policy.means}),
    )
    def replayed(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        **forecasts: pl.DataFrame,
    ) -> pl.DataFrame:
        capacity = capacity_of(ingest_report)
        scenario = Scenario(capacity_steps=capacity.steps)
        result = replay(
            sized_jobs(trace_jobs, ingest_report),
            policy,
            capacity.procs,
            scenario,
            estimates=forecasts.get(ESTIMATES),
            is_strict=is_strict,
        )
        series = queued_jobs(Schedule.of(result.schedule)).evenly(SPARK_POINTS).tolist()
        context.add_output_metadata(
            {
                "queue_length": dg.MetadataValue.md(
                    sparkline_markdown(series, "jobs in the queue over time")
                ),
                **{f"left_out_{reason}": count for reason, count in result.left_out.items()},
                **{f"estimate_from_{source}": count for source, count in result.estimate_sources.items()},
            }
        )
        return result.schedule

    return cast("dg.AssetsDefinition", replayed)  # the decorator's type is lost with **made


def simulate_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """One replay a policy, the rules that all keep, their measures, shaken too, and what they rest on."""
    candidates = configs.policies.candidates
    forecasting = [policy for policy in configs.policies.policies if policy.is_forecasting]

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs) | estimates_input(*configs.policies.policies),
        **declared(INVARIANT_REPORT, group="replay", rooms=("simulate",), reads=(configs.policies,)),
    )
    def invariant_report(
        trace_jobs: pl.DataFrame, ingest_report: pl.DataFrame, **inputs: pl.DataFrame
    ) -> pl.DataFrame:
        capacity = capacity_of(ingest_report)
        sized = sized_jobs(trace_jobs, ingest_report)
        replayed = by_policy(configs, inputs)
        return pl.concat(
            check_schedule(sized, replayed[policy.id], policy, capacity, inputs.get(ESTIMATES))
            for policy in configs.policies.policies
        )

    @dg.asset(
        partitions_def=traces,
        ins=replay_inputs(configs),
        **declared(REPLAY_MEASURES, group="replay", rooms=(), reads=(configs.objective.measures,)),
    )
    def replay_measures(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> pl.DataFrame:
        measured = measure_all(
            trace_id=context.partition_key,
            trace_jobs=sized_jobs(trace_jobs, ingest_report),
            schedules=by_policy(configs, schedules),
            capacity=capacity_of(ingest_report),
            config=configs.objective.measures,
        )
        shown = measured.select("policy", "time_window", "p95_bsld", "mean_wait_s", "utilisation_ratio")
        context.add_output_metadata({"measures": dg.MetadataValue.md(markdown_table(shown))})
        return measured

    @dg.asset(
        partitions_def=traces,
        ins={f"{OF_POLICY}{policy.id}": dg.AssetIn(replay_key(policy.id)) for policy in forecasting},
        **declared(
            ESTIMATE_ACCOUNTING,
            group="replay",
            rooms=("simulate",),
            reads=(configs.objective.measures, *forecasting),
            kinds=("numba",),
        ),
    )
    def estimate_accounting(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        runtime_estimates: pl.DataFrame,
        **schedules: pl.DataFrame,
    ) -> pl.DataFrame:
        accounted = account_estimates(
            sized_jobs(trace_jobs, ingest_report),
            {configs.policy(name.removeprefix(OF_POLICY)): frame for name, frame in schedules.items()},
            runtime_estimates,
            capacity_of(ingest_report),
            configs.objective.measures,
        )
        context.add_output_metadata({"accounting": dg.MetadataValue.md(markdown_table(accounted))})
        return accounted

    @dg.asset(
        name=SHAKEN_MEASURES.name,
        partitions_def=traces,
        ins=estimates_input(*candidates),
        **declared(
            SHAKEN_MEASURES,
            group="replay",
            rooms=("simulate",),
            reads=(configs.robustness.shaking, configs.objective.measures, *candidates),
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
            configs.objective.measures,
            forecasts.get(ESTIMATES),
        )
        with ThreadPoolExecutor(cores(configs.robustness.threads)) as pool:
            return shake(
                trace_id=context.partition_key,
                replays=replays,
                policies=candidates,
                config=configs.robustness.shaking,
                is_synthetic=is_synthetic(ingest_report),
                executor=pool,
                say=context.log.info,
            )

    return [
        *(_replay_asset(policy, is_strict=configs.policies.strict) for policy in configs.policies.policies),
        invariant_report,
        replay_measures,
        estimate_accounting,
        shaken_measures,
    ]
