"""Moves p10 and p90 until as many runtimes lie outside as should: first once, then job by job.

In:  repaired quantiles and targets of the calibrate window; served jobs with the instants of their
     submission and end.   Out: `Quantiles` as served.
Not here: the models, whose medians stay as they are.
Source: split conformal with a tail each: Romano, Patterson and Candes, NeurIPS 2019, section 4; online:
adaptive conformal inference, Gibbs and Candes, NeurIPS 2021, equation 2.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from hpcopt_assets.contracts.vocabulary import Quantile
from hpcopt_assets.forecast.quantiles import Quantiles
from hpcopt_assets.measures.schedule import BoolArray, FloatArray, IntArray

MISS = Quantile.P10.level
# The share of runtimes that ought to lie below p10, and above p90.


@dataclass(frozen=True)
class Offsets:
    """How far, as a logarithm, targets of the calibrate window lay below p10, above p90; each ascending."""

    below: FloatArray
    above: FloatArray

    @classmethod
    def of(cls, quantiles: Quantiles, target_s: FloatArray) -> Offsets:
        """From the calibrate window; all arrays have one entry a job of it."""
        return cls(
            np.sort(np.log(quantiles.p10_s) - np.log(target_s)),
            np.sort(np.log(target_s) - np.log(quantiles.p90_s)),
        )


def offset(ascending: FloatArray, miss: float) -> float:
    """What a share `miss` of new scores will exceed; infinite where too few are known to tell."""
    rank = math.ceil((ascending.size + 1) * (1 - miss))
    if rank > ascending.size:
        return math.inf
    return float(ascending[rank - 1]) if rank > 0 else -math.inf


def split_only(quantiles: Quantiles, offsets: Offsets, limit_s: FloatArray) -> Quantiles:
    """Quantiles with the offsets of the calibrate window."""
    return quantiles.widened(
        quantiles.p10_s * math.exp(-offset(offsets.below, MISS)),
        quantiles.p90_s * math.exp(offset(offsets.above, MISS)),
        limit_s,
    )


@dataclass(frozen=True)
class Served:
    """The jobs that a fold serves, in trace order: arrays with one entry a job."""

    submit_s: IntArray
    end_s: IntArray
    is_completed: BoolArray
    target_s: FloatArray
    limit_s: FloatArray


def online(quantiles: Quantiles, offsets: Offsets, served: Served, rate: float) -> Quantiles:
    """Each job gets the offsets in force at its submission; each that ends moves them, by what it was served.

    A job that ended by an instant is known at it. A tail that was missed too often is aimed further out.
    """
    p10_s, p50_s, p90_s = (values.tolist() for values in (quantiles.p10_s, quantiles.p50_s, quantiles.p90_s))
    target_s, limit_s, end_s = served.target_s.tolist(), served.limit_s.tolist(), served.end_s.tolist()
    is_completed = served.is_completed.tolist()
    submit_s = served.submit_s.tolist()
    running: list[tuple[int, int]] = []
    below = above = MISS
    for job in np.argsort(served.submit_s, kind="stable").tolist():
        while running and running[0][0] <= submit_s[job]:
            _, ended = heapq.heappop(running)
            below += rate * (MISS - (target_s[ended] < p10_s[ended]))
            above += rate * (MISS - (target_s[ended] > p90_s[ended]))
        # Only the offset of this instant is looked up: most updates pass between two submissions.
        p10_s[job] = _clip(p10_s[job] * _exp(-offset(offsets.below, below)), 1.0, p50_s[job])
        p90_s[job] = _clip(p90_s[job] * _exp(offset(offsets.above, above)), p50_s[job], limit_s[job])
        if is_completed[job]:
            heapq.heappush(running, (end_s[job], job))
    return quantiles.widened(np.array(p10_s), np.array(p90_s), served.limit_s)


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _exp(value: float) -> float:
    return math.exp(value) if value < math.inf else math.inf
