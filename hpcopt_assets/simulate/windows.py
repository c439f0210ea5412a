"""Replays of parts of a record, each from what ran and waited when it began.

In:  a trace's jobs, its policies and its machine.   Out: schedules of the jobs released in a window.
Not here: which windows, and what is made of the schedules (fidelity/).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.simulate.engine import run_workload, to_replay
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets.simulate.workload import select_workload


class WindowReplayer:
    """Replays one trace under its policies, window by window; see `contracts.protocols.SeededReplays`."""

    def __init__(
        self,
        jobs: pl.DataFrame,
        policies: Sequence[Policy],
        capacity: Capacity,
        estimates: pl.DataFrame | None = None,
    ) -> None:
        self._jobs, self._policies = jobs, policies
        self._capacity, self._estimates = capacity, estimates

    def __call__(self, since_s: int, until_s: int) -> dict[str, pl.DataFrame]:
        """The jobs released in [since_s, until_s) under each policy; `EvidenceError` as of `replay`."""
        scenario = Scenario(capacity_steps=self._capacity.steps, since_s=since_s, until_s=until_s)
        workload = select_workload(self._jobs, self._capacity.procs, scenario, self._estimates)
        return {
            policy.id: to_replay(workload, policy, run_workload(workload, policy)).schedule.filter(
                pl.col("left_out").is_null()
            )
            for policy in self._policies
        }
