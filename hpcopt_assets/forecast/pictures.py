"""Figures of a trace's forecasts: do the quantiles hold, how large are the errors, where and when.

In:  `Jobs`, folds, `runtime_estimates`, `forecast_scores`.   Out: Drawings.
Not here: how a figure looks (plots/).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from hpcopt_assets.contracts.forecast_words import ForecastMeasure, Predictor, Quantile, Weighting
from hpcopt_assets.forecast.baselines import baselines
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.scores import ALL_FOLDS, ALL_SIZES
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.measures.schedule import FloatArray
from hpcopt_assets.plots.marks import Series, marked_lines
from hpcopt_assets.plots.style import Drawing

STRETCHES = 40
SHOWN = {
    Predictor.MODEL: "model",
    Predictor.USER_REQUEST: "last two of user and request",
    Predictor.TSAFRIR: "last two of user (Tsafrir)",
    Predictor.REQUEST: "request",
}
HOUR_S = 3600


def forecast_figures(
    jobs: Jobs, folds: Sequence[Fold], estimates: pl.DataFrame, scores: pl.DataFrame
) -> list[Drawing]:
    """Three figures; none where no fold was made, none by size where no size is known."""
    if not folds:
        return []
    has_sizes = (scores["band"] != ALL_SIZES).any()
    by_size = [_by_size(scores)] if has_sizes else []
    return [_fan(jobs, folds, estimates), *by_size, _over_time(jobs, folds, estimates)]


def _fan(jobs: Jobs, folds: Sequence[Fold], estimates: pl.DataFrame) -> Drawing:
    """The share of runtimes at or below each quantile, by fold."""
    below = {
        quantile: (jobs.target_s <= estimates[f"{quantile}_s"].to_numpy()).astype(np.float64)
        for quantile in Quantile
    }
    series = [
        Series(
            f"at or below {quantile}",
            np.array([below[quantile][fold.score(jobs)].mean() for fold in folds]),
        )
        for quantile in Quantile
    ]
    return marked_lines(
        series,
        places=[str(fold.fold) for fold in folds],
        file_name="calibration.svg",
        title="Do the quantiles hold? Share of runtimes at or below each, by fold",
        caption="Each mark: all jobs of a fold's score window, runtimes up to the request. Dotted: where the "
        "marks ought to be. A share above its line means forecasts that are too long.",
        x_label="fold, in order of time",
        y_label="share of jobs",
        targets=[quantile.level for quantile in Quantile],
        is_share=True,
    )


def _by_size(scores: pl.DataFrame) -> Drawing:
    """Mean absolute error by job size."""
    rows = scores.filter(
        (pl.col("fold") == ALL_FOLDS)
        & (pl.col("band") != ALL_SIZES)
        & (pl.col("weighting") == Weighting.JOB.value)
        & (pl.col("measure") == ForecastMeasure.MAE.value)
        & pl.col("versus").is_null()
    )
    bands = rows["band"].unique(maintain_order=True).to_list()

    def series(predictor: Predictor) -> Series:
        found = rows.filter(predictor=predictor.value)
        value, low, high = (
            found[name].fill_null(np.nan).to_numpy() / HOUR_S for name in ("value", "lower", "upper")
        )
        return Series(SHOWN[predictor], value, low, high)

    return marked_lines(
        [series(predictor) for predictor in SHOWN],
        places=bands,
        file_name="error_by_size.svg",
        title="How far off, by job size",
        caption="Mean absolute error of the median forecast over all score windows; vertical lines: 95 % "
        "intervals, days drawn with replacement.",
        x_label="processors",
        y_label="mean absolute error (h)",
    )


def _over_time(jobs: Jobs, folds: Sequence[Fold], estimates: pl.DataFrame) -> Drawing:
    """Mean absolute error in stretches of equally many jobs."""
    scored = np.logical_or.reduce([fold.score(jobs) for fold in folds])
    said: dict[Predictor, FloatArray] = {Predictor.MODEL: estimates["p50_s"].to_numpy()}
    rules = baselines(jobs, folds[0])
    said |= {predictor: rules[predictor] for predictor in SHOWN if predictor in rules}
    order = np.flatnonzero(scored)[np.argsort(jobs.submit_s[scored], kind="stable")]
    parts = np.array_split(order, min(STRETCHES, order.size))
    error = {name: np.abs(jobs.target_s - values) / HOUR_S for name, values in said.items()}
    return marked_lines(
        [Series(SHOWN[name], np.array([error[name][part].mean() for part in parts])) for name in SHOWN],
        places=np.array([jobs.submit_s[part].mean() for part in parts]),
        file_name="error_over_time.svg",
        title="How far off, over time",
        caption=f"Mean absolute error of the median forecast in {len(parts)} stretches of equally many jobs, "
        "all score windows.",
        x_label="time",
        y_label="mean absolute error (h)",
    )
