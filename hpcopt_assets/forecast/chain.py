"""The whole of a trace's forecasts in one call, for those who do not run the graph.

In:  job_features, trace_jobs, the time zone, configs/forecast.yaml.   Out: `Forecasts`.
Not here: any step (the modules beside this one); the graph's assets call the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from hpcopt_assets.contracts.forecast_config import ForecastConfig
from hpcopt_assets.contracts.forecast_words import Inputs
from hpcopt_assets.forecast.estimates import runtime_estimates
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.models import fit_models
from hpcopt_assets.forecast.pictures import forecast_figures
from hpcopt_assets.forecast.scores import forecast_scores
from hpcopt_assets.forecast.splits import feature_splits, made_folds
from hpcopt_assets.forecast.summary import overview
from hpcopt_assets.plots.style import Drawing


@dataclass(frozen=True)
class Forecasts:
    """Tables by name (contracts/forecast_tables.py), and figures."""

    tables: dict[str, pl.DataFrame]
    figures: list[Drawing]

    @property
    def overview(self) -> pl.DataFrame:
        """The scores that are shown first."""
        return overview(self.tables["forecast_scores"])

    @property
    def latest_models(self) -> dict[str, bytes]:
        """ONNX of the last fold's quantiles, by their names: what is then repaired and calibrated."""
        return latest_models(self.tables["runtime_model"])


def latest_models(runtime_model: pl.DataFrame) -> dict[str, bytes]:
    """ONNX of the last fold's quantiles, by their names; nothing where no fold was made."""
    replayed = runtime_model.filter(inputs=Inputs.REPLAY.value)
    last = replayed.filter(pl.col("fold") == pl.col("fold").max())
    return dict(last.select("quantile", "onnx").iter_rows())


def forecast_trace(
    features: pl.DataFrame,
    trace_jobs: pl.DataFrame,
    timezone: str | None,
    config: ForecastConfig,
    say: Callable[[str], None] = lambda _: None,
) -> Forecasts:
    """Folds, models, estimates, scores and figures of a trace."""
    jobs = Jobs.of(features, trace_jobs, timezone)
    trace_id = features["trace_id"][0] if features.height else ""
    splits = feature_splits(trace_id, jobs, config.splits)
    folds = made_folds(splits)
    models, importance = fit_models(trace_id, jobs, folds, config, say)
    estimates = runtime_estimates(jobs, folds, models, config.calibration)
    scores = forecast_scores(trace_id, jobs, folds, estimates, config.scores)
    return Forecasts(
        {
            "feature_splits": splits,
            "runtime_model": models,
            "runtime_importance": importance,
            "runtime_estimates": estimates,
            "forecast_scores": scores,
        },
        forecast_figures(jobs, folds, estimates, scores),
    )
