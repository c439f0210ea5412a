"""Three quantiles of every job, in order and within what a job may run.

In:  what the models predict, the jobs' limits.   Out: quantiles fit to be scored and served.
Source: rearrangement: Chernozhukov, Fernandez-Val and Galichon, Econometrica 78(3), 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import BoolArray, FloatArray


@dataclass(frozen=True)
class Quantiles:
    """p10 <= p50 <= p90 of each job, in [1 s, limit]; shape (jobs,) each. Made by `repaired` only."""

    p10_s: FloatArray
    p50_s: FloatArray
    p90_s: FloatArray

    def widened(self, p10_s: FloatArray, p90_s: FloatArray, limit_s: FloatArray) -> Quantiles:
        """The same medians between other tails, which are kept on their side of it."""
        return Quantiles(
            np.clip(np.minimum(p10_s, self.p50_s), SHORTEST_ESTIMATE_S, limit_s),
            self.p50_s,
            np.clip(np.maximum(p90_s, self.p50_s), SHORTEST_ESTIMATE_S, limit_s),
        )


def has_crossed(p10_s: FloatArray, p50_s: FloatArray, p90_s: FloatArray) -> BoolArray:
    """Whether predictions are out of order, as models fitted one by one leave them."""
    return (p10_s > p50_s) | (p50_s > p90_s)


def repaired(p10_s: FloatArray, p50_s: FloatArray, p90_s: FloatArray, limit_s: FloatArray) -> Quantiles:
    """Predictions in ascending order, then within [1 s, limit]."""
    ordered = np.sort(np.stack([p10_s, p50_s, p90_s]), axis=0)
    return Quantiles(*np.clip(ordered, SHORTEST_ESTIMATE_S, limit_s))
