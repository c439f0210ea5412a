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
from hpcopt_assets.contracts.robustness_config import IntervalsConfig
from hpcopt_assets.measures.bootstrap import Blocks
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.fairness import jain_index
from hpcopt_assets.measures.over_time import means_between
from hpcopt_assets.measures.schedule import NO_USER, BoolArray, FloatArray, IntArray, Schedule
from hpcopt_assets.measures.slowdown import bounded_slowdown
from hpcopt_assets.measures.usage import usage
from hpcopt_assets.measures.window import Span

SECONDS_PER_DAY = 86_400
TOP = 4
# Percentiles are looked for among this many times as many of the largest values as lie above them as a rule.


@dataclass(frozen=True)
class Weeks:
    """Blocks of days in which jobs were released; `spans` are theirs, ascending.

    `is_enough` where there are so many that drawing them says something.
    """

    blocks: Blocks
    spans: tuple[Span, ...]
    is_enough: bool

    @classmethod
    def of(cls, release_s: IntArray, within: Span, config: IntervalsConfig) -> Weeks:
        """The blocks of jobs released within a span, counted from its start; the last may be short."""
        length_s = config.block_days * SECONDS_PER_DAY
        block = (release_s - within.start_s) // length_s
        blocks = Blocks.draw(block, config.draws, config.seed)
        starts = [within.start_s + int(number) * length_s for number in np.unique(block)]
        spans = tuple(Span(start_s, min(start_s + length_s, within.end_s)) for start_s in starts)
        return cls(blocks, spans, blocks.count >= config.min_blocks)

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return self.blocks.count

    def measures(
        self, schedule: Schedule, released: BoolArray, capacity: Capacity, config: MeasuresConfig
    ) -> dict[str, FloatArray]:
        """Measure -> its values, shape (draws,), NaN where a drawing has none; nothing with too few blocks.

        `released` marks the jobs of the schedule that the blocks are of; use is that of all its jobs.
        """
        if not self.is_enough:
            return {}
        jobs = schedule.where(released)
        ones = np.ones(len(jobs))
        bsld = bounded_slowdown(jobs.wait_s, jobs.runtime_s, config.tau_s)
        wait_s = jobs.wait_s.astype(np.float64)
        by_user = [
            row[~np.isnan(row)] for row in self._means_by_user(bsld, jobs.user, config.min_jobs_per_user)
        ]
        return {
            "mean_bsld": self.blocks.means(bsld, ones),
            "mean_wait_s": self.blocks.means(wait_s, ones),
            "starved_ratio": self.blocks.means((wait_s > config.starved_after_s).astype(np.float64), ones),
            "p95_bsld": self._percentiles(bsld),
            "p95_wait_s": self._percentiles(wait_s),
            "utilisation_ratio": self._utilisation(schedule, capacity),
            "jain_service": np.array([_or_nan(jain_index(means)) for means in by_user]),
            "worst_user_bsld": np.array([means.max() if means.size else np.nan for means in by_user]),
        }

    def _percentiles(self, values: FloatArray, level: float = 0.95) -> FloatArray:
        """The percentile of the drawn jobs in every drawing, with linear interpolation as everywhere."""
        order = np.argsort(values, kind="stable")
        of, ascending = self.blocks.of[order], values[order]
        jobs = np.bincount(self.blocks.of, minlength=self.count).astype(np.float64)
        first = max(0, values.size - int(TOP * (1 - level) * values.size) - 2)
        found = np.empty(self.blocks.draws.shape[0])
        for row, draws in enumerate(self.blocks.draws):
            drawn = float(draws @ jobs)
            place = level * (drawn - 1)  # among the drawn, in ascending order, from 0
            above, start = np.cumsum(draws[of[first:]]), first
            below = drawn - above[-1]
            if below > place:  # so many of the largest were drawn that they do not reach down to it
                above, below, start = np.cumsum(draws[of]), 0.0, 0
            low, high = np.searchsorted(below + above, [np.floor(place), np.ceil(place)], side="right")
            share = place - np.floor(place)
            found[row] = ascending[start + low] * (1 - share) + ascending[start + high] * share
        return found

    def _utilisation(self, schedule: Schedule, capacity: Capacity) -> FloatArray:
        seconds = np.array([span.seconds for span in self.spans], dtype=np.float64)
        there = np.array([capacity.mean_over(span) for span in self.spans]) * seconds
        edges_s = np.unique(np.array(self.spans, dtype=np.int64))  # of neighbours, the end is the next start
        means = means_between(usage(schedule), edges_s)
        used = means[np.searchsorted(edges_s, [span.start_s for span in self.spans])]
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn: FloatArray = (self.blocks.draws @ (used * seconds)) / (self.blocks.draws @ there)
        return np.where(np.isfinite(drawn), drawn, np.nan)

    def _means_by_user(self, values: FloatArray, user: IntArray, min_jobs: int) -> FloatArray:
        """Shape (draws, users): a user's mean in a drawing, NaN where it has too few of the user's jobs."""
        known = user != NO_USER
        _, code = np.unique(user[known], return_inverse=True)
        users = int(code.max(initial=-1)) + 1
        cell = self.blocks.of[known] * users + code
        shape, size = (self.count, users), self.count * users
        jobs = self.blocks.draws @ np.bincount(cell, minlength=size).reshape(shape)
        total = self.blocks.draws @ np.bincount(cell, values[known], minlength=size).reshape(shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(jobs >= min_jobs, total / jobs, np.nan)


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value
