"""Step functions weighed by how long they hold each value.

In:  `Steps`.   Out: means over stretches of time, quantiles over time.
"""

from __future__ import annotations

import numpy as np

from hpcopt_assets.measures.schedule import FloatArray, IntArray
from hpcopt_assets.measures.usage import Steps


def means_between(series: Steps, edges_s: IntArray) -> FloatArray:
    """Mean of the step function over each [edges_s[i], edges_s[i+1]); `edges_s` strictly increasing."""
    inside = series.at_s[(series.at_s > edges_s[0]) & (series.at_s < edges_s[-1])]
    at = np.sort(np.concatenate([inside, edges_s]))  # an instant that stands twice lasts no time between
    area = series.sample(at[:-1]) * np.diff(at).astype(np.float64)
    return np.add.reduceat(area, np.searchsorted(at, edges_s[:-1])) / np.diff(edges_s)


def quantiles_over_time(series: Steps, ratios: FloatArray) -> IntArray | None:
    """For each ratio, the least value that is not exceeded for that share of the time; None for no time.

    The time is that between the function's first and last change.
    """
    held = np.diff(series.at_s)
    if held.size == 0:
        return None
    values = series.values[:-1]
    order = np.argsort(values, kind="stable")
    until = np.cumsum(held[order].astype(np.float64))
    # The last value's own time ends at until[-1]: rounding of ratio * total must not step past it.
    index = np.minimum(np.searchsorted(until, ratios * until[-1], side="left"), held.size - 1)
    found: IntArray = values[order][index]
    return found
