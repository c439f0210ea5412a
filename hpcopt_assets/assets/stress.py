"""Assets of stress and sensitivity: would a claim hold on a harder trace, or had we decided otherwise?"""

from concurrent.futures import ThreadPoolExecutor

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.assets._inputs import (
    ACCOUNTING,
    ESTIMATES,
    accounting_input,
    capacity_of,
    estimates_input,
    sized_jobs,
)
from hpcopt_assets.claims.sensitivity import judge_sensitivity
from hpcopt_assets.claims.stress import StressJudge
from hpcopt_assets.contracts.forecast_tables import ESTIMATE_ACCOUNTING
from hpcopt_assets.contracts.stress_tables import SENSITIVITY, STRESS_REPLAYS
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.cores import cores
from hpcopt_assets.orchestration.files import write_drawings
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.plots.degradation import stress_figures
from hpcopt_assets.simulate.world import World, worlds
from hpcopt_assets.stress.cases import Stressed, cases

SHOWN = ("policy", "scenario", "severity", "p95_bsld_times", "stressed_gain_ratio", "verdict", "invariants")


def stress_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """Every candidate on stressed traces, and under other settings."""
    objective, candidates = configs.objective, configs.policies.candidates

    @dg.asset(
        partitions_def=traces,
        ins=estimates_input(*candidates),
        **declared(
            STRESS_REPLAYS,
            group="verdicts",
            rooms=("stress", "simulate", "claims", "plots"),
            reads=(configs.stress.scenarios, objective, *candidates),
            kinds=("numba", "svg"),
        ),
    )
    def stress_replays(
        context: dg.AssetExecutionContext,
        project: dg.ResourceParam[Project],
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        **forecasts: pl.DataFrame,
    ) -> pl.DataFrame:
        as_it_is = Stressed(
            sized_jobs(trace_jobs, ingest_report), capacity_of(ingest_report), forecasts.get(ESTIMATES)
        )

        with ThreadPoolExecutor(cores(configs.stress.threads)) as pool:
            judge: StressJudge[Stressed] = StressJudge(
                candidates,
                objective,
                lambda found: World(found.jobs, found.capacity, found.estimates).checked,
                pool,
            )
            made = cases(as_it_is.jobs, as_it_is.capacity, as_it_is.estimates, configs.stress.scenarios)
            found = judge.table(context.partition_key, as_it_is, made, context.log.info)
        severe = found.filter(pl.col("severity") == pl.col("severity").max()).select(SHOWN)
        folder = write_drawings(project.stress / context.partition_key, stress_figures(found))
        context.add_output_metadata(
            {
                "severe": dg.MetadataValue.md(markdown_table(severe)),
                "figures": dg.MetadataValue.path(str(folder)),
            }
        )
        return found

    @dg.asset(
        partitions_def=traces,
        ins=estimates_input(*candidates) | accounting_input(*candidates),
        **declared(
            SENSITIVITY,
            group="verdicts",
            rooms=("simulate", "claims"),
            reads=(configs.sensitivity.settings, objective, *candidates),
            kinds=("numba",),
        ),
    )
    def sensitivity(
        context: dg.AssetExecutionContext,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
        **forecasts: pl.DataFrame,
    ) -> pl.DataFrame:
        with ThreadPoolExecutor(cores(configs.sensitivity.threads)) as pool:
            found = judge_sensitivity(
                trace_id=context.partition_key,
                worlds=worlds(sized_jobs(trace_jobs, ingest_report), forecasts.get(ESTIMATES)),
                policies=candidates,
                capacity=capacity_of(ingest_report),
                accounting=forecasts.get(ACCOUNTING, ESTIMATE_ACCOUNTING.empty()),
                objective=objective,
                settings=configs.sensitivity.settings,
                executor=pool,
            )
        flipped = found.filter("has_flipped").select("policy", "varied", "setting", "verdict", "reason")
        context.add_output_metadata({"flipped": dg.MetadataValue.md(markdown_table(flipped))})
        return found

    return [stress_replays, sensitivity]
