"""Asset of profile: what kind of workload is this?"""

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.assets._inputs import capacity_of, sized_jobs
from hpcopt_assets.contracts.tables import TRACE_PROFILE
from hpcopt_assets.contracts.vocabulary import Unit
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.files import write_drawings
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project
from hpcopt_assets.profile.pictures import profile_figures, profile_sparklines
from hpcopt_assets.profile.summary import topic_tables
from hpcopt_assets.profile.trace import profile_trace


def profile_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """The profile of a trace, with its figures in data/profiles/<trace>/."""

    @dg.asset(
        partitions_def=traces,
        **declared(
            TRACE_PROFILE,
            group="profile",
            rooms=("profile", "plots"),
            reads=(configs.profile,),
            kinds=("polars", "svg"),
        ),
    )
    def trace_profile(
        context: dg.AssetExecutionContext,
        project: dg.ResourceParam[Project],
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
    ) -> pl.DataFrame:
        jobs, unit = sized_jobs(trace_jobs, ingest_report), Unit(ingest_report["capacity_unit"].item())
        profile = profile_trace(
            jobs,
            trace_id=context.partition_key,
            capacity=None if ingest_report["capacity_procs"].item() is None else capacity_of(ingest_report),
            timezone=ingest_report["timezone"].item(),
            config=configs.profile,
            unit=unit,
        )
        figures = write_drawings(
            project.profiles / context.partition_key, profile_figures(jobs, profile, unit=unit)
        )
        tables = {name: markdown_table(table) for name, table in topic_tables(profile).items()}
        sparklines = profile_sparklines(jobs, profile)
        shown = {name: dg.MetadataValue.md(text) for name, text in (sparklines | tables).items()}
        context.add_output_metadata(shown | {"figures": dg.MetadataValue.path(str(figures))})
        return profile

    return [trace_profile]
