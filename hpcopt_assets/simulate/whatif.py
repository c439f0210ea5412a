"""What if: one replay under other circumstances beside one as recorded, over the jobs that both ran.

In:  trace_jobs, two settings.   Out: `Comparison`.
Not here: whether the difference can be believed (claims/).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from hpcopt_assets.contracts.config import MeasuresConfig, Policy
from hpcopt_assets.contracts.vocabulary import Window
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.schedule import Schedule
from hpcopt_assets.measures.summary import Measures, measure
from hpcopt_assets.simulate.engine import replay
from hpcopt_assets.simulate.scenario import Scenario


@dataclass(frozen=True)
class Setting:
    """A policy on a machine, and what else is asked; the scenario's capacity steps are the machine's."""

    policy: Policy
    capacity: Capacity
    scenario: Scenario


@dataclass(frozen=True)
class Comparison:
    """Measures of both over the same jobs, and how many of the trace's jobs are not among them, by reason.

    A reason says why the job took no part in that replay; a job may have one in each.
    """

    jobs_count: int
    baseline: Measures
    changed: Measures
    excluded_from_baseline: dict[str, int]
    excluded_from_changed: dict[str, int]


def compare(
    jobs: pl.DataFrame,
    baseline: Setting,
    changed: Setting,
    *,
    config: MeasuresConfig,
    window: Window,
    estimates: pl.DataFrame | None = None,
) -> Comparison:
    """Replay a trace twice, with `runtime_estimates` where a policy needs them. Errors are `replay`'s."""
    frames = [_replayed(jobs, setting, estimates) for setting in (baseline, changed)]
    first, second = Schedule.paired(*frames)
    reasons = [frame["left_out"].drop_nulls().value_counts(sort=True) for frame in frames]
    return Comparison(
        len(first),
        measure(first, capacity=baseline.capacity, config=config, window=window),
        measure(second, capacity=changed.capacity, config=config, window=window),
        dict(reasons[0].iter_rows()),
        dict(reasons[1].iter_rows()),
    )


def _replayed(jobs: pl.DataFrame, setting: Setting, estimates: pl.DataFrame | None) -> pl.DataFrame:
    scenario = replace(setting.scenario, capacity_steps=setting.capacity.steps)
    return replay(jobs, setting.policy, setting.capacity.procs, scenario, estimates=estimates).schedule
