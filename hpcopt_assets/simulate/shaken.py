"""Replays of a trace that was shaken a little: measures only, many times.

In:  a workload, and for each of its jobs a factor and a shift.
Out: measures of the steady window and of its two parts.
Not here: how far a trace is shaken (shaking.py), and what is made of the measures (claims/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from hpcopt_assets.contracts.config import MeasuresConfig, Policy
from hpcopt_assets.contracts.robustness_tables import WINDOWS
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.requests import SHORTEST_ESTIMATE_S
from hpcopt_assets.measures.schedule import FloatArray, IntArray, Schedule
from hpcopt_assets.measures.summary import Measures, measure
from hpcopt_assets.simulate.engine import run_workload
from hpcopt_assets.simulate.forecast import Forecast
from hpcopt_assets.simulate.scenario import NOT_GIVEN_S, Scenario
from hpcopt_assets.simulate.workload import Workload, select_workload


class ShakenReplayer:
    """Replays one trace under its policies, each job's times a little different.

    A call replays under one policy: runtimes, requests and forecasts times `factor`, releases moved by
    `shift_s`, one entry a job in the order of `release_s`. Calls from several threads do not disturb each
    other.
    """

    def __init__(
        self,
        jobs: pl.DataFrame,
        policies: Sequence[Policy],
        capacity: Capacity,
        config: MeasuresConfig,
        estimates: pl.DataFrame | None = None,
    ) -> None:
        self._policies = {policy.id: policy for policy in policies}
        self._capacity, self._config = capacity, config
        scenario = Scenario(capacity_steps=capacity.steps)
        self._workload = select_workload(jobs, capacity.procs, scenario, estimates)
        _ = self._workload.user  # numbered once, not by every thread

    @property
    def release_s(self) -> IntArray:
        """Releases of the replayed jobs, ascending."""
        return self._workload.release_s

    def __call__(self, policy_id: str, factor: FloatArray, shift_s: IntArray) -> dict[Window, Measures]:
        """Measures under a policy, of the steady window and its two parts."""
        schedule = self.schedule(policy_id, factor, shift_s)
        # Jobs left out are those that never started: what takes no part in any replay is not counted here.
        return {
            window: measure(schedule, capacity=self._capacity, config=self._config, window=window)
            for window in WINDOWS
        }

    def schedule(self, policy_id: str, factor: FloatArray, shift_s: IntArray) -> Schedule:
        """The shaken trace's jobs in their order, as the policy ran them."""
        policy = self._policies[policy_id]
        workload = shaken(self._workload, factor, shift_s)
        start_s = run_workload(workload, policy).start_s
        runtime_s = workload.replayed_runtime_s(policy.overrun)
        schedule = Schedule(workload.release_s, start_s, runtime_s, workload.procs, workload.user, 0)
        has_started = start_s != NOT_GIVEN_S  # a machine that shrinks for good may leave some waiting
        never = int((~has_started).sum())
        return replace(schedule.where(has_started), left_out_count=never) if never else schedule


def shaken(workload: Workload, factor: FloatArray, shift_s: IntArray) -> Workload:
    """The workload with runtimes, limits and forecasts times `factor`, releases moved by `shift_s`.

    One entry a replayed job; jobs are sorted again, equal releases in the order of the trace. Times are
    rounded to whole seconds; a runtime or limit of at least a second stays one.
    """
    release_s = workload.release_s + shift_s
    order = np.argsort(release_s, kind="stable")
    forecast = workload.forecast
    moved = replace(
        workload,
        release_s=release_s[order],
        runtime_s=_scaled(workload.runtime_s, factor)[order],
        procs=workload.procs[order],
        limit_s=np.maximum(_scaled(workload.limit_s, factor), SHORTEST_ESTIMATE_S)[order],
        is_fallback=workload.is_fallback[order],
        given_start_s=workload.given_start_s[order],
        place=order,
        forecast=None
        if forecast is None
        else Forecast(
            {name: (values * factor)[order] for name, values in forecast.quantile_s.items()},
            forecast.source[order],
        ),
    )
    vars(moved)["user"] = workload.user[order]  # a cached property: its names stand in the trace's order
    return moved


def _scaled(seconds: IntArray, factor: FloatArray) -> IntArray:
    scaled = np.rint(seconds * factor).astype(np.int64)
    return np.where(seconds > 0, np.maximum(scaled, 1), 0)
