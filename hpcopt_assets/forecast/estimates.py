"""The forecast of every job, made before it came: by its fold's model, else by what else was known.

In:  `Jobs`, folds, `runtime_model`, configs/forecast.yaml.   Out: `runtime_estimates`.
Not here: what a policy makes of an estimate (simulate/).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from hpcopt_assets.contracts.forecast_config import CalibrationConfig
from hpcopt_assets.contracts.forecast_tables import RUNTIME_ESTIMATES
from hpcopt_assets.contracts.forecast_words import Inputs, Quantile
from hpcopt_assets.contracts.vocabulary import EstimateSource
from hpcopt_assets.forecast.baselines import last_two
from hpcopt_assets.forecast.conformal import Offsets, Online, Served, split_only
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.models import Predictors
from hpcopt_assets.forecast.quantiles import Quantiles, has_crossed, repaired
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import BoolArray

HISTORY_JOBS = 2


def runtime_estimates(
    jobs: Jobs, folds: Sequence[Fold], models: pl.DataFrame, config: CalibrationConfig
) -> pl.DataFrame:
    """One row a job in trace order. Jobs that no fold serves fall back, and their `source` says on what."""
    predictors = Predictors(models)
    columns = _fallen_back(jobs)
    calibration = Online(config.rate)
    for fold in folds:
        for name, values in _served(jobs, fold, predictors, calibration).items():
            columns[name][fold.serve(jobs)] = values
    columns["source"] = np.array(EstimateSource.words())[columns["source"]]
    return RUNTIME_ESTIMATES.shape(
        jobs.features.select("trace_id", "job_id", "attempt", "submit_s").with_columns(
            pl.Series(name, values, nan_to_null=True) for name, values in columns.items()
        )
    )


def _fallen_back(jobs: Jobs) -> dict[str, npt.NDArray[Any]]:
    """The user's last two jobs, else the request, else what stands in for it.

    Without a model nothing is known of a lower tail, and of the upper only that the request bounds it.
    """
    has_history = (jobs.features["user_count"] >= HISTORY_JOBS).fill_null(False).to_numpy()
    said = last_two(jobs, "user_last2_mean_s")
    source = np.where(
        has_history,
        EstimateSource.HISTORY.code,
        np.where(jobs.has_request, EstimateSource.REQUEST.code, EstimateSource.FALLBACK.code),
    )
    nothing = np.full(len(jobs), np.nan)
    return {
        "p10_s": said,
        "p50_s": said.copy(),
        "p90_s": jobs.limit_s.copy(),
        "source": source,
        "fold": nothing,
        "split_p10_s": nothing.copy(),
        "split_p90_s": nothing.copy(),
        "queue_state_p50_s": nothing.copy(),
        "has_crossed": nothing.copy(),
    }


def _served(jobs: Jobs, fold: Fold, predictors: Predictors, calibration: Online) -> dict[str, Any]:
    """The columns of the jobs that a fold serves."""
    served, calibrate = fold.serve(jobs), fold.calibrate(jobs)
    rows = served | calibrate
    raw = [predictors.seconds(jobs, fold.fold, Inputs.REPLAY, quantile, rows) for quantile in Quantile]

    def of(rows: BoolArray) -> Quantiles:
        p10_s, p50_s, p90_s = (values[rows] for values in raw)
        return repaired(p10_s, p50_s, p90_s, jobs.limit_s[rows])

    offsets = Offsets.of(of(calibrate), jobs.target_s[calibrate])
    quantiles, limit_s = of(served), jobs.limit_s[served]
    split = split_only(quantiles, offsets, limit_s)
    final = calibration.serve(
        quantiles,
        offsets,
        Served(
            jobs.submit_s[served],
            jobs.end_s[served],
            jobs.is_completed[served],
            jobs.target_s[served],
            limit_s,
        ),
    )
    seen = predictors.seconds(jobs, fold.fold, Inputs.QUEUE_STATE, Quantile.P50, served)[served]
    return {
        "p10_s": final.p10_s,
        "p50_s": final.p50_s,
        "p90_s": final.p90_s,
        "source": EstimateSource.MODEL.code,
        "fold": fold.fold,
        "split_p10_s": split.p10_s,
        "split_p90_s": split.p90_s,
        "queue_state_p50_s": np.clip(seen, SHORTEST_ESTIMATE_S, limit_s),
        "has_crossed": has_crossed(*(values[served] for values in raw)),
    }
