"""A world: one trace on one machine, replayed under one policy after another.

In:  trace_jobs, the machine, forecasts.   Out: `replay_schedule`, `invariant_report`.
Not here: how worlds differ (stress/, claims/sensitivity.py), and what is said of the schedules (claims/).
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from hpcopt_assets.contracts.config import Policy
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.simulate.engine import run_workload, to_replay
from hpcopt_assets.simulate.invariants import check_schedule
from hpcopt_assets.simulate.scenario import Scenario
from hpcopt_assets.simulate.workload import select_workload


class World:
    """Replays a trace under any policy. Calls from several threads do not disturb each other.

    `estimates` are needed where a policy believes forecasts. Errors are those of `replay`.
    """

    def __init__(self, jobs: pl.DataFrame, capacity: Capacity, estimates: pl.DataFrame | None = None) -> None:
        self._jobs, self._capacity, self._estimates = jobs, capacity, estimates
        scenario = Scenario(capacity_steps=capacity.steps)
        self._workload = select_workload(jobs, capacity.procs, scenario, estimates)
        _ = self._workload.user  # numbered once, not by every thread

    def schedule(self, policy: Policy) -> pl.DataFrame:
        """The `replay_schedule` of a policy."""
        return to_replay(self._workload, policy, run_workload(self._workload, policy)).schedule

    def checked(self, policy: Policy) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The schedule of a policy, and its `invariant_report`."""
        schedule = self.schedule(policy)
        believed = self._estimates if policy.is_forecasting else None
        return schedule, check_schedule(self._jobs, schedule, policy, self._capacity, believed)


def worlds(
    jobs: pl.DataFrame, estimates: pl.DataFrame | None
) -> Callable[[Capacity, int | None], Callable[[Policy], pl.DataFrame]]:
    """What replays the jobs on a machine: all of them, or those that are no wider than so many processors."""

    def world(capacity: Capacity, widest: int | None) -> Callable[[Policy], pl.DataFrame]:
        fitting = jobs if widest is None else jobs.remove(pl.col("procs") > widest)
        return World(fitting, capacity, estimates).schedule

    return world
