"""Weeks of a schedule drawn with replacement: what if other weeks had come?

In:  two schedules of the same jobs, configs/robustness.yaml.   Out: differences of measures, one a drawing.
Not here: shaking, which changes the jobs (shaking.py).
Source: blocks drawn with replacement: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section
8.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcopt_assets.contracts.config import MeasuresConfig
from hpcopt_assets.contracts.robustness_config import BlocksConfig
from hpcopt_assets.measures.bootstrap import Blocks
from hpcopt_assets.measures.schedule import FloatArray, Schedule
from hpcopt_assets.measures.slowdown import bounded_slowdown

SECONDS_PER_DAY = 86_400


@dataclass(frozen=True)
class Weeks:
    """Blocks of releases; `is_enough` where there are so many that drawing them says something."""

    blocks: Blocks
    is_enough: bool

    @classmethod
    def of(cls, schedule: Schedule, config: BlocksConfig, seed: int) -> Weeks:
        """The blocks in which the jobs of a schedule were released, counted from the first."""
        first_s = int(schedule.release_s.min(initial=2**62))
        block = (schedule.release_s - first_s) // (config.days * SECONDS_PER_DAY)
        blocks = Blocks.draw(block, config.draws, seed)
        return cls(blocks, blocks.count >= config.min_blocks)

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return self.blocks.count

    def differences(self, one: Schedule, other: Schedule, config: MeasuresConfig) -> dict[str, FloatArray]:
        """Measure -> differences, shape (draws,); of measures that are averages or percentiles over jobs."""
        if not self.is_enough:
            return {}
        ones = np.ones(len(one))
        slow, base = (bounded_slowdown(each.wait_s, each.runtime_s, config.tau_s) for each in (one, other))
        waits = [each.wait_s.astype(np.float64) for each in (one, other)]
        starved = [(wait > config.starved_after_s).astype(np.float64) for wait in waits]
        return {
            "mean_bsld": self.blocks.means(slow, ones) - self.blocks.means(base, ones),
            "mean_wait_s": self.blocks.means(waits[0], ones) - self.blocks.means(waits[1], ones),
            "starved_ratio": self.blocks.means(starved[0], ones) - self.blocks.means(starved[1], ones),
            "p95_bsld": self._percentiles(slow) - self._percentiles(base),
            "p95_wait_s": self._percentiles(waits[0]) - self._percentiles(waits[1]),
        }

    def _percentiles(self, values: FloatArray, level: float = 0.95) -> FloatArray:
        """The smallest value with that share of the drawn jobs at or below it, in every drawing."""
        order = np.argsort(values, kind="stable")
        of, ascending = self.blocks.of[order], values[order]
        found = np.empty(self.blocks.draws.shape[0])
        for row, draws in enumerate(self.blocks.draws):
            reached = np.cumsum(draws[of])
            found[row] = ascending[np.searchsorted(reached, level * reached[-1])]
        return found
