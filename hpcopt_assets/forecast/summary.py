"""What is shown first of a trace's forecasts: a few rows of long tables.

In:  runtime_importance, runtime_estimates, forecast_scores.   Out: small frames.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.vocabulary import ForecastMeasure, Quantile
from hpcopt_assets.forecast.scores import ALL_FOLDS, ALL_SIZES

M = ForecastMeasure
FEATURES_SHOWN = 15


def headline(scores: pl.DataFrame) -> pl.DataFrame:
    """Over all score windows: losses by predictor, coverage, differences to the rules, both weightings."""
    shown = pl.col("measure").is_in([M.PINBALL_P50.value, M.MAE.value, M.COVERAGE_CAPPED.value])
    return (
        scores.filter((pl.col("fold") == ALL_FOLDS) & (pl.col("band") == ALL_SIZES) & shown)
        .select("weighting", "predictor", "versus", "measure", "value", "lower", "upper", "unit", "note")
        .sort("weighting", "measure", pl.col("versus").is_not_null(), "value")
    )


def sources(estimates: pl.DataFrame) -> pl.DataFrame:
    """How many jobs each source forecast."""
    counted = estimates["source"].value_counts(sort=True, name="jobs_count")
    return counted.with_columns(ratio=pl.col("jobs_count") / estimates.height)


def most_important(importance: pl.DataFrame) -> pl.DataFrame:
    """The features without which the median would be worst, as means over folds."""
    return (
        importance.filter(quantile=Quantile.P50.value)
        .group_by("feature")
        .agg(pl.col("permutation_loss_s", "gain_ratio").mean(), folds=pl.len())
        .sort("permutation_loss_s", "feature", descending=[True, False])
        .head(FEATURES_SHOWN)
    )
