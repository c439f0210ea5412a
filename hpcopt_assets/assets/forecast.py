"""Assets of forecast: folds, models, estimates and their scores."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import polars as pl

from hpcopt_assets.assets._declare import declared
from hpcopt_assets.contracts.columns import Table
from hpcopt_assets.contracts.forecast_tables import (
    FEATURE_SPLITS,
    FORECAST_SCORES,
    RUNTIME_ESTIMATES,
    RUNTIME_IMPORTANCE,
    RUNTIME_MODEL,
)
from hpcopt_assets.contracts.frozen import Frozen
from hpcopt_assets.forecast.estimates import runtime_estimates as estimates_of
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.models import fit_models
from hpcopt_assets.forecast.pictures import forecast_figures
from hpcopt_assets.forecast.scores import forecast_scores as scores_of
from hpcopt_assets.forecast.splits import feature_splits as splits_of
from hpcopt_assets.forecast.splits import made_folds
from hpcopt_assets.forecast.summary import differences, most_important, overview, sources
from hpcopt_assets.orchestration.configs import Configs
from hpcopt_assets.orchestration.files import write_drawings
from hpcopt_assets.orchestration.io import markdown_table
from hpcopt_assets.orchestration.partitions import traces
from hpcopt_assets.orchestration.project import Project


def forecast_assets(configs: Configs) -> list[dg.AssetsDefinition]:
    """From features to scored forecasts, with figures in data/forecasts/<trace>/."""
    config = configs.forecast

    def made(table: Table, *reads: Frozen, kinds: tuple[str, ...] = ("numpy",)) -> dict[str, Any]:
        return declared(table, group="forecast", rooms=("forecast",), reads=reads, kinds=kinds)

    def jobs_of(features: pl.DataFrame, trace_jobs: pl.DataFrame, ingest_report: pl.DataFrame) -> Jobs:
        return Jobs.of(features, trace_jobs, ingest_report["timezone"].item())

    @dg.asset(partitions_def=traces, **made(FEATURE_SPLITS, config.splits))
    def feature_splits(
        context: dg.AssetExecutionContext,
        job_features: pl.DataFrame,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
    ) -> pl.DataFrame:
        jobs = jobs_of(job_features, trace_jobs, ingest_report)
        return splits_of(context.partition_key, jobs, config.splits)

    @dg.multi_asset(
        name="fit_runtime_model",
        partitions_def=traces,
        outs={
            RUNTIME_MODEL.name: dg.AssetOut(**made(RUNTIME_MODEL, config.model, kinds=("lightgbm", "onnx"))),
            RUNTIME_IMPORTANCE.name: dg.AssetOut(
                **made(RUNTIME_IMPORTANCE, config.model, config.importance, kinds=("lightgbm",))
            ),
        },
    )
    def runtime_model(
        context: dg.AssetExecutionContext,
        job_features: pl.DataFrame,
        feature_splits: pl.DataFrame,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        jobs = jobs_of(job_features, trace_jobs, ingest_report)
        models, importance = fit_models(
            context.partition_key, jobs, made_folds(feature_splits), config, context.log.info
        )
        parity: Any = models["parity_ratio"].max()
        yield dg.Output(models, RUNTIME_MODEL.name, metadata={"largest_parity_ratio": parity})
        shown = {"most_important": dg.MetadataValue.md(markdown_table(most_important(importance)))}
        yield dg.Output(importance, RUNTIME_IMPORTANCE.name, metadata=shown)

    @dg.asset(partitions_def=traces, **made(RUNTIME_ESTIMATES, config.calibration, kinds=("onnx",)))
    def runtime_estimates(
        context: dg.AssetExecutionContext,
        job_features: pl.DataFrame,
        feature_splits: pl.DataFrame,
        runtime_model: pl.DataFrame,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
    ) -> pl.DataFrame:
        jobs = jobs_of(job_features, trace_jobs, ingest_report)
        estimates = estimates_of(jobs, made_folds(feature_splits), runtime_model, config.calibration)
        context.add_output_metadata({"sources": dg.MetadataValue.md(markdown_table(sources(estimates)))})
        return estimates

    @dg.asset(partitions_def=traces, **made(FORECAST_SCORES, config.scores, kinds=("svg",)))
    def forecast_scores(
        context: dg.AssetExecutionContext,
        project: dg.ResourceParam[Project],
        job_features: pl.DataFrame,
        feature_splits: pl.DataFrame,
        runtime_estimates: pl.DataFrame,
        trace_jobs: pl.DataFrame,
        ingest_report: pl.DataFrame,
    ) -> pl.DataFrame:
        jobs, folds = jobs_of(job_features, trace_jobs, ingest_report), made_folds(feature_splits)
        scores = scores_of(context.partition_key, jobs, folds, runtime_estimates, config.scores)
        figures = forecast_figures(jobs, folds, runtime_estimates, scores)
        folder = write_drawings(project.forecasts / context.partition_key, figures)
        context.add_output_metadata(
            {
                "overview": dg.MetadataValue.md(markdown_table(overview(scores))),
                "differences": dg.MetadataValue.md(markdown_table(differences(scores))),
                "figures": dg.MetadataValue.path(str(folder)),
            }
        )
        return scores

    return [feature_splits, runtime_model, runtime_estimates, forecast_scores]
