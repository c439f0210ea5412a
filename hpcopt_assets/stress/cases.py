"""Every scenario at every severity, with the statistics that show what it did, or why it cannot be.

In:  a trace, its machine and forecasts, configs/stress.yaml.   Out: `Case`s, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from hpcopt_assets.contracts.columns import TIME_MAX_S
from hpcopt_assets.contracts.order import in_trace_order
from hpcopt_assets.contracts.sentences import in_figures
from hpcopt_assets.contracts.stress_config import ScenariosConfig
from hpcopt_assets.contracts.stress_words import MOVED_BY, StressScenario, WorkloadStatistic
from hpcopt_assets.measures.capacity import Capacity
from hpcopt_assets.measures.unknown import over
from hpcopt_assets.stress.arrivals import burst_shock, low_congestion
from hpcopt_assets.stress.columns import forecasts_for
from hpcopt_assets.stress.requests import estimate_noise
from hpcopt_assets.stress.statistics import Obstacle, Statistics, counts, statistics_of
from hpcopt_assets.stress.tail import heavy_tail, stretched_forecasts
from hpcopt_assets.stress.users import user_skew

TIMES = ("submit_s", "release_s", "eligible_s", "start_s", "end_s", "runtime_s", "requested_runtime_s")
Row = dict[str, str | int | float | None]


@dataclass(frozen=True)
class Stressed:
    """A trace that was changed, on its machine, with the forecasts that belong to it."""

    jobs: pl.DataFrame
    capacity: Capacity
    estimates: pl.DataFrame | None


@dataclass(frozen=True)
class Case:
    """One scenario at one severity: `columns` of the table `stress_replays` that speak of the trace.

    `stressed` is null where the trace cannot carry it; `obstacle` then says why.
    """

    columns: Row
    stressed: Stressed | None
    obstacle: str | None = None


def stress(
    jobs: pl.DataFrame, scenario: StressScenario, factor: float, capacity: Capacity, config: ScenariosConfig
) -> tuple[pl.DataFrame, Capacity]:
    """A trace changed by a scenario, in trace order; a factor of 1 changes no time, user or request.

    Every severity of a scenario draws the same numbers. Raises `Obstacle` where it cannot be.
    """
    ordered, seed = in_trace_order(jobs), (config.seed, scenario.code)
    windows = config.peak_windows
    made: dict[StressScenario, Callable[[], tuple[pl.DataFrame, Capacity]]] = {
        StressScenario.HEAVY_TAIL: lambda: (heavy_tail(ordered, factor, capacity), capacity),
        StressScenario.LOW_CONGESTION: lambda: low_congestion(ordered, factor, capacity),
        StressScenario.USER_SKEW: lambda: (user_skew(ordered, factor, capacity, seed), capacity),
        StressScenario.BURST_SHOCK: lambda: (burst_shock(ordered, factor, capacity, windows), capacity),
        StressScenario.ESTIMATE_NOISE: lambda: (estimate_noise(ordered, factor, capacity, seed), capacity),
    }
    stressed, machine = made[scenario]()
    furthest = stressed.select(pl.max_horizontal(pl.col(TIMES).abs().max())).item()
    if furthest is not None and furthest >= TIME_MAX_S:
        raise Obstacle(f"times would reach {TIME_MAX_S} s, the last of the tables")
    return stressed, machine


def cases(
    jobs: pl.DataFrame, capacity: Capacity, estimates: pl.DataFrame | None, config: ScenariosConfig
) -> Iterator[Case]:
    """Every scenario at its three severities, mild first; made only when it is asked for.

    A case whose statistic does not move as asked, or that moves another by the tolerance or more, is none.
    """
    before = statistics_of(jobs, capacity, config.peak_windows)
    counted = jobs.filter(counts(capacity)).height
    for scenario in StressScenario:
        for severity, factor in enumerate(config.factors.of(scenario), start=1):
            columns: Row = {
                "scenario": scenario.value,
                "severity": severity,
                "statistic": MOVED_BY[scenario].value,
                "asked_factor": factor,
                "unstressed_statistic": before[MOVED_BY[scenario]],
                **dict.fromkeys(("stressed_statistic", "reached_factor", "others_moved_ratio")),
            }
            if counted < config.min_jobs:
                few = f"{counted:,} jobs of known runtime and size, {config.min_jobs:,} needed"
                yield Case(columns, None, few)
                continue
            try:
                stressed, machine = stress(jobs, scenario, factor, capacity, config)
            except Obstacle as obstacle:
                yield Case(columns, None, str(obstacle))
                continue
            after = statistics_of(stressed, machine, config.peak_windows)
            columns |= _told(before, after, MOVED_BY[scenario])
            wrong = _wrong(columns, factor, config.tolerance)
            if wrong is not None:
                yield Case(columns, None, wrong)
                continue
            told = estimates
            if estimates is not None and scenario is StressScenario.HEAVY_TAIL:
                told = stretched_forecasts(estimates, jobs, factor, capacity)
            elif estimates is not None:
                told = forecasts_for(estimates, jobs, stressed)
            yield Case(columns, Stressed(stressed, machine, told))


def _told(before: Statistics, after: Statistics, moved: WorkloadStatistic) -> Row:
    """The statistic that should move, after; by what factor it did; and the most that any other moved."""
    factors = {name: over(after[name], before[name]) for name in WorkloadStatistic}
    others = [abs(factor - 1) for name, factor in factors.items() if name is not moved and factor is not None]
    return {
        "stressed_statistic": after[moved],
        "reached_factor": factors[moved],
        "others_moved_ratio": max(others, default=None),
    }


def _wrong(columns: Row, asked: float, tolerance: float) -> str | None:
    """Why the stressed trace is not what was asked for; None where it is."""
    reached, others = columns["reached_factor"], columns["others_moved_ratio"]
    if not isinstance(reached, float):
        return f"the trace has no {columns['statistic']}"
    if abs(reached / asked - 1) > tolerance:
        return f"{columns['statistic']} becomes {in_figures(reached)} times what it is, {asked:g} asked"
    if isinstance(others, float) and others >= tolerance:
        return f"another statistic would move by {in_figures(100 * others)} %"
    return None
