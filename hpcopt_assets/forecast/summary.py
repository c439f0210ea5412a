"""What is shown first of a trace's forecasts: a few rows of long tables.

In:  runtime_importance, runtime_estimates, forecast_scores.   Out: small frames.
"""

from __future__ import annotations

import polars as pl

from hpcopt_assets.contracts.forecast_words import ForecastMeasure, Predictor, Quantile, Weighting
from hpcopt_assets.forecast.scores import ALL_FOLDS, ALL_SIZES

M = ForecastMeasure
FEATURES_SHOWN = 15


def overview(scores: pl.DataFrame) -> pl.DataFrame:
    """One row a predictor over all score windows, the smallest error first: errors, coverage, difference.

    `better_by_s` is how much smaller the model's mean absolute error is, with the ends of its interval.
    """
    whole = scores.filter((pl.col("fold") == ALL_FOLDS) & (pl.col("band") == ALL_SIZES))

    def column(name: str, measure: M, weighting: Weighting) -> pl.DataFrame:
        rows = whole.filter(pl.col("versus").is_null(), measure=measure.value, weighting=weighting.value)
        return rows.select("predictor", pl.col("value").alias(name))

    loss = whole.filter(
        pl.col("versus").is_not_null(),
        predictor=Predictor.MODEL.value,
        measure=M.PINBALL_P50.value,
        weighting=Weighting.JOB.value,
    )
    better = loss.select(
        pl.col("versus").alias("predictor"),
        better_by_s=-2 * pl.col("value"),
        better_by_low_s=-2 * pl.col("upper"),
        better_by_high_s=-2 * pl.col("lower"),
    )
    # The absolute error is twice the median's pinball loss.
    return (
        column("mae_by_job_s", M.MAE, Weighting.JOB)
        .join(column("mae_by_user_day_s", M.MAE, Weighting.USER_DAY), on="predictor")
        .join(column("coverage_ratio", M.COVERAGE_CAPPED, Weighting.JOB), on="predictor", how="left")
        .join(better, on="predictor", how="left")
        .filter(pl.col("predictor") != Predictor.MODEL_SPLIT_ONLY.value)
        .sort("mae_by_job_s")
    )


def differences(scores: pl.DataFrame) -> pl.DataFrame:
    """Over all score windows: the model's losses less those of each rule, both weightings."""
    chosen = (pl.col("fold") == ALL_FOLDS) & (pl.col("band") == ALL_SIZES) & pl.col("versus").is_not_null()
    return (
        scores.filter(chosen, measure=M.PINBALL_P50.value)
        .select("weighting", "predictor", "versus", "value", "lower", "upper", "unit", "note")
        .sort("weighting", "predictor", "value")
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
