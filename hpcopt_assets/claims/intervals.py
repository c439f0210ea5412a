"""Intervals of a difference, and how many comparisons are made at once.

In:  differences, one a replica or drawing.   Out: percentile intervals, p-values, levels.
Source: percentile interval: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3;
several comparisons: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
Statistics 6, 1979.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hpcopt_assets.measures.schedule import FloatArray


def interval(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Percentile interval of at least two values (linear interpolation).

    A tail finer than one value in `values` reaches to the outermost two of them and no further.
    """
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)


def p_value(changes: FloatArray, better: int) -> float:
    """The smallest level at which `interval` lies wholly on the better side of zero; at most 1.

    `better` is -1 where less is better. Two-sided: a level is spread over both tails. Zero is no improvement.
    """
    gains = np.sort(better * changes)
    worse = int(np.searchsorted(gains, 0.0, side="right"))
    if worse == gains.size:
        return 1.0  # nothing better, or nothing at all
    if worse == 0:
        return 0.0
    low, high = gains[worse - 1], gains[worse]  # zero lies between these two
    return min(1.0, 2 * float(worse - 1 - low / (high - low)) / (gains.size - 1))


def holm_levels(p_values: Mapping[str, float], level: float) -> dict[str, float]:
    """The level of each comparison, so that all together err no more often than `level`.

    In ascending order of p: level / m, level / (m - 1), ... for m comparisons; from the first whose p exceeds
    its level on, none is shown, and all have that one's.
    """
    levels: dict[str, float] = {}
    current, is_open = level, True
    for place, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        if is_open:
            current = level / (len(p_values) - place)
        is_open = is_open and p < current
        levels[name] = current
    return levels
