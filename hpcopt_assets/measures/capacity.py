"""The machine's size, which may change over time: drains, extensions.

In:  processors and dated steps.   Out: sizes at instants, and their mean over a span.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcopt_assets.measures.schedule import IntArray
from hpcopt_assets.measures.usage import Steps
from hpcopt_assets.measures.window import Span, seconds_within

ALWAYS_S = 2**62


@dataclass(frozen=True)
class Capacity:
    """`procs` from the beginning; from each of the steps (instant, processors), ascending, another size."""

    procs: int
    steps: tuple[tuple[int, int], ...] = ()

    @property
    def largest(self) -> int:
        """The most processors there ever are."""
        return max([self.procs, *(procs for _, procs in self.steps)])

    @property
    def _pieces(self) -> tuple[IntArray, IntArray]:
        """(since, processors): what holds from when on."""
        pieces = np.array([(-ALWAYS_S, self.procs), *self.steps], dtype=np.int64)
        return pieces[:, 0], pieces[:, 1]

    def at(self, at_s: IntArray) -> IntArray:
        """Processors at instants."""
        since_s, procs = self._pieces
        return procs[np.searchsorted(since_s, at_s, side="right") - 1]

    def mean_over(self, span: Span) -> float:
        """Mean processors over a span that is not empty."""
        since_s, procs = self._pieces
        seconds = seconds_within(since_s, np.append(since_s[1:], ALWAYS_S), span)
        return float((procs * seconds).sum() / span.seconds)

    def excess(self, used: Steps) -> Steps:
        """By how many processors a use exceeds the machine, over time; negative where it does not."""
        since_s, _ = self._pieces
        at_s = np.union1d(used.at_s, since_s[1:])
        return Steps(at_s, used.sample(at_s) - self.at(at_s))
