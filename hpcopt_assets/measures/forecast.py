"""Formulas for forecasts of runtimes: losses of quantiles, and how often intervals hold.

In:  float64 arrays of equal length.   Out: arrays of the same length, one number a job.
Not here: averages and their intervals (bootstrap.py), who forecast what (forecast/).
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.measures.schedule import BoolArray, FloatArray


def pinball(actual: FloatArray, predicted: FloatArray, level: float) -> FloatArray:
    """Pinball loss of a quantile at `level`, in the unit of the values.

    Koenker and Bassett, Econometrica 46(1), 1978: level * (actual - predicted) where the actual value is
    larger, else (1 - level) * (predicted - actual). At level 0.5 it is half the absolute error.
    """
    error = actual - predicted
    return np.maximum(level * error, (level - 1) * error)


def log_pinball(actual: FloatArray, predicted: FloatArray, level: float) -> FloatArray:
    """Pinball loss of logarithms, in nats: what matters is by what factor a forecast is off. Values >= 1."""
    return pinball(np.log(actual), np.log(predicted), level)


def is_covered(actual: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Whether a value lies in the closed interval [low, high]."""
    return (low <= actual) & (actual <= high)
