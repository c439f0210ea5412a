"""What was forecast of a small trace, made by hand: folds, models, scores.

In:  nothing.   Out: frames within their contracts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from hpcopt_assets.contracts.forecast_tables import (
    ESTIMATE_ACCOUNTING,
    FEATURE_SPLITS,
    FORECAST_SCORES,
    RUNTIME_IMPORTANCE,
    RUNTIME_MODEL,
)
from hpcopt_assets_tests.dossier.made import START_S, rows

SPLIT_TIMES = ("stopping_from_s", "cutoff_s", "score_from_s", "score_until_s")


def forecasts() -> dict[str, pl.DataFrame]:
    """Splits, models, importance, scores and accounts of a log on which one fold could be made."""
    window = {name: START_S + 1000 * i for i, name in enumerate(SPLIT_TIMES)}
    counts = {"fit_jobs_count": 30, "calibrate_jobs_count": 10, "score_jobs_count": 20}
    splits = [
        window | counts | {"fold": 1, "is_made": True, "note": None},
        window | counts | {"fold": 2, "is_made": False, "note": "3 jobs had ended, 1,000 needed"},
    ]
    model = {
        "fold": 1,
        "inputs": "replay",
        "quantile": "p50",
        "rounds_count": 40,
        "fit_jobs_count": 30,
        "stopping_loss": 0.25,
        "parity_ratio": 1e-7,
        "sha256": "d" * 64,
        "features": ["procs", "limit_s"],
        "onnx": b"onnx",
    }
    importance = [
        {"fold": 1, "quantile": "p50", "feature": name, "gain_ratio": gain, "permutation_loss_s": loss}
        for name, gain, loss in (("limit_s", 0.7, 321.5), ("procs", 0.3, 12.5))
    ]
    return {
        "splits": rows(FEATURE_SPLITS, splits),
        "model": rows(RUNTIME_MODEL, [model]),
        "importance": rows(RUNTIME_IMPORTANCE, importance),
        "scores": rows(FORECAST_SCORES, _scores()),
        "accounting": ESTIMATE_ACCOUNTING.empty(),
    }


def _scores() -> Iterable[dict[str, Any]]:
    shared = {
        "fold": 0, "band": "all", "weighting": "job", "versus": None, "unit": "s",
        "lower": None, "upper": None, "jobs_count": 20, "note": None,
    }  # fmt: skip
    for predictor, error in (("model", 1800.0), ("request", 7200.0), ("user_request", 3600.0)):
        yield shared | {"predictor": predictor, "measure": "mae", "value": error}
    yield shared | {
        "predictor": "model", "measure": "coverage_capped", "value": 0.8125, "unit": "ratio",
    }  # fmt: skip
    yield shared | {
        "predictor": "model", "measure": "pinball_p50", "versus": "request",
        "value": -2700.0, "lower": -3000.0, "upper": -2000.0, "note": "largest: a day",
    }  # fmt: skip
