"""Asset of features: what a scheduler knew of each job when it was submitted."""

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.assets._inputs import sized_jobs
from hpcopt_assets.contracts.forecast_tables import JOB_FEATURES
from hpcopt_assets.features.jobs import job_features as features_of
from hpcopt_assets.orchestration.partitions import traces


def features_assets() -> list[dg.AssetsDefinition]:
    """The features of a trace's jobs."""

    @dg.asset(
        partitions_def=traces,
        **declared(JOB_FEATURES, group="forecast", rooms=("features",), kinds=("numpy",)),
    )
    def job_features(trace_jobs: pl.DataFrame, ingest_report: pl.DataFrame) -> pl.DataFrame:
        return features_of(sized_jobs(trace_jobs, ingest_report), ingest_report["timezone"].item())

    return [job_features]
