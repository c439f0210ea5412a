"""Weeks of a schedule drawn with replacement: what if other weeks had come?

In:  schedules of the same jobs, configs/robustness.yaml.   Out: their measures, one a drawing.
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

    def measures(self, schedule: Schedule, config: MeasuresConfig) -> dict[str, FloatArray]:
        """Measure -> its values, shape (draws,); nothing where there are too few blocks.

        Of measures that are averages or percentiles over jobs. The schedule has the jobs the blocks are of.
        """
        if not self.is_enough:
            return {}
        ones = np.ones(len(schedule))
        bsld = bounded_slowdown(schedule.wait_s, schedule.runtime_s, config.tau_s)
        wait_s = schedule.wait_s.astype(np.float64)
        return {
            "mean_bsld": self.blocks.means(bsld, ones),
            "mean_wait_s": self.blocks.means(wait_s, ones),
            "starved_ratio": self.blocks.means((wait_s > config.starved_after_s).astype(np.float64), ones),
            "p95_bsld": self._percentiles(bsld),
            "p95_wait_s": self._percentiles(wait_s),
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
