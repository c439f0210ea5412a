"""The rules without a model that a forecast must beat: each says one number, taken as the median.

In:  `Jobs`, a fold.   Out: seconds, one a job, within [1 s, limit].
Source: last two: Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007, section 3.1, as of submission.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from hpcopt_assets.contracts.forecast_words import Predictor
from hpcopt_assets.forecast.jobs import Jobs
from hpcopt_assets.forecast.splits import Fold
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import FloatArray


def baselines(jobs: Jobs, fold: Fold) -> dict[Predictor, FloatArray]:
    """What each rule says of every job, from what was known at its submission (when scoring began)."""
    known = fold.known(jobs)
    everybodys = float(np.median(jobs.target_s[known])) if known.any() else np.inf
    return {
        Predictor.REQUEST: jobs.limit_s,
        Predictor.GLOBAL_MEDIAN: np.clip(np.full(len(jobs), everybodys), SHORTEST_ESTIMATE_S, jobs.limit_s),
        Predictor.USER_MEDIAN: np.clip(
            jobs.features["user_median_s"].fill_null(everybodys).to_numpy(), SHORTEST_ESTIMATE_S, jobs.limit_s
        ),
        Predictor.TSAFRIR: last_two(jobs, "user_last2_mean_s"),
        Predictor.USER_REQUEST: last_two(jobs, "user_request_last2_mean_s", "user_last2_mean_s"),
    }


def last_two(jobs: Jobs, *chain: str) -> FloatArray:
    """The first mean of two that is known, in whole seconds; the limit where none is."""
    mean = jobs.features.select(pl.coalesce(chain).floor()).to_series().fill_null(np.inf).to_numpy()
    clipped: FloatArray = np.clip(mean, SHORTEST_ESTIMATE_S, jobs.limit_s)
    return clipped
