"""How heavy a tail is: does the chance of a value beyond x fall like a power of x, and of which?

In:  values.   Out: the tail index with its interval, p99 over median; None where there is no such tail.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hpcopt_assets.measures.schedule import FloatArray, IntArray

NORMAL_95 = 1.959963984540054
# 97.5 % point of the standard normal distribution: two-sided intervals of 95 %.


class TailIndex(NamedTuple):
    """P(X > x) ~ x^-alpha, its 95 % interval, and the number of largest values it was estimated on.

    At alpha <= 2 the variance of such a tail is infinite, at alpha <= 1 its mean.
    """

    alpha: float
    lower: float
    upper: float
    tail_count: int


def hill_index(values: FloatArray, tail_count: int) -> TailIndex | None:
    """Hill's estimator on the k = `tail_count` largest of n > k values: k / sum of ln(x_i / x_(n-k)).

    The interval is alpha (1 -+ 1.96 / sqrt(k)), for the estimator is asymptotically normal with standard
    deviation alpha / sqrt(k) if the tail is a power law and values are independent. None where k is not in
    [1, n), the (k+1)th largest value is not positive, or the k largest equal it. Hill, Annals of Statistics
    3(5), 1975; Hall, Journal of the Royal Statistical Society B 44(1), 1982.
    """
    if not 1 <= tail_count < values.size:
        return None
    largest = np.partition(values, values.size - tail_count - 1)[-tail_count - 1 :]
    threshold = float(largest.min())
    if threshold <= 0.0:
        return None
    logs = float(np.log(largest / threshold).sum())
    if logs == 0.0:
        return None
    alpha = tail_count / logs
    half = alpha * NORMAL_95 / math.sqrt(tail_count)
    return TailIndex(alpha, alpha - half, alpha + half, tail_count)


def tail_ratio(values: FloatArray | IntArray) -> float | None:
    """99th percentile over median (linear interpolation); None without values, or where the median is 0."""
    if values.size == 0:
        return None
    median, high = np.percentile(values, [50, 99])
    return float(high / median) if median > 0 else None
