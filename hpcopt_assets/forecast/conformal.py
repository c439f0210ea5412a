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

from hpcopt_assets.contracts.forecast_words import Quantile
from hpcopt_assets.forecast.quantiles import Quantiles
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
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


class Online:
    """Adaptive conformal inference over all folds of a trace, one after the other.

    A job gets the offsets in force at its submission. Each that ends, served by any fold, moves the share
    that each tail is aimed to miss, by what it was served: a tail missed too often is aimed further out.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._below = self._above = MISS
        self._running: list[tuple[int, int, bool, bool]] = []
        # Instant of the end, a number that orders equals, and whether the job ended below p10, above p90.
        self._count = 0

    def serve(self, quantiles: Quantiles, offsets: Offsets, served: Served) -> Quantiles:
        """The quantiles of a fold's jobs with the offsets in force when each was submitted."""
        p10_s, p90_s = quantiles.p10_s.tolist(), quantiles.p90_s.tolist()
        p50_s, limit_s = quantiles.p50_s.tolist(), served.limit_s.tolist()
        submit_s, end_s, target_s = served.submit_s.tolist(), served.end_s.tolist(), served.target_s.tolist()
        for job in np.argsort(served.submit_s, kind="stable").tolist():
            self._learn(submit_s[job])
            low = p10_s[job] * _exp(-offset(offsets.below, self._below))
            high = p90_s[job] * _exp(offset(offsets.above, self._above))
            p10_s[job] = max(min(low, p50_s[job]), SHORTEST_ESTIMATE_S)
            p90_s[job] = min(max(high, p50_s[job]), limit_s[job])
            if served.is_completed[job]:
                self._count += 1
                missed = (target_s[job] < p10_s[job], target_s[job] > p90_s[job])
                heapq.heappush(self._running, (end_s[job], self._count, *missed))
        return quantiles.widened(np.array(p10_s), np.array(p90_s), served.limit_s)

    def _learn(self, now_s: int) -> None:
        """Jobs that ended at or before an instant are known at it."""
        while self._running and self._running[0][0] <= now_s:
            _, _, is_below, is_above = heapq.heappop(self._running)
            self._below += self._rate * (MISS - is_below)
            self._above += self._rate * (MISS - is_above)


def _exp(value: float) -> float:
    return math.exp(value) if value < math.inf else math.inf
