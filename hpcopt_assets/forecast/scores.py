"""Scores: how good the forecasts were that were served, beside rules without a model.

In:  `Jobs`, folds, `runtime_estimates`, configs/forecast.yaml.   Out: `forecast_scores`.
Not here: the formulas (measures/forecast.py) and the drawing of days (measures/bootstrap.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from hpcopt_assets.contracts.forecast_config import ScoresConfig
from hpcopt_assets.contracts.forecast_tables import FORECAST_SCORES
from hpcopt_assets.contracts.forecast_words import ForecastMeasure, Predictor, Quantile, Weighting
from hpcopt_assets.forecast.baselines import baselines
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.measures.bootstrap import Blocks
from hpcopt_assets.measures.forecast import is_covered, log_pinball, pinball
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import BoolArray, FloatArray
from hpcopt_assets.measures.sizes import band_names

M = ForecastMeasure
ALL_FOLDS, ALL_SIZES = 0, "all"
UNIT = {
    M.PINBALL_P10: "s",
    M.PINBALL_P50: "s",
    M.PINBALL_P90: "s",
    M.LOG_PINBALL_P10: "nats",
    M.LOG_PINBALL_P50: "nats",
    M.LOG_PINBALL_P90: "nats",
    M.MAE: "s",
    M.MEDIAN_AE: "s",
    M.UNDER_PREDICTION: "ratio",
    M.COVERAGE_RUNTIME: "ratio",
    M.COVERAGE_CAPPED: "ratio",
    M.WIDTH: "s",
    M.CROSSED_BEFORE_REPAIR: "ratio",
}
COMPARED = (M.PINBALL_P50, M.LOG_PINBALL_P50)
# The absolute error is twice the median's pinball loss: its differences say nothing more.


@dataclass(frozen=True)
class Said:
    """What a predictor said of every job of the trace, in seconds; NaN where it said nothing."""

    p50_s: FloatArray
    p10_s: FloatArray | None = None
    p90_s: FloatArray | None = None
    has_crossed: FloatArray | None = None


def forecast_scores(
    trace_id: str, jobs: Jobs, folds: Sequence[Fold], estimates: pl.DataFrame, config: ScoresConfig
) -> pl.DataFrame:
    """Every predictor and measure, by fold, size and weighting; differences to every baseline.

    Scored are the numbers that were served, on jobs whose runtime the log tells, against min(runtime, limit);
    `coverage_runtime` against the runtime itself. No fold, no rows.
    """
    if not folds:
        return FORECAST_SCORES.empty()
    said = _said(jobs, folds, estimates)
    rows: list[dict[str, object]] = []
    for fold, band, chosen in _parts(jobs, folds, config):
        part = _Part(jobs, chosen, config)
        for weighting in Weighting:
            named = {"trace_id": trace_id, "fold": fold, "band": band, "weighting": weighting}
            rows.extend(named | row for row in _scored(part, said, weighting))
    return FORECAST_SCORES.shape(pl.DataFrame(rows, schema=FORECAST_SCORES.polars_schema()))


def _said(jobs: Jobs, folds: Sequence[Fold], estimates: pl.DataFrame) -> dict[Predictor, Said]:
    """Everyone's forecasts; a rule that needs a fold's past is asked fold by fold."""

    def column(name: str) -> FloatArray:
        return estimates[name].cast(pl.Float64).fill_null(np.nan).to_numpy()

    rules = {name: np.full(len(jobs), np.nan) for name in Predictor if name.is_baseline}
    for fold in folds:
        served = fold.serve(jobs)
        for name, values in baselines(jobs, fold).items():
            rules[name][served] = values[served]
    p50_s = column("p50_s")
    return {
        Predictor.MODEL: Said(p50_s, column("p10_s"), column("p90_s"), column("has_crossed")),
        Predictor.MODEL_SPLIT_ONLY: Said(p50_s, column("split_p10_s"), column("split_p90_s")),
        Predictor.MODEL_QUEUE_STATE: Said(column("queue_state_p50_s")),
        **{name: Said(values) for name, values in rules.items()},
    }


def _parts(jobs: Jobs, folds: Sequence[Fold], config: ScoresConfig) -> Iterator[tuple[int, str, BoolArray]]:
    """Which jobs are averaged: all, each fold's, each size's."""
    everything = np.logical_or.reduce([fold.score(jobs) for fold in folds])
    yield ALL_FOLDS, ALL_SIZES, everything
    for fold in folds:
        yield fold.fold, ALL_SIZES, fold.score(jobs)
    procs = jobs.features["procs"].fill_null(np.nan).to_numpy()
    low = 0.0
    for name, high in zip(band_names(config.procs_bands), (*config.procs_bands, np.inf), strict=True):
        chosen = everything & (procs > low) & (procs <= high)
        if chosen.any():
            yield ALL_FOLDS, name, chosen
        low = high


class _Part:
    """The jobs that are averaged together, with their weights and days."""

    def __init__(self, jobs: Jobs, chosen: BoolArray, config: ScoresConfig) -> None:
        self.chosen, self.config = chosen, config
        self.target_s = jobs.target_s[chosen]
        self.runtime_s = np.maximum(jobs.runtime_s[chosen], SHORTEST_ESTIMATE_S)
        # As the target: nobody forecasts less than a second.
        self.day, self.user_day = jobs.day[chosen], jobs.user_day[chosen]
        self.user = jobs.user[chosen]

    @cached_property
    def blocks(self) -> Blocks:
        return Blocks.draw(self.day, self.config.replicas, self.config.seed)

    def weight(self, weighting: Weighting) -> FloatArray:
        """One a job, or one a user and day together."""
        if weighting is Weighting.JOB:
            return np.ones(self.target_s.size)
        weights: FloatArray = 1.0 / np.bincount(self.user_day)[self.user_day]
        return weights

    def mean(self, values: FloatArray, weight: FloatArray) -> dict[str, object]:
        """Value and interval of a weighted mean."""
        ends: tuple[float | None, float | None] = (None, None)
        if self.blocks.count >= self.config.min_days:
            ends = self.blocks.interval(values, weight, self.config.confidence)
        value = float(np.average(values, weights=weight))
        return {"value": value, "lower": ends[0], "upper": ends[1], "jobs_count": int(values.size)}


def _scored(part: _Part, said: dict[Predictor, Said], weighting: Weighting) -> Iterator[dict[str, object]]:
    weight = part.weight(weighting)
    losses: dict[tuple[Predictor, ForecastMeasure], FloatArray] = {}
    for predictor, forecast in said.items():
        for measure, values in _losses(part, forecast):
            losses[predictor, measure] = values
            found = part.mean(values, weight)
            if measure is M.MEDIAN_AE:
                found = {"value": _weighted_median(values, weight), "jobs_count": found["jobs_count"]}
            yield {"predictor": predictor, "measure": measure, "unit": UNIT[measure], **found}
    for predictor in (Predictor.MODEL, Predictor.MODEL_QUEUE_STATE):
        rivals = [name for name in said if name.is_baseline]
        if predictor is Predictor.MODEL_QUEUE_STATE:
            rivals = [Predictor.MODEL]
        for rival in rivals:
            for measure in COMPARED:
                difference = losses[predictor, measure] - losses[rival, measure]
                yield {
                    "predictor": predictor,
                    "measure": measure,
                    "versus": rival,
                    "unit": UNIT[measure],
                    "note": _dominant(part, difference) if weighting is Weighting.JOB else None,
                    **part.mean(difference, weight),
                }


def _losses(part: _Part, said: Said) -> Iterator[tuple[ForecastMeasure, FloatArray]]:
    """Every measure that a forecast can be given, one number a job."""
    target_s, p50_s = part.target_s, said.p50_s[part.chosen]
    error = np.abs(target_s - p50_s)
    yield M.PINBALL_P50, pinball(target_s, p50_s, Quantile.P50.level)
    yield M.LOG_PINBALL_P50, log_pinball(target_s, p50_s, Quantile.P50.level)
    yield M.MAE, error
    yield M.MEDIAN_AE, error
    yield M.UNDER_PREDICTION, (p50_s < target_s).astype(np.float64)
    if said.p10_s is None or said.p90_s is None:
        return
    p10_s, p90_s = said.p10_s[part.chosen], said.p90_s[part.chosen]
    for measure, loss, values, level in (
        (M.PINBALL_P10, pinball, p10_s, Quantile.P10.level),
        (M.PINBALL_P90, pinball, p90_s, Quantile.P90.level),
        (M.LOG_PINBALL_P10, log_pinball, p10_s, Quantile.P10.level),
        (M.LOG_PINBALL_P90, log_pinball, p90_s, Quantile.P90.level),
    ):
        yield measure, loss(target_s, values, level)
    yield M.COVERAGE_CAPPED, is_covered(target_s, p10_s, p90_s).astype(np.float64)
    yield M.COVERAGE_RUNTIME, is_covered(part.runtime_s, p10_s, p90_s).astype(np.float64)
    yield M.WIDTH, p90_s - p10_s
    if said.has_crossed is not None:
        yield M.CROSSED_BEFORE_REPAIR, said.has_crossed[part.chosen]


def _weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """The smallest value with half of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def _dominant(part: _Part, difference: FloatArray) -> str | None:
    """Which user's day adds most to a mean difference, and what the mean is without it."""
    summed = np.bincount(part.user_day, difference)
    counts = np.bincount(part.user_day)
    largest = int(np.abs(summed).argmax())
    rest = difference.size - int(counts[largest])
    if not rest or not summed[largest]:
        return None
    one = int(np.flatnonzero(part.user_day == largest)[0])
    without = (difference.sum() - summed[largest]) / rest
    day = np.datetime64(int(part.day[one]), "D")
    return (
        f"largest share: user {part.user[one]} on {day}, {counts[largest]:,} jobs, "
        f"{summed[largest] / difference.size:+.4g} of the mean; without them {without:+.4g}"
    )
