"""Intervals of averages whose members hang together in blocks (jobs of a day, days of a week).

In:  values with weights, the block of each.   Out: the average and an interval.
Source: blocks drawn with replacement: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section
8.6; percentile interval: section 13.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcopt_assets.measures.schedule import FloatArray, IntArray


@dataclass(frozen=True)
class Blocks:
    """How often each block is drawn in each replica, shape (replicas, blocks); `of`: each member's block.

    One drawing serves all averages over the same members: their intervals are then paired.
    """

    of: IntArray
    draws: FloatArray

    @classmethod
    def draw(cls, block: IntArray, replicas: int, seed: int) -> Blocks:
        """Draw as many blocks as there are, `replicas` times. `block` numbers them in any way."""
        _, of = np.unique(block, return_inverse=True)
        count = int(of.max()) + 1 if of.size else 0
        random = np.random.default_rng(seed)
        draws = random.multinomial(count, np.full(count, 1 / count), size=replicas) if count else None
        return cls(of, np.empty((replicas, 0)) if draws is None else draws.astype(np.float64))

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return int(self.draws.shape[1])

    def means(self, values: FloatArray, weight: FloatArray) -> FloatArray:
        """Weighted mean of the values in every replica, shape (replicas,); NaN where nothing was drawn."""
        summed = np.bincount(self.of, values * weight, minlength=self.count)
        weighed = np.bincount(self.of, weight, minlength=self.count)
        with np.errstate(invalid="ignore"):
            means: FloatArray = (self.draws @ summed) / (self.draws @ weighed)
        return means

    def interval(self, values: FloatArray, weight: FloatArray, confidence: float) -> tuple[float, float]:
        """Percentile interval of the weighted mean."""
        tail = 100 * (1 - confidence) / 2
        low, high = np.nanpercentile(self.means(values, weight), [tail, 100 - tail])
        return float(low), float(high)
